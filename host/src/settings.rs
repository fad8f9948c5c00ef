//! What is set for a plugin, from the configuration file or by an embedder.

use std::collections::BTreeMap;
use std::time::Duration;

use lockgate_plugin_api::SeamName;
use serde_json::{Map, Value};

/// How long plugins may take. A deadline counts a listener's own time: not what it waits for
/// further in, nor what the host does for it. Waiting for a signal, or for a closure of its own on
/// another thread, is its own time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// For one entry: a synchronous answer, or one poll of a later one. 5 s unless it is set.
    pub entry: Duration,
    /// For an answer that comes later. 60 s unless it is set.
    pub answer: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self { entry: Duration::from_secs(5), answer: Duration::from_secs(60) }
    }
}

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
    /// `entry_deadline_ms` and `answer_deadline_ms`: how long its listeners may take; `None` for
    /// what holds for all.
    pub deadlines: Option<Deadlines>,
    /// `[plugins.NAME.config]`: what the plugin itself is given, an object.
    pub config: Value,
}

impl Default for PluginSettings {
    fn default() -> Self {
        let (priority, config) = (BTreeMap::new(), Value::Object(Map::new()));
        Self { enabled: true, required: None, priority, deadlines: None, config }
    }
}
