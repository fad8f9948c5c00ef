//! A tool of a plugin, and one run of its body.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{fmt, hint, ptr};

use lockgate_plugin_api::abi::Prefixed;
use lockgate_plugin_api::abi::future::{Out, Reply, SeamFuture, guard, write_done, write_future};
use lockgate_plugin_api::abi::json::Json;
use lockgate_plugin_api::abi::tool::{
    HAS_LAST_WORD, NestedCallRef, RunTable, RunTableRef, ToolEntryRef,
};
use lockgate_plugin_api::abi::value::{Buf, Status, Str};
use lockgate_plugin_api::{Message, ToolOutcome};
use serde_json::Value;

use super::call::LentCall;
use super::hosted::counted;
use super::instance::Instance;
use crate::progress::{Progress, ProgressSink};
use crate::refusal::{Code, Refusal};
use crate::signal::Signal;

/// A tool of a live instance.
pub(crate) struct BoundTool {
    entry: ToolEntryRef,
    instance: Arc<Instance>,
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) parameters: Value,
    pub(crate) budget: Option<Duration>,
}

// SAFETY: the entry stays valid until its `release`, and its functions may be called on any
// thread.
unsafe impl Send for BoundTool {}
// SAFETY: as for `Send`, by several threads at once.
unsafe impl Sync for BoundTool {}

/// What a run of a body has left behind.
#[derive(Debug)]
pub(crate) struct RunState {
    signal: Signal,
    contexts: Arc<Mutex<Vec<Message>>>,
    concluded: AtomicBool,
    nested: Box<dyn Nested>,
    watcher: Option<Watcher>,
}

/// Who watches how far a body is.
#[derive(Debug)]
pub(crate) struct Watcher {
    pub(crate) sink: ProgressSink,
    /// What is the same of everything that the body says.
    pub(crate) call: Progress,
}

/// How a body makes calls of its own.
pub(crate) trait Nested: fmt::Debug + Send + Sync {
    /// Makes a call of `name` with `arguments`, one JSON text.
    ///
    /// # Errors
    /// Why none can be made.
    fn call(&self, name: String, arguments: String) -> Result<NestedOutcome, String>;
}

/// What a call inside another one comes to.
pub(crate) type NestedOutcome = Pin<Box<dyn Future<Output = Arc<ToolOutcome>> + Send>>;

impl RunState {
    /// A run that `signal` tells to end, and whose own calls go through `nested`.
    pub(crate) fn new(signal: Signal, nested: Box<dyn Nested>, watcher: Option<Watcher>) -> Self {
        let (contexts, concluded) = (Arc::default(), AtomicBool::new(false));
        Self { signal, contexts, concluded, nested, watcher }
    }

    /// Whether the body said that the turn is over.
    pub(crate) fn has_concluded(&self) -> bool {
        self.concluded.load(Ordering::Relaxed)
    }

    /// Takes the messages that the body added, in order.
    pub(crate) fn take_contexts(&self) -> Vec<Message> {
        std::mem::take(&mut self.contexts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What is lent to a body across its awaits.
struct Pinned<T>(T);

// SAFETY: the tables are read-only, and what they point to may be used on any thread.
unsafe impl<T> Send for Pinned<T> {}
// SAFETY: as for `Send`.
unsafe impl<T> Sync for Pinned<T> {}

impl BoundTool {
    /// Takes over what a plugin listed, and reads its texts.
    ///
    /// # Errors
    /// `E-START` that names what is wrong with them. The entry is released.
    pub(super) fn new(entry: ToolEntryRef, instance: &Arc<Instance>) -> Result<Self, Refusal> {
        let mut tool = Self {
            entry,
            instance: Arc::clone(instance),
            name: String::new(),
            description: String::new(),
            parameters: Value::Null,
            budget: Some(entry.budget_ms()).filter(|it| *it > 0).map(Duration::from_millis),
        };
        let read = |what: &str, text: Str| {
            // SAFETY: the entry's texts are valid until its `release`.
            unsafe { text.read() }.map_err(|_| {
                Refusal::new(Code::Start, format!("the {what} of a tool is not UTF-8"))
            })
        };
        tool.name = read("name", entry.name())?.to_owned();
        tool.description = read("description", entry.description())?.to_owned();
        let parameters = read("parameter schema", entry.parameters())?;
        tool.parameters = serde_json::from_str(parameters).map_err(|error| {
            let message =
                format!("the parameter schema of the tool `{}` is no JSON: {error}", tool.name);
            Refusal::new(Code::Start, message)
        })?;
        Ok(tool)
    }

    /// The plugin whose tool it is.
    pub(crate) fn plugin(&self) -> &Arc<str> {
        self.instance.plugin()
    }

    /// Runs the body to its end.
    pub(crate) async fn run(&self, call: &LentCall, state: &RunState) -> Reply<ToolOutcome> {
        let table = Pinned(Prefixed::new(RunTable {
            call: call.table(),
            state: ptr::from_ref(state).cast(),
            signal,
            defer_context,
            call_tool,
            conclude_turn,
            progress,
        }));
        let reply = match self.begin(&table) {
            Ok(reply) => reply,
            Err(future) => future.await,
        };
        // What was lent lives until here, whatever the compiler could tell of its use.
        hint::black_box(&table);
        reply
    }

    /// The body's answer, or the future that will give it.
    fn begin(
        &self,
        table: &Pinned<Prefixed<RunTable>>,
    ) -> Result<Reply<ToolOutcome>, SeamFuture<ToolOutcome>> {
        let mut out = ToolOutcome::EMPTY;
        let mut future = SeamFuture::EMPTY;
        let mut fault = Buf::EMPTY;
        // SAFETY: `run` keeps the table until the body has ended.
        let run = RunTableRef(unsafe { table.0.as_prefix() });
        // SAFETY: the entry of a tool that was not released, with empty places to write to.
        let status = unsafe {
            self.entry.execute()(
                self.entry.state(),
                run,
                &raw mut out,
                &raw mut future,
                &raw mut fault,
            )
        };
        match status {
            Status::PENDING => Err(future),
            status => Ok(Reply::from_parts(status, out, &fault)),
        }
    }

    /// What the model is shown of `value`, a JSON text.
    pub(crate) fn render(&self, call: &LentCall, value: &str) -> Reply<Json> {
        json(|out, fault| {
            let (state, value) = (self.entry.state(), Str::lend(value));
            // SAFETY: the entry of a tool that was not released, with empty places to write to;
            // the call and the value are lent for this call.
            unsafe { self.entry.render()(state, call.table(), value, out, fault) }
        })
    }

    /// What whoever presents the outcome gets of `value`, a JSON text.
    pub(crate) fn present(&self, call: &LentCall, value: &str) -> Reply<Json> {
        json(|out, fault| {
            let (state, value) = (self.entry.state(), Str::lend(value));
            // SAFETY: as in `render`.
            unsafe { self.entry.present()(state, call.table(), value, out, fault) }
        })
    }

    /// The tool's last word on what the model is shown; no opinion where it wants none.
    pub(crate) fn finalize(&self, call: &LentCall, outcome: &ToolOutcome) -> Reply<Json> {
        if self.entry.flags() & HAS_LAST_WORD == 0 {
            return Reply::Next;
        }
        json(|out, fault| {
            let (state, outcome) = (self.entry.state(), ptr::from_ref(outcome));
            // SAFETY: as in `render`; the outcome is lent for this call.
            unsafe { self.entry.finalize()(state, call.table(), outcome, out, fault) }
        })
    }
}

/// Asks for one JSON text, with empty places to write to.
fn json(ask: impl FnOnce(*mut Json, *mut Buf) -> Status) -> Reply<Json> {
    let mut out = Json::EMPTY;
    let mut fault = Buf::EMPTY;
    let status = ask(&raw mut out, &raw mut fault);
    Reply::from_parts(status, out, &fault)
}

impl fmt::Debug for BoundTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, instance, .. } = self;
        f.debug_struct("BoundTool").field("name", name).field("plugin", instance.plugin()).finish()
    }
}

impl Drop for BoundTool {
    fn drop(&mut self) {
        // SAFETY: called once, and no run is under way: runs borrow the tool.
        unsafe { self.entry.release()(self.entry.state()) }
    }
}

unsafe extern "C" fn signal(state: *const ()) -> u64 {
    // SAFETY: the `RunState` that the table was made for, alive while the table is lent.
    let state = unsafe { &*state.cast::<RunState>() };
    guard(|| state.signal.id()).unwrap_or(0)
}

unsafe extern "C" fn defer_context(state: *const (), message: Str, fault: *mut Buf) -> Status {
    // SAFETY: the `RunState` that the table was made for, alive while the table is lent.
    let state = unsafe { &*state.cast::<RunState>() };
    let taken = guard(|| {
        // SAFETY: the plugin lends the text during the call.
        let text = unsafe { message.read() }.map_err(|_| "the message is not UTF-8".to_owned())?;
        let message = serde_json::from_str(text).map_err(|error| format!("no message: {error}"))?;
        state.contexts.lock().unwrap_or_else(PoisonError::into_inner).push(message);
        Ok(())
    });
    // SAFETY: the caller gives an empty place to write to.
    unsafe { write_done(taken.flatten(), fault) }
}

unsafe extern "C" fn call_tool(
    state: *const (),
    request: NestedCallRef,
    future: *mut SeamFuture<ToolOutcome>,
    fault: *mut Buf,
) -> Status {
    // SAFETY: the `RunState` that the table was made for, alive while the table is lent.
    let state = unsafe { &*state.cast::<RunState>() };
    let made = guard(|| {
        let read = |text: Str| {
            // SAFETY: the plugin lends the request during the call.
            let text = unsafe { text.read() };
            text.map(str::to_owned).map_err(|_| "a text of the call is not UTF-8".to_owned())
        };
        let outcome = state.nested.call(read(request.name())?, read(request.arguments())?)?;
        let contexts = Arc::clone(&state.contexts);
        Ok(SeamFuture::new(counted(async move {
            let outcome = outcome.await;
            // What is said to the model about the inner call is said with the outer one.
            let said = outcome.extras().map(|it| it.contexts).unwrap_or_default();
            contexts.lock().unwrap_or_else(PoisonError::into_inner).extend(said);
            Reply::Ready(ToolOutcome::lend(&outcome, 0))
        })))
    });
    // SAFETY: the caller gives empty places to write to.
    unsafe { write_future(made.flatten(), future, fault) }
}

unsafe extern "C" fn conclude_turn(state: *const ()) {
    // SAFETY: the `RunState` that the table was made for, alive while the table is lent.
    unsafe { &*state.cast::<RunState>() }.concluded.store(true, Ordering::Relaxed);
}

unsafe extern "C" fn progress(state: *const (), done: u64, total: u64, text: Str) {
    // SAFETY: the `RunState` that the table was made for, alive while the table is lent.
    let state = unsafe { &*state.cast::<RunState>() };
    let Some(watcher) = &state.watcher else { return };
    // Whoever watches may panic; the body goes on.
    let _ = guard(|| {
        // SAFETY: the plugin lends the text during the call.
        let text = unsafe { text.read() }.unwrap_or("(not UTF-8)").to_owned();
        watcher.sink.put(Progress { done, total, text, ..watcher.call.clone() });
    });
}
