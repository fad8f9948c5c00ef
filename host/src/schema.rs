//! The JSON Schemas of tools: the dialect that is checked whole, and JSON texts held against them.
//!
//! A text is looked at where it lies. No tree of it is built, so nothing of it is lost, and how
//! deep it nests does not matter: as deep as the schema itself the check calls itself, and further
//! in it only looks for the end.

mod check;
mod decimal;
mod dialect;
mod span;

use std::collections::BTreeMap;

use serde_json::Value;

use check::Check;
use decimal::Decimal;

/// A schema that was read, and against which texts are checked.
#[derive(Debug)]
pub(crate) struct Schema {
    root: Node,
}

/// What a text is to a tool, which is how a violation calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// The arguments of a call: a path begins with the name of one.
    Arguments,
    /// What a tool returned: a path begins with `value`.
    Value,
}

impl Schema {
    /// Reads a schema that its plugin calls `name` (`parameters`, `output`).
    ///
    /// # Errors
    /// Every place at which it is outside the dialect, and in what way.
    pub(crate) fn read(schema: &Value, name: &str) -> Result<Self, Vec<String>> {
        dialect::read(schema, name).map(|root| Self { root })
    }

    /// Whether the JSON text `text` is what the schema says. Of an object that has a key twice,
    /// both values have to be.
    ///
    /// # Errors
    /// Each violation with its path; of very many the first ones, and how many more there are.
    pub(crate) fn check(&self, text: &str, role: Role) -> Result<(), String> {
        // The text is read for what a schema says about its inside, and for nothing else.
        let first = text.trim_ascii_start().as_bytes().first();
        let is_right = match &self.root {
            Node::Any => true,
            Node::Object(fields) if fields.are_free() => first == Some(&b'{'),
            Node::Array { items: None } => first == Some(&b'['),
            Node::Scalar { .. } | Node::Array { .. } | Node::Object(_) | Node::OneOf(_) => false,
        };
        if is_right { Ok(()) } else { Check::new(text, role).whole(&self.root) }
    }
}

/// A schema or a part of one.
#[derive(Debug)]
enum Node {
    /// Any value.
    Any,
    /// A value without parts.
    Scalar {
        kind: Kind,
        /// The only values there are, where not all of the kind are.
        allowed: Option<Allowed>,
    },
    /// A list.
    Array {
        /// What each of its items is; anything if there is none.
        items: Option<Box<Node>>,
    },
    /// An object.
    Object(Fields),
    /// What exactly one of these says.
    OneOf(Vec<Node>),
}

/// A kind of value without parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Number,
    Integer,
    Boolean,
    Null,
}

/// The keys of an object.
#[derive(Debug, Default)]
struct Fields {
    properties: BTreeMap<String, Property>,
    /// The keys that have to be there.
    required: Vec<String>,
    /// Whether there are no keys but the properties.
    is_closed: bool,
}

/// A key that a schema names.
#[derive(Debug)]
struct Property {
    node: Node,
    /// Its place among the required ones, if it is one.
    required: Option<usize>,
}

impl Fields {
    /// Whether every object will do.
    fn are_free(&self) -> bool {
        self.properties.is_empty() && !self.is_closed
    }
}

/// The values that are allowed.
#[derive(Debug)]
struct Allowed {
    values: Vec<Scalar>,
    /// The same in words: `must be one of ["a","b"]`.
    rule: String,
}

impl Allowed {
    /// Whether the JSON text of a value without parts is one of them.
    fn has(&self, text: &str) -> bool {
        let plain = text.strip_prefix('"').filter(|it| !it.contains('\\'));
        if let Some(plain) = plain.and_then(|it| it.strip_suffix('"')) {
            let mut values = self.values.iter();
            return values.any(|it| matches!(it, Scalar::Text(own) if own == plain));
        }
        Scalar::read(text).is_some_and(|it| self.values.contains(&it))
    }
}

/// A value without parts, as it is compared.
#[derive(Debug, PartialEq, Eq)]
enum Scalar {
    Text(String),
    Number(Decimal),
    /// `true`, `false` or `null`.
    Word(String),
}

impl Scalar {
    /// The value that a JSON text is. `None` for a list, an object, and a text that no schema can
    /// name, since it is no Unicode.
    fn read(text: &str) -> Option<Self> {
        match text.as_bytes().first()? {
            b'"' => serde_json::from_str(text).ok().map(Self::Text),
            b'-' | b'0'..=b'9' => Some(Self::Number(Decimal::read(text))),
            b'{' | b'[' => None,
            _ => Some(Self::Word(text.to_owned())),
        }
    }
}

impl Kind {
    /// Whether the JSON text of one value is of the kind.
    fn holds(self, text: &str) -> bool {
        let Some(first) = text.as_bytes().first() else { return false };
        let is_number = matches!(first, b'-' | b'0'..=b'9');
        match self {
            Self::Text => *first == b'"',
            Self::Number => is_number,
            Self::Integer => is_number && decimal::is_integer(text),
            Self::Boolean => matches!(first, b't' | b'f'),
            Self::Null => *first == b'n',
        }
    }

    /// The rule in words.
    fn rule(self) -> &'static str {
        match self {
            Self::Text => "must be a string",
            Self::Number => "must be a number",
            Self::Integer => "must be an integer",
            Self::Boolean => "must be a boolean",
            Self::Null => "must be null",
        }
    }
}
