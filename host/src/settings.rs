//! What is set for a plugin, from the configuration file or by an embedder.

use std::collections::BTreeMap;

use lockgate_plugin_api::SeamName;
use serde_json::{Map, Value};

/// What is set for one plugin.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginSettings {
    /// `enabled`: whether it is loaded. True unless it is set.
    pub enabled: bool,
    /// `required`: whether the places of all its listeners stay while it is not there. `None`
    /// leaves that to its manifest, listener by listener.
    pub required: Option<bool>,
    /// `[plugins.NAME.priority]`: the priority of its listeners at a seam, instead of the
    /// manifest's.
    pub priority: BTreeMap<SeamName, i32>,
    /// `[plugins.NAME.config]`: what the plugin itself is given, an object.
    pub config: Value,
}

impl Default for PluginSettings {
    fn default() -> Self {
        let (priority, config) = (BTreeMap::new(), Value::Object(Map::new()));
        Self { enabled: true, required: None, priority, config }
    }
}
