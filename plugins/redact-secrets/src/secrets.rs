//! What counts as a secret, and texts in which each is replaced.

use std::borrow::Cow;
use std::env;

use regex::{Captures, Regex, RegexSet};
use serde::Deserialize;

use crate::built_in::Kind;

/// What every replacement begins with.
const MARK: &str = "[redacted:";

/// The characters that a secret from the environment has at least: a shorter text occurs in
/// others by chance.
const SHORTEST: usize = 6;

/// A pattern of the person's own.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Own {
    /// What the replacement calls it.
    kind: String,
    /// What it looks like.
    regex: String,
}

/// Why a configuration names no secrets that could be looked for.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BadSecret {
    /// A pattern cannot be read.
    #[error("the regex of the pattern `{kind}` cannot be read")]
    Regex {
        /// The pattern's kind.
        kind: String,
        /// Why.
        #[source]
        cause: Box<regex::Error>,
    },
    /// A pattern would match between any two characters.
    #[error("the regex of the pattern `{kind}` matches the empty text; let it ask for a character")]
    Empty {
        /// The pattern's kind.
        kind: String,
    },
    /// A pattern has no name.
    #[error("the pattern with the regex `{regex}` has an empty `kind`; say what it finds")]
    Nameless {
        /// The pattern's regex.
        regex: String,
    },
    /// A variable's value would be found everywhere.
    #[error(
        "the environment variable `{name}` has fewer than {SHORTEST} characters, which occur in \
         other texts by chance; take it off the list `env`"
    )]
    Short {
        /// The variable.
        name: String,
    },
    /// All together are too large.
    #[error("the patterns are too large together")]
    TooLarge(#[source] Box<regex::Error>),
}

/// Says of a match, and of what follows it in the text, that it is none after all.
pub(crate) type Spares = fn(secret: &str, rest: &str) -> bool;

/// One kind of secret.
#[derive(Debug)]
struct Pattern {
    kind: Cow<'static, str>,
    regex: Regex,
    spares: Spares,
}

/// Every secret that is looked for.
#[derive(Debug)]
pub(crate) struct Secrets {
    /// All patterns at once: which of them occur in a text at all.
    any: RegexSet,
    /// One by one, in the same order.
    patterns: Vec<Pattern>,
    /// The keys whose values are secrets, whatever they look like.
    names: Option<Regex>,
}

impl Secrets {
    /// These kinds, patterns and values of environment variables. The most telling come first: a
    /// variable is named, and what a pattern finds is not looked at again.
    pub(crate) fn new(kinds: &[Kind], own: &[Own], env: &[String]) -> Result<Self, BadSecret> {
        let mut patterns = Vec::new();
        for name in env {
            patterns.extend(value_of(name)?);
        }
        for it in own {
            patterns.push(own_pattern(it)?);
        }
        for kind in kinds {
            let (regex, spares) = kind.pattern();
            let regex = Regex::new(regex).expect("the built-in patterns are valid");
            patterns.push(Pattern { kind: kind.as_str().into(), regex, spares });
        }
        let any = RegexSet::new(patterns.iter().map(|it| it.regex.as_str()))
            .map_err(|cause| BadSecret::TooLarge(Box::new(cause)))?;
        let names = kinds.contains(&Kind::Assignment).then(Kind::names);
        Ok(Self { any, patterns, names })
    }

    /// Whether one of them may be in `text`. One pass over it, whatever their number.
    pub(crate) fn may_be_in(&self, text: &str) -> bool {
        self.any.is_match(text)
    }

    /// Whether what stands under `key` is a secret.
    pub(crate) fn is_name(&self, key: &str) -> bool {
        self.names.as_ref().is_some_and(|it| it.is_match(key))
    }

    /// Replaces the secrets in `text` and says whether there were any.
    pub(crate) fn hide(&self, text: &mut String) -> bool {
        let mut found = false;
        for at in &self.any.matches(text) {
            if let Some(hidden) = self.patterns[at].hidden(text) {
                *text = hidden;
                found = true;
            }
        }
        found
    }

    /// Replaces the secrets in what stands under a key whose values are secrets.
    pub(crate) fn hide_named(&self, text: &mut String) -> bool {
        if self.hide(text) {
            return true;
        }
        let (_, spares) = Kind::Assignment.pattern();
        if text.chars().count() < 4 || text.starts_with(MARK) || spares(text, "\"") {
            return false;
        }
        *text = mark(Kind::Assignment.as_str());
        true
    }
}

impl Pattern {
    /// `text` with what matches replaced; `None` where nothing does.
    fn hidden(&self, text: &str) -> Option<String> {
        let mut hidden = String::new();
        let mut done = 0;
        for captures in self.regex.captures_iter(text) {
            let secret = secret(&captures);
            let (value, rest) = (&text[secret.clone()], &text[secret.end..]);
            if value.starts_with(MARK) || (self.spares)(value, rest) {
                continue;
            }
            hidden.push_str(&text[done..secret.start]);
            hidden.push_str(&mark(&self.kind));
            done = secret.end;
        }
        (done > 0).then(|| hidden + &text[done..])
    }
}

/// The first group that took part; all of the match where there are none.
fn secret(captures: &Captures<'_>) -> std::ops::Range<usize> {
    let groups = captures.iter().skip(1).flatten();
    let whole = captures.get(0).into_iter();
    groups.chain(whole).map(|it| it.range()).next().expect("a match has a whole")
}

fn mark(kind: &str) -> String {
    format!("{MARK}{kind}]")
}

/// Whatever matches is a secret.
pub(crate) fn spares_nothing(_: &str, _: &str) -> bool {
    false
}

fn own_pattern(own: &Own) -> Result<Pattern, BadSecret> {
    let kind = || own.kind.clone();
    if own.kind.is_empty() {
        return Err(BadSecret::Nameless { regex: own.regex.clone() });
    }
    let regex = Regex::new(&own.regex)
        .map_err(|cause| BadSecret::Regex { kind: kind(), cause: Box::new(cause) })?;
    if regex.is_match("") {
        return Err(BadSecret::Empty { kind: kind() });
    }
    Ok(Pattern { kind: kind().into(), regex, spares: spares_nothing })
}

/// The pattern for what an environment variable holds; none where it is not set.
fn value_of(name: &str) -> Result<Option<Pattern>, BadSecret> {
    let Some(value) = env::var_os(name) else { return Ok(None) };
    let value = value.to_string_lossy();
    if value.chars().count() < SHORTEST {
        return Err(BadSecret::Short { name: name.to_owned() });
    }
    let regex = Regex::new(&regex::escape(&value))
        .map_err(|cause| BadSecret::Regex { kind: name.to_owned(), cause: Box::new(cause) })?;
    Ok(Some(Pattern { kind: name.to_owned().into(), regex, spares: spares_nothing }))
}

#[cfg(test)]
mod tests;
