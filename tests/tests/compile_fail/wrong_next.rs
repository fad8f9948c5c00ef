//! The rest of a chain answers as its seam does.

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
    async fn gate(&self, _: &ToolCall, _: &mut Next) -> Option<PreToolDecision> {
        None
    }
}

export_plugin!(Policy {
    description: "Never built",
    pre_execute: async gate,
});

fn main() {}
