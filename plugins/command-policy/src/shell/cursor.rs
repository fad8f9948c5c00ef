//! Where the reader stands, and the steps that need no grammar.

use super::{Read, Reader, Stop};

/// What ends a word that is not quoted.
pub(super) fn ends_word(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>')
}

impl Reader<'_> {
    /// The character to read next. A backslash before a newline joins two lines everywhere but in
    /// single quotes, comments and quoted here-documents, so it is never seen.
    pub(super) fn peek(&mut self) -> Option<char> {
        self.at = self.joined(self.at);
        self.chars.get(self.at).copied()
    }

    /// Takes the character that [`peek`](Self::peek) shows.
    pub(super) fn take(&mut self) -> Option<char> {
        let c = self.peek();
        self.at += usize::from(c.is_some());
        c
    }

    /// Takes a character where lines are not joined.
    pub(super) fn take_raw(&mut self) -> Option<char> {
        let c = self.chars.get(self.at).copied();
        self.at += usize::from(c.is_some());
        c
    }

    /// The place `from`, or the one behind the joined lines that begin there.
    fn joined(&self, mut from: usize) -> usize {
        while self.chars.get(from) == Some(&'\\') && self.chars.get(from + 1) == Some(&'\n') {
            from += 2;
        }
        from
    }

    /// The place behind `expected`, if that is what comes next.
    fn behind(&self, expected: &str) -> Option<usize> {
        let mut at = self.at;
        for c in expected.chars() {
            at = self.joined(at);
            if self.chars.get(at) != Some(&c) {
                return None;
            }
            at += 1;
        }
        Some(at)
    }

    pub(super) fn is_at(&self, expected: &str) -> bool {
        self.behind(expected).is_some()
    }

    /// Takes `expected`, if that is what comes next.
    pub(super) fn eat(&mut self, expected: &str) -> bool {
        let behind = self.behind(expected);
        self.at = behind.unwrap_or(self.at);
        behind.is_some()
    }

    /// Takes blanks, and a comment where one begins.
    pub(super) fn blanks(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.at += 1;
        }
        if self.peek() == Some('#') {
            while self.chars.get(self.at).is_some_and(|it| *it != '\n') {
                self.at += 1;
            }
        }
    }

    /// Takes blanks and newlines.
    pub(super) fn gaps(&mut self) -> Read<()> {
        self.blanks();
        while self.peek() == Some('\n') {
            self.newline()?;
            self.blanks();
        }
        Ok(())
    }

    /// The word that comes next as it stands there, and the place behind it: for reserved words,
    /// in which nothing is quoted.
    pub(super) fn plain_word(&self) -> (String, usize) {
        let mut word = String::new();
        let mut at = self.joined(self.at);
        while let Some(c) = self.chars.get(at).copied().filter(|it| !ends_word(*it)) {
            word.push(c);
            at = self.joined(at + 1);
        }
        (word, at)
    }

    /// The text from `start` to here, with its joined lines joined.
    pub(super) fn since(&self, start: usize) -> String {
        let text: String = self.chars[start..self.at].iter().collect();
        text.replace("\\\n", "")
    }
}

/// For a text that ends within `what`.
pub(super) fn open(what: &str) -> Stop {
    Stop::new(format!("{what} is not closed"))
}
