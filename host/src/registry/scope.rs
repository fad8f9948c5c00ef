//! What an agent has of its own: plugins that it asked for, and tools that are kept from it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use arc_swap::ArcSwap;
use thiserror::Error;
use tokio::runtime::Handle;

use super::hold::Hold;
use super::layer::Layer;
use super::{Lost, Registry, Snapshot};
use crate::generation::{Blueprint, Generation};
use crate::options::HostOptions;
use crate::refusal::Refusal;
use crate::settings::PluginSettings;

/// What all registries of a host share.
pub(super) struct Common {
    pub(super) options: HostOptions,
    /// What is set for each plugin now; the options have what was set at the start.
    pub(super) settings: ArcSwap<BTreeMap<String, PluginSettings>>,
    pub(super) runtime: Handle,
    /// Whether new calls wait.
    pub(super) hold: Hold,
    /// Every snapshot that somebody may have.
    pub(super) snapshots: Mutex<Vec<Weak<Snapshot>>>,
    per_agent: Mutex<BTreeMap<String, PerAgent>>,
    /// The registries of agents that have one of their own, by the agents' numbers.
    agents: Mutex<HashMap<u64, Weak<Registry>>>,
}

/// A plugin that agents may ask for, each for an instance of its own.
#[derive(Debug, Clone)]
pub(crate) enum PerAgent {
    /// It can be had.
    Ready(Arc<Blueprint>),
    /// It cannot; whoever asks for it gets the places that it leaves.
    Lost(Lost),
}

/// Which of the tools that an agent inherits are kept from it and from its children. Tools that
/// its own plugins offer are always there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolRestriction {
    /// The only ones that it has; `None` for all. Tools that come later are not among them.
    pub allow: Option<BTreeSet<String>>,
    /// Those that it has not. Tools that come later are not among them either.
    pub deny: BTreeSet<String>,
}

/// What an agent cannot have.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ScopeError {
    /// No plugin of this name is made for each agent.
    #[error(
        "the plugin `{name}` is not one that an agent can ask for; {}",
        those("those are", known)
    )]
    Plugin {
        /// The name.
        name: String,
        /// The plugins with `scope = "agent"`.
        known: Vec<String>,
    },
    /// A restriction names a tool that the agent does not inherit.
    #[error("there is nothing to restrict of the tool `{name}`; {}", those("inherited are", known))]
    Tool {
        /// The name.
        name: String,
        /// The tools that it inherits.
        known: Vec<String>,
    },
    /// The listeners of the agent's plugins could not be put in order.
    #[error("the listeners of the agent's own plugins could not be put in order")]
    Order(#[source] Refusal),
}

fn those(which: &str, names: &[String]) -> String {
    match names {
        [] => "there are none".into(),
        names => format!("{which} `{}`", names.join("`, `")),
    }
}

impl ToolRestriction {
    /// Whether an inherited tool of this name is left.
    pub(super) fn admits(&self, tool: &str) -> bool {
        !self.deny.contains(tool) && self.allow.as_ref().is_none_or(|it| it.contains(tool))
    }

    fn is_empty(&self) -> bool {
        self.allow.is_none() && self.deny.is_empty()
    }
}

impl Common {
    pub(super) fn new(options: HostOptions, runtime: Handle) -> Self {
        let (hold, snapshots) = (Hold::default(), Mutex::default());
        let (per_agent, agents) = (Mutex::default(), Mutex::default());
        let settings = ArcSwap::from_pointee(options.plugins.clone());
        Self { options, settings, runtime, hold, snapshots, per_agent, agents }
    }

    pub(super) fn per_agent(&self) -> MutexGuard<'_, BTreeMap<String, PerAgent>> {
        self.per_agent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The registries of agents that have one of their own.
    pub(super) fn registries(&self) -> Vec<Arc<Registry>> {
        self.agents().values().filter_map(Weak::upgrade).collect()
    }

    /// An instance of `plugin`, started.
    ///
    /// # Errors
    /// The plugin as a lost one, where none can be had.
    pub(super) fn made(&self, plugin: &PerAgent) -> Result<Generation, Lost> {
        match plugin {
            PerAgent::Lost(it) => Err(it.clone()),
            PerAgent::Ready(blueprint) => blueprint.start(None, &self.runtime).map_err(|refusal| {
                let manifest = Arc::new(blueprint.manifest().clone());
                let plugin = &*manifest.name;
                tracing::error!(plugin, "an agent goes without it: {refusal}");
                Lost { manifest, refusal: Arc::new(refusal) }
            }),
        }
    }

    fn agents(&self) -> MutexGuard<'_, HashMap<u64, Weak<Registry>>> {
        self.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Registry {
    /// The plugins that agents may ask for.
    pub(crate) fn per_agent(&self) -> Vec<String> {
        self.common.per_agent().keys().cloned().collect()
    }

    /// What an agent sees that inherits all this and has instances of `plugins` of its own, which
    /// are created and started here.
    ///
    /// # Errors
    /// When one of the names means nothing. A plugin that cannot be started is lost, and its
    /// places say so.
    pub(crate) fn scoped(
        &self,
        plugins: &[String],
        restriction: &ToolRestriction,
    ) -> Result<Arc<Self>, ScopeError> {
        let inherited = self.snapshot();
        let named = restriction.allow.iter().flatten().chain(&restriction.deny);
        if let Some(name) = named.into_iter().find(|it| !inherited.tools.contains_key(*it)) {
            let known = inherited.tools.keys().cloned().collect();
            return Err(ScopeError::Tool { name: name.clone(), known });
        }
        if plugins.is_empty() && restriction.is_empty() {
            return Ok(self.this.upgrade().expect("a registry that is asked is there"));
        }
        let own = Layer::new(restriction.clone());
        for name in plugins {
            let plugin = self.common.per_agent().get(name).cloned();
            let Some(plugin) = plugin else {
                return Err(ScopeError::Plugin { name: name.clone(), known: self.per_agent() });
            };
            let _ = match self.common.made(&plugin) {
                Ok(generation) => own.adopt(generation, &self.common.runtime),
                Err(lost) => own.lose(lost),
            };
        }
        let layers = self.layers.iter().cloned().chain([own]).collect();
        Self::of_layers(layers, Arc::clone(&self.common)).map_err(ScopeError::Order)
    }

    /// From now on calls for `agent` see what this registry has.
    pub(crate) fn enlist(&self, agent: u64) {
        self.common.agents().insert(agent, Weak::clone(&self.this));
    }

    /// The agent is gone.
    pub(crate) fn strike(&self, agent: u64) {
        self.common.agents().remove(&agent);
    }

    /// What calls for `agent` see; this, where there is none of that number.
    pub(crate) fn of_agent(&self, agent: Option<u64>) -> Arc<Self> {
        let own = agent.and_then(|it| self.common.agents().get(&it)?.upgrade());
        own.unwrap_or_else(|| self.this.upgrade().expect("a registry that is asked is there"))
    }
}
