//! What the rules say of one tool call: the strictest of what they say of each command in it.

use serde_json::Value;

use crate::config::{Config, Otherwise, Ruling};
use crate::fit::Fit;
use crate::glob::{BadGlob, Glob};
use crate::rule::{self, BadRule, Rule};
use crate::shell::{self, Command, Reading};
use crate::view::Views;

/// The characters of a command that a message shows.
const MOST_SHOWN: usize = 200;

/// The rules, and what is said where they say nothing.
#[derive(Debug)]
pub(crate) struct Policy {
    rules: Vec<Rule>,
    shells: Vec<Shell>,
    unparsable: Otherwise,
    default: Otherwise,
}

/// A tool that runs a shell text.
#[derive(Debug)]
struct Shell {
    tool: Glob,
    argument: String,
}

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BadConfig {
    #[error(transparent)]
    Rule(#[from] BadRule),
    #[error("correct the glob in `shells[{index}].tool`")]
    Shell {
        index: usize,
        #[source]
        cause: BadGlob,
    },
}

/// From the mildest to the strictest: that nothing is said comes before an allowance, so that one
/// command without a rule keeps the others from allowing the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    Allow,
    Pass,
    Ask,
    Deny,
}

impl From<Ruling> for Verdict {
    fn from(ruling: Ruling) -> Self {
        match ruling {
            Ruling::Allow => Self::Allow,
            Ruling::Ask => Self::Ask,
            Ruling::Deny => Self::Deny,
        }
    }
}

impl From<Otherwise> for Verdict {
    fn from(otherwise: Otherwise) -> Self {
        match otherwise {
            Otherwise::Pass => Self::Pass,
            Otherwise::Ask => Self::Ask,
            Otherwise::Deny => Self::Deny,
        }
    }
}

/// A verdict, and what is told with it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) verdict: Verdict,
    pub(crate) message: String,
}

impl Policy {
    /// Compiles a configuration.
    ///
    /// # Errors
    /// What in it cannot be used, and what to do.
    pub(crate) fn new(config: Config) -> Result<Self, BadConfig> {
        let shells = config.shells.into_iter().enumerate().map(|(index, it)| {
            let tool = Glob::new(&it.tool).map_err(|cause| BadConfig::Shell { index, cause })?;
            Ok(Shell { tool, argument: it.argument })
        });
        Ok(Self {
            shells: shells.collect::<Result<_, BadConfig>>()?,
            rules: rule::compile(config.rules)?,
            unparsable: config.unparsable,
            default: config.default,
        })
    }

    /// Judges a call of `tool` with these arguments, a JSON text.
    ///
    /// # Errors
    /// When the arguments are no JSON.
    pub(crate) fn judge(&self, tool: &str, arguments: &str) -> serde_json::Result<Finding> {
        let numbered = self.rules.iter().enumerate();
        let mut rules: Vec<(usize, &Rule)> = numbered.filter(|it| it.1.is_about(tool)).collect();
        let of_commands = rules.iter().any(|it| it.1.is_about_commands());
        let shell = self.shells.iter().find(|it| of_commands && it.tool.is_match(tool));
        let mut reading = Reading::default();
        if shell.is_some() || rules.iter().any(|it| it.1.is_about_arguments()) {
            let arguments: Value = serde_json::from_str(arguments)?;
            rules.retain(|it| it.1.fits_arguments(&arguments));
            if let Some(shell) = shell {
                reading = read(rule::argument(&arguments, &shell.argument));
            }
        }
        // Before the rules that are as strict: it says more than that one of them may fit.
        let doubt = reading.doubt.as_deref().map(|it| self.doubtful(it));
        let none = [None].into_iter().filter(|_| reading.commands.is_empty());
        let subjects = reading.commands.iter().map(Some).chain(none);
        let findings = subjects.map(|it| self.judge_one(&rules, it, tool));
        let strictest = doubt.into_iter().chain(findings).reduce(stricter);
        Ok(strictest.expect("where there is no command, the call itself is judged"))
    }

    /// Judges one simple command, or a call without any.
    fn judge_one(
        &self,
        rules: &[(usize, &Rule)],
        command: Option<&Command>,
        tool: &str,
    ) -> Finding {
        let subject = || match command {
            Some(command) => format!("`{}`", shortened(command.shown())),
            None => format!("this call of `{tool}`"),
        };
        let views = command.map(Views::new);
        let mut possible: Option<Finding> = None;
        for (index, rule) in rules {
            match rule.fit_command(views.as_ref()) {
                Fit::No => {}
                Fit::Maybe => {
                    let perhaps = self.perhaps(*index, rule, &subject());
                    possible = possible.into_iter().chain(perhaps).reduce(stricter);
                }
                Fit::Yes => {
                    let said = ruled(*index, rule, &subject());
                    return possible.into_iter().fold(said, stricter);
                }
            }
        }
        let unnamed = self
            .otherwise(self.default, || format!("no rule of command-policy names {}", subject()));
        possible.into_iter().fold(unnamed, stricter)
    }

    /// For a rule that may be about a command, once that runs. It is not taken for stricter than
    /// it is, so one that allows changes nothing.
    fn perhaps(&self, index: usize, rule: &Rule, subject: &str) -> Option<Finding> {
        let verdict = Verdict::from(self.unparsable).min(rule.ruling.into());
        let reason = &rule.reason;
        let message = format!(
            "{} may be about {subject}, which is known only when it runs: {reason}",
            called(index)
        );
        (verdict != Verdict::Pass).then_some(Finding { verdict, message })
    }

    /// For a text in which there may be other commands than those that were found.
    fn doubtful(&self, why: &str) -> Finding {
        let message = || {
            let why = shortened(why.to_owned());
            format!("command-policy cannot tell all that this text runs: {why}; write it plainly")
        };
        match self.unparsable {
            Otherwise::Pass => self.otherwise(self.default, message),
            unparsable => self.otherwise(unparsable, message),
        }
    }

    fn otherwise(&self, otherwise: Otherwise, message: impl FnOnce() -> String) -> Finding {
        let message = if otherwise == Otherwise::Pass { String::new() } else { message() };
        Finding { verdict: otherwise.into(), message }
    }
}

/// The stricter of two, the first of two that are as strict.
fn stricter(first: Finding, second: Finding) -> Finding {
    if second.verdict > first.verdict { second } else { first }
}

/// Reads the argument that a shell runs: a text, or the words of one command.
fn read(argument: Option<&Value>) -> Reading {
    let words = argument.and_then(Value::as_array);
    let words = words.and_then(|it| it.iter().map(Value::as_str).collect::<Option<Vec<_>>>());
    match (argument.and_then(Value::as_str), words) {
        (Some(text), _) => shell::read(text),
        (None, Some(words)) => shell::read_words(words),
        (None, None) => Reading::unreadable("the argument with the text is not there"),
    }
}

fn called(index: usize) -> String {
    format!("`rules[{index}]` of command-policy")
}

fn ruled(index: usize, rule: &Rule, subject: &str) -> Finding {
    let does = match rule.ruling {
        Ruling::Allow => "allows",
        Ruling::Ask => "asks about",
        Ruling::Deny => "denies",
    };
    let message = format!("{} {does} {subject}: {}", called(index), rule.reason);
    Finding { verdict: rule.ruling.into(), message }
}

fn shortened(text: String) -> String {
    match text.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
