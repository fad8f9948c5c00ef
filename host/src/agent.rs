//! An agent: a model, a session and an inbox, and the turns it makes of them.

mod assemble;
mod batch;
mod inbox;
mod reached;
mod record;
mod single;
mod state;
mod step;
#[cfg(test)]
mod tests;
mod turn;

use std::fmt;
use std::future;
use std::num::NonZeroUsize;
use std::panic;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use lockgate_plugin_api::{Inbox, Message, ToolOutcome};
use tokio::runtime::Handle;

use crate::approval::Approvals;
use crate::model::Model;
use crate::reach;
use crate::registry::{Registry, ToolRestriction};
use crate::seam;
use crate::session::{
    AbortCause, ApprovalPolicy, ForkError, InboxTarget, LogError, SessionLog, Unsynced,
};
use crate::signal::Signal;
pub use single::CallError;
use state::{State, Turn};

/// How long the first request waits for what *session-start* listeners have to say, unless told
/// otherwise.
pub const SESSION_START_GRACE: Duration = Duration::from_secs(2);

/// How many bodies of tool calls may run at once, unless told otherwise.
pub const MAX_PARALLEL_TOOL_CALLS: NonZeroUsize = NonZeroUsize::new(10).expect("it is not zero");

/// A handle to an agent; clones are the same agent.
///
/// The agent lives until its last handle is dropped and it has nothing more to do.
#[derive(Clone)]
pub struct Agent {
    core: Arc<Core>,
}

/// What an agent is made with.
#[derive(Debug, Clone)]
pub struct AgentOptions {
    /// The directory its tools work in.
    pub cwd: Option<PathBuf>,
    /// The system prompt.
    pub system: Option<String>,
    /// How long the first request waits for *session-start* listeners; zero for not at all.
    pub session_start_grace: Duration,
    /// How many bodies of a step's tool calls may run at once, where their tools let them run side
    /// by side.
    pub max_parallel_tool_calls: NonZeroUsize,
    /// The agent that this one is a child of: it inherits what that one has.
    pub parent: Option<Agent>,
    /// The plugins with [`PluginScope::Agent`](crate::PluginScope::Agent) that it gets instances
    /// of.
    pub plugins: Vec<String>,
    /// Which of the tools that it inherits are kept from it.
    pub tools: ToolRestriction,
    /// What becomes of questions whether a call may run, unless its session says otherwise.
    pub approvals: Approvals,
}

impl Default for AgentOptions {
    fn default() -> Self {
        Self {
            cwd: None,
            system: None,
            session_start_grace: SESSION_START_GRACE,
            max_parallel_tool_calls: MAX_PARALLEL_TOOL_CALLS,
            parent: None,
            plugins: Vec::new(),
            tools: ToolRestriction::default(),
            approvals: Approvals::default(),
        }
    }
}

/// What an agent is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Nothing, until it is woken.
    Idle,
    /// A turn.
    Running,
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent").field("id", &self.core.id).finish_non_exhaustive()
    }
}

struct Core {
    /// The number by which plugins know it.
    id: u64,
    registry: Arc<Registry>,
    model: Arc<dyn Model>,
    options: AgentOptions,
    /// Never held across an await, nor while a plugin runs.
    state: Mutex<State>,
    runtime: Handle,
    this: Weak<Self>,
}

impl Agent {
    /// Starts an agent and tells the *session-start* listeners, for whom nothing but the first
    /// request waits. What waits in the log's inbox goes on waiting until the agent is woken.
    ///
    /// What observes `log` must not reach the agent: it is called while the agent's state is
    /// locked.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime. Its timer must be enabled.
    pub(crate) fn start(
        registry: Arc<Registry>,
        model: Arc<dyn Model>,
        log: SessionLog,
        options: AgentOptions,
    ) -> Self {
        let runtime = Handle::current();
        let snapshot = registry.snapshot();
        let source = log.source();
        let core = Arc::new_cyclic(|this: &Weak<Core>| Core {
            id: reach::open(this.clone()),
            registry,
            model,
            options,
            state: Mutex::new(State::new(log)),
            runtime,
            this: this.clone(),
        });
        core.registry.enlist(core.id);
        let (id, introduced) = (core.id, core.state().introduced());
        // Who is told that a session starts may want to reach its agent, which stays that long.
        let told = Arc::clone(&core);
        core.runtime.spawn(async move {
            seam::session_start(&snapshot, id, source).await;
            introduced.fire();
            drop(told);
        });
        Self { core }
    }

    /// Its number for plugins, and for calls that are made for it.
    pub fn id(&self) -> u64 {
        self.core.id
    }

    /// What it has.
    pub(crate) fn registry(&self) -> &Arc<Registry> {
        &self.core.registry
    }

    /// Gives it `message` as a prompt with a turn of its own, and wakes it.
    ///
    /// # Errors
    ///
    /// If the log cannot be written; nothing has happened then.
    pub fn follow_up(&self, message: Message) -> Result<(), LogError> {
        self.core.send(InboxTarget::NextTurn, true, message)
    }

    /// Gives it `message` to read at its next step, and wakes it. After a cancellation it opens a
    /// turn of its own instead.
    ///
    /// # Errors
    ///
    /// If the log cannot be written; nothing has happened then.
    pub fn steer(&self, message: Message) -> Result<(), LogError> {
        self.core.send(InboxTarget::NextStep, true, message)
    }

    /// Gives it `message` to read at its next step, without waking it.
    ///
    /// # Errors
    ///
    /// If the log cannot be written; nothing has happened then.
    pub fn inject(&self, message: Message) -> Result<(), LogError> {
        self.core.send(InboxTarget::NextStep, false, message)
    }

    /// Empties the inbox, and cancels the turn if there is one. The first cause is the one that
    /// is remembered. The turn ends once everything that it started has come to an end.
    ///
    /// # Errors
    ///
    /// If the log cannot be written. The turn is cancelled even so.
    pub fn cancel(&self, cause: AbortCause) -> Result<(), LogError> {
        self.core.cancel(cause)
    }

    /// Cancels the turn if there is one, as [`cancel`](Self::cancel) does; what waits goes on
    /// waiting until the agent is woken. What the turn has claimed is gone with it.
    pub fn cancel_keeping_inbox(&self, cause: AbortCause) {
        self.core.cancel_turn(cause);
    }

    /// What waits for it.
    pub fn inbox(&self) -> Inbox {
        self.core.state().log.waiting().clone()
    }

    /// From now on the questions of this session, whether a call may run, are answered by
    /// `policy`, and the model is told. Nothing happens where that was so already.
    ///
    /// # Errors
    ///
    /// If the log cannot be written.
    pub fn set_approval_policy(&self, policy: ApprovalPolicy) -> Result<(), LogError> {
        self.core.state().set_approval_policy(policy, self.core.options.approvals)
    }

    /// Makes one call of the tool `name` with `arguments`, one JSON text, in a turn of its own, as
    /// if a model had asked for it: for this agent, with approvals, in its session. What it adds to
    /// the conversation waits in the inbox.
    ///
    /// [`cancel`](Self::cancel) cancels it. It goes on if nobody waits for it.
    ///
    /// # Errors
    ///
    /// If a turn runs, or the log cannot be written.
    pub async fn call_tool(
        &self,
        name: &str,
        arguments: &str,
    ) -> Result<Arc<ToolOutcome>, CallError> {
        single::call(&self.core, name, arguments).await
    }

    /// Waits until all that is in its session is on the disk.
    ///
    /// # Errors
    ///
    /// If the system says that it is not.
    pub async fn flush(&self) -> Result<(), LogError> {
        let unsynced = self.core.state().log.unsynced();
        self.core.sync(unsynced).await
    }

    /// A log for another session that begins with the first `length` events of this one; see
    /// [`SessionLog::fork`].
    ///
    /// # Errors
    ///
    /// If a turn is open there, there are not so many events, or it cannot be written to `path`.
    pub fn fork(&self, length: u64, path: Option<&Path>) -> Result<SessionLog, ForkError> {
        self.core.state().log.fork(length, path)
    }

    /// What it is doing.
    pub fn status(&self) -> Status {
        *self.core.state().status().borrow()
    }

    /// Waits until it has nothing to do.
    ///
    /// # Errors
    ///
    /// If it stopped because its log could not be written; that stands until it is woken again.
    pub async fn when_idle(&self) -> Result<(), Arc<LogError>> {
        let mut status = self.core.state().status();
        // The other end is in the state, which outlives this borrow of it.
        status.wait_for(|it| *it == Status::Idle).await.expect("the agent is alive");
        self.core.state().failure().map_or(Ok(()), Err)
    }
}

impl Core {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, target: InboxTarget, wake: bool, message: Message) -> Result<(), LogError> {
        let turn = self.state().send(target, wake, message)?;
        if let Some(turn) = turn {
            let core = self.this.upgrade().expect("an agent is reached through its handles");
            self.runtime.spawn(drive(core, turn));
        }
        Ok(())
    }

    /// Waits until what led here is on the disk, where the log's policy wants that.
    async fn checkpoint(&self) -> Result<(), LogError> {
        let unsynced = self.state().log.checkpoint();
        self.sync(unsynced).await
    }

    async fn sync(&self, unsynced: Option<Unsynced>) -> Result<(), LogError> {
        let Some(unsynced) = unsynced else { return Ok(()) };
        // A disk may take long, and the agent can be reached meanwhile.
        match self.runtime.spawn_blocking(move || unsynced.sync()).await {
            Ok(synced) => synced,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => panic::resume_unwind(panic),
                // The runtime ends, and so does whoever waits here.
                Err(_) => future::pending().await,
            },
        }
    }

    fn cancel(&self, cause: AbortCause) -> Result<(), LogError> {
        let (cleared, signal) = self.state().cancel(cause);
        fire(signal);
        cleared
    }

    fn cancel_turn(&self, cause: AbortCause) {
        let signal = self.state().cancel_turn(cause);
        fire(signal);
    }
}

/// Not under the agent's lock: whoever waits for the signal may want to reach the agent.
fn fire(signal: Option<Signal>) {
    if let Some(signal) = signal {
        signal.fire();
    }
}

/// Runs turns, from an open one on, until the agent is idle.
async fn drive(core: Arc<Core>, turn: Turn) {
    let mut next = Some(turn);
    while let Some(turn) = next {
        let number = turn.number;
        let result = turn::run(&core, turn).await;
        next = core.state().close(number, result);
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        reach::close(self.id);
        self.registry.strike(self.id);
    }
}
