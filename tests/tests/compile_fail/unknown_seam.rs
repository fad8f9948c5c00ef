//! There are eight seams.

use lockgate_plugin_api::{Create, Plugin, PluginError, PreToolDecision, ToolCall, export_plugin};

struct Policy;

impl Plugin for Policy {
    fn create(_: &Create) -> Result<Self, PluginError> {
        Ok(Self)
    }
}

impl Policy {
    fn gate(&self, _: &ToolCall) -> Option<PreToolDecision> {
        None
    }
}

export_plugin!(Policy {
    description: "Never built",
    pre_exec: gate,
});

fn main() {}
