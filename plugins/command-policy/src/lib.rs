//! Allows, denies or asks about tool calls by rules, also about each command in a shell text.

mod config;
mod fit;
mod glob;
mod policy;
mod rule;
mod shell;
mod view;

use lockgate_plugin_api::{Create, Plugin, PluginError, PreToolDecision, ToolCall, export_plugin};

use policy::{Policy, Verdict};

/// The plugin.
#[derive(Debug)]
pub struct CommandPolicy {
    policy: Policy,
}

impl Plugin for CommandPolicy {
    fn create(create: &Create) -> Result<Self, PluginError> {
        Ok(Self { policy: Policy::new(create.config()?)? })
    }
}

impl CommandPolicy {
    /// Says what the rules say of a call.
    fn judge(&self, call: &ToolCall) -> Result<Option<PreToolDecision>, PluginError> {
        let finding = self.policy.judge(call.name(), call.arguments())?;
        Ok(match finding.verdict {
            Verdict::Allow => Some(PreToolDecision::allow()),
            Verdict::Pass => None,
            Verdict::Ask => Some(PreToolDecision::ask(finding.message)),
            Verdict::Deny => Some(PreToolDecision::deny(finding.message)),
        })
    }
}

export_plugin!(CommandPolicy {
    description: "Allows, denies or asks about tool calls by rules, also about each command in a shell text",
    config_schema: include_str!("config_schema.json"),
    pre_execute: judge @ 20,
});
