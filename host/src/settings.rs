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

/// For whom a plugin is there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PluginScope {
    /// `global`: one instance for all agents, and for calls without one.
    #[default]
    Global,
    /// `agent`: an instance for each agent that asks for it, which that agent's children inherit.
    Agent,
}

/// Whether the places of a plugin's listeners stay while it is not there. What is not set is left
/// to its manifest, listener by listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Required {
    /// `required = true` or `false`: for all of them. One that is required must have a file, too.
    All(bool),
    /// `[plugins.NAME.required]`: for those at these seams.
    At(BTreeMap<SeamName, bool>),
}

impl Default for Required {
    fn default() -> Self {
        Self::At(BTreeMap::new())
    }
}

impl Required {
    /// What is set for the listeners at `seam`.
    pub(crate) fn at(&self, seam: SeamName) -> Option<bool> {
        match self {
            Self::All(required) => Some(*required),
            Self::At(seams) => seams.get(&seam).copied(),
        }
    }
}

/// What is set for one plugin.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginSettings {
    /// `enabled`: whether it is loaded. True unless it is set.
    pub enabled: bool,
    /// `scope`: for whom it is there.
    pub scope: PluginScope,
    /// `required`: whether the places of its listeners stay while it is not there.
    pub required: Required,
    /// `[plugins.NAME.priority]`: the priority of its listeners at a seam, instead of the
    /// manifest's.
    pub priority: BTreeMap<SeamName, i32>,
    /// `entry_deadline_ms`: how long one entry of its listeners may take; `None` for what its
    /// manifest asks for, or what holds for all.
    pub entry_deadline: Option<Duration>,
    /// `answer_deadline_ms`: as `entry_deadline`, for an answer that comes later.
    pub answer_deadline: Option<Duration>,
    /// `[plugins.NAME.config]`: what the plugin itself is given, an object.
    pub config: Value,
}

impl Default for PluginSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            scope: PluginScope::default(),
            required: Required::default(),
            priority: BTreeMap::new(),
            entry_deadline: None,
            answer_deadline: None,
            config: Value::Object(Map::new()),
        }
    }
}
