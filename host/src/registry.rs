//! Which plugins are live, and the snapshot of their listeners and tools that each call sees.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use arc_swap::ArcSwap;
use lockgate_plugin_api::abi::seam::{self, Seam};
use lockgate_plugin_api::{ListenerExport, Manifest, SeamName};
use serde::Serialize;
use tokio::runtime::Handle;

use crate::approval::AnyApprover;
use crate::dispatch::Dispatcher;
use crate::generation::{self, Generation};
use crate::library::body::BoundTool;
use crate::library::facts::Lend;
use crate::library::instance::Instance;
use crate::library::listener::{Bound, Held, Place};
use crate::options::HostOptions;
use crate::progress::ProgressSink;
use crate::refusal::{Code, Refusal};
use crate::settings::Deadlines;
use crate::trail::TrailSink;
use crate::watchdog::Watched;

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
}

/// A tool that calls find by its name.
#[derive(Debug, Clone)]
pub(crate) struct Offer {
    pub(crate) tool: Arc<BoundTool>,
    /// The number of its body for the watchdog.
    pub(crate) number: u16,
    /// The number of its other functions, which answer at once.
    pub(crate) functions: u16,
}

/// The live plugins.
pub(crate) struct Registry {
    snapshot: ArcSwap<Snapshot>,
    parts: Mutex<Parts>,
    this: Weak<Self>,
}

/// What snapshots are made of.
struct Parts {
    live: Vec<Generation>,
    lost: Vec<Lost>,
    options: HostOptions,
    runtime: Handle,
}

impl Registry {
    /// A registry of these plugins.
    ///
    /// # Errors
    /// When a plugin's listeners or tools cannot be read.
    pub(crate) fn new(
        live: Vec<Generation>,
        lost: Vec<Lost>,
        options: HostOptions,
        runtime: Handle,
    ) -> Result<Arc<Self>, Refusal> {
        let parts = Parts { live, lost, options, runtime };
        let mut snapshot = parts.snapshot()?;
        let registry = Arc::new_cyclic(|this: &Weak<Self>| {
            snapshot.registry = this.clone();
            let (snapshot, parts) = (ArcSwap::from_pointee(snapshot), Mutex::new(parts));
            Self { snapshot, parts, this: this.clone() }
        });
        registry.parts().live.iter().for_each(|it| registry.hear_of_tools(it));
        Ok(registry)
    }

    /// What a call that begins now sees.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }

    fn parts(&self) -> MutexGuard<'_, Parts> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the tools of `generation` listed again whenever its plugin says that they changed.
    fn hear_of_tools(&self, generation: &Generation) {
        static LISTINGS: AtomicU64 = AtomicU64::new(1);
        let (registry, instance) = (self.this.clone(), Arc::downgrade(&generation.instance));
        generation.instance.on_tools_changed(move || {
            let (Some(registry), instance) = (registry.upgrade(), instance.clone()) else { return };
            // Taken first: whatever changes from now on is told of again.
            let listing = LISTINGS.fetch_add(1, Ordering::Relaxed);
            let runtime = registry.parts().runtime.clone();
            // On a thread of its own, since a plugin is asked, and is inside now.
            runtime.spawn_blocking(move || {
                if let Some(instance) = instance.upgrade() {
                    registry.list_again(&instance, listing);
                }
            });
        });
    }

    /// Takes the tools that `instance` lists now in place of those that it listed before.
    fn list_again(&self, instance: &Arc<Instance>, listing: u64) {
        let manifest = {
            let parts = self.parts();
            let found = parts.live.iter().find(|it| Arc::ptr_eq(&it.instance, instance));
            let Some(generation) = found else { return };
            generation.manifest.clone()
        };
        let plugin = &*manifest.name;
        let swapped = generation::list_tools(instance, &manifest).and_then(|mut tools| {
            let mut parts = self.parts();
            let mut live = parts.live.iter_mut();
            let found = live.find(|it| Arc::ptr_eq(&it.instance, instance));
            let Some(generation) = found.filter(|it| it.listing < listing) else { return Ok(None) };
            mem::swap(&mut generation.tools, &mut tools);
            generation.listing = listing;
            let mut snapshot = parts.snapshot()?;
            snapshot.registry = self.this.clone();
            // Both go when the lock is gone: the last who holds a tool enters its plugin.
            Ok(Some((tools, self.snapshot.swap(Arc::new(snapshot)))))
        });
        match swapped {
            Ok(Some(_)) => tracing::info!(plugin, "the plugin has other tools"),
            Ok(None) => {}
            Err(refusal) => {
                tracing::error!(plugin, "the plugin keeps the tools that it had: {refusal}");
            }
        }
    }
}

impl Parts {
    /// What calls see from now on.
    fn snapshot(&self) -> Result<Snapshot, Refusal> {
        let Self { live, lost, options, runtime } = self;
        let (trail, progress) = (options.trail.clone(), options.progress.clone());
        let approver = options.approver.clone();
        let mut snapshot = Snapshot { trail, approver, progress, ..Snapshot::default() };
        let mut chain = Chain { live, lost, options, watched: Vec::new() };
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
                    free.insert(chain.offer(tool)?);
                }
                Entry::Occupied(taken) => tracing::warn!(
                    tool = tool.name,
                    kept = &**taken.get().tool.plugin(),
                    left_out = &**tool.plugin(),
                    "two plugins offer a tool of one name"
                ),
            }
        }
        snapshot.dispatcher = Dispatcher::new(options.dispatch, runtime, chain.watched);
        Ok(snapshot)
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

/// What the chain of a seam is made of.
struct Chain<'a> {
    live: &'a [Generation],
    lost: &'a [Lost],
    options: &'a HostOptions,
    /// The places so far, by number.
    watched: Vec<Watched>,
}

impl Chain<'_> {
    /// The places of one seam, the outermost first: by priority, then the plugin's name, then the
    /// order of export.
    fn places<S: Lend>(&mut self) -> Result<Vec<Place<S>>, Refusal> {
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
        for place in &mut places {
            place.patience = self.deadlines(&place.plugin);
            place.number = self.watch(Watched {
                plugin: Arc::clone(&place.plugin),
                listener: Arc::clone(&place.name),
                seam: S::NAME.as_str(),
                deadline: Some(place.patience.entry),
            })?;
        }
        Ok(places)
    }

    /// The tool under watch. A body may stay inside as long as its budget says.
    fn offer(&mut self, tool: &Arc<BoundTool>) -> Result<Offer, Refusal> {
        let body = Watched {
            plugin: Arc::clone(tool.plugin()),
            listener: tool.name.as_str().into(),
            seam: "body",
            deadline: tool.budget,
        };
        let deadline = Some(self.deadlines(tool.plugin()).entry);
        let functions = Watched { seam: "finalize-content", deadline, ..body.clone() };
        let (number, functions) = (self.watch(body)?, self.watch(functions)?);
        Ok(Offer { tool: Arc::clone(tool), number, functions })
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
    fn deadlines(&self, plugin: &str) -> Deadlines {
        let usual = self.options.deadlines;
        let set = self.options.plugins.get(plugin);
        let manifest = self.live.iter().map(|it| &it.manifest).find(|it| it.name == plugin);
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
        let Some(settings) = self.options.plugins.get(&*place.plugin) else { return };
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
