//! What plugins may append to a log themselves.

use serde_json::{Value, json};

use super::Fact;

/// What the types begin with of which the host alone writes events.
const HOSTS: [&str; 9] =
    ["agent", "approval", "assistant", "request", "session", "step", "tool", "turn", "user"];

impl Fact {
    /// Whether a plugin may append events of this type if its manifest says so: `word/word`, and
    /// not one that the conversation or the course of a session is made of.
    pub fn is_open_to_plugins(kind: &str) -> bool {
        let is_word = |it: &str| {
            let inner = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_' | b'.');
            !it.is_empty() && it.bytes().all(inner)
        };
        let mut words = kind.split('/');
        let first = words.next().unwrap_or_default();
        is_word(first) && !HOSTS.contains(&first) && kind.contains('/') && words.all(is_word)
    }

    /// The fact of the type `kind` that says `data`.
    ///
    /// # Errors
    /// When the type is known and says something else.
    pub(crate) fn of_kind(kind: &str, data: Value) -> serde_json::Result<Self> {
        serde_json::from_value(json!({ "type": kind, "data": data }))
    }

    /// Whether it has a place only while a turn is open.
    pub(crate) fn belongs_to_a_turn(&self) -> bool {
        matches!(self, Self::TodoWrite { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugins_write_types_of_their_own() {
        #[track_caller]
        fn check(kind: &str, expected: bool) {
            assert_eq!(Fact::is_open_to_plugins(kind), expected, "{kind}");
        }
        check("hook/invoked", true);
        check("todo/write", true);
        check("acme.audit/call-seen/v2", true);
        check("tool/result", false);
        check("turn/start", false);
        check("session/anything", false);
        check("tools/mine", true);
        check("single", false);
        check("", false);
        check("/", false);
        check("a/", false);
        check("a b/c", false);
    }
}
