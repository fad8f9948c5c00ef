//! Tools as they cross, the context a tool's body runs in, and how an author's tool becomes one.

use std::fmt;

use abi_stable::StableAbi;
use abi_stable::prefix_type::WithMetadata;
use serde_json::Value;

use super::asked::{HostError, ask};
use super::call::{CallTableRef, ToolCall};
use super::future::SeamFuture;
use super::host::{Cancelled, Host};
use super::json::Json;
use super::offered::Offered;
use super::process::{Command, ProcessOutput};
use super::value::{Buf, Status, Str};
use crate::message::Message;
use crate::outcome::ToolOutcome;
use crate::tool::Tool;

/// A tool of a plugin. Everything in it is valid until `release`.
#[repr(C)]
#[derive(StableAbi)]
#[sabi(kind(Prefix(prefix_ref = ToolEntryRef, prefix_fields = ToolEntryPrefix)))]
pub struct ToolEntry {
    /// The plugin's, for the functions below.
    pub state: *const (),
    /// The name models call it by.
    pub name: Str,
    /// What models are told of it.
    pub description: Str,
    /// The JSON Schema of its arguments.
    pub parameters: Str,
    /// The JSON Schema of its value.
    pub output: Str,
    /// The time it gives itself, in milliseconds; 0 for no limit.
    pub budget_ms: u64,
    /// [`HAS_LAST_WORD`].
    pub flags: u32,
    /// Runs the body: a success with a value, or a failure. What `run` lends is valid until the
    /// answer, or until the future was dropped. [any thread, concurrent, must not block]
    pub execute: unsafe extern "C" fn(
        state: *const (),
        run: RunTableRef,
        out: *mut ToolOutcome,
        future: *mut SeamFuture<ToolOutcome>,
        fault: *mut Buf,
    ) -> Status,
    /// What the model is shown of a value: a JSON list of blocks, or [`Status::NEXT`] for the
    /// host's own way. [any thread, concurrent, must not block]
    pub render: unsafe extern "C" fn(
        state: *const (),
        call: CallTableRef,
        value: Str,
        out: *mut Json,
        fault: *mut Buf,
    ) -> Status,
    /// What whoever presents the outcome gets of a value: any JSON, or [`Status::NEXT`] for
    /// nothing. Not asked for calls from inside another call.
    /// [any thread, concurrent, must not block]
    pub present: unsafe extern "C" fn(
        state: *const (),
        call: CallTableRef,
        value: Str,
        out: *mut Json,
        fault: *mut Buf,
    ) -> Status,
    /// The last word on what the model is shown, whatever became of the call: a JSON list of
    /// blocks, or [`Status::NEXT`] to leave it. Called once a call, unless [`HAS_LAST_WORD`] is
    /// not set. [any thread, concurrent, must not block]
    pub finalize: unsafe extern "C" fn(
        state: *const (),
        call: CallTableRef,
        outcome: *const ToolOutcome,
        out: *mut Json,
        fault: *mut Buf,
    ) -> Status,
    /// 1 when a call with these arguments may run beside others of its step.
    /// [any thread, concurrent, must not block]
    pub is_parallel_safe: unsafe extern "C" fn(state: *const (), arguments: Str) -> u32,
    /// The host will not use the tool again. Called once. [any thread]
    #[sabi(last_prefix_field)]
    pub release: unsafe extern "C" fn(state: *const ()),
}

/// A flag of [`ToolEntry`]: its `finalize` is to be asked.
pub const HAS_LAST_WORD: u32 = 1;

/// Where a plugin puts its tools. Lent for the call that lists them.
#[repr(C)]
#[derive(StableAbi)]
#[sabi(kind(Prefix(prefix_ref = ToolSinkRef, prefix_fields = ToolSinkPrefix)))]
pub struct ToolSink {
    /// The host's.
    pub state: *const (),
    /// Takes a tool over. [during the call that lists tools]
    #[sabi(last_prefix_field)]
    pub add: unsafe extern "C" fn(state: *const (), tool: ToolEntryRef),
}

/// A call that a body makes. Lent for the call of the function.
#[repr(C)]
#[derive(StableAbi)]
#[sabi(kind(Prefix(prefix_ref = NestedCallRef, prefix_fields = NestedCallPrefix)))]
pub struct NestedCall {
    /// The tool's name.
    pub name: Str,
    /// Its arguments: one JSON text.
    #[sabi(last_prefix_field)]
    pub arguments: Str,
}

/// What a tool's body runs in. Lent for one run of the body.
#[repr(C)]
#[derive(StableAbi)]
#[sabi(kind(Prefix(prefix_ref = RunTableRef, prefix_fields = RunTablePrefix)))]
pub struct RunTable {
    /// The call.
    pub call: CallTableRef,
    /// The host's, for the functions below.
    pub state: *const (),
    /// The signal that tells the body to end: the caller's, or a deadline set around it.
    /// [any thread, concurrent, must not block]
    pub signal: unsafe extern "C" fn(state: *const ()) -> u64,
    /// Adds a message (JSON) for the model, entering at the next step; kept even if the body
    /// fails. [any thread, concurrent, must not block]
    pub defer_context:
        unsafe extern "C" fn(state: *const (), message: Str, fault: *mut Buf) -> Status,
    /// Makes another call through every phase: for the same agent, cancelled with this run. What
    /// its listeners have to say to the model is added to what this call does.
    /// [any thread, concurrent, must not block]
    pub call_tool: unsafe extern "C" fn(
        state: *const (),
        request: NestedCallRef,
        future: *mut SeamFuture<ToolOutcome>,
        fault: *mut Buf,
    ) -> Status,
    /// The turn is over if this call succeeds. [any thread, concurrent, must not block]
    pub conclude_turn: unsafe extern "C" fn(state: *const ()),
    /// Tells whoever watches the call how far the body is: `done` of `total`, 0 and 0 where that
    /// cannot be counted, and a line for a person. [any thread, concurrent, must not block]
    #[sabi(last_prefix_field)]
    pub progress: unsafe extern "C" fn(state: *const (), done: u64, total: u64, text: Str),
}

/// What a tool's body runs in. Lent: it cannot be kept.
pub struct Run {
    table: RunTableRef,
    call: ToolCall,
    host: Host,
}

// SAFETY: the functions of the table may be called on any thread, by several at once.
unsafe impl Send for Run {}
// SAFETY: as for `Send`.
unsafe impl Sync for Run {}

impl Run {
    /// The view of a lent table.
    ///
    /// # Safety
    /// The host lends `table` for as long as the value returned lives.
    pub unsafe fn lent(table: RunTableRef, host: Host) -> Self {
        // SAFETY: the call is lent along with the table.
        let call = unsafe { ToolCall::lent(table.call(), host) };
        Self { table, call, host }
    }

    /// The call that is run.
    pub fn call(&self) -> &ToolCall {
        &self.call
    }

    /// The signal that tells the body to end: the caller gave up, or a deadline passed. The host
    /// never abandons a body: it waits for it.
    pub fn signal(&self) -> Cancelled {
        // SAFETY: the table is lent.
        let signal = unsafe { self.table.signal()(self.table.state()) };
        Cancelled::new(signal, self.host)
    }

    /// Waits until the body should end.
    pub async fn cancelled(&self) {
        self.signal().fired().await;
    }

    /// Runs a command to its end, killed with its process group when the call is cancelled.
    ///
    /// # Errors
    /// When the command cannot be started; how it ended is not an error.
    pub async fn process(&self, command: Command) -> Result<ProcessOutput, HostError> {
        self.host.process(&command.killed_by(self.signal())).await
    }

    /// Adds a message for the model, entering at the next step. It is kept even if the body
    /// fails; a policy that blocks the result drops it.
    pub fn defer_context(&self, message: &Message) {
        let message = serde_json::to_string(message).expect("messages always serialise");
        let mut fault = Buf::EMPTY;
        // SAFETY: the table is lent, and the host copies the message.
        let status = unsafe {
            self.table.defer_context()(self.table.state(), Str::lend(&message), &raw mut fault)
        };
        debug_assert_eq!(status, Status::READY, "the host takes every message: {fault:?}");
    }

    /// Makes another call through every phase, its policies included: for the same agent, and
    /// cancelled when this body is told to end. It is a call of its own, inside this one.
    ///
    /// What its listeners say to the model is added to what this call says; whether it concludes
    /// the turn is for this body to pass on.
    ///
    /// # Errors
    /// When the host makes no more calls. A call that fails is an outcome.
    pub async fn call_tool(&self, name: &str, arguments: &Value) -> Result<ToolOutcome, HostError> {
        let arguments = arguments.to_string();
        let request = WithMetadata::new(NestedCall {
            name: Str::lend(name),
            arguments: Str::lend(&arguments),
        });
        let made = ask(|future, fault| {
            // SAFETY: what the request lends lives until the function has returned.
            let request = NestedCallRef(unsafe { request.as_prefix() });
            // SAFETY: the table is lent, with places to write to; the host copies the request.
            unsafe { self.table.call_tool()(self.table.state(), request, future, fault) }
        });
        made.answer().await
    }

    /// Ends the turn if this call succeeds.
    pub fn conclude_turn(&self) {
        // SAFETY: the table is lent.
        unsafe { self.table.conclude_turn()(self.table.state()) }
    }

    /// Tells whoever watches the call what the body is doing: one line for a person. The model
    /// does not see it.
    pub fn progress(&self, text: &str) {
        self.progress_of(0, 0, text);
    }

    /// As [`progress`](Self::progress), `done` of `total` being done, in whatever unit.
    pub fn progress_of(&self, done: u64, total: u64, text: &str) {
        // SAFETY: the table is lent, and the host copies the text.
        unsafe { self.table.progress()(self.table.state(), done, total, Str::lend(text)) }
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("call", &self.call).finish_non_exhaustive()
    }
}

/// The tools a plugin offers, as it lists them.
pub struct Tools {
    sink: ToolSinkRef,
    host: Host,
}

impl Tools {
    /// The view of a lent sink.
    ///
    /// # Safety
    /// The host lends `sink` for as long as the value returned lives.
    pub unsafe fn lent(sink: ToolSinkRef, host: Host) -> Self {
        Self { sink, host }
    }

    /// Offers `tool`.
    pub fn add<T: Tool>(&mut self, tool: T) {
        let entry = Offered::entry(tool, self.host);
        // SAFETY: the sink is lent, and `entry` is valid until its `release`.
        unsafe { self.sink.add()(self.sink.state(), entry) }
    }
}

impl fmt::Debug for Tools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tools").finish_non_exhaustive()
    }
}

/// A pointer that the host lends until a future is dropped, and that goes with the future.
#[derive(Clone, Copy)]
pub(crate) struct Lent<T>(pub(crate) T);

// SAFETY: what the host lends for a call may be used on whatever thread polls the future.
unsafe impl<T> Send for Lent<T> {}
