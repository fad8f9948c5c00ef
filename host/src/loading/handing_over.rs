//! Starts a generation in the place of another one, with what that one leaves.

use std::sync::Arc;

use super::Plugins;
use crate::generation::{Blueprint, Generation};
use crate::refusal::{Code, Refusal};
use crate::registry::Lost;

impl Plugins {
    /// Starts an instance of `blueprint` and has it go live, in the place of what is live under
    /// its name. Returns what was.
    ///
    /// Where the state of the one before matters, or only one of them may be started at a time,
    /// new calls wait meanwhile and those that run are waited for. Whatever goes wrong leaves the
    /// one before live.
    ///
    /// # Errors
    /// What the plugin says; `E-BUSY` where the calls do not end, `E-STATE` where the state cannot be
    /// had.
    pub(super) fn put_in_place(
        &self,
        blueprint: &Arc<Blueprint>,
        begin: impl FnOnce(&Generation),
    ) -> Result<Vec<Generation>, Refusal> {
        let before = self.registry.instance(&blueprint.manifest().name);
        let Some((instance, old)) = before.filter(|(_, old)| needs_quiet(old, blueprint)) else {
            let generation = blueprint.start(None, &self.runtime)?;
            begin(&generation);
            return Ok(self.registry.adopt(generation));
        };
        let held = self.registry.hold();
        if !held.is_drained() {
            let message = "calls that began with the build before it do not end";
            return Err(Refusal::new(Code::Busy, message));
        }
        let state = instance.save_state()?;
        let is_exclusive = old.manifest().exclusive || blueprint.manifest().exclusive;
        if is_exclusive {
            instance.quiesce();
        }
        drop(instance);
        match blueprint.start(state.as_ref(), &self.runtime) {
            Ok(generation) => {
                begin(&generation);
                Ok(self.registry.adopt(generation))
            }
            Err(refusal) if is_exclusive => {
                // The one before has given everything back: another one of it goes on.
                match old.start(state.as_ref(), &self.runtime) {
                    Ok(again) => self.let_go(self.registry.adopt(again)),
                    Err(error) => {
                        let (manifest, refusal) = (old.manifest().clone(), Arc::new(error));
                        self.roster().lost(&manifest.name);
                        let lost = Lost { manifest: Arc::new(manifest), refusal };
                        self.let_go(self.registry.lose(lost));
                    }
                }
                Err(refusal)
            }
            Err(refusal) => Err(refusal),
        }
    }
}

fn needs_quiet(old: &Blueprint, new: &Blueprint) -> bool {
    let (old, new) = (old.manifest(), new.manifest());
    old.state || old.exclusive || new.exclusive
}
