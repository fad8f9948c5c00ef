//! A listener answers with its seam's Decision.

use lockgate_plugin_api::{Create, GuardDecision, Plugin, PluginError, ToolCall, export_plugin};

struct Policy;

impl Plugin for Policy {
    fn create(_: &Create) -> Result<Self, PluginError> {
        Ok(Self)
    }
}

impl Policy {
    fn gate(&self, _: &ToolCall) -> Option<GuardDecision> {
        None
    }

    fn audit(&self, _: &ToolCall) -> bool {
        true
    }
}

export_plugin!(Policy {
    pre_execute: gate,
    guard: audit,
});

fn main() {}
