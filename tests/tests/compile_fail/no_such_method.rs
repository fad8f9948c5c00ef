//! What is exported must be there.

use lockgate_plugin_api::{Create, Plugin, PluginError, export_plugin};

struct Policy;

impl Plugin for Policy {
    fn create(_: &Create) -> Result<Self, PluginError> {
        Ok(Self)
    }
}

export_plugin!(Policy {
    description: "Never built",
    pre_execute: gate,
});

fn main() {}
