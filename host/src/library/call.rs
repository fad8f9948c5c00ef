//! A sealed tool call, lent to listeners and bodies.

use std::fmt;
use std::sync::Arc;

use lockgate_plugin_api::abi::Prefixed;
use lockgate_plugin_api::abi::call::{CallTable, CallTableRef};
use lockgate_plugin_api::abi::future::guard;
use lockgate_plugin_api::abi::value::Str;

use crate::signal::Signal;

/// A tool call as everybody sees it from the first seam to the last.
#[derive(Debug)]
pub(crate) struct SealedCall {
    /// Unique among the calls of the process.
    pub(crate) id: u64,
    /// The `id` of the call that makes this one; 0 for none.
    pub(crate) parent: u64,
    /// The agent's number for plugins; 0 for none.
    pub(crate) agent: u64,
    /// The tool's own time in milliseconds; 0 for no limit.
    pub(crate) budget_ms: u64,
    /// The model's id for it.
    pub(crate) call_id: String,
    /// The `call_id` of the outermost call.
    pub(crate) root_call_id: String,
    /// The tool's name.
    pub(crate) name: String,
    /// One JSON text.
    pub(crate) arguments: String,
    /// The session's directory; empty for none.
    pub(crate) cwd: String,
    /// The caller's signal.
    pub(crate) signal: Signal,
}

/// A sealed call with the table by which plugins see it.
pub(crate) struct LentCall {
    call: Arc<SealedCall>,
    table: Prefixed<CallTable>,
}

// SAFETY: the table points into `call`, which is shared and read-only.
unsafe impl Send for LentCall {}
// SAFETY: as for `Send`.
unsafe impl Sync for LentCall {}

impl LentCall {
    /// Makes the table for `call`.
    pub(crate) fn new(call: SealedCall) -> Self {
        let call = Arc::new(call);
        let table = Prefixed::new(CallTable {
            state: Arc::as_ptr(&call).cast(),
            id: call.id,
            parent: call.parent,
            agent: call.agent,
            budget_ms: call.budget_ms,
            call_id: Str::lend(&call.call_id),
            root_call_id: Str::lend(&call.root_call_id),
            name: Str::lend(&call.name),
            arguments: Str::lend(&call.arguments),
            cwd: Str::lend(&call.cwd),
            signal,
        });
        Self { call, table }
    }

    /// The call.
    pub(crate) fn call(&self) -> &SealedCall {
        &self.call
    }

    /// The table, lent: whoever gets it must be done with it before `self` is gone.
    pub(super) fn table(&self) -> CallTableRef {
        // SAFETY: the rooms of the library lend it for no longer than they borrow `self`.
        CallTableRef(unsafe { self.table.as_prefix() })
    }
}

impl fmt::Debug for LentCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.call.fmt(f)
    }
}

unsafe extern "C" fn signal(state: *const ()) -> u64 {
    // SAFETY: the `SealedCall` that the table was made for, alive while the table is lent.
    let call = unsafe { &*state.cast::<SealedCall>() };
    guard(|| call.signal.id()).unwrap_or(0)
}
