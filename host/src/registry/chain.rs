//! Makes a snapshot of layers: the chain of each seam, and the tools.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use lockgate_plugin_api::abi::seam::Seam;
use lockgate_plugin_api::{ListenerExport, Manifest};

use super::layer::{self, Layer, LayerState, Plugins};
use super::scope::Common;
use super::{Lost, Offer, Snapshot};
use crate::dispatch::Dispatcher;
use crate::library::body::BoundTool;
use crate::library::facts::Lend;
use crate::library::listener::{Bound, Held, Place};
use crate::options::HostOptions;
use crate::refusal::{Code, Refusal};
use crate::settings::{Deadlines, PluginSettings};
use crate::watchdog::Watched;

/// What calls see that begin now.
///
/// # Errors
/// When a plugin's listeners or tools cannot be read.
pub(super) fn snapshot(layers: &[Arc<Layer>], common: &Common) -> Result<Snapshot, Refusal> {
    let Common { options, runtime, .. } = common;
    // Before anything is read, so that what changes meanwhile is seen as a change.
    let version = layer::version(layers);
    let states: Vec<LayerState<'_>> = layers.iter().map(|it| it.state()).collect();
    let settings = common.settings.load_full();
    let mut chains = Chains { layers: &states, options, settings, watched: Vec::new() };
    let mut snapshot = Snapshot {
        session_start: chains.places()?,
        prompt_submit: chains.places()?,
        pre_step: chains.places()?,
        turn_stopping: chains.places()?,
        pre_execute: chains.places()?,
        guard: chains.places()?,
        execute: chains.places()?,
        post_execute: chains.places()?,
        tool_result: chains.places()?,
        tools: chains.tools(layers)?,
        trail: options.trail.clone(),
        approver: options.approver.clone(),
        progress: options.progress.clone(),
        version,
        ..Snapshot::default()
    };
    snapshot.dispatcher = Dispatcher::new(options.dispatch, runtime, chains.watched);
    Ok(snapshot)
}

/// What chains are made of.
struct Chains<'a> {
    /// The outermost first.
    layers: &'a [LayerState<'a>],
    options: &'a HostOptions,
    settings: Arc<BTreeMap<String, PluginSettings>>,
    /// The places so far, by number.
    watched: Vec<Watched>,
}

impl Chains<'_> {
    /// The places of one seam, the outermost first: layer by layer.
    fn places<S: Lend>(&mut self) -> Result<Vec<Place<S>>, Refusal> {
        let mut places = Vec::new();
        for layer in self.layers {
            places.extend(self.places_of(layer)?);
        }
        Ok(places)
    }

    /// The places of one seam in one layer: by priority, then the plugin's name, then the order of
    /// export.
    fn places_of<S: Lend>(&mut self, layer: &Plugins) -> Result<Vec<Place<S>>, Refusal> {
        let mut places = Vec::new();
        for generation in &layer.live {
            places.extend(Bound::places(&generation.instance)?);
        }
        for lost in &layer.lost {
            let here = lost.manifest.listeners.iter().filter(|it| it.seam == S::NAME);
            places.extend(here.map(|it| lost_place(lost, it)));
        }
        for place in &mut places {
            self.apply_settings(place);
        }
        places.retain(|it| it.required || matches!(it.held, Held::Live(_)));
        // A stable sort: listeners of one plugin keep the order in which it exports them.
        places.sort_by(|a, b| b.priority.cmp(&a.priority).then_with(|| a.plugin.cmp(&b.plugin)));
        for place in &mut places {
            place.patience = self.deadlines(layer, &place.plugin);
            place.number = self.watch(Watched {
                plugin: Arc::clone(&place.plugin),
                listener: Arc::clone(&place.name),
                seam: S::NAME.as_str(),
                deadline: Some(place.patience.entry),
                probation: place.probation(),
            })?;
        }
        Ok(places)
    }

    /// The tools: a nearer layer's before those further out, less what the layers keep from those
    /// further in.
    fn tools(&mut self, layers: &[Arc<Layer>]) -> Result<BTreeMap<String, Offer>, Refusal> {
        let mut tools: BTreeMap<String, Offer> = BTreeMap::new();
        let states = self.layers;
        let own = states.len() - 1;
        for (index, state) in states.iter().enumerate() {
            // What is the agent's own is filtered by nobody.
            if index == own {
                tools.retain(|name, _| layers.iter().all(|it| it.restriction().admits(name)));
            }
            for (name, offer) in self.tools_of(state)? {
                tools.insert(name, offer);
            }
        }
        Ok(tools)
    }

    fn tools_of(&mut self, layer: &Plugins) -> Result<BTreeMap<String, Offer>, Refusal> {
        let mut tools: BTreeMap<String, Offer> = BTreeMap::new();
        for tool in layer.live.iter().flat_map(|it| &it.tools) {
            match tools.entry(tool.name.clone()) {
                Entry::Vacant(free) => {
                    free.insert(self.offer(layer, tool)?);
                }
                Entry::Occupied(taken) => tracing::warn!(
                    tool = tool.name,
                    kept = &**taken.get().tool.plugin(),
                    left_out = &**tool.plugin(),
                    "two plugins offer a tool of one name"
                ),
            }
        }
        Ok(tools)
    }

    /// The tool under watch. A body may stay inside as long as its budget says.
    fn offer(&mut self, layer: &Plugins, tool: &Arc<BoundTool>) -> Result<Offer, Refusal> {
        let body = Watched {
            plugin: Arc::clone(tool.plugin()),
            listener: tool.name.as_str().into(),
            seam: "body",
            deadline: tool.budget,
            // How long a body takes is a matter of its arguments.
            probation: None,
        };
        let deadline = Some(self.deadlines(layer, tool.plugin()).entry);
        let functions = Watched { seam: "finalize-content", deadline, ..body.clone() };
        let classifier = Watched { seam: "is-parallel-safe", ..functions.clone() };
        Ok(Offer {
            tool: Arc::clone(tool),
            number: self.watch(body)?,
            functions: self.watch(functions)?,
            classifier: self.watch(classifier)?,
        })
    }

    fn watch(&mut self, place: Watched) -> Result<u16, Refusal> {
        let number = u16::try_from(self.watched.len()).ok().filter(|it| *it < u16::MAX);
        let number = number.ok_or_else(|| {
            let message = format!("there are more than {} listeners and tools", u16::MAX);
            Refusal::new(Code::Start, message)
        })?;
        self.watched.push(place);
        Ok(number)
    }

    /// What is set for the plugin; else what its manifest asks for, where that is more than what
    /// everybody has.
    fn deadlines(&self, layer: &Plugins, plugin: &str) -> Deadlines {
        let usual = self.options.deadlines;
        let set = self.settings.get(plugin);
        let manifest = layer.live.iter().map(|it| &it.manifest).find(|it| it.name == plugin);
        let asked = |ask: fn(&Manifest) -> Option<u64>, usual: Duration| {
            manifest.and_then(ask).map_or(usual, |it| usual.max(Duration::from_millis(it)))
        };
        Deadlines {
            entry: set
                .and_then(|it| it.entry_deadline)
                .unwrap_or_else(|| asked(|it| it.entry_deadline_ms, usual.entry)),
            answer: set
                .and_then(|it| it.answer_deadline)
                .unwrap_or_else(|| asked(|it| it.answer_deadline_ms, usual.answer)),
        }
    }

    fn apply_settings<S: Seam>(&self, place: &mut Place<S>) {
        let Some(settings) = self.settings.get(&*place.plugin) else { return };
        place.required = settings.required.at(S::NAME).unwrap_or(place.required);
        place.priority = settings.priority.get(&S::NAME).copied().unwrap_or(place.priority);
    }
}

fn lost_place<S: Seam>(lost: &Lost, export: &ListenerExport) -> Place<S> {
    Place {
        plugin: lost.manifest.name.as_str().into(),
        name: export.name.as_str().into(),
        priority: export.priority,
        required: export.required,
        number: 0,
        patience: Deadlines::default(),
        held: Held::Lost(Arc::clone(&lost.refusal)),
    }
}
