//! What becomes of a build that misbehaves while it is new: the last proven one takes its place.

use std::sync::{Arc, MutexGuard, PoisonError, Weak};

use super::Plugins;
use crate::artifact::Artifact;
use crate::generation::{Blueprint, Generation};
use crate::quarantine::{Quarantine, ShutOut};
use crate::refusal::{Code, Refusal};
use crate::roster::{Live, PluginState};
use crate::session::unix_millis;

/// A generation that had its time without too many failures.
#[derive(Debug)]
pub(super) struct Proven {
    blueprint: Arc<Blueprint>,
    live: Live,
}

impl Plugins {
    /// Checks that the build was not shut out.
    ///
    /// # Errors
    /// `E-QUARANTINED`.
    pub(super) fn is_let_in(&self, artifact: &Artifact) -> Result<(), Refusal> {
        let quarantine = self.quarantine();
        match quarantine.builds().get(artifact.hash.to_hex().as_str()) {
            Some(ShutOut { reason, .. }) => {
                Err(Refusal::new(Code::Quarantined, format!("the build was shut out: {reason}")))
            }
            None => Ok(()),
        }
    }

    /// Has `generation`, which is about to take the place of another one, prove itself.
    pub(super) fn put_on_probation(&self, generation: &Generation) {
        let (this, runtime) = (Weak::clone(&self.this), self.runtime.clone());
        let (name, number) = (generation.manifest.name.clone(), generation.number);
        generation.instance.probation().begin(move || {
            let (this, name) = (Weak::clone(&this), name.clone());
            // Not here: the thread is inside a call, and the last one out of a plugin ends it.
            runtime.spawn_blocking(move || {
                if let Some(this) = this.upgrade() {
                    this.roll_back(&name, number);
                }
            });
        });
    }

    /// Remembers what was `live` until now, the generations `old`, if it had proven itself.
    pub(super) fn remember(&self, old: &[Generation], live: Option<Live>) {
        if let (Some(old), Some(live)) = (old.first(), live)
            && old.instance.probation().is_proven()
        {
            let name = live.content.manifest.name.clone();
            let proven = Proven { blueprint: Arc::clone(&old.blueprint), live };
            self.proven().insert(name, proven);
        }
    }

    /// The generation has failed too often while it was new: shuts its build out, and makes the
    /// last proven one anew, whose library is still there.
    fn roll_back(&self, name: &str, number: u64) {
        let _taking = self.taking.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = self.roster().live(name).filter(|it| it.generation == number).cloned();
        let Some(failed) = failed else { return };
        let reason = "three listeners failed in its first minute";
        self.shut_out(&failed, reason);
        let Some((blueprint, live)) =
            self.proven().get(name).map(|it| (Arc::clone(&it.blueprint), it.live.clone()))
        else {
            tracing::error!(plugin = name, "there is nothing to go back to: {reason}");
            return;
        };
        match blueprint.start(None, &self.runtime) {
            Ok(generation) => {
                let old = self.registry.adopt(generation);
                let refusal =
                    Refusal::new(Code::Quarantined, format!("the build was shut out: {reason}"));
                let state =
                    PluginState::Kept { generation: live.generation, refusal: Arc::new(refusal) };
                self.tell_state(&failed.path, name, &state);
                self.roster().went_live(live);
                self.roster().say(&failed.path, state);
                self.let_go(old);
            }
            Err(refusal) => {
                tracing::error!(plugin = name, "the last proven build does not start: {refusal}");
            }
        }
    }

    fn shut_out(&self, failed: &Live, reason: &str) {
        let (hash, plugin) = (failed.content.hash, failed.content.manifest.name.clone());
        let why = ShutOut { plugin, reason: reason.to_owned(), at: unix_millis() };
        if let Err(error) = self.quarantine().add(hash.to_hex().to_string(), why) {
            let error: &(dyn std::error::Error + Send + Sync) = &error;
            tracing::error!(error, "the next host will not know that the build is shut out");
        }
    }

    fn quarantine(&self) -> MutexGuard<'_, Quarantine> {
        self.quarantine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn proven(&self) -> MutexGuard<'_, std::collections::BTreeMap<String, Proven>> {
        self.proven.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
