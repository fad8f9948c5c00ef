//! A listener answers with its seam's Decision, later too.

use lockgate_plugin_api::{Create, Next, Plugin, PluginError, ToolCall, ToolOutcome, export_plugin};

struct Policy;

impl Plugin for Policy {
    fn create(_: &Create) -> Result<Self, PluginError> {
        Ok(Self)
    }
}

impl Policy {
    async fn timed(&self, _: &ToolCall, _: &mut Next) -> Result<ToolOutcome, PluginError> {
        Err(PluginError::new("no"))
    }

    async fn around(&self, _: &ToolCall, next: &mut Next) -> String {
        next.run().await.content_json().into_owned()
    }
}

export_plugin!(Policy {
    execute: async timed,
    execute: async around,
});

fn main() {}
