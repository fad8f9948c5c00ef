//! Simple commands, and the definitions that begin like one.

use super::cursor::open;
use super::redirect::Input;
use super::{Command, HOLE, Read, Reader, Stop, Word, inner, read_text};

impl Reader<'_> {
    /// Reads a simple command, or the name of a function, whose body follows as a command.
    pub(super) fn simple(&mut self) -> Read<()> {
        let mut words: Vec<Word> = Vec::new();
        let mut assignments = 0;
        let mut input = None;
        loop {
            self.blanks();
            match self.peek() {
                None | Some('\n' | ';' | '|' | ')') => break,
                Some('&') if !self.is_at("&>") => break,
                Some('(') if words.len() == 1 && assignments == 0 => {
                    return self.function_parentheses();
                }
                Some('(') => return Err(Stop::new("`(` is unexpected")),
                Some(_) => {}
            }
            if let Some(given) = self.redirection()? {
                input = Some(given);
                continue;
            }
            let mut word = self.word()?;
            if names_descriptor(&word.raw) && matches!(self.peek(), Some('<' | '>')) {
                continue;
            }
            let is_leading = words.len() == assignments;
            if is_assignment(&word.raw) {
                if word.raw.ends_with('=') && self.eat("(") {
                    self.array()?;
                    word.value.push(HOLE);
                }
                if is_leading {
                    word.splits = false;
                    assignments += 1;
                }
            } else if is_leading && has_open_subscript(&word.raw) {
                return Err(Stop::new(format!("the subscript of `{}` has blanks in it", word.raw)));
            }
            words.push(word);
        }
        if words.is_empty() {
            return Ok(());
        }
        if inner::note(Command { words, assignments }, self.depth, self.reading) {
            self.run_input(input);
        }
        Ok(())
    }

    fn function_parentheses(&mut self) -> Read<()> {
        self.eat("(");
        self.blanks();
        if self.eat(")") { Ok(()) } else { Err(open("`(`")) }
    }

    /// Reads the words of an array up to its `)`.
    fn array(&mut self) -> Read<()> {
        loop {
            self.gaps()?;
            if self.eat(")") {
                return Ok(());
            }
            self.word()?;
        }
    }

    /// What a shell reads its commands from is read like a text, if it is there.
    fn run_input(&mut self, input: Option<Input>) {
        match input {
            Some(Input::Document) => {
                if let Some(document) = self.awaited.last_mut() {
                    document.is_run = true;
                }
            }
            Some(Input::Text(text)) => {
                if text.contains(HOLE) {
                    self.reading.doubt("a shell runs a text that is expanded first");
                }
                read_text(&text, self.depth + 1, self.reading);
            }
            Some(Input::Other) | None => {
                self.reading.doubt("a shell takes its commands from its input");
            }
        }
    }
}

/// The name that a word begins with, as a variable may be called, and the rest.
fn split_name(raw: &str) -> Option<(&str, &str)> {
    let end = raw.find(|it: char| it != '_' && !it.is_ascii_alphanumeric()).unwrap_or(raw.len());
    let (name, rest) = raw.split_at(end);
    let begins_well = name.starts_with(|it: char| !it.is_ascii_digit());
    begins_well.then_some((name, rest))
}

/// Whether a word that was written so is an assignment where one may stand.
fn is_assignment(raw: &str) -> bool {
    let Some((_, rest)) = split_name(raw) else { return false };
    let rest = match rest.starts_with('[') {
        true => rest.split_once("]=").or_else(|| rest.split_once("]+=")).map(|_| "="),
        false => Some(rest),
    };
    rest.is_some_and(|it| it.starts_with('=') || it.starts_with("+="))
}

/// Whether a word that was written so begins a subscript that does not end in it.
fn has_open_subscript(raw: &str) -> bool {
    let count = |c| raw.matches(c).count();
    split_name(raw).is_some_and(|(_, rest)| rest.starts_with('[') && count('[') != count(']'))
}

/// Whether it is the `{name}` of a redirection `{name}>file`.
fn names_descriptor(raw: &str) -> bool {
    let name = raw.strip_prefix('{').and_then(|it| it.strip_suffix('}'));
    name.and_then(split_name).is_some_and(|(_, rest)| rest.is_empty())
}
