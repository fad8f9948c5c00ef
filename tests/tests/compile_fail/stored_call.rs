//! A call is lent: nobody keeps it.

use std::sync::Mutex;

use lockgate_plugin_api::{Create, Plugin, PluginError, PreToolDecision, ToolCall, export_plugin};

static LAST: Mutex<Option<&'static ToolCall>> = Mutex::new(None);

struct Policy;

impl Plugin for Policy {
    fn create(_: &Create) -> Result<Self, PluginError> {
        Ok(Self)
    }
}

impl Policy {
    fn gate(&self, call: &ToolCall) -> Option<PreToolDecision> {
        *LAST.lock().ok()? = Some(call);
        None
    }
}

export_plugin!(Policy {
    description: "Never built",
    pre_execute: gate,
});

fn main() {}
