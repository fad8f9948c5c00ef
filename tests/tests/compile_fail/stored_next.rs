//! The rest of a chain is lent: nobody keeps it.

use std::sync::Mutex;

use lockgate_plugin_api::{
    Create, Next, Plugin, PluginError, ToolCall, ToolOutcome, export_plugin,
};

static LAST: Mutex<Option<&'static mut Next>> = Mutex::new(None);

struct Policy;

impl Plugin for Policy {
    fn create(_: &Create) -> Result<Self, PluginError> {
        Ok(Self)
    }
}

impl Policy {
    async fn around(&self, _: &ToolCall, next: &mut Next) -> ToolOutcome {
        if let Ok(mut last) = LAST.lock() {
            *last = Some(next);
        }
        ToolOutcome::failure("kept")
    }
}

export_plugin!(Policy {
    description: "Never built",
    execute: async around,
});

fn main() {}
