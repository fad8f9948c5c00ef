//! What may be set under `[plugins.command-policy.config]`.

use serde::Deserialize;
use serde_json::Value;

/// The whole of it.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    /// The rules, each read on its own so that a bad one can be told by its index.
    pub(crate) rules: Vec<Value>,
    /// Which tools run a shell text, and where in their arguments it is.
    pub(crate) shells: Vec<Shell>,
    /// What becomes of what cannot be read, or can be known only by running it.
    pub(crate) unparsable: Otherwise,
    /// What becomes of what no rule names.
    pub(crate) default: Otherwise,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            rules: Vec::new(),
            shells: vec![Shell { tool: "bash".into(), argument: "command".into() }],
            unparsable: Otherwise::Ask,
            default: Otherwise::Pass,
        }
    }
}

/// A tool that runs a shell text.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Shell {
    /// A glob over the names of tools.
    pub(crate) tool: String,
    /// The argument with the text: a key, or a JSON pointer.
    pub(crate) argument: String,
}

/// A rule, as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuleConfig {
    /// A glob over the names of tools; left out, every tool.
    pub(crate) tool: Option<String>,
    /// A glob over the words of a simple command.
    pub(crate) command: Option<String>,
    /// A regex that is searched for in a simple command.
    pub(crate) command_regex: Option<String>,
    /// The argument that `glob` and `regex` are about: a key, or a JSON pointer; left out, all of
    /// them as JSON.
    pub(crate) argument: Option<String>,
    /// A glob over the whole argument.
    pub(crate) glob: Option<String>,
    /// A regex that is searched for in the argument.
    pub(crate) regex: Option<String>,
    /// What becomes of what the rule names.
    pub(crate) verdict: Ruling,
    /// What the model, or the person who is asked, is told.
    pub(crate) reason: Option<String>,
}

/// What a rule says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ruling {
    Allow,
    Ask,
    Deny,
}

/// What is said where no rule does. Never that something is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Otherwise {
    Pass,
    Ask,
    Deny,
}
