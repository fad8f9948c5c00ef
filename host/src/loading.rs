//! Takes plugin files into a running host: loads what is to be live, and lets go what is not.

mod configuring;
mod handing_over;
mod proving;
mod telling;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use lockgate_plugin_api::Purpose;
use tokio::runtime::Handle;

use crate::artifact::{Artifact, Copies};
use crate::budget;
use crate::generation::{self, Loader};
use crate::journal::{Journal, Phase};
use crate::options::HostOptions;
use crate::quarantine::Quarantine;
use crate::refusal::{Code, Refusal};
use crate::registry::{Lost, PerAgent, Registry};
use crate::roster::{Choice, Content, Found, Live, PluginReport, PluginState, Roster, Seen};
use crate::settings::{PluginScope, PluginSettings};
use proving::Proven;

/// The plugins of a host, and what it takes to load more.
pub(crate) struct Plugins {
    registry: Arc<Registry>,
    roster: Mutex<Roster>,
    /// Held by whoever loads, so that one change is decided about after the other.
    taking: Mutex<()>,
    /// What each plugin goes back to.
    proven: Mutex<BTreeMap<String, Proven>>,
    quarantine: Mutex<Quarantine>,
    options: HostOptions,
    journal: Arc<Journal>,
    runtime: Handle,
    /// Counts the loads.
    loads: AtomicU64,
    /// Removed with the last who has this; the libraries stay mapped from the unlinked files.
    copies: Copies,
    this: Weak<Self>,
}

/// What was found at a path, with what it takes to load it.
pub(crate) type Read = Found<Artifact>;

/// Reads the file at `path`.
pub(crate) fn read(path: &Path) -> Read {
    match Artifact::read(path) {
        Ok(artifact) => Found::Plugin(artifact),
        Err(refusal) => Found::Refused(refusal),
    }
}

/// A plugin that was loaded.
struct Loaded {
    generation: u64,
    state: PluginState,
}

impl Plugins {
    /// No plugins yet. What they start runs on `runtime`.
    pub(crate) fn new(
        options: HostOptions,
        copies: Copies,
        quarantine: Quarantine,
        runtime: Handle,
    ) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            registry: Registry::new(options.clone(), runtime.clone()),
            roster: Mutex::new(Roster::new(&options.plugin_dirs)),
            taking: Mutex::default(),
            journal: Arc::new(Journal::new(options.journal.clone())),
            options,
            runtime,
            loads: AtomicU64::new(0),
            copies,
            proven: Mutex::default(),
            quarantine: Mutex::new(quarantine),
            this: Weak::clone(this),
        })
    }

    /// What is live.
    pub(crate) fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// What became of each file, by path.
    pub(crate) fn reports(&self) -> Vec<PluginReport> {
        self.roster().reports()
    }

    /// Who is told of each step.
    pub(crate) fn journal(&self) -> &Arc<Journal> {
        &self.journal
    }

    /// The directories that plugins come from.
    pub(crate) fn dirs(&self) -> &[PathBuf] {
        &self.options.plugin_dirs
    }

    /// What was taken of each file, by path.
    pub(crate) fn seen(&self) -> Vec<(PathBuf, Seen)> {
        self.roster().seen()
    }

    /// Takes what was found at these paths in place of what was there before: loads what is to be
    /// live now, and what was live before goes on where that fails. Calls that begin from now on
    /// see the result. Blocks while plugins are loaded. Returns the files that are to be taken
    /// again later.
    pub(crate) fn take(&self, found: Vec<(PathBuf, Read)>) -> Vec<PathBuf> {
        let _taking = self.taking.lock().unwrap_or_else(PoisonError::into_inner);
        let mut names = BTreeSet::new();
        let mut fresh = BTreeMap::new();
        for (path, found) in found {
            self.tell_found(&path, &found);
            names.extend(self.roster().note(&path, &noted(&found)));
            match found {
                Found::Plugin(artifact) => drop(fresh.insert(path, artifact)),
                Found::Refused(_) | Found::Gone => {}
            }
        }
        let mut again = Vec::new();
        for name in names {
            again.extend(self.decide(&name, &mut fresh));
        }
        again
    }

    /// Sees to it that the right file of the plugin `name` is live. Returns the files for which it
    /// was too early.
    fn decide(&self, name: &str, fresh: &mut BTreeMap<PathBuf, Artifact>) -> Vec<PathBuf> {
        let mut again = Vec::new();
        let settings = self.registry.settings().get(name).cloned().unwrap_or_default();
        let mut taken: Option<Live> = None;
        let candidates = self.roster().candidates(name);
        for path in candidates {
            let choice = match &taken {
                _ if !settings.enabled => Choice::Not(PluginState::Disabled),
                Some(taken) => Choice::Not(Roster::passed_over(&path, taken)),
                None => self.roster().choose(name, &path, &settings.config),
            };
            let state = match choice {
                Choice::Not(state) => state,
                Choice::Stays => {
                    taken = self.roster().stays(name, &path);
                    self.tell(
                        &path,
                        name,
                        Phase::Live,
                        taken.as_ref().map(|it| it.generation),
                        None,
                    );
                    continue;
                }
                Choice::Configure => match self.configure(name, &path, &settings.config) {
                    Ok(live) => {
                        let state = live.state.clone();
                        taken = Some(live);
                        state
                    }
                    Err(refusal) => PluginState::Refused(Arc::new(refusal)),
                },
                Choice::Load(content) => {
                    match self.load(&path, &content, &settings, fresh.remove(&path)) {
                        Ok(Loaded { generation, state }) => {
                            let (path, config) = (path.clone(), settings.config.clone());
                            let live = Live { path, content, generation, state, config };
                            self.roster().went_live(live.clone());
                            taken = Some(live.clone());
                            live.state
                        }
                        Err(refusal) => PluginState::Refused(Arc::new(refusal)),
                    }
                }
            };
            if state.refusal().is_some_and(|it| it.code() == Code::Busy) {
                again.push(path.clone());
            }
            self.tell_state(&path, name, &state);
            self.roster().say(&path, state);
        }
        if taken.is_none() {
            self.go_on_without(name, &settings);
        }
        again
    }

    /// None of the files of the plugin `name` could be taken.
    fn go_on_without(&self, name: &str, settings: &PluginSettings) {
        let mut roster = self.roster();
        let live = roster.live(name).cloned();
        if let Some(live) = &live
            && settings.enabled
            && roster.has_file(name)
        {
            roster.say_kept(live);
            return;
        }
        let refused = roster.refused(name);
        roster.lost(name);
        drop(roster);
        let before = live.map(|it| it.content.manifest);
        let lost = match refused {
            Some((manifest, refusal)) => manifest.or(before).map(|it| (it, refusal)),
            None => before.map(|it| (it, Arc::new(removed(name)))),
        };
        if !settings.enabled {
            self.let_go(self.registry.forget(name));
            return;
        }
        let Some((manifest, refusal)) = lost else { return };
        let lost = Lost { manifest, refusal };
        self.let_go(match settings.scope {
            PluginScope::Global => self.registry.lose(lost),
            PluginScope::Agent => self.registry.offer(name, PerAgent::Lost(lost)),
        });
    }

    /// Loads the content of the file at `path` and has it take the place of what is live under its
    /// name.
    fn load(
        &self,
        path: &Path,
        content: &Content,
        settings: &PluginSettings,
        artifact: Option<Artifact>,
    ) -> Result<Loaded, Refusal> {
        let artifact = artifact.map_or_else(|| Artifact::read(path), Ok)?;
        if artifact.hash != content.hash {
            let message = "the file is being replaced";
            return Err(Refusal::new(Code::Io, message));
        }
        self.tell(path, &content.manifest.name, Phase::Loading, None, None);
        let before = self.roster().live(&content.manifest.name).cloned();
        self.is_let_in(&artifact)?;
        budget::check(&artifact, before.is_some())?;
        let generation = self.loads.fetch_add(1, Ordering::Relaxed) + 1;
        let loader = Loader { copies: &self.copies, probe: &self.options.probe };
        let blueprint = generation::open(&artifact, generation, &settings.config, &loader)?;
        let name = &content.manifest.name;
        let state = match settings.scope {
            PluginScope::Global => {
                let mut tools = Vec::new();
                let old = self.put_in_place(&Arc::new(blueprint), |it| {
                    tools = it.tools.iter().map(|it| it.name.clone()).collect();
                    if before.is_some() {
                        self.put_on_probation(it);
                    }
                })?;
                self.remember(&old, before);
                self.let_go(old);
                PluginState::Live { generation, tools }
            }
            PluginScope::Agent => {
                // None is kept: that one can be made is all there is to know.
                blueprint.create(Purpose::Probe, None, &self.runtime)?;
                let plugin = PerAgent::Ready(Arc::new(blueprint));
                self.let_go(self.registry.offer(name, plugin));
                PluginState::PerAgent { generation }
            }
        };
        Ok(Loaded { generation, state })
    }

    fn roster(&self) -> MutexGuard<'_, Roster> {
        self.roster.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The same, without the bytes.
fn noted(found: &Read) -> Found<Content> {
    match found {
        Found::Plugin(Artifact { manifest, hash, .. }) => {
            Found::Plugin(Content { manifest: Arc::new(manifest.clone()), hash: *hash })
        }
        Found::Refused(refusal) => Found::Refused(refusal.clone()),
        Found::Gone => Found::Gone,
    }
}

fn removed(name: &str) -> Refusal {
    Refusal::new(Code::Io, format!("the file of the plugin `{name}` was removed"))
}
