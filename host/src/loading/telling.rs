//! What is told of plugins that are loaded, refused and let go.

use std::path::Path;
use std::sync::Arc;

use super::{Plugins, Read};
use crate::generation::Generation;
use crate::journal::{Phase, Step};
use crate::refusal::{Code, Refusal};
use crate::roster::{Found, PluginState};

impl Plugins {
    /// Nobody will ask these any more.
    pub(super) fn let_go(&self, old: Vec<Generation>) {
        for Generation { manifest, instance, path, number, .. } in old {
            let journal = Arc::clone(&self.journal);
            let tell = move |phase| {
                let (plugin, generation) = (Some(&*manifest.name), Some(number));
                journal.generation(&path, phase, Step { plugin, generation, reason: None });
            };
            tell(Phase::Draining);
            instance.let_go(move || tell(Phase::Retired));
        }
    }

    pub(super) fn tell_found(&self, path: &Path, found: &Read) {
        self.journal.discover(path);
        match found {
            Found::Plugin(artifact) => {
                self.tell(path, &artifact.manifest.name, Phase::Inspected, None, None);
            }
            Found::Refused(refusal) => {
                warn(path, refusal);
                let reason = refusal.to_string();
                let step = Step { reason: Some(&reason), ..Step::default() };
                self.journal.file(path, Phase::Refused, step);
            }
            Found::Gone => self.journal.file(path, Phase::Removed, Step::default()),
        }
    }

    pub(super) fn tell_state(&self, path: &Path, name: &str, state: &PluginState) {
        match state {
            PluginState::Live { generation, .. } | PluginState::PerAgent { generation } => {
                self.tell(path, name, Phase::Live, Some(*generation), None);
            }
            PluginState::Refused(refusal) | PluginState::Kept { refusal, .. } => {
                warn(path, refusal);
                let phase = match refusal.code() {
                    Code::Quarantined => Phase::Quarantined,
                    _ => Phase::Refused,
                };
                self.tell(path, name, phase, None, Some(&refusal.to_string()));
            }
            PluginState::Disabled => self.tell(path, name, Phase::Disabled, None, None),
            PluginState::Superseded => self.tell(path, name, Phase::Superseded, None, None),
        }
    }

    pub(super) fn tell(
        &self,
        path: &Path,
        plugin: &str,
        to: Phase,
        generation: Option<u64>,
        reason: Option<&str>,
    ) {
        self.journal.file(path, to, Step { plugin: Some(plugin), generation, reason });
    }
}

fn warn(path: &Path, refusal: &Refusal) {
    tracing::warn!(path = %path.display(), "{refusal} ({})", refusal.remedy());
}
