//! Redirections: one to or from a file reads as a command of its own, which rules can name.

use super::{Command, Read, Reader, Word};

/// The operators, each before those that it begins with.
const OPERATORS: [&str; 12] =
    ["&>>", "&>", "<<<", "<<-", "<<", "<>", "<&", ">&", ">>", ">|", ">", "<"];

/// What a redirection gives a command to read.
pub(super) enum Input {
    /// The last of the here-documents that are awaited.
    Document,
    /// This text, unless there are holes in it.
    Text(String),
    /// A file, or nothing.
    Other,
}

impl Reader<'_> {
    /// Reads a redirection, if one comes next.
    pub(super) fn redirection(&mut self) -> Read<Option<Input>> {
        self.peek();
        let start = self.at;
        while self.peek().is_some_and(|it| it.is_ascii_digit()) {
            self.at += 1;
        }
        let operator = match self.is_at("<(") || self.is_at(">(") {
            true => None,
            false => OPERATORS.into_iter().find(|it| self.is_at(it)),
        };
        let Some(operator) = operator.filter(|it| !it.starts_with('&') || self.at == start) else {
            self.at = start;
            return Ok(None);
        };
        self.eat(operator);
        if operator == "<<" || operator == "<<-" {
            self.await_document(operator == "<<-")?;
            return Ok(Some(Input::Document));
        }
        self.blanks();
        let target = self.word()?;
        if operator == "<<<" {
            return Ok(Some(Input::Text(target.value)));
        }
        if is_file(operator, &target.value) {
            let name = if operator == "<" { "<" } else { ">" };
            let words = vec![Word::literal(name), target];
            self.reading.commands.push(Command { words, assignments: 0 });
        }
        Ok(Some(Input::Other))
    }

    /// Reads the redirections behind a compound command.
    pub(super) fn redirections(&mut self) -> Read<()> {
        loop {
            self.blanks();
            if self.redirection()?.is_none() {
                return Ok(());
            }
        }
    }
}

/// Whether `target` is a file that counts: no other descriptor, and not the null device.
fn is_file(operator: &str, target: &str) -> bool {
    let is_descriptor = match operator {
        "<&" => true,
        ">&" => target.chars().all(|it| it.is_ascii_digit() || it == '-'),
        _ => false,
    };
    !is_descriptor && target != "/dev/null"
}
