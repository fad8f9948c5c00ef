//! What a `$` or a backquote begins: the commands in it are read, the result is a hole.

use super::cursor::open;
use super::word::Parts;
use super::{HOLE, Read, Reader, Stop, read_text};

impl Reader<'_> {
    /// Reads what a `$` begins, which is taken.
    pub(super) fn dollar(&mut self, is_quoted: bool, parts: &mut Parts) -> Read<()> {
        if self.eat("((") {
            self.deeper(Self::arithmetic)?;
            parts.hole(!is_quoted);
        } else if self.eat("(") {
            self.commands_until(")")?;
            parts.hole(!is_quoted);
        } else if self.eat("{") {
            let is_list = self.deeper(|it| it.braced(is_quoted))?;
            parts.hole(!is_quoted || is_list);
        } else if self.eat("[") {
            self.deeper(Self::old_arithmetic)?;
            parts.hole(!is_quoted);
        } else if self.parameter(is_quoted, parts) {
            // A parameter by its name.
        } else {
            parts.value.push('$');
        }
        Ok(())
    }

    /// Reads `$name` behind its `$`, if there is a name.
    fn parameter(&mut self, is_quoted: bool, parts: &mut Parts) -> bool {
        let Some(c) = self.peek() else { return false };
        if matches!(c, '@' | '*' | '#' | '?' | '-' | '$' | '!' | '0'..='9') {
            self.at += 1;
            parts.hole(!is_quoted || c == '@');
            return true;
        }
        let is_name = c == '_' || c.is_ascii_alphabetic() || c == HOLE;
        if is_name {
            while self
                .peek()
                .is_some_and(|it| it == '_' || it.is_ascii_alphanumeric() || it == HOLE)
            {
                self.at += 1;
            }
            parts.hole(!is_quoted);
        }
        is_name
    }

    /// Reads the commands of a substitution, up to its end.
    pub(super) fn commands_until(&mut self, end: &'static str) -> Read<()> {
        let outer = std::mem::take(&mut self.awaited);
        let was_awaited_outside = self.is_awaited_outside;
        self.is_awaited_outside |= !outer.is_empty();
        self.list(&[end])?;
        self.no_more_awaited()?;
        self.awaited = outer;
        self.is_awaited_outside = was_awaited_outside;
        Ok(())
    }

    /// Reads a substitution in backquotes, the first of which is taken.
    pub(super) fn backquoted(&mut self, is_quoted: bool) -> Read<()> {
        let mut text = String::new();
        loop {
            match self.take_raw().ok_or_else(|| open("a backquote"))? {
                '`' => break,
                '\\' => match self.take_raw() {
                    Some(c @ ('`' | '\\' | '$')) => text.push(c),
                    // Shells differ in whether the backslash goes.
                    Some('"') if is_quoted => {
                        return Err(Stop::new(
                            "there is `\\\"` within backquotes in double quotes",
                        ));
                    }
                    Some(c) => text.extend(['\\', c]),
                    None => return Err(open("a backquote")),
                },
                c => text.push(c),
            }
        }
        self.deeper(|it| {
            read_text(&text, it.depth, it.reading);
            Ok(())
        })
    }

    /// Reads `${…}` behind its `{`. Says whether it can be several words though it is quoted.
    fn braced(&mut self, is_quoted: bool) -> Read<bool> {
        // What bash 5.3 runs in the shell itself.
        if matches!(self.peek(), Some(' ' | '\t' | '\n' | '|')) {
            self.eat("|");
            self.commands_until("}")?;
            return Ok(false);
        }
        let start = self.at;
        let mut ignored = Parts::default();
        loop {
            match self.take().ok_or_else(|| open("`${`"))? {
                '}' => break,
                '\\' => drop(self.take_raw()),
                '\'' if is_quoted => {
                    // Whether it quotes depends on the operator.
                    return Err(Stop::new("there is a single quote within `\"${…}\"`"));
                }
                '$' if self.is_at("'") && is_quoted => {
                    return Err(Stop::new("there is a single quote within `\"${…}\"`"));
                }
                '`' => self.backquoted(is_quoted)?,
                '$' if is_quoted => self.dollar(true, &mut ignored)?,
                c @ ('\'' | '"' | '$') => self.unquoted(c, &mut ignored)?,
                _ => {}
            }
        }
        let text = self.since(start);
        if text.ends_with("@P}") {
            return Err(Stop::new("`${…@P}` runs the commands in a value"));
        }
        Ok(text.contains('@'))
    }

    /// Reads up to the `))` of an arithmetic expression.
    pub(super) fn arithmetic(&mut self) -> Read<()> {
        let mut parentheses = 0_usize;
        loop {
            match self.take().ok_or_else(|| open("`((`"))? {
                '(' => parentheses += 1,
                ')' if parentheses > 0 => parentheses -= 1,
                ')' if self.eat(")") => return Ok(()),
                ')' => return Err(Stop::new("`((` begins no arithmetic; write `( (`")),
                c => self.in_arithmetic(c)?,
            }
        }
    }

    /// Reads up to the `]` of `$[…]`.
    fn old_arithmetic(&mut self) -> Read<()> {
        let mut brackets = 0_usize;
        loop {
            match self.take().ok_or_else(|| open("`$[`"))? {
                '[' => brackets += 1,
                ']' if brackets > 0 => brackets -= 1,
                ']' => return Ok(()),
                c => self.in_arithmetic(c)?,
            }
        }
    }

    fn in_arithmetic(&mut self, c: char) -> Read<()> {
        let mut ignored = Parts::default();
        match c {
            '$' => self.dollar(true, &mut ignored),
            '`' => self.backquoted(true),
            // Shells differ in whether these quote there.
            '\'' | '"' | '\\' => Err(Stop::new("there is a quote in arithmetic")),
            _ => Ok(()),
        }
    }

    /// Reads the commands in the body of a here-document, which is otherwise a text.
    pub(super) fn expansions(&mut self) -> Read<()> {
        let mut ignored = Parts::default();
        while let Some(c) = self.take() {
            match c {
                '\\' => drop(self.take_raw()),
                '$' => self.dollar(true, &mut ignored)?,
                '`' => self.backquoted(true)?,
                _ => {}
            }
        }
        Ok(())
    }
}
