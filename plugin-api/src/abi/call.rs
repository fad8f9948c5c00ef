//! A tool call as it crosses, the arguments of the seams around it, and the view authors get.

use std::fmt;
use std::time::Duration;

use abi_stable::StableAbi;
use serde::de::DeserializeOwned;

use super::handle::Agent;
use super::host::{Cancelled, Host};
use super::next::NextTableRef;
use super::value::Str;
use crate::decision::{PostToolDecision, PreToolDecision};
use crate::outcome::ToolOutcome;

/// One tool call, sealed: the same from the first seam to the last, and read-only.
///
/// Lent by the host for the whole call; everything in it is valid until the entry's answer, or
/// until its future was dropped.
#[repr(C)]
#[derive(StableAbi)]
#[sabi(kind(Prefix(prefix_ref = CallTableRef, prefix_fields = CallTablePrefix)))]
pub struct CallTable {
    /// The host's, for `signal`.
    pub state: *const (),
    /// Unique among the calls of the process, which `call_id` is not.
    pub id: u64,
    /// The `id` of the call that makes this one from inside its body; 0 for none.
    pub parent: u64,
    /// The agent it runs for; 0 for none.
    pub agent: u64,
    /// The time the tool gives itself, in milliseconds; 0 for no limit.
    pub budget_ms: u64,
    /// The model's id for the call.
    pub call_id: Str,
    /// The `call_id` of the outermost call.
    pub root_call_id: Str,
    /// The tool's name. The tool may not exist.
    pub name: Str,
    /// The arguments: one JSON text.
    pub arguments: Str,
    /// The directory the session works in; empty for none.
    pub cwd: Str,
    /// The signal that fires when the call is cancelled, for the host's functions that take one.
    /// [any thread, concurrent, must not block]
    #[sabi(last_prefix_field)]
    pub signal: unsafe extern "C" fn(state: *const ()) -> u64,
}

/// What a *pre-execute* listener is asked.
#[repr(C)]
#[derive(StableAbi)]
#[sabi(kind(Prefix(prefix_ref = PreExecuteArgsRef, prefix_fields = PreExecuteArgsPrefix)))]
pub struct PreExecuteArgs {
    /// The call.
    pub call: CallTableRef,
    /// The listeners further in; behind the last one stands *allow*.
    #[sabi(last_prefix_field)]
    pub next: NextTableRef<PreToolDecision>,
}

/// What a *guard* is asked.
#[repr(C)]
#[derive(StableAbi)]
#[sabi(kind(Prefix(prefix_ref = GuardArgsRef, prefix_fields = GuardArgsPrefix)))]
pub struct GuardArgs {
    /// The call.
    #[sabi(last_prefix_field)]
    pub call: CallTableRef,
}

/// What an *execute* listener is asked.
#[repr(C)]
#[derive(StableAbi)]
#[sabi(kind(Prefix(prefix_ref = ExecuteArgsRef, prefix_fields = ExecuteArgsPrefix)))]
pub struct ExecuteArgs {
    /// The call.
    pub call: CallTableRef,
    /// The listeners further in; behind the last one stands the tool's body.
    #[sabi(last_prefix_field)]
    pub next: NextTableRef<ToolOutcome>,
}

/// What a *post-execute* listener is asked.
#[repr(C)]
#[derive(StableAbi)]
#[sabi(kind(Prefix(prefix_ref = PostExecuteArgsRef, prefix_fields = PostExecuteArgsPrefix)))]
pub struct PostExecuteArgs {
    /// The call.
    pub call: CallTableRef,
    /// What it came to so far.
    pub outcome: *const ToolOutcome,
    /// The listeners further in; behind the last one stands *accept*.
    #[sabi(last_prefix_field)]
    pub next: NextTableRef<PostToolDecision>,
}

/// What a *tool-result* listener is told.
#[repr(C)]
#[derive(StableAbi)]
#[sabi(kind(Prefix(prefix_ref = ToolResultArgsRef, prefix_fields = ToolResultArgsPrefix)))]
pub struct ToolResultArgs {
    /// The call.
    pub call: CallTableRef,
    /// What it came to, finally.
    #[sabi(last_prefix_field)]
    pub outcome: *const ToolOutcome,
}

/// A tool call as a listener or a tool sees it. Lent: it cannot be kept.
pub struct ToolCall {
    table: CallTableRef,
    host: Host,
}

// SAFETY: the table is read-only, and `signal` may be called on any thread.
unsafe impl Send for ToolCall {}
// SAFETY: as for `Send`.
unsafe impl Sync for ToolCall {}

impl ToolCall {
    /// The view of a lent call.
    ///
    /// # Safety
    /// The host lends `table` for as long as the value returned lives.
    pub unsafe fn lent(table: CallTableRef, host: Host) -> Self {
        Self { table, host }
    }

    /// The tool's name. The tool may not exist: policies see calls of unknown tools too.
    pub fn name(&self) -> &str {
        // SAFETY: lent by the host for longer than `&self`.
        unsafe { self.table.name().trusted() }
    }

    /// The arguments as one JSON text, not copied and not parsed.
    pub fn arguments(&self) -> &str {
        // SAFETY: lent by the host for longer than `&self`.
        unsafe { self.table.arguments().trusted() }
    }

    /// The arguments, parsed into what the caller needs of them.
    ///
    /// # Errors
    /// When they are not a `T`.
    pub fn args<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::from_str(self.arguments())
    }

    /// The model's id for the call. Two calls may share one; [`id`](Self::id) is unique.
    pub fn call_id(&self) -> &str {
        // SAFETY: lent by the host for longer than `&self`.
        unsafe { self.table.call_id().trusted() }
    }

    /// The `call_id` of the outermost call; its own where it is the outermost.
    pub fn root_call_id(&self) -> &str {
        // SAFETY: lent by the host for longer than `&self`.
        unsafe { self.table.root_call_id().trusted() }
    }

    /// Unique among the calls of the process: the key for what a plugin remembers of a call.
    pub fn id(&self) -> u64 {
        self.table.id()
    }

    /// The [`id`](Self::id) of the call that makes this one from inside its body.
    pub fn parent(&self) -> Option<u64> {
        Some(self.table.parent()).filter(|it| *it != 0)
    }

    /// The time the tool gives itself.
    pub fn budget(&self) -> Option<Duration> {
        Some(self.table.budget_ms()).filter(|it| *it != 0).map(Duration::from_millis)
    }

    /// The caller's signal. A deadline set around a body is that body's alone: see
    /// [`Run::signal`](crate::Run::signal).
    pub fn signal(&self) -> Cancelled {
        // SAFETY: the table is lent.
        let signal = unsafe { self.table.signal()(self.table.state()) };
        Cancelled::new(signal, self.host)
    }

    /// The agent it runs for; none for a caller of the pipeline alone.
    pub fn agent(&self) -> Option<Agent> {
        let id = self.table.agent();
        (id != 0).then(|| Agent::new(id, self.host))
    }

    /// The directory the session works in, where there is one.
    pub fn cwd(&self) -> Option<&str> {
        // SAFETY: lent by the host for longer than `&self`.
        let cwd = unsafe { self.table.cwd().trusted() };
        Some(cwd).filter(|it| !it.is_empty())
    }
}

impl fmt::Debug for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolCall")
            .field("name", &self.name())
            .field("call_id", &self.call_id())
            .finish_non_exhaustive()
    }
}
