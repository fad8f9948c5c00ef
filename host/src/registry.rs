//! Which plugins are live, and the snapshot of their listeners and tools that each call sees.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use arc_swap::ArcSwap;
use lockgate_plugin_api::abi::seam::{self, Seam};
use lockgate_plugin_api::{ListenerExport, Manifest};

use crate::generation::Generation;
use crate::library::body::BoundTool;
use crate::library::facts::Lend;
use crate::library::listener::{Bound, Held, Place};
use crate::refusal::Refusal;
use crate::settings::PluginSettings;
use crate::trail::TrailSink;

/// A plugin that should be there and is not. Its required listeners keep their places, which
/// answer that they are unavailable.
#[derive(Debug, Clone)]
pub(crate) struct Lost {
    pub(crate) manifest: Manifest,
    pub(crate) refusal: Arc<Refusal>,
}

/// Everything one call sees, from its first seam to its last. Never changes.
#[derive(Default)]
pub(crate) struct Snapshot {
    pub(crate) session_start: Vec<Place<seam::session_start>>,
    pub(crate) prompt_submit: Vec<Place<seam::prompt_submit>>,
    pub(crate) pre_step: Vec<Place<seam::pre_step>>,
    pub(crate) turn_stopping: Vec<Place<seam::turn_stopping>>,
    pub(crate) pre_execute: Vec<Place<seam::pre_execute>>,
    pub(crate) guard: Vec<Place<seam::guard>>,
    pub(crate) execute: Vec<Place<seam::execute>>,
    pub(crate) post_execute: Vec<Place<seam::post_execute>>,
    pub(crate) tool_result: Vec<Place<seam::tool_result>>,
    pub(crate) tools: BTreeMap<String, Arc<BoundTool>>,
    /// Who is told every answer.
    pub(crate) trail: Option<TrailSink>,
}

/// The live plugins.
#[derive(Default)]
pub(crate) struct Registry {
    snapshot: ArcSwap<Snapshot>,
}

impl Registry {
    /// A registry of these plugins.
    ///
    /// # Errors
    /// When a plugin's listeners or tools cannot be read.
    pub(crate) fn new(
        live: &[Generation],
        lost: &[Lost],
        settings: &BTreeMap<String, PluginSettings>,
        trail: Option<TrailSink>,
    ) -> Result<Self, Refusal> {
        let mut snapshot = Snapshot { trail, ..Snapshot::default() };
        let chain = Chain { live, lost, settings };
        snapshot.session_start = chain.places()?;
        snapshot.prompt_submit = chain.places()?;
        snapshot.pre_step = chain.places()?;
        snapshot.turn_stopping = chain.places()?;
        snapshot.pre_execute = chain.places()?;
        snapshot.guard = chain.places()?;
        snapshot.execute = chain.places()?;
        snapshot.post_execute = chain.places()?;
        snapshot.tool_result = chain.places()?;
        for tool in live.iter().flat_map(|it| &it.tools) {
            match snapshot.tools.entry(tool.name.clone()) {
                Entry::Vacant(free) => {
                    free.insert(Arc::clone(tool));
                }
                Entry::Occupied(taken) => tracing::warn!(
                    tool = tool.name,
                    kept = &**taken.get().plugin(),
                    left_out = &**tool.plugin(),
                    "two plugins offer a tool of one name"
                ),
            }
        }
        Ok(Self { snapshot: ArcSwap::from_pointee(snapshot) })
    }

    /// What a call that begins now sees.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }
}

/// What the chain of a seam is made of.
struct Chain<'a> {
    live: &'a [Generation],
    lost: &'a [Lost],
    settings: &'a BTreeMap<String, PluginSettings>,
}

impl Chain<'_> {
    /// The places of one seam, the outermost first: by priority, then the plugin's name, then the
    /// order of export.
    fn places<S: Lend>(&self) -> Result<Vec<Place<S>>, Refusal> {
        let mut places = Vec::new();
        for generation in self.live {
            places.extend(Bound::places(&generation.instance)?);
        }
        for lost in self.lost {
            let here = lost.manifest.listeners.iter().filter(|it| it.seam == S::NAME);
            places.extend(here.map(|it| lost_place(lost, it)));
        }
        for place in &mut places {
            self.apply_settings(place);
        }
        places.retain(|it| it.required || matches!(it.held, Held::Live(_)));
        // A stable sort: listeners of one plugin keep the order in which it exports them.
        places.sort_by(|a, b| b.priority.cmp(&a.priority).then_with(|| a.plugin.cmp(&b.plugin)));
        Ok(places)
    }

    fn apply_settings<S: Seam>(&self, place: &mut Place<S>) {
        let Some(settings) = self.settings.get(&*place.plugin) else { return };
        place.required = settings.required.unwrap_or(place.required);
        place.priority = settings.priority.get(&S::NAME).copied().unwrap_or(place.priority);
    }
}

fn lost_place<S: Seam>(lost: &Lost, export: &ListenerExport) -> Place<S> {
    Place {
        plugin: lost.manifest.name.as_str().into(),
        name: export.name.as_str().into(),
        priority: export.priority,
        required: export.required,
        held: Held::Lost(Arc::clone(&lost.refusal)),
    }
}
