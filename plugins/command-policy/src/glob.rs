//! Globs over texts and over the words of a command.
//!
//! Ours, because a word of a command may have a hole in it: a glob fits surely where its `*`
//! takes the hole, and perhaps where the hole may be what it asks for. No crate answers that.

use crate::fit::{Certainty, Fit};
use crate::shell::HOLE;
use crate::view::View;

/// A glob over a whole text: `*`, `?`, `[a-z]`, `[!a-z]`, and `\` before what is meant literally.
#[derive(Debug)]
pub(crate) struct Glob {
    tokens: Vec<Token>,
}

#[derive(Debug)]
enum Token {
    Literal(char),
    /// `?`
    One,
    /// `*`
    Any,
    /// `[…]`
    Class {
        is_negated: bool,
        ranges: Vec<(char, char)>,
    },
}

impl Token {
    fn takes(&self, c: char) -> bool {
        match self {
            Self::Literal(literal) => *literal == c,
            Self::One | Self::Any => true,
            Self::Class { is_negated, ranges } => {
                ranges.iter().any(|(first, last)| (*first..=*last).contains(&c)) != *is_negated
            }
        }
    }
}

/// Why a text is no glob.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadGlob {
    #[error("its `[` is not closed; write `\\[` for the character")]
    OpenClass,
    #[error("the range `{0}-{1}` in it is empty; write the lower character first")]
    EmptyRange(char, char),
    #[error("nothing follows its last `\\`; write `\\\\` for the character")]
    OpenEscape,
    #[error("it is empty; leave the key out, or write `*`")]
    Empty,
}

impl Glob {
    /// Reads a glob.
    pub(crate) fn new(text: &str) -> Result<Self, BadGlob> {
        if text.is_empty() {
            return Err(BadGlob::Empty);
        }
        let mut tokens = Vec::new();
        let mut rest = text.chars();
        while let Some(c) = rest.next() {
            tokens.push(match c {
                '*' => Token::Any,
                '?' => Token::One,
                '[' => class(&mut rest)?,
                '\\' => Token::Literal(rest.next().ok_or(BadGlob::OpenEscape)?),
                c => Token::Literal(c),
            });
        }
        Ok(Self { tokens })
    }

    /// Whether it fits the whole of `text`, in which nothing is a hole.
    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.run(text, |_| None)
    }

    fn fits(&self, text: &str, certainty: Certainty) -> bool {
        self.run(text, |c| (c == HOLE).then_some(certainty))
    }

    /// Follows all the ways through the tokens at once; `hole` says which characters are one.
    fn run(&self, text: &str, hole: impl Fn(char) -> Option<Certainty>) -> bool {
        let mut places = vec![false; self.tokens.len() + 1];
        let mut next = places.clone();
        places[0] = true;
        for c in text.chars() {
            self.skip_any(&mut places);
            next.fill(false);
            let hole = hole(c);
            for (at, token) in self.tokens.iter().enumerate().filter(|(at, _)| places[*at]) {
                match token {
                    Token::Any => next[at] = true,
                    token if hole.is_none() => next[at + 1] |= token.takes(c),
                    _ => {}
                }
            }
            if hole == Some(Certainty::Possible) {
                let first = places.iter().position(|it| *it).unwrap_or(places.len());
                next[first..].fill(true);
            }
            std::mem::swap(&mut places, &mut next);
        }
        self.skip_any(&mut places);
        places[self.tokens.len()]
    }

    /// A `*` may take nothing.
    fn skip_any(&self, places: &mut [bool]) {
        for (at, token) in self.tokens.iter().enumerate() {
            places[at + 1] |= places[at] && matches!(token, Token::Any);
        }
    }
}

/// Reads a class behind its `[`.
fn class(rest: &mut std::str::Chars<'_>) -> Result<Token, BadGlob> {
    let is_negated = rest.as_str().starts_with(['!', '^']);
    if is_negated {
        rest.next();
    }
    let mut ranges = Vec::new();
    loop {
        let first = match rest.next().ok_or(BadGlob::OpenClass)? {
            // As in a shell, a `]` that comes first is the character.
            ']' if !ranges.is_empty() => return Ok(Token::Class { is_negated, ranges }),
            '\\' => rest.next().ok_or(BadGlob::OpenClass)?,
            c => c,
        };
        let is_range = rest.as_str().starts_with('-') && !rest.as_str().starts_with("-]");
        let last = match is_range {
            true => rest.nth(1).ok_or(BadGlob::OpenClass)?,
            false => first,
        };
        if first > last {
            return Err(BadGlob::EmptyRange(first, last));
        }
        ranges.push((first, last));
    }
}

/// A glob over the words of a command. Its words fit the first ones of the command; a `*` alone
/// fits any number of them.
#[derive(Debug)]
pub(crate) struct WordsGlob {
    words: Vec<WordGlob>,
}

#[derive(Debug)]
enum WordGlob {
    Any,
    One(Glob),
}

impl WordsGlob {
    /// Reads a glob for each word.
    pub(crate) fn new(text: &str) -> Result<Self, BadGlob> {
        let word = |it: &str| match it {
            "*" => Ok(WordGlob::Any),
            it => Glob::new(it).map(WordGlob::One),
        };
        let words = text.split_whitespace().map(word).collect::<Result<Vec<_>, _>>()?;
        if words.is_empty() { Err(BadGlob::Empty) } else { Ok(Self { words }) }
    }

    /// How surely it fits the first of these words.
    pub(crate) fn fit(&self, words: &[View<'_>]) -> Fit {
        Fit::tried(|certainty| self.fits(words, certainty))
    }

    /// Follows all the ways through the globs at once, up to the end of one.
    fn fits(&self, words: &[View<'_>], certainty: Certainty) -> bool {
        let mut places = vec![false; self.words.len() + 1];
        places[0] = true;
        self.skip_any(&mut places);
        for word in words {
            if places[self.words.len()] {
                return true;
            }
            let mut next = vec![false; places.len()];
            for (at, glob) in self.words.iter().enumerate().filter(|(at, _)| places[*at]) {
                match glob {
                    WordGlob::Any => next[at] = true,
                    WordGlob::One(_) if word.splits => {}
                    WordGlob::One(glob) => next[at + 1] |= glob.fits(word.value, certainty),
                }
            }
            if word.splits && certainty == Certainty::Possible {
                let first = places.iter().position(|it| *it).unwrap_or(places.len());
                next[first..].fill(true);
            }
            self.skip_any(&mut next);
            places = next;
            if !places.contains(&true) {
                return false;
            }
        }
        places[self.words.len()]
    }

    fn skip_any(&self, places: &mut [bool]) {
        for (at, glob) in self.words.iter().enumerate() {
            places[at + 1] |= places[at] && matches!(glob, WordGlob::Any);
        }
    }
}

#[cfg(test)]
mod tests;
