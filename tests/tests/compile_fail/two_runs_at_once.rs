//! The rest of a chain runs once at a time.

use lockgate_plugin_api::{
    Create, Next, Plugin, PluginError, ToolCall, ToolOutcome, export_plugin,
};

struct Policy;

impl Plugin for Policy {
    fn create(_: &Create) -> Result<Self, PluginError> {
        Ok(Self)
    }
}

impl Policy {
    async fn around(&self, _: &ToolCall, next: &mut Next) -> ToolOutcome {
        let (first, second) = (next.run(), next.run());
        tokio::join!(first, second).0
    }
}

export_plugin!(Policy {
    description: "Never built",
    execute: async around,
});

fn main() {}
