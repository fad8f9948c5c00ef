//! A guard answers at once, also where the export does not say `async`.

use lockgate_plugin_api::{Create, GuardDecision, Plugin, PluginError, ToolCall, export_plugin};

struct Policy;

impl Plugin for Policy {
    fn create(_: &Create) -> Result<Self, PluginError> {
        Ok(Self)
    }
}

impl Policy {
    async fn audit(&self, _: &ToolCall) -> Option<GuardDecision> {
        None
    }
}

export_plugin!(Policy {
    description: "Never built",
    guard: audit,
});

fn main() {}
