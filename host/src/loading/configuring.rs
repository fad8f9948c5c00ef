//! Plugins for which something else is set while the host runs.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, PoisonError};

use lockgate_plugin_api::Purpose;
use serde_json::Value;

use super::Plugins;
use crate::refusal::Refusal;
use crate::registry::PerAgent;
use crate::roster::Live;
use crate::settings::{PluginScope, PluginSettings};

impl Plugins {
    /// From now on this is set for the plugins. Those whose own configuration changed are made
    /// anew with it, from the library that is there; where that fails, the instance that was live
    /// goes on. For whom a plugin is there does not change any more.
    pub(crate) fn reconfigure(&self, mut settings: BTreeMap<String, PluginSettings>) {
        let _taking = self.taking.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.registry.settings();
        for (name, set) in &mut settings {
            let scope = before.get(name).map(|it| it.scope).unwrap_or_default();
            if set.scope != scope && self.roster().live(name).is_some() {
                tracing::warn!(plugin = name, "its `scope` changes with the next start");
                set.scope = scope;
            }
        }
        let names = before.keys().chain(settings.keys());
        let changed: Vec<String> =
            names.filter(|it| before.get(*it) != settings.get(*it)).cloned().collect();
        self.registry.set(settings);
        for name in changed {
            self.decide(&name, &mut BTreeMap::new());
        }
    }

    /// Makes what is live under `name` anew, with `config`.
    pub(super) fn configure(
        &self,
        name: &str,
        path: &Path,
        config: &Value,
    ) -> Result<Live, Refusal> {
        let mut live = self.roster().live(name).cloned().expect("what is configured is live");
        let scope = self.registry.settings().get(name).map(|it| it.scope).unwrap_or_default();
        match scope {
            PluginScope::Global => {
                let (_, blueprint) =
                    self.registry.instance(name).expect("what is live in the roster is so here");
                let blueprint = blueprint.with_config(config, &self.options.probe)?;
                let old = self.put_in_place(&Arc::new(blueprint), |_| {})?;
                self.let_go(old);
            }
            PluginScope::Agent => {
                let blueprint = self.registry.blueprint_per_agent(name);
                let blueprint = blueprint.expect("what is live in the roster is so here");
                let blueprint = blueprint.with_config(config, &self.options.probe)?;
                blueprint.create(Purpose::Probe, None, &self.runtime)?;
                self.let_go(self.registry.offer(name, PerAgent::Ready(Arc::new(blueprint))));
            }
        }
        config.clone_into(&mut live.config);
        path.clone_into(&mut live.path);
        self.roster().went_live(live.clone());
        Ok(live)
    }
}
