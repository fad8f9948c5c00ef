//! Replaces secrets in what tools return before anybody reads them.

mod built_in;
mod json;
mod outcome;
mod secrets;

use lockgate_plugin_api::{
    Create, Next, Plugin, PluginError, PostToolDecision, ToolCall, ToolOutcome, export_plugin,
};
use serde::Deserialize;

use built_in::Kind;
use secrets::{Own, Secrets};

/// The plugin.
#[derive(Debug)]
pub struct RedactSecrets {
    /// What is looked for, compiled once.
    secrets: Secrets,
}

/// What may be set under `[plugins.redact-secrets.config]`.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Config {
    /// The built-in kinds that are replaced.
    kinds: Vec<Kind>,
    /// Patterns of the person's own.
    patterns: Vec<Own>,
    /// Environment variables whose values are secrets.
    env: Vec<String>,
}

impl Default for Config {
    fn default() -> Self {
        Self { kinds: Kind::ALL.to_vec(), patterns: Vec::new(), env: Vec::new() }
    }
}

impl Plugin for RedactSecrets {
    fn create(create: &Create) -> Result<Self, PluginError> {
        let Config { kinds, patterns, env } = create.config()?;
        Ok(Self { secrets: Secrets::new(&kinds, &patterns, &env)? })
    }
}

impl RedactSecrets {
    /// Takes secrets out of what came from the body and the listeners around it: here alone can
    /// the message of a failure be replaced, and nobody who reviews the outcome sees them.
    async fn clean(&self, _: &ToolCall, next: &mut Next) -> Result<ToolOutcome, PluginError> {
        let outcome = next.run().await;
        Ok(outcome::outcome(&self.secrets, &outcome)?.unwrap_or(outcome))
    }

    /// Asks the listeners further in first, and takes secrets out of what they decide and out of
    /// what the tool showed, which may be its arguments.
    async fn review(
        &self,
        _: &ToolCall,
        outcome: &ToolOutcome,
        next: &mut Next<PostToolDecision>,
    ) -> Result<PostToolDecision, PluginError> {
        let decided = next.run().await;
        outcome::decision(&self.secrets, outcome, decided)
    }
}

export_plugin!(RedactSecrets {
    description: "Replaces secrets in what tools return before anybody reads them",
    config_schema: include_str!("config_schema.json"),
    execute: async clean @ 1000000,
    post_execute: async review @ 1000000,
});
