//! The ways in which rules look at a simple command.

use crate::shell::{Command, Word, program_name};

/// Where programs are that may be meant by their name alone.
const SYSTEM: [&str; 4] = ["/bin", "/sbin", "/usr/bin", "/usr/sbin"];

/// A word of a command, as it is compared.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a> {
    /// The word, with holes for what is not known.
    pub(crate) value: &'a str,
    /// Whether it may become several words, or none.
    pub(crate) splits: bool,
}

impl<'a> From<&'a Word> for View<'a> {
    fn from(word: &'a Word) -> Self {
        Self { value: &word.value, splits: word.splits }
    }
}

/// The words of one command, as they are compared.
#[derive(Debug)]
pub(crate) struct Views<'a> {
    /// For a rule that allows: all of them, since an assignment, or a program of the same name
    /// elsewhere, may do anything.
    pub(crate) strict: Vec<View<'a>>,
    /// For a rule against them: with and without the assignments, and the program with and
    /// without its path.
    pub(crate) wide: Vec<Vec<View<'a>>>,
}

impl<'a> Views<'a> {
    pub(crate) fn new(command: &'a Command) -> Self {
        let all: Vec<View<'a>> = command.words.iter().map(View::from).collect();
        let mut strict = all.clone();
        if let Some(program) = strict.get_mut(command.assignments) {
            let of_system = program.value.rsplit_once('/').filter(|it| SYSTEM.contains(&it.0));
            program.value = of_system.map_or(program.value, |it| it.1);
        }
        let mut wide = vec![all[command.assignments..].to_vec()];
        if command.assignments > 0 {
            wide.push(all.clone());
        }
        if let Some(program) = wide[0].first().copied().filter(|it| it.value.contains('/')) {
            let mut by_name = wide[0].clone();
            by_name[0] = View { value: program_name(program.value), ..program };
            wide.push(by_name);
        }
        Self { strict, wide }
    }
}
