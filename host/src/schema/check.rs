//! One JSON text against a schema: what it violates, and where.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::{Allowed, Fields, Kind, Node, Property, Role, span};

/// The violations that are told; of more only the number.
const MOST: usize = 8;

/// The characters of a key that are told.
const KEY: usize = 80;

/// A text that is being checked.
pub(super) struct Check<'a> {
    text: &'a str,
    role: Role,
    /// The way to the part that is looked at.
    path: Vec<Step<'a>>,
    /// Whether violations are collected; if not, the first one ends the check.
    is_telling: bool,
    told: Vec<String>,
    more: usize,
}

/// A part of a part.
enum Step<'a> {
    /// Of an object, by its key as the text has it, between the quotes.
    Key(&'a str),
    /// Of a list.
    Index(usize),
}

/// A part is not what it has to be, and nobody wants to know more.
struct Mismatch;

impl<'a> Check<'a> {
    /// A check of `text`, which is JSON.
    pub(super) fn new(text: &'a str, role: Role) -> Self {
        Self { text, role, path: Vec::new(), is_telling: true, told: Vec::new(), more: 0 }
    }

    /// Checks the whole text.
    pub(super) fn whole(mut self, node: &Node) -> Result<(), String> {
        let begin = span::after_space(self.text.as_bytes(), 0);
        let end = self.value(node, begin);
        debug_assert!(end.is_ok(), "a check that tells goes to the end");
        if self.told.is_empty() {
            return Ok(());
        }
        let mut told = self.told.join("; ");
        if self.more > 0 {
            write!(told, "; and {} more", self.more).expect("a string takes everything");
        }
        Err(told)
    }

    /// Checks the value that begins at `at`, and returns where it ends.
    fn value(&mut self, node: &Node, at: usize) -> Result<usize, Mismatch> {
        match node {
            Node::Any => Ok(self.end(at)),
            Node::Scalar { kind, allowed } => self.scalar(*kind, allowed.as_ref(), at),
            Node::Array { items } => self.list(items.as_deref(), at),
            Node::Object(fields) => self.object(fields, at),
            Node::OneOf(branches) => self.one_of(branches, at),
        }
    }

    fn scalar(
        &mut self,
        kind: Kind,
        allowed: Option<&Allowed>,
        at: usize,
    ) -> Result<usize, Mismatch> {
        let end = self.end(at);
        let text = self.text.get(at..end).unwrap_or_default();
        if !kind.holds(text) {
            self.violated(kind.rule())?;
        } else if let Some(allowed) = allowed.filter(|it| !it.has(text)) {
            self.violated(&allowed.rule)?;
        }
        Ok(end)
    }

    fn list(&mut self, items: Option<&Node>, at: usize) -> Result<usize, Mismatch> {
        if self.byte(at) != Some(b'[') {
            self.violated("must be an array")?;
            return Ok(self.end(at));
        }
        let Some(items) = items else { return Ok(self.end(at)) };
        let mut at = span::after_space(self.text.as_bytes(), at + 1);
        let mut index = 0;
        while self.byte(at).is_some_and(|it| it != b']') {
            let end = self.part(Step::Index(index), items, at)?;
            at = span::after_comma(self.text.as_bytes(), end);
            index += 1;
        }
        Ok(at + 1)
    }

    fn object(&mut self, fields: &Fields, at: usize) -> Result<usize, Mismatch> {
        if self.byte(at) != Some(b'{') {
            self.violated("must be an object")?;
            return Ok(self.end(at));
        }
        if fields.are_free() {
            return Ok(self.end(at));
        }
        let (text, bytes) = (self.text, self.text.as_bytes());
        let mut is_there = vec![false; fields.required.len()];
        let mut at = span::after_space(bytes, at + 1);
        while self.byte(at) == Some(b'"') {
            let end = span::end_of_string(bytes, at);
            let key = text.get(at + 1..end - 1).unwrap_or_default();
            // Behind the colon.
            let begin = span::after_space(bytes, span::after_space(bytes, end) + 1);
            let end = match property(fields, key) {
                Some(Property { node, required }) => {
                    if let Some(place) = required {
                        is_there[*place] = true;
                    }
                    self.part(Step::Key(key), node, begin)?
                }
                None => {
                    if fields.is_closed {
                        self.undeclared(key)?;
                    }
                    self.end(begin)
                }
            };
            at = span::after_comma(bytes, end);
        }
        for (key, _) in fields.required.iter().zip(is_there).filter(|(_, is_there)| !is_there) {
            self.tell(|it| format!("missing required property \"{}\"", it.place(Some(key))))?;
        }
        Ok(at + 1)
    }

    fn one_of(&mut self, branches: &[Node], at: usize) -> Result<usize, Mismatch> {
        let was_telling = std::mem::replace(&mut self.is_telling, false);
        let depth = self.path.len();
        let mut matched = 0_usize;
        for branch in branches {
            matched += usize::from(self.value(branch, at).is_ok());
            self.path.truncate(depth);
        }
        self.is_telling = was_telling;
        if matched != 1 {
            self.violated(&format!("must match exactly one oneOf branch (matched {matched})"))?;
        }
        Ok(self.end(at))
    }

    /// Checks a part of the value that is looked at.
    fn part(&mut self, step: Step<'a>, node: &Node, at: usize) -> Result<usize, Mismatch> {
        self.path.push(step);
        let end = self.value(node, at)?;
        self.path.pop();
        Ok(end)
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// Where the value at `at` ends.
    fn end(&self, at: usize) -> usize {
        span::end(self.text.as_bytes(), at)
    }

    /// The part that is looked at is not as `rule` says.
    fn violated(&mut self, rule: &str) -> Result<(), Mismatch> {
        self.tell(|it| format!("\"{}\" {rule}", it.place(None)))
    }

    /// The object that is looked at has a key that no property of it is called by.
    fn undeclared(&mut self, key: &str) -> Result<(), Mismatch> {
        self.tell(|it| {
            let place = it.place(Some(key));
            format!("\"{place}\" is not a declared property (additionalProperties: false)")
        })
    }

    fn tell(&mut self, violation: impl FnOnce(&Self) -> String) -> Result<(), Mismatch> {
        if !self.is_telling {
            return Err(Mismatch);
        }
        if self.told.len() < MOST {
            let violation = violation(self);
            self.told.push(violation);
        } else {
            self.more += 1;
        }
        Ok(())
    }

    /// The path of what is looked at, or of its part `key`.
    fn place(&self, key: Option<&str>) -> String {
        let mut place = String::new();
        if self.role == Role::Value {
            place.push_str("value");
        }
        let last = key.map(Step::Key);
        for step in self.path.iter().chain(&last) {
            match step {
                Step::Key(key) => {
                    let dot = if place.is_empty() { "" } else { "." };
                    write!(place, "{dot}{}", cut(key))
                }
                Step::Index(index) => write!(place, "[{index}]"),
            }
            .expect("a string takes everything");
        }
        if place.is_empty() { "arguments".into() } else { place }
    }
}

/// What `fields` say of a key as the text has it, between the quotes.
fn property<'n>(fields: &'n Fields, key: &str) -> Option<&'n Property> {
    if !key.contains('\\') {
        return fields.properties.get(key);
    }
    // A key that is no Unicode is nobody's name.
    let key: String = serde_json::from_str(&format!("\"{key}\"")).ok()?;
    fields.properties.get(&key)
}

/// As much of a key as is told.
fn cut(key: &str) -> Cow<'_, str> {
    match key.char_indices().nth(KEY) {
        Some((end, _)) => format!("{}…", &key[..end]).into(),
        None => key.into(),
    }
}

#[cfg(test)]
mod tests;
