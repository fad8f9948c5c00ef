//! How plugins reach an agent: by a number, which stops working when the agent is gone.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError, Weak};

use lockgate_plugin_api::Message;

use crate::session::{InboxTarget, LogError};

/// What takes messages for an agent.
pub(crate) trait Mailbox: Send + Sync {
    /// Puts `message` into the list, and wakes the agent if asked to.
    ///
    /// # Errors
    /// When the session's log cannot be written; the message is then nowhere.
    fn post(&self, target: InboxTarget, wake: bool, message: Message) -> Result<(), LogError>;
}

static OPEN: LazyLock<Mutex<HashMap<u64, Weak<dyn Mailbox>>>> = LazyLock::new(Mutex::default);

/// Opens `mailbox` to plugins and returns its number, which is never 0 and never used twice.
pub(crate) fn open(mailbox: Weak<dyn Mailbox>) -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let id = NEXT.fetch_add(1, Ordering::Relaxed);
    OPEN.lock().unwrap_or_else(PoisonError::into_inner).insert(id, mailbox);
    id
}

/// Closes the mailbox: later messages are refused.
pub(crate) fn close(id: u64) {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
}

/// Posts to the mailbox called `id`. `None` when there is none any more.
pub(crate) fn post(
    id: u64,
    target: InboxTarget,
    wake: bool,
    message: Message,
) -> Option<Result<(), LogError>> {
    // Not under the lock: posting writes a log and may wake an agent.
    let mailbox = OPEN.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned();
    Some(mailbox?.upgrade()?.post(target, wake, message))
}
