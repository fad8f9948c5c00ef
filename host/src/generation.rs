//! One load of one artifact: from its bytes to a started instance.

use std::sync::Arc;

use lockgate_plugin_api::abi::seam;
use lockgate_plugin_api::{ListenerExport, Manifest, Purpose, error_chain};
use serde_json::Value;
use tokio::runtime::Handle;

use crate::artifact::{Artifact, Copies};
use crate::compat;
use crate::library;
use crate::library::body::BoundTool;
use crate::library::facts::Lend;
use crate::library::instance::{self, Instance};
use crate::library::listener::{Bound, Place};
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
}

/// What a load needs besides the artifact.
pub(crate) struct Loader<'a> {
    pub(crate) copies: &'a Copies,
    pub(crate) runtime: &'a Handle,
    pub(crate) probe: &'a Probe,
}

/// Loads `artifact` and starts an instance of it with `config`.
///
/// # Errors
/// The first check that it does not pass.
pub(crate) fn load(
    artifact: &Artifact,
    number: u64,
    config: &Value,
    loader: &Loader<'_>,
) -> Result<Generation, Refusal> {
    let instance = create(artifact, number, config, Purpose::Live, loader)?;
    instance.start()?;
    let manifest = artifact.manifest.clone();
    let tools = list_tools(&instance, &manifest)?;
    Ok(Generation { manifest, instance, tools, listing: 0 })
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

/// As [`load`], up to an instance that has touched nothing outside.
///
/// # Errors
/// The first check that it does not pass.
pub(crate) fn create(
    artifact: &Artifact,
    number: u64,
    config: &Value,
    purpose: Purpose,
    loader: &Loader<'_>,
) -> Result<Arc<Instance>, Refusal> {
    let manifest = &artifact.manifest;
    compat::check(manifest)?;
    let copy = loader.copies.write(artifact, number).map_err(|error| {
        Refusal::new(Code::Io, format!("no private copy could be made: {}", error_chain(&error)))
    })?;
    probe::probe(loader.probe, &copy, config)?;
    let root = library::open(&copy, &manifest.symbol)?;
    instance::check_name(root, &manifest.name, &manifest.version)?;
    let config = config.to_string();
    let instance = Instance::create(root, manifest, &config, purpose, loader.runtime.clone())?;
    let instance = Arc::new(instance);
    let mut promised = manifest.listeners.clone();
    promised.sort_by_key(|it| it.seam);
    if exports(&instance)? != promised {
        let message = "its note and its tables name different listeners";
        return Err(Refusal::new(Code::Manifest, message));
    }
    Ok(instance)
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
