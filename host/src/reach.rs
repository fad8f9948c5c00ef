//! How plugins reach an agent: by a number, which stops working when the agent is gone.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

use lockgate_plugin_api::{Inbox, Message};
use thiserror::Error;

use crate::approval::{ApprovalRequest, Approvals};
use crate::session::{AbortCause, ApprovalOutcome, Fact, InboxTarget, LogError};

/// An agent, for plugins. Everything is done when the function has returned.
pub(crate) trait Reachable: Send + Sync {
    /// Puts `message` into the list, and wakes the agent if asked to.
    ///
    /// # Errors
    /// When the session's log cannot be written; the message is then nowhere.
    fn post(&self, target: InboxTarget, wake: bool, message: Message) -> Result<(), ReachError>;

    /// Cancels the turn that runs, if one does, and withdraws what waits unless that is kept.
    ///
    /// # Errors
    /// When the session's log cannot be written; the turn is cancelled even so.
    fn cancel(&self, cause: AbortCause, keeps_inbox: bool) -> Result<(), ReachError>;

    /// What waits for the agent.
    fn inbox(&self) -> Inbox;

    /// The events of its session from the number `from` on, at most `most`: a JSON list.
    fn events(&self, from: u64, most: u64) -> String;

    /// Writes down that somebody is asked about a call, and says by which rules.
    ///
    /// # Errors
    /// When no turn is open, or the log cannot be written.
    fn ask_approval(&self, request: &ApprovalRequest) -> Result<Approvals, ReachError>;

    /// Writes down the answer.
    ///
    /// # Errors
    /// When the log cannot be written.
    fn decide_approval(&self, id: &str, outcome: ApprovalOutcome) -> Result<(), ReachError>;

    /// Appends a fact of which no conversation is made.
    ///
    /// # Errors
    /// When it has no place outside a turn and none is open, or the log cannot be written.
    fn append(&self, fact: Fact) -> Result<(), ReachError>;
}

/// What a plugin asked of an agent and did not get.
#[derive(Debug, Error)]
pub(crate) enum ReachError {
    /// The session's log cannot be written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The event belongs to a turn.
    #[error("an event of this type belongs to a turn, and no turn is open")]
    NoTurn,
    /// A question about a call belongs to a turn.
    #[error("approval can be asked for only while a turn is open, and none is")]
    NoTurnToAskIn,
}

static OPEN: LazyLock<Mutex<HashMap<u64, Weak<dyn Reachable>>>> = LazyLock::new(Mutex::default);

/// Opens `agent` to plugins and returns its number, which is never 0 and never used twice.
pub(crate) fn open(agent: Weak<dyn Reachable>) -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let id = NEXT.fetch_add(1, Ordering::Relaxed);
    OPEN.lock().unwrap_or_else(PoisonError::into_inner).insert(id, agent);
    id
}

/// Closes the agent called `id`: plugins reach it no more.
pub(crate) fn close(id: u64) {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
}

/// The agent called `id`. `None` when it is gone.
pub(crate) fn find(id: u64) -> Option<Arc<dyn Reachable>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner).get(&id)?.upgrade()
}
