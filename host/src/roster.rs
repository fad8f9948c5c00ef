//! Which file each plugin is live from, and what became of the other files.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lockgate_plugin_api::Manifest;
use serde_json::Value;

use crate::refusal::{Code, Refusal};

/// What became of one file.
#[derive(Debug, Clone)]
pub struct PluginReport {
    /// The file.
    pub path: PathBuf,
    /// What it says of itself, where that could be read.
    pub manifest: Option<Manifest>,
    /// What became of it.
    pub state: PluginState,
}

/// What became of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PluginState {
    /// It is loaded, as this generation, and offers these tools.
    Live {
        /// Counts the loads of this host.
        generation: u64,
        /// The names of its tools.
        tools: Vec<String>,
    },
    /// It is loaded, as this generation; each agent that asks for it gets an instance.
    PerAgent {
        /// Counts the loads of this host.
        generation: u64,
    },
    /// It is not loaded: why.
    Refused(Arc<Refusal>),
    /// What stands in it now is refused, and what was loaded before goes on.
    Kept {
        /// The generation that goes on.
        generation: u64,
        /// Why its successor is not loaded.
        refusal: Arc<Refusal>,
    },
    /// The configuration says not to load it.
    Disabled,
    /// A higher version of it is live.
    Superseded,
}

impl PluginState {
    /// Why what stands in the file is not loaded, where it was refused.
    pub fn refusal(&self) -> Option<&Arc<Refusal>> {
        match self {
            Self::Refused(refusal) | Self::Kept { refusal, .. } => Some(refusal),
            Self::Live { .. } | Self::PerAgent { .. } | Self::Disabled | Self::Superseded => None,
        }
    }
}

/// What was found at a path.
pub(crate) enum Found<A> {
    /// A file that says what plugin it is.
    Plugin(A),
    /// One that does not.
    Refused(Refusal),
    /// Nothing.
    Gone,
}

/// What stood in a file, as far as it matters whether something else does now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Seen {
    /// A plugin.
    Plugin(blake3::Hash),
    /// What is none.
    Refused(Refusal),
}

/// All files, and what is live.
#[derive(Debug)]
pub(crate) struct Roster {
    /// The plugin directories, in their order.
    dirs: Vec<PathBuf>,
    files: BTreeMap<PathBuf, File>,
    live: BTreeMap<String, Live>,
}

#[derive(Debug)]
struct File {
    content: Option<Content>,
    /// The plugin that stands in it, or stood in it last.
    name: Option<String>,
    /// What became of it, or of what stood there last; none until that is decided.
    state: Option<PluginState>,
}

/// What stands in a file that says what plugin it is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Content {
    pub(crate) manifest: Arc<Manifest>,
    pub(crate) hash: blake3::Hash,
}

/// What a plugin is live from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Live {
    pub(crate) path: PathBuf,
    pub(crate) content: Content,
    pub(crate) generation: u64,
    /// What is said of its file.
    pub(crate) state: PluginState,
    /// What it was made from.
    pub(crate) config: Value,
}

/// What is to be done about a candidate.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Choice {
    /// It is what is live already.
    Stays,
    /// It is, with another configuration.
    Configure,
    /// It is to be loaded.
    Load(Content),
    /// It is not to be loaded.
    Not(PluginState),
}

impl Roster {
    /// A roster without files, for those of `dirs`.
    pub(crate) fn new(dirs: &[PathBuf]) -> Self {
        Self { dirs: dirs.to_vec(), files: BTreeMap::new(), live: BTreeMap::new() }
    }

    /// Notes what was found at `path`. Returns the plugins that this may be about.
    pub(crate) fn note(&mut self, path: &Path, found: &Found<Content>) -> BTreeSet<String> {
        let before = self.files.get(path);
        let (last, state) =
            before.map(|it| (it.name.clone(), it.state.clone())).unwrap_or_default();
        let mut names: BTreeSet<String> = last.iter().cloned().collect();
        let file = match found {
            Found::Gone => {
                self.files.remove(path);
                return names;
            }
            Found::Refused(refusal) => {
                let state = Some(PluginState::Refused(Arc::new(refusal.clone())));
                File { content: None, name: last, state }
            }
            Found::Plugin(content) => {
                let name = content.manifest.name.clone();
                names.insert(name.clone());
                File { content: Some(content.clone()), name: Some(name), state }
            }
        };
        self.files.insert(path.to_owned(), file);
        names
    }

    /// The files that are the plugin `name`, in the order in which they are to be tried: those of
    /// the directory that it is live from first, and the highest version before the others.
    pub(crate) fn candidates(&self, name: &str) -> Vec<PathBuf> {
        let is_it = |it: &&Content| it.manifest.name == name;
        let mut files: Vec<(&PathBuf, &Content)> = self
            .files
            .iter()
            .filter_map(|(path, it)| Some((path, it.content.as_ref().filter(is_it)?)))
            .collect();
        let rank =
            |path: &Path| self.dirs.iter().position(|it| Some(it.as_path()) == path.parent());
        // Stable: in one directory, by path.
        files.sort_by_key(|it| (Reverse(version(&it.1.manifest)), rank(it.0)));
        if let Some(live) = self.live.get(name) {
            files.sort_by_key(|it| it.0.parent() != live.path.parent());
        }
        files.into_iter().map(|it| it.0.clone()).collect()
    }

    /// What is to be done about the candidate `path` for `name`, which is to be made from `config`,
    /// while nothing before it was taken.
    pub(crate) fn choose(&self, name: &str, path: &Path, config: &Value) -> Choice {
        let content = self.files.get(path).and_then(|it| it.content.clone());
        let content = content.expect("a candidate has content");
        match self.live.get(name) {
            Some(live) if live.path.parent() != path.parent() => Choice::Not(elsewhere(live)),
            Some(live) if live.content == content && live.config == *config => Choice::Stays,
            Some(live) if live.content == content => Choice::Configure,
            Some(_) | None => Choice::Load(content),
        }
    }

    /// What is to be said of the candidate `path`, while `taken` was taken before it.
    pub(crate) fn passed_over(path: &Path, taken: &Live) -> PluginState {
        if taken.path.parent() == path.parent() {
            PluginState::Superseded
        } else {
            elsewhere(taken)
        }
    }

    /// What is live under `name` stands at `path` now.
    pub(crate) fn stays(&mut self, name: &str, path: &Path) -> Option<Live> {
        let live = self.live.get_mut(name)?;
        path.clone_into(&mut live.path);
        let live = live.clone();
        self.say(path, live.state.clone());
        Some(live)
    }

    /// What is live under `name`.
    pub(crate) fn live(&self, name: &str) -> Option<&Live> {
        self.live.get(name)
    }

    /// From now on the plugin is live from there.
    pub(crate) fn went_live(&mut self, live: Live) {
        self.live.insert(live.content.manifest.name.clone(), live);
    }

    /// From now on nothing is live under `name`.
    pub(crate) fn lost(&mut self, name: &str) -> Option<Live> {
        self.live.remove(name)
    }

    /// Whether a file is there that is the plugin `name`, or was before what stands in it now.
    pub(crate) fn has_file(&self, name: &str) -> bool {
        self.files.values().any(|it| it.name.as_deref() == Some(name))
    }

    /// Says what became of the file at `path`.
    pub(crate) fn say(&mut self, path: &Path, state: PluginState) {
        if let Some(file) = self.files.get_mut(path) {
            file.state = Some(state);
        }
    }

    /// Of what was to succeed `live` and was refused, says that `live` goes on.
    pub(crate) fn say_kept(&mut self, live: &Live) {
        let (name, dir) = (live.content.manifest.name.as_str(), live.path.parent());
        for (path, file) in &mut self.files {
            if let Some(PluginState::Refused(refusal)) = &file.state
                && file.name.as_deref() == Some(name)
                && path.parent() == dir
            {
                let (generation, refusal) = (live.generation, Arc::clone(refusal));
                file.state = Some(PluginState::Kept { generation, refusal });
            }
        }
    }

    /// The manifest and the refusal of the first file of `name` that was refused.
    pub(crate) fn refused(&self, name: &str) -> Option<(Option<Arc<Manifest>>, Arc<Refusal>)> {
        self.files.values().find_map(|it| {
            let state = it.state.as_ref().filter(|_| it.name.as_deref() == Some(name))?;
            let refusal = state.refusal()?;
            let manifest = it.content.as_ref().map(|it| Arc::clone(&it.manifest));
            Some((manifest, Arc::clone(refusal)))
        })
    }

    /// What stands in each file, as far as it matters whether it changes.
    pub(crate) fn seen(&self) -> Vec<(PathBuf, Seen)> {
        let content = |(path, file): (&PathBuf, &File)| {
            let content = match (&file.content, &file.state) {
                (Some(content), _) => Seen::Plugin(content.hash),
                (None, state) => Seen::Refused((**state.as_ref()?.refusal()?).clone()),
            };
            Some((path.clone(), content))
        };
        self.files.iter().filter_map(content).collect()
    }

    /// What became of each file, by path.
    pub(crate) fn reports(&self) -> Vec<PluginReport> {
        let report = |(path, file): (&PathBuf, &File)| {
            let manifest = file.content.as_ref().map(|it| (*it.manifest).clone());
            Some(PluginReport { path: path.clone(), manifest, state: file.state.clone()? })
        };
        self.files.iter().filter_map(report).collect()
    }
}

fn elsewhere(live: &Live) -> PluginState {
    let name = &live.content.manifest.name;
    let message = format!("the plugin `{name}` is live from `{}` already", live.path.display());
    PluginState::Refused(Arc::new(Refusal::new(Code::Duplicate, message)))
}

/// A version for ordering; one that cannot be read stands last and is refused when it is loaded.
fn version(manifest: &Manifest) -> Option<semver::Version> {
    semver::Version::parse(&manifest.version).ok()
}
