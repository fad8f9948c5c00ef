//! What a model is told.

use lockgate_plugin_api::{Message, Source};
use serde_json::{Map, Value, json};

/// The characters of the arguments that are shown.
const MOST_SHOWN: usize = 500;

/// A word to a model that may not have noticed.
pub(crate) fn gentle(tool: &str, times: u64) -> Message {
    let text = format!(
        "`{tool}` has now been called {times} times in a row with the same arguments. If that is \
         not getting anywhere, another way may be better."
    );
    notice(tool, times, text)
}

/// A word to a model that has been told before.
pub(crate) fn detailed(tool: &str, times: u64, arguments: &str) -> Message {
    let text = format!(
        "`{tool}` has now been called {times} times in a row with the same arguments, and with no \
         other call in between:\n{}\nThe next call like it will hardly end differently. Look at \
         what it returned, then change the arguments, use another tool, or say what is in the way.",
        shown(arguments)
    );
    notice(tool, times, text)
}

fn notice(tool: &str, times: u64, text: String) -> Message {
    let summary: String = format!("{times} calls of {tool} in a row").chars().take(120).collect();
    let form = Map::from_iter([
        ("form".to_owned(), json!("notice")),
        ("summary".to_owned(), Value::String(summary)),
    ]);
    let plugin = env!("CARGO_PKG_NAME");
    let source = Source::Plugin { plugin: plugin.into(), form };
    Message { source, ..Message::from_plugin(plugin, text) }
}

/// `arguments`, cut where they are long.
fn shown(arguments: &str) -> String {
    if arguments.chars().nth(MOST_SHOWN).is_none() {
        return arguments.to_owned();
    }
    arguments.chars().take(MOST_SHOWN - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn at_most_500_characters_of_the_arguments_are_shown() {
        check(&"ä".repeat(500), &"ä".repeat(500));
        check(&"ä".repeat(501), &("ä".repeat(499) + "…"));
        check("{}", "{}");

        #[track_caller]
        fn check(arguments: &str, expected: &str) {
            assert_eq!(shown(arguments), expected);
        }
    }
}
