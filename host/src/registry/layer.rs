//! One layer of live plugins: those for all agents, or those of one agent.

use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::runtime::Handle;

use super::{Lost, ToolRestriction};
use crate::generation::{self, Generation};
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
    /// A layer of these plugins that keeps from whoever it is for, and from those further in, the
    /// inherited tools that `restriction` says. When a plugin says that its tools changed, they
    /// are listed on `runtime`.
    pub(super) fn new(
        live: Vec<Generation>,
        lost: Vec<Lost>,
        restriction: ToolRestriction,
        runtime: &Handle,
    ) -> Arc<Self> {
        let (plugins, version) = (Mutex::new(Plugins { live, lost }), AtomicU64::new(0));
        let layer = Arc::new(Self { plugins, version, restriction });
        let heard: Vec<_> = layer.state().live.iter().map(|it| Arc::clone(&it.instance)).collect();
        for instance in heard {
            layer.hear_of_tools(&instance, runtime);
        }
        layer
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
