//! A listener takes what its seam gives.

use lockgate_plugin_api::{
    Create, Plugin, PluginError, PreToolDecision, ToolOutcome, export_plugin,
};

struct Policy;

impl Plugin for Policy {
    fn create(_: &Create) -> Result<Self, PluginError> {
        Ok(Self)
    }
}

impl Policy {
    fn gate(&self, _: &ToolOutcome) -> Option<PreToolDecision> {
        None
    }
}

export_plugin!(Policy {
    description: "Never built",
    pre_execute: gate,
});

fn main() {}
