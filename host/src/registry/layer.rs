//! One layer of live plugins: those for all agents, or those of one agent.

use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::runtime::Handle;

use super::{Lost, ToolRestriction};
use crate::generation::{self, Blueprint, Generation};
use crate::library::instance::Instance;

/// A layer, shared by the registries of its agent and of that agent's children.
pub(super) struct Layer {
    plugins: Mutex<Plugins>,
    /// Counts the changes.
    version: AtomicU64,
    restriction: ToolRestriction,
}

/// What a layer has now.
pub(super) type LayerState<'a> = MutexGuard<'a, Plugins>;

/// The plugins of a layer.
pub(super) struct Plugins {
    pub(super) live: Vec<Generation>,
    /// Those that should be there and are not.
    pub(super) lost: Vec<Lost>,
}

/// Counts the changes of all these layers.
pub(super) fn version(layers: &[Arc<Layer>]) -> u64 {
    layers.iter().map(|it| it.version.load(Ordering::Acquire)).sum()
}

impl Layer {
    /// A layer without plugins that keeps from whoever it is for, and from those further in, the
    /// inherited tools that `restriction` says.
    pub(super) fn new(restriction: ToolRestriction) -> Arc<Self> {
        let plugins = Mutex::new(Plugins { live: Vec::new(), lost: Vec::new() });
        Arc::new(Self { plugins, version: AtomicU64::new(1), restriction })
    }

    /// Puts `generation` in the place of what is live or lost under its name, and returns what
    /// was live. When its plugin says that its tools changed, they are listed on `runtime`.
    pub(super) fn adopt(
        self: &Arc<Self>,
        generation: Generation,
        runtime: &Handle,
    ) -> Option<Generation> {
        let instance = Arc::clone(&generation.instance);
        let name = generation.manifest.name.clone();
        let old = self.change(&name, |plugins| plugins.live.push(generation));
        // Now that it is here, so that nothing it says is lost.
        self.hear_of_tools(&instance, runtime);
        old
    }

    /// From now on the plugin is missing. Returns what was live.
    pub(super) fn lose(&self, lost: Lost) -> Option<Generation> {
        let name = lost.manifest.name.clone();
        self.change(&name, |plugins| plugins.lost.push(lost))
    }

    /// From now on there is no such plugin. Returns what was live.
    pub(super) fn forget(&self, name: &str) -> Option<Generation> {
        self.change(name, |_| {})
    }

    /// What is live under `name`.
    pub(super) fn instance(&self, name: &str) -> Option<(Arc<Instance>, Arc<Blueprint>)> {
        let state = self.state();
        let it = state.live.iter().find(|it| it.manifest.name == name)?;
        Some((Arc::clone(&it.instance), Arc::clone(&it.blueprint)))
    }

    /// Counts a change that is none.
    pub(super) fn touch(&self) {
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Whether the plugin `name` is here, or missing here.
    pub(super) fn names(&self, name: &str) -> bool {
        let state = self.state();
        state.live.iter().any(|it| it.manifest.name == name)
            || state.lost.iter().any(|it| it.manifest.name == name)
    }

    /// Takes what is here under `name` away and does `then`, at once for everybody.
    fn change(&self, name: &str, then: impl FnOnce(&mut Plugins)) -> Option<Generation> {
        let mut state = self.state();
        let at = state.live.iter().position(|it| it.manifest.name == name);
        let old = at.map(|it| state.live.remove(it));
        state.lost.retain(|it| it.manifest.name != name);
        then(&mut state);
        // Under the lock: whoever reads the plugins has read an older version before.
        self.version.fetch_add(1, Ordering::Release);
        old
    }

    /// What it has. Plugins are not entered while this is held.
    pub(super) fn state(&self) -> LayerState<'_> {
        self.plugins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn restriction(&self) -> &ToolRestriction {
        &self.restriction
    }

    /// Has the tools of `instance` listed again whenever its plugin says that they changed.
    fn hear_of_tools(self: &Arc<Self>, instance: &Arc<Instance>, runtime: &Handle) {
        static LISTINGS: AtomicU64 = AtomicU64::new(1);
        let (layer, own) = (Arc::downgrade(self), Arc::downgrade(instance));
        let runtime = runtime.clone();
        instance.on_tools_changed(move || {
            // Taken first: whatever changes from now on is told of again.
            let listing = LISTINGS.fetch_add(1, Ordering::Relaxed);
            let (layer, instance) = (Weak::clone(&layer), Weak::clone(&own));
            // On a thread of its own, since a plugin is asked, and is inside now.
            runtime.spawn_blocking(move || {
                if let (Some(layer), Some(instance)) = (layer.upgrade(), instance.upgrade()) {
                    layer.list_again(&instance, listing);
                }
            });
        });
    }

    /// Takes the tools that `instance` lists now in place of those that it listed before.
    fn list_again(&self, instance: &Arc<Instance>, listing: u64) {
        let is_it = |it: &&mut Generation| Arc::ptr_eq(&it.instance, instance);
        let manifest = self.state().live.iter_mut().find(is_it).map(|it| it.manifest.clone());
        let Some(manifest) = manifest else { return };
        let plugin = &*manifest.name;
        match generation::list_tools(instance, &manifest) {
            Ok(mut tools) => {
                let mut state = self.state();
                let found = state.live.iter_mut().find(is_it);
                let Some(generation) = found.filter(|it| it.listing < listing) else { return };
                // The old ones go when the lock is gone: the last who holds one enters its plugin.
                mem::swap(&mut generation.tools, &mut tools);
                generation.listing = listing;
                drop(state);
                self.version.fetch_add(1, Ordering::Release);
                tracing::info!(plugin, "the plugin has other tools");
            }
            Err(refusal) => {
                tracing::error!(plugin, "the plugin keeps the tools that it had: {refusal}");
            }
        }
    }
}
