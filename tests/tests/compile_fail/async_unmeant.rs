//! What is exported as `async` must be.

use lockgate_plugin_api::{
    Create, Next, Plugin, PluginError, PreToolDecision, ToolCall, export_plugin,
};

struct Policy;

impl Plugin for Policy {
    fn create(_: &Create) -> Result<Self, PluginError> {
        Ok(Self)
    }
}

impl Policy {
    fn gate(&self, _: &ToolCall, _: &mut Next<PreToolDecision>) -> Option<PreToolDecision> {
        None
    }
}

export_plugin!(Policy {
    description: "Never built",
    pre_execute: async gate,
});

fn main() {}
