//! Here-documents: where their bodies end, and the commands in them.

use super::cursor::{ends_word, open};
use super::{Read, Reader, Stop, read_text};

/// A here-document whose body has not begun.
#[derive(Debug, Default)]
pub(super) struct HereDoc {
    /// The line that ends it.
    delimiter: String,
    /// Whether nothing is expanded in it.
    is_quoted: bool,
    /// Whether tabs before its lines are dropped.
    is_indented: bool,
    /// Whether a shell takes its commands from it.
    pub(super) is_run: bool,
}

impl Reader<'_> {
    /// Reads the word behind `<<`.
    pub(super) fn await_document(&mut self, is_indented: bool) -> Read<()> {
        self.blanks();
        let mut document = HereDoc { is_indented, ..HereDoc::default() };
        while let Some(c) = self.peek().filter(|it| !ends_word(*it)) {
            self.at += 1;
            match c {
                '\\' => document.delimiter.extend(self.take_raw()),
                '\'' | '"' => loop {
                    match self.take_raw() {
                        Some(next) if next == c => break,
                        Some(next @ ('\\' | '\n' | '$' | '`')) if c == '"' || next == '\n' => {
                            return Err(Stop::new(format!(
                                "a here-document ends at a word with `{next}`"
                            )));
                        }
                        Some(next) => document.delimiter.push(next),
                        None => return Err(open("a quote")),
                    }
                },
                '$' | '`' => {
                    return Err(Stop::new(format!("a here-document ends at a word with `{c}`")));
                }
                c => {
                    document.delimiter.push(c);
                    continue;
                }
            }
            document.is_quoted = true;
        }
        if document.delimiter.is_empty() {
            return Err(Stop::new("a here-document has no word at which it ends"));
        }
        self.awaited.push(document);
        Ok(())
    }

    /// Takes a newline, and the bodies that begin behind it.
    pub(super) fn newline(&mut self) -> Read<()> {
        self.at += 1;
        if self.is_awaited_outside {
            return Err(Stop::new("a substitution goes on where a here-document should begin"));
        }
        for document in std::mem::take(&mut self.awaited) {
            let body = self.body(&document)?;
            if document.is_run {
                self.run_body(&document, &body);
            }
            if !document.is_quoted {
                self.deeper(|it| {
                    let mut reader = Reader::new(&body, it.depth, it.reading);
                    reader.expansions()
                })?;
            }
        }
        Ok(())
    }

    /// Takes the lines up to the one that ends the document.
    fn body(&mut self, document: &HereDoc) -> Read<String> {
        let mut body = String::new();
        while self.at < self.chars.len() {
            let line = self.line(document);
            if line == document.delimiter {
                return Ok(body);
            }
            body.push_str(&line);
            body.push('\n');
        }
        Err(Stop::new(format!("the here-document up to `{}` does not end", document.delimiter)))
    }

    /// Takes a line, with those that a backslash joins to it.
    fn line(&mut self, document: &HereDoc) -> String {
        let mut line = String::new();
        while document.is_indented && self.chars.get(self.at) == Some(&'\t') {
            self.at += 1;
        }
        while let Some(c) = self.take_raw() {
            match c {
                '\n' => break,
                '\\' if !document.is_quoted => match self.take_raw() {
                    Some('\n') => {}
                    next => {
                        line.push('\\');
                        line.extend(next);
                    }
                },
                c => line.push(c),
            }
        }
        line
    }

    /// Reads a body that a shell runs.
    fn run_body(&mut self, document: &HereDoc, body: &str) {
        if !document.is_quoted && body.contains(['$', '`', '\\']) {
            self.reading.doubt("a shell runs a here-document that is expanded first");
        }
        read_text(body, self.depth + 1, self.reading);
    }

    /// Sees that no body is left that should have begun.
    pub(super) fn no_more_awaited(&mut self) -> Read<()> {
        match self.awaited.is_empty() {
            true => Ok(()),
            false => Err(Stop::new("a here-document does not begin")),
        }
    }
}
