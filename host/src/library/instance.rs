//! One instance of a plugin, from `create` to `destroy`.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::{fmt, mem, ptr};

use lockgate_plugin_api::abi::Prefixed;
use lockgate_plugin_api::abi::future::Out;
use lockgate_plugin_api::abi::root::{CreateArgs, CreateArgsRef, PluginRootRef, SavedState};
use lockgate_plugin_api::abi::tool::{ToolEntryRef, ToolSink, ToolSinkRef};
use lockgate_plugin_api::abi::value::{Buf, Instance as Opaque, Slice, Status, Str};
use lockgate_plugin_api::{Manifest, Purpose, State};
use tokio::runtime::Handle;

use super::Library;
use super::body::BoundTool;
use super::fields;
use super::host_table;
use super::tasks::Tasks;
use crate::probation::Probation;
use crate::refusal::{Code, Refusal};

/// The most bytes of a state: 16 MiB.
const MAX_STATE: usize = 16 << 20;

/// Is told of the end of an instance.
type OnEnd = Box<dyn FnOnce() + Send>;

/// A live instance. Listeners and tools hold it; when the last of them is gone, so is the
/// instance: it is quiesced and destroyed, and its library stays.
pub(crate) struct Instance {
    root: PluginRootRef,
    opaque: *const Opaque,
    id: u64,
    plugin: Arc<str>,
    started: AtomicBool,
    probation: Arc<Probation>,
    /// Who is told of its end, where the host goes on without it.
    let_go: Mutex<Option<OnEnd>>,
    runtime: Handle,
    tasks: Tasks,
}

// SAFETY: the root's functions may be called on any thread, with the instance.
unsafe impl Send for Instance {}
// SAFETY: as for `Send`, by several threads at once.
unsafe impl Sync for Instance {}

/// Checks that a root table names the plugin as its note does.
///
/// # Errors
/// `E-MANIFEST` where it does not.
pub(crate) fn check_name(library: Library, name: &str, version: &str) -> Result<(), Refusal> {
    let root = library.root;
    // SAFETY: texts of the root are in statics of a library that is never unmapped.
    let its_name = unsafe { root.name().read() };
    // SAFETY: as above.
    let its_version = unsafe { root.version().read() };
    if (its_name, its_version) == (Ok(name), Ok(version)) {
        return Ok(());
    }
    let message = "its note and its root table give different names or versions";
    Err(Refusal::new(Code::Manifest, message))
}

impl Instance {
    /// Creates an instance of the plugin `manifest` from its configuration, a JSON text, and from
    /// what another one saved. What it asks of the host later runs on `runtime`.
    ///
    /// # Errors
    /// `E-CREATE`, with what the plugin says.
    pub(crate) fn create(
        library: Library,
        manifest: &Manifest,
        config: &str,
        state: Option<&State>,
        purpose: Purpose,
        runtime: Handle,
    ) -> Result<Self, Refusal> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let plugin: Arc<str> = manifest.name.as_str().into();
        let root = library.root;
        let (tasks, events) = (Tasks::default(), manifest.events.as_slice().into());
        host_table::register(id, Arc::clone(&plugin), runtime.clone(), tasks.clone(), events);
        let args = CreateArgs {
            host: host_table::table(),
            instance: id,
            purpose: purpose.number(),
            state_version: state.map_or(0, |it| it.version),
            state: state.map_or(Slice::EMPTY, |it| Slice::lend(&it.bytes)),
            config: Str::lend(config),
        };
        let args = Prefixed::new(args);
        let mut opaque = ptr::null();
        let mut fault = Buf::EMPTY;
        // SAFETY: `args` outlives the call below, the only user.
        let lent = CreateArgsRef(unsafe { args.as_prefix() });
        // SAFETY: the root's function, with places to write to.
        let status = unsafe { root.create()(lent, &raw mut opaque, &raw mut fault) };
        if status != Status::READY {
            host_table::retire(id);
            return Err(Refusal::new(Code::Create, said("create", status, &fault)));
        }
        let (started, let_go) = (AtomicBool::new(false), Mutex::new(None));
        let probation = Arc::default();
        Ok(Self { root, opaque, id, plugin, started, probation, let_go, runtime, tasks })
    }

    /// Starts it.
    ///
    /// # Errors
    /// `E-START`, with what the plugin says.
    pub(crate) fn start(&self) -> Result<(), Refusal> {
        let mut fault = Buf::EMPTY;
        // SAFETY: the root's function, called once on a live instance.
        let status = unsafe { self.root.start()(self.opaque, &raw mut fault) };
        match status {
            Status::READY => {
                self.started.store(true, Ordering::Relaxed);
                Ok(())
            }
            status => Err(Refusal::new(Code::Start, said("start", status, &fault))),
        }
    }

    /// What another instance may go on from; nothing is inside this one.
    ///
    /// # Errors
    /// `E-STATE`, with what the plugin says, or that there is more than it may be.
    pub(crate) fn save_state(&self) -> Result<Option<State>, Refusal> {
        let bad = |message: String| Err(Refusal::new(Code::State, message));
        let (mut saved, mut fault) = (SavedState::EMPTY, Buf::EMPTY);
        // SAFETY: the root's function on a live instance, with places to write to.
        let status = unsafe { self.root.save_state()(self.opaque, &raw mut saved, &raw mut fault) };
        match status {
            Status::NEXT => Ok(None),
            Status::READY if saved.is_empty() => {
                bad("its `save_state` answered `ready` and wrote no state".into())
            }
            Status::READY if saved.bytes.as_bytes().len() > MAX_STATE => {
                let size = saved.bytes.as_bytes().len();
                bad(format!("its state has {size} bytes, and may have {MAX_STATE}"))
            }
            Status::READY => {
                let bytes = saved.bytes.as_bytes().to_vec();
                Ok(Some(State { version: saved.version, bytes }))
            }
            status => bad(said("save_state", status, &fault)),
        }
    }

    /// Has it give back what it acquired, before its end. Nothing is inside, and nobody will ask
    /// it. Blocks until what it runs on the host's runtime has ended, outside of that runtime.
    pub(crate) fn quiesce(&self) {
        if !self.tasks.end() && !self.runtime.block_on(self.tasks.ended()) {
            let plugin = &*self.plugin;
            tracing::warn!(plugin, "a closure goes on beside what takes its instance's place");
        }
        if self.started.swap(false, Ordering::Relaxed) {
            quiesce(self.root, self.opaque, &self.plugin);
        }
    }

    /// The tools it lists.
    ///
    /// # Errors
    /// `E-START`, with what the plugin says, or that a tool's texts are none; `E-FIELDS` where an
    /// entry lacks something; `E-SCHEMA` where a tool's schemas are not supported.
    pub(crate) fn tools(self: &Arc<Self>) -> Result<Vec<BoundTool>, Refusal> {
        type Add<T> = unsafe extern "C" fn(state: *const (), tool: T);
        unsafe extern "C" fn add(state: *const (), tool: *const ()) {
            // SAFETY: the list below, lent to nobody else during the call.
            unsafe { &mut *state.cast_mut().cast::<Vec<*const ()>>() }.push(tool);
        }
        // SAFETY: the same function for a caller with a reference, which is passed as a pointer;
        // it takes a null too, which is no reference.
        let add = unsafe { mem::transmute::<Add<*const ()>, Add<ToolEntryRef>>(add) };
        let mut entries: Vec<*const ()> = Vec::new();
        let sink = Prefixed::new(ToolSink { state: (&raw mut entries).cast(), add });
        let mut fault = Buf::EMPTY;
        // SAFETY: `sink` outlives the call below, the only user.
        let lent = ToolSinkRef(unsafe { sink.as_prefix() });
        // SAFETY: the root's function, on a live instance.
        let status = unsafe { self.root.tools()(self.opaque, lent, &raw mut fault) };
        // Every entry is taken over before anything can fail, so that each is released.
        let bind = |(index, entry)| {
            // SAFETY: the plugin offers a table that lives until its `release`, or a null.
            BoundTool::new(unsafe { fields::tool(entry, index) }?, self)
        };
        let tools: Vec<_> = entries.into_iter().enumerate().map(bind).collect();
        if status != Status::READY {
            return Err(Refusal::new(Code::Start, said("tools", status, &fault)));
        }
        tools.into_iter().collect()
    }

    /// From now on `f` is called whenever the plugin says that its tools changed: inside the
    /// plugin, so that it only sees to their being [listed](Self::tools) soon.
    pub(crate) fn on_tools_changed(&self, f: impl Fn() + Send + Sync + 'static) {
        host_table::on_tools(self.id, Arc::new(f));
    }

    /// Its first time.
    pub(crate) fn probation(&self) -> &Arc<Probation> {
        &self.probation
    }

    /// Nobody will ask it any more, and the host goes on: whoever holds it last does not wait for
    /// its end, of which `ended` is told.
    pub(crate) fn let_go(&self, ended: impl FnOnce() + Send + 'static) {
        let mut let_go = self.let_go.lock().unwrap_or_else(PoisonError::into_inner);
        *let_go = Some(Box::new(ended));
    }

    /// The root table.
    pub(crate) fn root(&self) -> PluginRootRef {
        self.root
    }

    /// The plugin's own pointer.
    pub(super) fn opaque(&self) -> *const Opaque {
        self.opaque
    }

    /// The plugin's name.
    pub(crate) fn plugin(&self) -> &Arc<str> {
        &self.plugin
    }
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instance").field("plugin", &self.plugin).field("id", &self.id).finish()
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let end = End {
            root: self.root,
            opaque: self.opaque,
            id: self.id,
            plugin: Arc::clone(&self.plugin),
            started: self.started.load(Ordering::Relaxed),
        };
        let let_go = self.let_go.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if self.tasks.end() {
            match let_go {
                Some(ended) => drop(self.runtime.spawn_blocking(move || {
                    end.come();
                    ended();
                })),
                None => end.come(),
            }
            return;
        }
        // Something of the instance still runs, and waiting for it here would hold a thread that
        // others need.
        let tasks = self.tasks.clone();
        self.runtime.spawn(async move {
            if tasks.ended().await {
                end.come();
                if let Some(ended) = let_go {
                    ended();
                }
            } else {
                let plugin = &*end.plugin;
                tracing::warn!(plugin, "a closure does not end, so its instance is kept for ever");
            }
        });
    }
}

/// The end of an instance that nobody holds any more.
struct End {
    root: PluginRootRef,
    opaque: *const Opaque,
    id: u64,
    plugin: Arc<str>,
    /// What was never started has nothing to give back.
    started: bool,
}

// SAFETY: the root's functions may be called on any thread, with the instance.
unsafe impl Send for End {}

impl End {
    fn come(self) {
        if self.started {
            quiesce(self.root, self.opaque, &self.plugin);
        }
        // SAFETY: the last call on the instance, which nobody else holds.
        unsafe { self.root.destroy()(self.opaque) };
    }
}

impl Drop for End {
    fn drop(&mut self) {
        // Also where the end never came: the runtime was gone, or something still runs.
        host_table::retire(self.id);
    }
}

/// Tells an instance, in which nothing is, to give back what it acquired.
fn quiesce(root: PluginRootRef, opaque: *const Opaque, plugin: &str) {
    let mut fault = Buf::EMPTY;
    // SAFETY: the root's function, called once; the caller has the instance.
    let status = unsafe { root.quiesce()(opaque, &raw mut fault) };
    if status != Status::READY {
        let said = said("quiesce", status, &fault);
        tracing::warn!(plugin, "{said}");
    }
}

/// What a step of an instance's life said when it did not work.
fn said(step: &str, status: Status, fault: &Buf) -> String {
    match status {
        Status::FAULT => {
            let fault = String::from_utf8_lossy(fault.as_bytes());
            format!("its `{step}` failed: {fault}")
        }
        Status(other) => format!("its `{step}` answered with the status {other}"),
    }
}
