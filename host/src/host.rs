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
use crate::generation::{self, Loader};
use crate::loading::{self, Plugins};
use crate::model::{Model, ToolSchema};
use crate::options::HostOptions;
use crate::probe::Probe;
use crate::quarantine::{Quarantine, QuarantineError};
use crate::refusal::{Code, Refusal};
use crate::registry::{PlaceReport, Registry, ScopeError};
use crate::roster::PluginReport;
use crate::session::SessionLog;
use crate::settings::{PluginSettings, Required};
use crate::tools::{self, CallRequest};
use crate::watch::{self, WatchError, WatchOptions, Watching};
use crate::watchdog;

/// A running host.
pub struct Host {
    plugins: Arc<Plugins>,
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
    /// It is not known which builds are shut out.
    #[error("it is not known which builds of plugins are shut out")]
    Quarantine(#[from] QuarantineError),
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
        let quarantine = Quarantine::open(options.quarantine.as_deref())?;
        let plugins = Plugins::new(options.clone(), copies, quarantine, runtime);
        let files = discover::scan(&options.plugin_dirs)?;
        plugins.take(files.iter().map(|it| (it.clone(), loading::read(it))).collect());
        let reports = plugins.reports();
        if options.strict
            && let Some((path, cause)) =
                reports.iter().find_map(|it| Some((&it.path, it.state.refusal()?)))
        {
            return Err(StartError::Strict { path: path.clone(), cause: (**cause).clone() });
        }
        check_required(options, &reports)?;
        plugins.registry().refresh().map_err(StartError::Order)?;
        Ok(Self { plugins })
    }

    /// What became of each file, by path.
    pub fn plugins(&self) -> Vec<PluginReport> {
        self.plugins.reports()
    }

    /// Watches the plugin directories from now on: a file that is replaced is loaded once it has
    /// come to rest, and calls that begin from then on see it. What was loaded before goes on where
    /// the new file is refused, and calls that began with it keep it. Ends when what is returned, or
    /// the host, is dropped.
    ///
    /// Plugins are loaded on a thread of its own.
    ///
    /// # Errors
    /// When no thread can be started. A directory that cannot be watched is looked at five times a
    /// second.
    pub fn watch(&self, options: WatchOptions) -> Result<Watching, WatchError> {
        let plugins = Arc::downgrade(&self.plugins);
        let (taken, journal) = (self.plugins.seen(), Arc::clone(self.plugins.journal()));
        watch::watch(self.plugins.dirs(), options, taken, journal, move |found| {
            plugins.upgrade().map(|it| it.take(found)).unwrap_or_default()
        })
    }

    /// From now on this is set for the plugins, by name: calls that begin from then on see it. A
    /// plugin whose own configuration changed is made anew with it; where that fails, the instance
    /// that was live goes on, and [`plugins`](Self::plugins) says why. A change of scope waits for
    /// the next host.
    ///
    /// Blocks while plugins are made; called outside of the host's runtime, or where it may block.
    pub fn reconfigure(&self, plugins: BTreeMap<String, PluginSettings>) {
        self.plugins.reconfigure(plugins);
    }

    /// The chain of each seam, the outermost place first.
    pub fn chains(&self) -> Vec<PlaceReport> {
        self.registry().snapshot().places()
    }

    /// How many threads of this process have stayed inside a plugin past their deadline, for ever.
    pub fn wedges() -> u64 {
        watchdog::wedges()
    }

    /// The tools, as models are told of them, by name.
    pub fn tools(&self) -> Vec<ToolSchema> {
        tools::schemas(&self.registry().snapshot())
    }

    /// Makes a tool call, whatever comes of it. A body that was started is awaited to its end.
    /// Polled inside a tokio runtime with time.
    ///
    /// A call for an agent finds what that agent has.
    pub async fn execute(&self, request: CallRequest) -> Arc<ToolOutcome> {
        tools::execute(&self.registry().of_agent(request.agent).snapshot(), request).await
    }

    /// Asks everybody who decides whether the call may run, and runs nothing: the outcome where
    /// it may not, `None` where its body would run.
    pub async fn rehearse(&self, request: CallRequest) -> Option<ToolOutcome> {
        tools::rehearse(&self.registry().of_agent(request.agent).snapshot(), request).await
    }

    /// The plugins that agents may ask for, each for an instance of its own: those with
    /// [`PluginScope::Agent`](crate::PluginScope::Agent).
    pub fn plugins_per_agent(&self) -> Vec<String> {
        self.registry().per_agent()
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
        let inherited = options.parent.as_ref().map_or(self.registry(), Agent::registry);
        let registry = inherited.scoped(&options.plugins, &options.tools)?;
        Ok(Agent::start(registry, model, log, options))
    }
}

impl Host {
    fn registry(&self) -> &Arc<Registry> {
        self.plugins.registry()
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
    generation::open(artifact, 1, config, &loader)?.create(Purpose::Probe, None, &runtime).map(drop)
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
