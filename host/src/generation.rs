//! One load of one artifact: from its bytes to started instances.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use lockgate_plugin_api::abi::seam;
use lockgate_plugin_api::{ListenerExport, Manifest, Purpose, State, error_chain};
use serde_json::Value;
use tokio::runtime::Handle;

use crate::artifact::{Artifact, Copies};
use crate::compat;
use crate::library::body::BoundTool;
use crate::library::facts::Lend;
use crate::library::instance::{self, Instance};
use crate::library::listener::{Bound, Place};
use crate::library::{self, Library};
use crate::probe::{self, Probe};
use crate::refusal::{Code, Refusal};

/// A loaded artifact with its live instance.
#[derive(Debug)]
pub(crate) struct Generation {
    pub(crate) manifest: Manifest,
    pub(crate) instance: Arc<Instance>,
    pub(crate) tools: Vec<Arc<BoundTool>>,
    /// Which listing of the tools this is; a later one has a higher number.
    pub(crate) listing: u64,
    /// Counts the loads of its host.
    pub(crate) number: u64,
    /// The file that it was read from.
    pub(crate) path: PathBuf,
    /// What others like it are made of.
    pub(crate) blueprint: Arc<Blueprint>,
}

/// What a load needs besides the artifact.
pub(crate) struct Loader<'a> {
    pub(crate) copies: &'a Copies,
    pub(crate) probe: &'a Probe,
}

/// An open library and what instances of it are made with.
#[derive(Debug)]
pub(crate) struct Blueprint {
    library: Library,
    manifest: Manifest,
    config: Value,
    number: u64,
    path: PathBuf,
    copy: Arc<PrivateCopy>,
}

/// The file that a library was mapped from, which only debuggers still look at. Removed with the
/// last generation of it.
#[derive(Debug)]
struct PrivateCopy {
    path: PathBuf,
}

impl Drop for PrivateCopy {
    fn drop(&mut self) {
        // The whole directory goes with the host.
        if let Err(error) = fs::remove_file(&self.path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(path = %self.path.display(), %error, "a private copy stays");
        }
    }
}

/// Opens `artifact`, the `number`th load of its host, for instances with `config`. None is made
/// but in the child process of a probe.
///
/// # Errors
/// The first check that it does not pass.
pub(crate) fn open(
    artifact: &Artifact,
    number: u64,
    config: &Value,
    loader: &Loader<'_>,
) -> Result<Blueprint, Refusal> {
    let manifest = artifact.manifest.clone();
    compat::check(&manifest)?;
    let copy = loader.copies.write(artifact, number).map_err(|error| {
        Refusal::new(Code::Io, format!("no private copy could be made: {}", error_chain(&error)))
    })?;
    let copy = Arc::new(PrivateCopy { path: copy });
    probe::probe(loader.probe, &copy.path, config)?;
    let library = library::open(&copy.path, &manifest.symbol)?;
    instance::check_name(library, &manifest.name, &manifest.version)?;
    let (config, path) = (config.clone(), artifact.path.clone());
    Ok(Blueprint { library, manifest, config, number, path, copy })
}

impl Blueprint {
    /// Makes an instance, from what another one saved, that has touched nothing outside.
    ///
    /// # Errors
    /// What the plugin says, or that its tables are not what its note says.
    pub(crate) fn create(
        &self,
        purpose: Purpose,
        state: Option<&State>,
        runtime: &Handle,
    ) -> Result<Arc<Instance>, Refusal> {
        let Self { library, manifest, config, .. } = self;
        let (config, runtime) = (config.to_string(), runtime.clone());
        let instance = Instance::create(*library, manifest, &config, state, purpose, runtime)?;
        let instance = Arc::new(instance);
        let mut promised = manifest.listeners.clone();
        promised.sort_by_key(|it| it.seam);
        if exports(&instance)? != promised {
            let message = "its note and its tables name different listeners";
            return Err(Refusal::new(Code::Manifest, message));
        }
        Ok(instance)
    }

    /// Makes an instance, from what another one saved, starts it and takes its tools.
    ///
    /// # Errors
    /// What the plugin says, or that it is not what its note says.
    pub(crate) fn start(
        self: &Arc<Self>,
        state: Option<&State>,
        runtime: &Handle,
    ) -> Result<Generation, Refusal> {
        let instance = self.create(Purpose::Live, state, runtime)?;
        instance.start()?;
        let (manifest, number, path) = (self.manifest.clone(), self.number, self.path.clone());
        let tools = list_tools(&instance, &manifest)?;
        Ok(Generation {
            manifest,
            instance,
            tools,
            listing: 0,
            number,
            path,
            blueprint: Arc::clone(self),
        })
    }

    /// The same library, for instances with another configuration. None is made but in the child
    /// process of a probe.
    ///
    /// # Errors
    /// What the probe says.
    pub(crate) fn with_config(&self, config: &Value, probe: &Probe) -> Result<Self, Refusal> {
        probe::probe(probe, &self.copy.path, config)?;
        Ok(Self {
            library: self.library,
            manifest: self.manifest.clone(),
            config: config.clone(),
            number: self.number,
            path: self.path.clone(),
            copy: Arc::clone(&self.copy),
        })
    }

    pub(crate) fn manifest(&self) -> &Manifest {
        &self.manifest
    }
}

/// The tools that an instance lists now.
///
/// # Errors
/// When it cannot, or lists some and its manifest says that it has none.
pub(crate) fn list_tools(
    instance: &Arc<Instance>,
    manifest: &Manifest,
) -> Result<Vec<Arc<BoundTool>>, Refusal> {
    let tools: Vec<_> = instance.tools()?.into_iter().map(Arc::new).collect();
    if !tools.is_empty() && !manifest.tools {
        let message = "it lists tools, and its note says that it has none";
        return Err(Refusal::new(Code::Manifest, message));
    }
    Ok(tools)
}

/// The listeners in an instance's tables, by seam.
fn exports(instance: &Arc<Instance>) -> Result<Vec<ListenerExport>, Refusal> {
    fn of<S: Lend>(instance: &Arc<Instance>) -> Result<Vec<ListenerExport>, Refusal> {
        let export = |place: Place<S>| ListenerExport {
            seam: S::NAME,
            name: place.name.to_string(),
            priority: place.priority,
            required: place.required,
        };
        Ok(Bound::places(instance)?.into_iter().map(export).collect())
    }
    Ok([
        of::<seam::session_start>(instance)?,
        of::<seam::prompt_submit>(instance)?,
        of::<seam::pre_step>(instance)?,
        of::<seam::turn_stopping>(instance)?,
        of::<seam::pre_execute>(instance)?,
        of::<seam::guard>(instance)?,
        of::<seam::execute>(instance)?,
        of::<seam::post_execute>(instance)?,
        of::<seam::tool_result>(instance)?,
    ]
    .concat())
}
