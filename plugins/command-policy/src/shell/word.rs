//! Words: quoting is taken off, and what only a run can tell becomes a hole.

use super::cursor::{ends_word, open};
use super::{HOLE, Read, Reader, Stop, ansi};

/// A word of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    /// As it was written.
    pub(crate) raw: String,
    /// Without its quoting, with holes for what is not known.
    pub(crate) value: String,
    /// Whether it may become several words, or none. If so, there is a hole in it.
    pub(crate) splits: bool,
}

impl Word {
    /// A word that is known.
    pub(crate) fn literal(text: &str) -> Self {
        Self { raw: text.to_owned(), value: text.to_owned(), splits: false }
    }

    /// Any number of words.
    pub(super) fn unknown(raw: &str) -> Self {
        Self { raw: raw.to_owned(), value: HOLE.into(), splits: true }
    }

    /// Whether nothing of it is left to a run.
    pub(crate) fn is_known(&self) -> bool {
        !self.value.contains(HOLE)
    }
}

/// A word as far as it is read.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) value: String,
    pub(super) splits: bool,
    /// Where in `value` a `[` or a `{` stands that may turn out to begin a pattern.
    bracket: Option<usize>,
    brace: Option<usize>,
    /// Whether a `,` or a `..` stands behind that `{`.
    is_list: bool,
}

impl Parts {
    pub(super) fn hole(&mut self, splits: bool) {
        self.value.push(HOLE);
        self.splits |= splits;
    }

    /// Replaces all from `start` by any number of words.
    fn forget_from(&mut self, start: usize) {
        self.value.truncate(start);
        self.hole(true);
        (self.bracket, self.brace, self.is_list) = (None, None, false);
    }

    /// Adds a character that is not quoted and means nothing to the reader, though perhaps
    /// something to the expansion of file names or braces.
    fn plain(&mut self, c: char) {
        match c {
            '*' | '?' => return self.hole(true),
            '[' => self.bracket = self.bracket.or(Some(self.value.len())),
            '{' => self.brace = self.brace.or(Some(self.value.len())),
            ',' => self.is_list |= self.brace.is_some(),
            '.' => self.is_list |= self.brace.is_some() && self.value.ends_with('.'),
            ']' => {
                if let Some(start) = self.bracket {
                    return self.forget_from(start);
                }
            }
            '}' if self.is_list => {
                if let Some(start) = self.brace {
                    return self.forget_from(start);
                }
            }
            _ => {}
        }
        self.value.push(c);
    }
}

impl Reader<'_> {
    /// Reads a word, which has to be there.
    pub(super) fn word(&mut self) -> Read<Word> {
        self.peek();
        let start = self.at;
        let mut parts = Parts::default();
        while let Some(c) = self.peek() {
            match c {
                '<' | '>' if self.is_at("<(") || self.is_at(">(") => {
                    self.at += 1;
                    self.eat("(");
                    self.commands_until(")")?;
                    parts.hole(false);
                }
                _ if ends_word(c) => break,
                _ => {
                    self.at += 1;
                    self.unquoted(c, &mut parts)?;
                }
            }
        }
        if self.at == start {
            return Err(Stop::new("a word is missing"));
        }
        // A hole in the source is one too, and nothing says that it is quoted.
        let Parts { value, splits, .. } = parts;
        Ok(Word { raw: self.since(start), value, splits })
    }

    /// Reads on from `c`, which is taken and stands outside of quotes.
    pub(super) fn unquoted(&mut self, c: char, parts: &mut Parts) -> Read<()> {
        match c {
            '\\' => parts.value.push(self.take_raw().unwrap_or('\\')),
            '\'' => loop {
                match self.take_raw().ok_or_else(|| open("a single quote"))? {
                    '\'' => break,
                    c => parts.value.push(c),
                }
            },
            '"' => self.double_quoted(parts)?,
            '`' => {
                self.backquoted(false)?;
                parts.hole(true);
            }
            '$' if self.eat("'") => parts.value.push_str(&self.ansi_quoted()?),
            '$' if self.eat("\"") => self.double_quoted(parts)?,
            '$' => self.dollar(false, parts)?,
            HOLE => parts.hole(true),
            _ => parts.plain(c),
        }
        Ok(())
    }

    /// Reads up to the closing double quote.
    fn double_quoted(&mut self, parts: &mut Parts) -> Read<()> {
        loop {
            match self.take().ok_or_else(|| open("a double quote"))? {
                '"' => return Ok(()),
                '\\' => match self.take_raw() {
                    Some(c @ ('$' | '`' | '"' | '\\')) => parts.value.push(c),
                    Some(c) => parts.value.extend(['\\', c]),
                    None => return Err(open("a double quote")),
                },
                '`' => {
                    self.backquoted(true)?;
                    parts.hole(false);
                }
                '$' => self.dollar(true, parts)?,
                c => parts.value.push(c),
            }
        }
    }

    /// Reads the rest of `$'…'`.
    fn ansi_quoted(&mut self) -> Read<String> {
        let start = self.at;
        loop {
            match self.take_raw().ok_or_else(|| open("a single quote"))? {
                '\\' => drop(self.take_raw()),
                '\'' => break,
                _ => {}
            }
        }
        ansi::decode(&self.chars[start..self.at - 1])
    }
}
