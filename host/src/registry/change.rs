//! Changes what is live: puts generations in the place of others, for all agents and for each.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::layer::Layer;
use super::{Lost, PerAgent, Registry};
use crate::generation::{Blueprint, Generation};
use crate::library::instance::Instance;
use crate::settings::PluginSettings;

impl Registry {
    /// From now on `generation` is live for all agents, in the place of what was live under its
    /// name, which is returned: calls that began with it go on.
    pub(crate) fn adopt(&self, generation: Generation) -> Vec<Generation> {
        let old = self.base().adopt(generation, &self.common.runtime);
        self.replaced(old)
    }

    /// From now on nothing is live under this name, and its required listeners say so. Returns
    /// what was.
    pub(crate) fn lose(&self, lost: Lost) -> Vec<Generation> {
        let old = self.base().lose(lost);
        self.replaced(old)
    }

    /// From now on nothing is live under `name`, and nobody misses it. Returns what was.
    pub(crate) fn forget(&self, name: &str) -> Vec<Generation> {
        self.common.per_agent().remove(name);
        let layers = self.layers_with(name);
        self.replaced(layers.iter().filter_map(|it| it.forget(name)))
    }

    /// From now on agents that ask for `name` get this. Those that have it already get it now, and
    /// what they had is returned.
    pub(crate) fn offer(&self, name: &str, plugin: PerAgent) -> Vec<Generation> {
        self.common.per_agent().insert(name.to_owned(), plugin.clone());
        let layers = self.layers_with(name);
        let old = layers.iter().filter_map(|layer| match self.common.made(&plugin) {
            Ok(generation) => layer.adopt(generation, &self.common.runtime),
            Err(lost) => layer.lose(lost),
        });
        self.replaced(old)
    }

    /// What is set for each plugin now.
    pub(crate) fn settings(&self) -> Arc<BTreeMap<String, PluginSettings>> {
        self.common.settings.load_full()
    }

    /// From now on this is set: the order of the listeners, their deadlines, and which of them
    /// keep their places.
    pub(crate) fn set(&self, settings: BTreeMap<String, PluginSettings>) {
        self.common.settings.store(Arc::new(settings));
        self.base().touch();
    }

    /// What is live for all agents under `name`.
    pub(crate) fn instance(&self, name: &str) -> Option<(Arc<Instance>, Arc<Blueprint>)> {
        self.base().instance(name)
    }

    /// What instances of `name` are made of, for agents that ask for it.
    pub(crate) fn blueprint_per_agent(&self, name: &str) -> Option<Arc<Blueprint>> {
        match self.common.per_agent().get(name)? {
            PerAgent::Ready(blueprint) => Some(Arc::clone(blueprint)),
            PerAgent::Lost(_) => None,
        }
    }

    pub(super) fn base(&self) -> &Arc<Layer> {
        self.layers.first().expect("every registry has the layer for all agents")
    }

    /// The layers, agents' ones included, that have or miss the plugin `name`.
    fn layers_with(&self, name: &str) -> Vec<Arc<Layer>> {
        let own = |it: Arc<Registry>| it.layers.last().cloned();
        let mut layers: Vec<Arc<Layer>> =
            self.common.registries().into_iter().filter_map(own).collect();
        layers.push(Arc::clone(self.base()));
        layers.sort_by_key(|it| Arc::as_ptr(it).addr());
        layers.dedup_by(|a, b| Arc::ptr_eq(a, b));
        layers.retain(|it| it.names(name));
        layers
    }

    /// What nobody will ask any more.
    fn replaced(&self, old: impl IntoIterator<Item = Generation>) -> Vec<Generation> {
        let old: Vec<Generation> = old.into_iter().collect();
        if !old.is_empty() {
            // Now: a registry that makes its snapshot with the next call would hold what is let go
            // for as long as that takes to come.
            let this = self.this.upgrade();
            for registry in self.common.registries().into_iter().chain(this) {
                if let Err(refusal) = registry.refresh() {
                    tracing::error!("the plugins stay as they were: {refusal}");
                }
            }
        }
        old
    }
}
