//! An `async` method is exported as one.

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
    async fn gate(&self, _: &ToolCall, next: &mut Next<PreToolDecision>) -> PreToolDecision {
        next.run().await
    }
}

export_plugin!(Policy {
    description: "Never built",
    pre_execute: gate,
});

fn main() {}
