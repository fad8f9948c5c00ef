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
use crate::schema::{Role, Schema};
use crate::signal::Signal;

/// A tool of a live instance.
pub(crate) struct BoundTool {
    entry: Entry,
    instance: Arc<Instance>,
    pub(crate) name: String,
    pub(crate) description: String,
    /// The schema of its arguments as it wrote it, for models.
    pub(crate) parameters: Value,
    pub(crate) budget: Option<Duration>,
    /// What its arguments are checked against.
    takes: Schema,
    /// What its values are checked against.
    returns: Schema,
}

// SAFETY: the entry stays valid until its `release`, and its functions may be called on any
// thread.
unsafe impl Send for BoundTool {}
// SAFETY: as for `Send`, by several threads at once.
unsafe impl Sync for BoundTool {}

/// An entry that is released when nobody needs it any more.
struct Entry(ToolEntryRef);

impl Drop for Entry {
    fn drop(&mut self) {
        // SAFETY: called once, and no run is under way: runs borrow the tool.
        unsafe { self.0.release()(self.0.state()) }
    }
}

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
    /// `E-START` where they are no texts, `E-SCHEMA` with everything that is wrong with its
    /// schemas. The entry is released.
    pub(super) fn new(entry: ToolEntryRef, instance: &Arc<Instance>) -> Result<Self, Refusal> {
        // Released when it goes, which is also where a text of it cannot be read.
        let entry = Entry(entry);
        let read = |what: &str, text: Str| {
            // SAFETY: the entry's texts are valid until its `release`.
            let text = unsafe { text.read() };
            text.map(str::to_owned).map_err(|_| {
                Refusal::new(Code::Start, format!("the {what} of a tool is not UTF-8"))
            })
        };
        let name = read("name", entry.0.name())?;
        let description = read("description", entry.0.description())?;
        let parameters = read("parameter schema", entry.0.parameters())?;
        let output = read("output schema", entry.0.output())?;
        let mut faults = Vec::new();
        let mut schema = |name, text: &str| match read_schema(name, text) {
            Ok(read) => Some(read),
            Err(wrong) => {
                faults.extend(wrong);
                None
            }
        };
        let (takes, returns) = (schema("parameters", &parameters), schema("output", &output));
        let (Some((parameters, takes)), Some((_, returns))) = (takes, returns) else {
            let faults = faults.join("; ");
            let message = format!("the tool `{name}` has schemas that are not supported: {faults}");
            return Err(Refusal::new(Code::Schema, message));
        };
        let budget = Some(entry.0.budget_ms()).filter(|it| *it > 0).map(Duration::from_millis);
        let instance = Arc::clone(instance);
        Ok(Self { entry, instance, name, description, parameters, budget, takes, returns })
    }

    /// Whether `arguments`, a JSON text, are what the tool takes.
    ///
    /// # Errors
    /// Where they are not.
    pub(crate) fn check_arguments(&self, arguments: &str) -> Result<(), String> {
        self.takes.check(arguments, Role::Arguments)
    }

    /// Whether `value`, a JSON text, is what the tool returns.
    ///
    /// # Errors
    /// Where it is not.
    pub(crate) fn check_value(&self, value: &str) -> Result<(), String> {
        self.returns.check(value, Role::Value)
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
            self.entry.0.execute()(
                self.entry.0.state(),
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
            let (state, value) = (self.entry.0.state(), Str::lend(value));
            // SAFETY: the entry of a tool that was not released, with empty places to write to;
            // the call and the value are lent for this call.
            unsafe { self.entry.0.render()(state, call.table(), value, out, fault) }
        })
    }

    /// What whoever presents the outcome gets of `value`, a JSON text.
    pub(crate) fn present(&self, call: &LentCall, value: &str) -> Reply<Json> {
        json(|out, fault| {
            let (state, value) = (self.entry.0.state(), Str::lend(value));
            // SAFETY: as in `render`.
            unsafe { self.entry.0.present()(state, call.table(), value, out, fault) }
        })
    }

    /// Whether `call` may run beside others of its step: 1 says so, and nothing else.
    pub(crate) fn is_parallel_safe(&self, call: &LentCall) -> bool {
        let (state, arguments) = (self.entry.0.state(), Str::lend(&call.call().arguments));
        // SAFETY: as in `render`; the arguments are lent for this call.
        unsafe { self.entry.0.is_parallel_safe()(state, arguments) == 1 }
    }

    /// The tool's last word on what the model is shown; no opinion where it wants none.
    pub(crate) fn finalize(&self, call: &LentCall, outcome: &ToolOutcome) -> Reply<Json> {
        if self.entry.0.flags() & HAS_LAST_WORD == 0 {
            return Reply::Next;
        }
        json(|out, fault| {
            let (state, outcome) = (self.entry.0.state(), ptr::from_ref(outcome));
            // SAFETY: as in `render`; the outcome is lent for this call.
            unsafe { self.entry.0.finalize()(state, call.table(), outcome, out, fault) }
        })
    }
}

/// A schema, and what is checked against it.
fn read_schema(name: &str, text: &str) -> Result<(Value, Schema), Vec<String>> {
    let schema: Value =
        serde_json::from_str(text).map_err(|it| vec![format!("{name} cannot be read: {it}")])?;
    let read = Schema::read(&schema, name)?;
    Ok((schema, read))
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

#[cfg(test)]
mod tests {
    use super::read_schema;

    #[test]
    fn a_schema_that_is_deeper_than_the_limit_is_refused_and_not_followed() {
        let deep = "{\"oneOf\":[".repeat(5_000);
        let faults = read_schema("output", &deep).err().unwrap();
        let expected = "output cannot be read: recursion limit exceeded at line 1 column 640";
        assert_eq!(faults, [expected]);
    }
}
