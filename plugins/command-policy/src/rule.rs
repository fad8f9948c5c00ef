//! Rules, compiled: what each of them names.

use std::borrow::Cow;

use regex::Regex;
use serde_json::Value;

use crate::config::{RuleConfig, Ruling};
use crate::fit::Fit;
use crate::glob::{BadGlob, Glob, WordsGlob};
use crate::shell::HOLE;
use crate::view::{View, Views};

/// A rule.
#[derive(Debug)]
pub(crate) struct Rule {
    /// The tools it is about.
    tool: Option<Glob>,
    /// What it asks of the words of a simple command.
    command: Option<WordsGlob>,
    /// What it asks of the text of a simple command.
    command_regex: Option<Regex>,
    /// What it asks of the arguments.
    arguments: Option<Arguments>,
    /// What it says.
    pub(crate) ruling: Ruling,
    /// Why; empty where a rule that allows gives none.
    pub(crate) reason: String,
}

/// What a rule asks of the arguments of a call.
#[derive(Debug)]
struct Arguments {
    /// Of which one; of all as JSON where there is none.
    name: Option<String>,
    text: TextPattern,
}

#[derive(Debug)]
enum TextPattern {
    Glob(Glob),
    Regex(Regex),
}

/// A rule that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("`rules[{index}]` cannot be used")]
pub(crate) struct BadRule {
    index: usize,
    #[source]
    flaw: Flaw,
}

/// What is wrong with a rule.
#[derive(Debug, thiserror::Error)]
enum Flaw {
    #[error("correct this key or value")]
    Shape(#[source] serde_json::Error),
    #[error("correct the glob in `{key}`")]
    Glob {
        key: &'static str,
        #[source]
        cause: BadGlob,
    },
    #[error("correct the regular expression in `{key}`")]
    Regex {
        key: &'static str,
        #[source]
        cause: regex::Error,
    },
    #[error("`glob` and `regex` exclude each other; write two rules")]
    TwoPatterns,
    #[error("`argument` says only where to look; add `glob` or `regex`")]
    NoPattern,
    #[error("its verdict needs a `reason`; say there what to do instead")]
    NoReason,
}

/// Compiles all the rules.
///
/// # Errors
/// The first one that cannot be used, by its index, and what to do.
pub(crate) fn compile(rules: Vec<Value>) -> Result<Vec<Rule>, BadRule> {
    let numbered = rules.into_iter().enumerate();
    numbered.map(|(index, it)| rule(it).map_err(|flaw| BadRule { index, flaw })).collect()
}

fn rule(rule: Value) -> Result<Rule, Flaw> {
    let rule: RuleConfig = serde_json::from_value(rule).map_err(Flaw::Shape)?;
    let bad_glob = |key| move |cause| Flaw::Glob { key, cause };
    let glob =
        |key, it: Option<String>| it.map(|it| Glob::new(&it)).transpose().map_err(bad_glob(key));
    let regex = |key, it: Option<String>| {
        let regex = it.map(|it| Regex::new(&it)).transpose();
        regex.map_err(|cause| Flaw::Regex { key, cause })
    };
    let text = match (glob("glob", rule.glob)?, regex("regex", rule.regex)?) {
        (Some(_), Some(_)) => return Err(Flaw::TwoPatterns),
        (None, None) if rule.argument.is_some() => return Err(Flaw::NoPattern),
        (Some(glob), None) => Some(TextPattern::Glob(glob)),
        (None, Some(regex)) => Some(TextPattern::Regex(regex)),
        (None, None) => None,
    };
    let reason = rule.reason.unwrap_or_default();
    if rule.verdict != Ruling::Allow && reason.trim().is_empty() {
        return Err(Flaw::NoReason);
    }
    let command = rule.command.map(|it| WordsGlob::new(&it)).transpose();
    Ok(Rule {
        tool: glob("tool", rule.tool)?,
        command: command.map_err(bad_glob("command"))?,
        command_regex: regex("command_regex", rule.command_regex)?,
        arguments: text.map(|text| Arguments { name: rule.argument, text }),
        ruling: rule.verdict,
        reason,
    })
}

impl Rule {
    /// Whether it is about calls of this tool.
    pub(crate) fn is_about(&self, tool: &str) -> bool {
        self.tool.as_ref().is_none_or(|it| it.is_match(tool))
    }

    /// Whether it is about simple commands.
    pub(crate) fn is_about_commands(&self) -> bool {
        self.command.is_some() || self.command_regex.is_some()
    }

    /// Whether it is about arguments.
    pub(crate) fn is_about_arguments(&self) -> bool {
        self.arguments.is_some()
    }

    /// Whether what it asks of the arguments holds.
    pub(crate) fn fits_arguments(&self, arguments: &Value) -> bool {
        let Some(Arguments { name, text: pattern }) = &self.arguments else { return true };
        let value = match name {
            Some(name) => argument(arguments, name),
            None => Some(arguments),
        };
        value.is_some_and(|value| {
            let text = match value {
                Value::String(text) => Cow::Borrowed(text.as_str()),
                other => Cow::Owned(other.to_string()),
            };
            match pattern {
                TextPattern::Glob(glob) => glob.is_match(&text),
                TextPattern::Regex(regex) => regex.is_match(&text),
            }
        })
    }

    /// How surely what it asks of a simple command holds. Where there is none, it asks in vain.
    pub(crate) fn fit_command(&self, command: Option<&Views<'_>>) -> Fit {
        let Some(views) = command else { return Fit::certain(!self.is_about_commands()) };
        match self.ruling {
            Ruling::Allow => self.fit_words(&views.strict),
            Ruling::Ask | Ruling::Deny => {
                views.wide.iter().map(|it| self.fit_words(it)).max().unwrap_or(Fit::No)
            }
        }
    }

    fn fit_words(&self, words: &[View<'_>]) -> Fit {
        let by_words = self.command.as_ref().map_or(Fit::Yes, |it| it.fit(words));
        let by_text = match &self.command_regex {
            Some(regex) if by_words != Fit::No => fit_regex(regex, words),
            _ => Fit::Yes,
        };
        by_words.min(by_text)
    }
}

/// The argument with this name, or at this JSON pointer.
pub(crate) fn argument<'a>(arguments: &'a Value, name: &str) -> Option<&'a Value> {
    if name.starts_with('/') { arguments.pointer(name) } else { arguments.get(name) }
}

/// A regular expression says nothing of a text with holes.
fn fit_regex(regex: &Regex, words: &[View<'_>]) -> Fit {
    let values: Vec<&str> = words.iter().map(|it| it.value).collect();
    let text = values.join(" ");
    match text.contains(HOLE) {
        true => Fit::Maybe,
        false => Fit::certain(regex.is_match(&text)),
    }
}
