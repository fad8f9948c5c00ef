//! How many times in a row each agent has made the same call.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

/// The agents that are remembered. Of more, the one that has been quiet for longest is forgotten.
const MOST_AGENTS: usize = 1_000;

/// The chains of all agents. Each is a few words, whatever the size of the calls.
#[derive(Debug, Default)]
pub(crate) struct Chains {
    agents: HashMap<u64, Chain>,
    /// Counts the calls, to tell who has been quiet.
    calls: u64,
}

/// The calls of one agent since it last made another.
#[derive(Debug)]
struct Chain {
    /// What the call is: see [`identity`].
    call: u64,
    length: u64,
    /// When it last grew, by the count of calls.
    at: u64,
}

impl Chains {
    /// Counts a call and returns how many like it `agent` has made in a row.
    pub(crate) fn grow(&mut self, agent: u64, call: u64) -> u64 {
        self.calls += 1;
        let at = self.calls;
        let chain = self.agents.entry(agent).or_insert(Chain { call, length: 0, at });
        let length = if chain.call == call { chain.length + 1 } else { 1 };
        *chain = Chain { call, length, at };
        if self.agents.len() > MOST_AGENTS {
            let quietest = self.agents.iter().min_by_key(|it| it.1.at).map(|it| *it.0);
            quietest.and_then(|it| self.agents.remove(&it));
        }
        length
    }

    /// `agent` begins anew.
    pub(crate) fn reset(&mut self, agent: u64) {
        self.agents.remove(&agent);
    }
}

/// What makes a call the same as another: the tool, and arguments that say the same, whatever
/// the order of their keys. Two calls that differ are confused once in 2^64, which costs a
/// reminder too many.
pub(crate) fn identity(tool: &str, arguments: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    tool.hash(&mut hasher);
    match serde_json::from_str(arguments) {
        Ok(value) => hash(&value, &mut hasher),
        // Too deep to be sorted: then the same is what is written the same.
        Err(_) => arguments.hash(&mut hasher),
    }
    hasher.finish()
}

fn hash(value: &Value, hasher: &mut impl Hasher) {
    std::mem::discriminant(value).hash(hasher);
    match value {
        Value::Null => {}
        Value::Bool(it) => it.hash(hasher),
        Value::Number(it) => it.hash(hasher),
        Value::String(it) => it.hash(hasher),
        Value::Array(items) => {
            items.len().hash(hasher);
            items.iter().for_each(|it| hash(it, hasher));
        }
        Value::Object(fields) => {
            // Whether serde_json sorts them is a feature that some other crate may have set.
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|it| it.0);
            fields.len().hash(hasher);
            for (key, value) in fields {
                key.hash(hasher);
                hash(value, hasher);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Chains, MOST_AGENTS, identity};

    #[test]
    fn only_the_same_calls_in_a_row_make_a_chain() {
        let mut chains = Chains::default();
        let calls = [1, 1, 1, 2, 1, 1];
        assert_eq!(calls.map(|it| chains.grow(7, it)), [1, 2, 3, 1, 1, 2]);
        chains.reset(7);
        assert_eq!(chains.grow(7, 1), 1);
    }

    #[test]
    fn agents_have_chains_of_their_own() {
        let mut chains = Chains::default();
        let calls = [(1, 5), (2, 5), (1, 5), (2, 6), (1, 5)];
        assert_eq!(calls.map(|(agent, call)| chains.grow(agent, call)), [1, 1, 2, 1, 3]);
        chains.reset(2);
        assert_eq!(chains.grow(1, 5), 4);
    }

    #[test]
    fn the_agent_that_was_quiet_for_longest_is_forgotten() {
        let mut chains = Chains::default();
        let most = MOST_AGENTS as u64;
        assert!((0..most).all(|agent| chains.grow(agent, 1) == 1));
        assert_eq!(chains.grow(0, 1), 2);
        assert_eq!(chains.grow(most, 1), 1);
        assert_eq!(chains.agents.len(), MOST_AGENTS);
        assert_eq!([0, 2, 1].map(|agent| chains.grow(agent, 1)), [3, 2, 1]);
    }

    #[test]
    fn calls_are_the_same_if_their_arguments_say_the_same() {
        check(r#"{"a":1,"b":{"c":[2],"d":null}}"#, r#"{ "b": {"d":null, "c":[2]}, "a":1 }"#, true);
        check(r#"{"a":"\u0041"}"#, r#"{"a":"A"}"#, true);
        check("[1,2]", "[2,1]", false);
        check(r#"{"a":1}"#, r#"{"a":2}"#, false);
        check(r#"{"a":1}"#, r#"{"b":1}"#, false);
        check(r#"{"a":"1"}"#, r#"{"a":1}"#, false);
        check(r#"[["a"],"b"]"#, r#"[["a","b"]]"#, false);
        check("null", "false", false);
        let deep = |inner: &str| "[".repeat(200) + inner + &"]".repeat(200);
        check(&deep("1"), &deep("1"), true);
        check(&deep("1"), &deep("2"), false);
        assert_ne!(identity("a", "{}"), identity("b", "{}"));

        #[track_caller]
        fn check(one: &str, other: &str, is_same: bool) {
            assert_eq!(identity("read", one) == identity("read", other), is_same);
        }
    }
}
