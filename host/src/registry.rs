//! Which plugins are live, for all agents or for one, and the snapshot of their listeners and tools
//! that each call sees.

mod chain;
mod change;
mod hold;
mod layer;
mod scope;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use arc_swap::ArcSwap;
use lockgate_plugin_api::abi::seam::{self, Seam};
use lockgate_plugin_api::{Manifest, SeamName};
use serde::Serialize;
use tokio::runtime::Handle;

use crate::approval::AnyApprover;
use crate::dispatch::Dispatcher;
use crate::library::body::BoundTool;
use crate::library::listener::{Held, Place};
use crate::options::HostOptions;
use crate::progress::ProgressSink;
use crate::refusal::Refusal;
use crate::trail::TrailSink;
use layer::Layer;
use scope::Common;

pub(crate) use self::scope::PerAgent;
pub use self::scope::{ScopeError, ToolRestriction};

/// A plugin that should be there and is not. Its required listeners keep their places, which
/// answer that they are unavailable.
#[derive(Debug, Clone)]
pub(crate) struct Lost {
    pub(crate) manifest: Arc<Manifest>,
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
    pub(crate) tools: BTreeMap<String, Offer>,
    /// Where all of them are asked.
    pub(crate) dispatcher: Dispatcher,
    /// Who is told every answer.
    pub(crate) trail: Option<TrailSink>,
    /// Who is asked for approval.
    pub(crate) approver: Option<AnyApprover>,
    /// Who is told how far bodies are.
    pub(crate) progress: Option<ProgressSink>,
    /// Where the calls that bodies make find what is live.
    pub(crate) registry: Weak<Registry>,
    /// Which state of its layers this is.
    version: u64,
}

/// A tool that calls find by its name.
#[derive(Debug, Clone)]
pub(crate) struct Offer {
    pub(crate) tool: Arc<BoundTool>,
    /// The number of its body for the watchdog.
    pub(crate) number: u16,
    /// The number of its other functions, which answer at once.
    pub(crate) functions: u16,
    /// The number of the one that says whether a call may run beside others.
    pub(crate) classifier: u16,
}

/// The plugins that are live for whoever holds this: for all agents, or for one of them too.
pub(crate) struct Registry {
    /// The one for all agents first, then those of the agent's ancestors, its own last.
    layers: Vec<Arc<Layer>>,
    common: Arc<Common>,
    snapshot: ArcSwap<Snapshot>,
    /// Held by whoever makes a snapshot.
    making: Mutex<()>,
    this: Weak<Self>,
}

impl Registry {
    /// A registry without plugins, for all agents. What plugins start runs on `runtime`.
    pub(crate) fn new(options: HostOptions, runtime: Handle) -> Arc<Self> {
        let common = Arc::new(Common::new(options, runtime));
        let layers = vec![Layer::new(ToolRestriction::default())];
        // Of no version that there is: the first who asks for it has another one made.
        Self::with(layers, common, Snapshot::default())
    }

    fn of_layers(layers: Vec<Arc<Layer>>, common: Arc<Common>) -> Result<Arc<Self>, Refusal> {
        let snapshot = chain::snapshot(&layers, &common)?;
        Ok(Self::with(layers, common, snapshot))
    }

    fn with(layers: Vec<Arc<Layer>>, common: Arc<Common>, snapshot: Snapshot) -> Arc<Self> {
        let registry = Arc::new_cyclic(|this: &Weak<Self>| {
            let snapshot = Snapshot { registry: this.clone(), ..snapshot };
            let snapshot = ArcSwap::from_pointee(snapshot);
            Self { layers, common, snapshot, making: Mutex::new(()), this: this.clone() }
        });
        registry.keep_track(&registry.snapshot.load_full());
        registry
    }

    /// What a call that begins now sees.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        let last = self.snapshot.load_full();
        if last.version == layer::version(&self.layers) { last } else { self.next_snapshot() }
    }

    /// What is live has changed: the snapshot of that, or the last one where there is none.
    fn next_snapshot(&self) -> Arc<Snapshot> {
        if !self.common.hold.wait() {
            return self.snapshot.load_full();
        }
        self.refresh().unwrap_or_else(|refusal| {
            tracing::error!("the plugins stay as they were: {refusal}");
            self.snapshot.load_full()
        })
    }

    /// Sees to it that the snapshot is of what is live now.
    ///
    /// # Errors
    /// When a plugin's listeners or tools cannot be read; the snapshot stays as it was.
    pub(crate) fn refresh(&self) -> Result<Arc<Snapshot>, Refusal> {
        // Dropped when the lock is gone: the last who holds a tool enters its plugin.
        let _old;
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        let last = self.snapshot.load_full();
        if last.version == layer::version(&self.layers) {
            return Ok(last);
        }
        let snapshot = chain::snapshot(&self.layers, &self.common)?;
        let next = Arc::new(Snapshot { registry: self.this.clone(), ..snapshot });
        self.keep_track(&next);
        _old = self.snapshot.swap(Arc::clone(&next));
        Ok(next)
    }
}

/// A place in the chain of a seam, as a person is told of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlaceReport {
    /// The seam.
    pub seam: SeamName,
    /// The plugin whose place it is.
    pub plugin: Arc<str>,
    /// The listener.
    pub listener: Arc<str>,
    /// Higher stands further out.
    pub priority: i32,
    /// Whether the place stays when its plugin is not there.
    pub required: bool,
    /// Whether somebody stands there.
    pub live: bool,
    /// How long one entry may take.
    pub entry_deadline_ms: u64,
    /// How much time of its own an answer that comes later may take.
    pub answer_deadline_ms: u64,
}

impl Snapshot {
    /// Every place, seam by seam, the outermost first.
    pub(crate) fn places(&self) -> Vec<PlaceReport> {
        fn of<S: Seam>(places: &[Place<S>]) -> impl Iterator<Item = PlaceReport> {
            places.iter().map(|it| PlaceReport {
                seam: S::NAME,
                plugin: Arc::clone(&it.plugin),
                listener: Arc::clone(&it.name),
                priority: it.priority,
                required: it.required,
                live: matches!(it.held, Held::Live(_)),
                entry_deadline_ms: millis(it.patience.entry),
                answer_deadline_ms: millis(it.patience.answer),
            })
        }
        of(&self.session_start)
            .chain(of(&self.prompt_submit))
            .chain(of(&self.pre_step))
            .chain(of(&self.turn_stopping))
            .chain(of(&self.pre_execute))
            .chain(of(&self.guard))
            .chain(of(&self.execute))
            .chain(of(&self.post_execute))
            .chain(of(&self.tool_result))
            .collect()
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
