//! A host: the plugins of its directories, loaded, and what can be done with them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lockgate_plugin_api::{Manifest, Purpose, ToolOutcome, error_chain};
use serde_json::Value;
use thiserror::Error;
use tokio::runtime::Handle;

use crate::agent::{Agent, AgentOptions};
use crate::artifact::{Artifact, Copies, CopyError};
use crate::discover::{self, ScanError};
use crate::generation::{self, Generation, Loader};
use crate::model::{Model, ToolSchema};
use crate::options::HostOptions;
use crate::probe::Probe;
use crate::refusal::{Code, Refusal};
use crate::registry::{Lost, PerAgent, PlaceReport, Registry, ScopeError};
use crate::session::SessionLog;
use crate::settings::{PluginScope, Required};
use crate::tools::{self, CallRequest};
use crate::watchdog;

/// A running host.
pub struct Host {
    registry: Arc<Registry>,
    plugins: Vec<PluginReport>,
    /// Removed with the host; the libraries stay mapped from the unlinked files.
    _copies: Copies,
}

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
    /// The configuration says not to load it.
    Disabled,
    /// A higher version of it is live.
    Superseded,
}

/// A host that could not be started.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StartError {
    /// A directory cannot be searched.
    #[error("the plugins cannot be found")]
    Scan(#[from] ScanError),
    /// There is no place for private copies.
    #[error("no directory for private copies of the plugins could be made")]
    Copies(#[source] CopyError),
    /// A file was refused, and the host is strict.
    #[error("the plugin file `{}` was refused, and `strict` is set", path.display())]
    Strict {
        /// The first such file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: Refusal,
    },
    /// A plugin that must be there has no file.
    #[error(
        "the plugin `{name}` is required by the configuration, and no file in the plugin directories is it"
    )]
    Missing {
        /// The plugin.
        name: String,
    },
    /// The listeners of a loaded plugin could not be put in order.
    #[error("the listeners could not be put in order")]
    Order(#[source] Refusal),
    /// There is no runtime to run on.
    #[error("a host is started inside a tokio runtime, and there is none here")]
    Runtime(#[source] tokio::runtime::TryCurrentError),
}

impl Host {
    /// Finds, checks, loads and starts the plugins. What is refused is reported in
    /// [`plugins`](Self::plugins) and stops nobody else.
    ///
    /// Called inside a multi-thread tokio runtime, which what the plugins start runs on. Blocks
    /// while libraries load, about a millisecond each.
    ///
    /// # Errors
    /// When nothing can be loaded at all, or `strict` is set and a file was refused.
    pub fn start(options: &HostOptions) -> Result<Self, StartError> {
        let runtime = Handle::try_current().map_err(StartError::Runtime)?;
        let copies = Copies::new().map_err(StartError::Copies)?;
        let (live, per_agent) = (Vec::new(), BTreeMap::new());
        let mut loading =
            Loading { options, copies: &copies, runtime: &runtime, loads: 0, live, per_agent };
        let files = discover::scan(&options.plugin_dirs)?;
        let mut plugins = loading.load_all(&files);
        let Loading { live, mut per_agent, .. } = loading;
        if options.strict
            && let Some((path, cause)) = plugins.iter().find_map(refused)
        {
            return Err(StartError::Strict { path: path.clone(), cause: (**cause).clone() });
        }
        check_required(options, &plugins)?;
        let mut lost = lost(&plugins);
        for it in lost.extract_if(.., |it| is_per_agent(options, &it.manifest.name)) {
            per_agent.insert(it.manifest.name.clone(), PerAgent::Lost(it));
        }
        let registry = Registry::new(live, lost, per_agent, options.clone(), runtime)
            .map_err(StartError::Order)?;
        plugins.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Self { registry, plugins, _copies: copies })
    }

    /// What became of each file, by path.
    pub fn plugins(&self) -> &[PluginReport] {
        &self.plugins
    }

    /// The chain of each seam, the outermost place first.
    pub fn chains(&self) -> Vec<PlaceReport> {
        self.registry.snapshot().places()
    }

    /// How many threads of this process have stayed inside a plugin past their deadline, for ever.
    pub fn wedges() -> u64 {
        watchdog::wedges()
    }

    /// The tools, as models are told of them, by name.
    pub fn tools(&self) -> Vec<ToolSchema> {
        tools::schemas(&self.registry.snapshot())
    }

    /// Makes a tool call, whatever comes of it. A body that was started is awaited to its end.
    /// Polled inside a tokio runtime with time.
    ///
    /// A call for an agent finds what that agent has.
    pub async fn execute(&self, request: CallRequest) -> Arc<ToolOutcome> {
        tools::execute(&self.registry.of_agent(request.agent).snapshot(), request).await
    }

    /// Asks everybody who decides whether the call may run, and runs nothing: the outcome where
    /// it may not, `None` where its body would run.
    pub async fn rehearse(&self, request: CallRequest) -> Option<ToolOutcome> {
        tools::rehearse(&self.registry.of_agent(request.agent).snapshot(), request).await
    }

    /// The plugins that agents may ask for, each for an instance of its own: those with
    /// [`PluginScope::Agent`].
    pub fn plugins_per_agent(&self) -> Vec<String> {
        self.registry.per_agent().map(str::to_owned).collect()
    }

    /// Starts an agent on these plugins, and on those that its options ask for, and tells the
    /// *session-start* listeners. Blocks while the agent's own plugins are made.
    ///
    /// What observes `log` must not reach the agent: it is called while the agent is locked.
    ///
    /// # Errors
    /// When the options name a plugin or a tool that there is not.
    pub fn agent(
        &self,
        model: Arc<dyn Model>,
        log: SessionLog,
        options: AgentOptions,
    ) -> Result<Agent, ScopeError> {
        let inherited = options.parent.as_ref().map_or(&self.registry, Agent::registry);
        let registry = inherited.scoped(&options.plugins, &options.tools)?;
        Ok(Agent::start(registry, model, log, options))
    }
}

/// Whether the plugin at `path` would load here: everything but its `start` is done, with its
/// settings from `options`, and undone.
///
/// Called inside a tokio runtime.
///
/// # Errors
/// The first check that it does not pass.
pub fn check(path: &Path, options: &HostOptions) -> Result<Manifest, Refusal> {
    let artifact = Artifact::read(path)?;
    let settings = options.plugins.get(&artifact.manifest.name).cloned().unwrap_or_default();
    create(&artifact, &settings.config, &options.probe)?;
    Ok(artifact.manifest)
}

/// As [`check`], in this process and with this configuration: what a probe does.
///
/// # Errors
/// The first check that it does not pass.
#[cfg(feature = "app")]
pub(crate) fn create_alone(path: &Path, config: &Value) -> Result<(), Refusal> {
    create(&Artifact::read(path)?, config, &Probe::Off)
}

fn create(artifact: &Artifact, config: &Value, probe: &Probe) -> Result<(), Refusal> {
    let runtime = Handle::try_current().map_err(|error| {
        Refusal::new(Code::Create, format!("no runtime to create it on: {error}"))
    })?;
    let copies = Copies::new().map_err(|error| {
        Refusal::new(Code::Io, format!("no place for copies: {}", error_chain(&error)))
    })?;
    let loader = Loader { copies: &copies, probe };
    generation::open(artifact, 1, config, &loader)?.create(Purpose::Probe, &runtime).map(drop)
}

/// Loading the files of the directories.
struct Loading<'a> {
    options: &'a HostOptions,
    copies: &'a Copies,
    runtime: &'a Handle,
    loads: u64,
    live: Vec<Generation>,
    per_agent: BTreeMap<String, PerAgent>,
}

impl Loading<'_> {
    /// Loads what can be loaded, the highest version of each name first.
    fn load_all(&mut self, files: &[PathBuf]) -> Vec<PluginReport> {
        let mut reports = Vec::new();
        let mut artifacts = Vec::new();
        for path in files {
            match Artifact::read(path) {
                Ok(artifact) => artifacts.push(artifact),
                Err(refusal) => reports.push(report(path, None, refused_state(refusal))),
            }
        }
        // Within a directory the highest version stands first; directories keep their order.
        artifacts.sort_by(|a, b| {
            let (a, b) = (&a.manifest, &b.manifest);
            a.name.cmp(&b.name).then_with(|| version(b).cmp(&version(a)))
        });
        let mut taken: BTreeMap<String, PathBuf> = BTreeMap::new();
        for artifact in artifacts {
            let state = self.take(&artifact, &mut taken);
            reports.push(report(&artifact.path, Some(artifact.manifest), state));
        }
        reports
    }

    fn take(&mut self, artifact: &Artifact, taken: &mut BTreeMap<String, PathBuf>) -> PluginState {
        let name = &artifact.manifest.name;
        let settings = self.options.plugins.get(name).cloned().unwrap_or_default();
        if !settings.enabled {
            return PluginState::Disabled;
        }
        if let Some(live) = taken.get(name) {
            if live.parent() == artifact.path.parent() {
                return PluginState::Superseded;
            }
            let message = format!("the plugin `{name}` is live from `{}` already", live.display());
            return refused_state(Refusal::new(Code::Duplicate, message));
        }
        self.loads += 1;
        let number = self.loads;
        let loader = Loader { copies: self.copies, probe: &self.options.probe };
        let opened = generation::open(artifact, number, &settings.config, &loader);
        let loaded = opened.and_then(|it| match settings.scope {
            PluginScope::Global => {
                let generation = it.start(self.runtime)?;
                let tools = generation.tools.iter().map(|it| it.name.clone()).collect();
                self.live.push(generation);
                Ok(PluginState::Live { generation: number, tools })
            }
            PluginScope::Agent => {
                // None is kept: that one can be made is all there is to know.
                it.create(Purpose::Probe, self.runtime)?;
                self.per_agent.insert(name.clone(), PerAgent::Ready(it));
                Ok(PluginState::PerAgent { generation: number })
            }
        });
        if loaded.is_ok() {
            taken.insert(name.clone(), artifact.path.clone());
        }
        loaded.unwrap_or_else(refused_state)
    }
}

fn is_per_agent(options: &HostOptions, plugin: &str) -> bool {
    options.plugins.get(plugin).is_some_and(|it| it.scope == PluginScope::Agent)
}

fn report(path: &Path, manifest: Option<Manifest>, state: PluginState) -> PluginReport {
    if let PluginState::Refused(refusal) = &state {
        tracing::warn!(path = %path.display(), "{refusal} ({})", refusal.remedy());
    }
    PluginReport { path: path.to_owned(), manifest, state }
}

fn refused_state(refusal: Refusal) -> PluginState {
    PluginState::Refused(Arc::new(refusal))
}

fn refused(report: &PluginReport) -> Option<(&PathBuf, &Arc<Refusal>)> {
    match &report.state {
        PluginState::Refused(refusal) => Some((&report.path, refusal)),
        PluginState::Live { .. }
        | PluginState::PerAgent { .. }
        | PluginState::Disabled
        | PluginState::Superseded => None,
    }
}

/// A version for ordering; one that cannot be read stands last and is refused when it is loaded.
fn version(manifest: &Manifest) -> Option<semver::Version> {
    semver::Version::parse(&manifest.version).ok()
}

/// The plugins whose note could be read and of which no version is live.
fn lost(reports: &[PluginReport]) -> Vec<Lost> {
    let live: BTreeSet<&str> = reports
        .iter()
        .filter(|it| matches!(it.state, PluginState::Live { .. } | PluginState::PerAgent { .. }))
        .filter_map(|it| it.manifest.as_ref().map(|it| it.name.as_str()))
        .collect();
    let mut seen = BTreeSet::new();
    let mut lost = Vec::new();
    for report in reports {
        let (Some(manifest), Some((_, refusal))) = (&report.manifest, refused(report)) else {
            continue;
        };
        if !live.contains(manifest.name.as_str()) && seen.insert(&manifest.name) {
            lost.push(Lost { manifest: manifest.clone(), refusal: Arc::clone(refusal) });
        }
    }
    lost
}

/// A plugin that the configuration requires must at least have a file whose note can be read.
fn check_required(options: &HostOptions, reports: &[PluginReport]) -> Result<(), StartError> {
    let known: BTreeSet<&str> =
        reports.iter().filter_map(|it| it.manifest.as_ref().map(|it| it.name.as_str())).collect();
    for (name, settings) in &options.plugins {
        if known.contains(name.as_str()) {
            continue;
        }
        if settings.enabled && settings.required == Required::All(true) {
            return Err(StartError::Missing { name: name.clone() });
        }
        tracing::warn!(plugin = name, "the configuration names a plugin that has no file");
    }
    Ok(())
}
