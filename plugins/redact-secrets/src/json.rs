//! The texts in a JSON text, found without reading the rest of it, and replaced in a tree.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::secrets::Secrets;

/// Whether a text in `json`, keys included, may hold a secret.
///
/// It builds no tree, takes any depth, and copies only what is escaped.
pub(crate) fn may_hold(secrets: &Secrets, json: &str) -> bool {
    texts(json).any(|it| secrets.may_be_in(&it.text) || it.is_key && secrets.is_name(&it.text))
}

/// A text in a JSON text.
#[derive(Debug, PartialEq)]
struct Text<'a> {
    text: Cow<'a, str>,
    is_key: bool,
}

/// The texts in `json`, which is valid.
fn texts(json: &str) -> impl Iterator<Item = Text<'_>> {
    let mut rest = json;
    std::iter::from_fn(move || {
        // Outside of texts, a quote can only begin one.
        let opened = &rest[rest.find('"')? + 1..];
        let (raw, after) = closed(opened)?;
        rest = after;
        let is_key = after.trim_start().starts_with(':');
        Some(Text { text: unescaped(raw), is_key })
    })
}

/// What stands before the quote that closes a text, and what stands behind it.
fn closed(opened: &str) -> Option<(&str, &str)> {
    let mut bytes = opened.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => return Some((&opened[..at], &opened[at + 1..])),
            b'\\' => drop(bytes.next()),
            _ => {}
        }
    }
    None
}

fn unescaped(raw: &str) -> Cow<'_, str> {
    if !raw.contains('\\') {
        return Cow::Borrowed(raw);
    }
    // Half a surrogate pair is all that serde refuses in a valid text; it hides no secret.
    serde_json::from_str(&format!("\"{raw}\"")).map_or(Cow::Borrowed(raw), Cow::Owned)
}

/// Replaces the secrets in every text of `value`, and what stands under names whose values are
/// secrets. Says whether there were any.
pub(crate) fn hide(secrets: &Secrets, value: &mut Value) -> bool {
    match value {
        Value::String(text) => secrets.hide(text),
        Value::Array(items) => items.iter_mut().fold(false, |found, it| hide(secrets, it) | found),
        Value::Object(fields) => hide_fields(secrets, fields),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// As [`hide`], for an object.
pub(crate) fn hide_fields(secrets: &Secrets, fields: &mut Map<String, Value>) -> bool {
    let mut found = false;
    for (mut key, mut value) in std::mem::take(fields) {
        found |= match &mut value {
            Value::String(text) if secrets.is_name(&key) => secrets.hide_named(text),
            value => hide(secrets, value),
        };
        found |= secrets.hide(&mut key);
        fields.insert(unused(fields, key), value);
    }
    found
}

/// `key`, with a number where two keys have become the same.
fn unused(fields: &Map<String, Value>, key: String) -> String {
    if !fields.contains_key(&key) {
        return key;
    }
    let mut numbered = (2_u64..).map(|number| format!("{key} {number}"));
    numbered.find(|it| !fields.contains_key(it)).expect("numbers do not run out")
}

#[cfg(test)]
mod tests;
