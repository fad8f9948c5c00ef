//! The rest of a chain of listeners, as a listener reaches it.

use std::time::Duration;

use abi_stable::StableAbi;

use super::future::{Out, Reply, SeamFuture};
use super::host::Host;
use super::value::{Buf, Status};
use crate::outcome::ToolOutcome;

/// The way to the listeners further in and to what stands behind the last of them.
///
/// Lent to one listener: everything in it may be used inside that listener's entry and the polls
/// of its future, and nowhere else.
#[repr(C)]
#[derive(StableAbi)]
#[sabi(kind(Prefix(prefix_ref = NextTableRef, prefix_fields = NextTablePrefix)))]
pub struct NextTable<D: 'static> {
    /// The host's.
    pub state: *const (),
    /// Makes a future that asks the whole remaining chain once it is polled: always
    /// [`Status::PENDING`], or a fault. Making one while another exists is a fault; after that was
    /// dropped, the chain is asked anew. Dropping it early cancels what runs, and the host waits
    /// for that to end. [listener's thread, must not block]
    pub run: unsafe extern "C" fn(
        state: *const (),
        future: *mut SeamFuture<D>,
        fault: *mut Buf,
    ) -> Status,
    /// What `run` starts from now on is cancelled `timeout_ms` from now, besides whenever the call
    /// is. The last deadline counts. Returns the signal that tells whether this deadline was the cause; 0 where the
    /// chain has no body to cancel. The host takes the deadline away when the listener answers.
    /// [listener's thread, must not block]
    #[sabi(last_prefix_field)]
    pub deadline: unsafe extern "C" fn(state: *const (), timeout_ms: u64) -> u64,
}

/// The rest of the chain: the listeners further in and what stands behind them.
///
/// For *execute* that is the tool's body and the answer a [`ToolOutcome`]; for a deciding seam it
/// is the default and the answer that seam's Decision. Lent: it cannot be kept.
pub struct Next<D: Out = ToolOutcome> {
    table: NextTableRef<D>,
    host: Host,
}

// SAFETY: a listener is polled by one thread at a time, and takes its `Next` along.
unsafe impl<D: Out> Send for Next<D> {}
// SAFETY: everything takes `&mut self`.
unsafe impl<D: Out> Sync for Next<D> {}

/// A deadline set by a listener; asks whether it was the one that passed.
#[derive(Debug)]
pub struct Deadline {
    signal: u64,
    host: Host,
}

impl Deadline {
    /// Whether this deadline passed before the rest of the chain had answered.
    pub fn has_passed(&self) -> bool {
        self.host.has_fired(self.signal)
    }
}

impl<D: Out> Next<D> {
    /// The view of a lent table.
    ///
    /// # Safety
    /// The host lends `table` for as long as the value returned lives.
    pub unsafe fn lent(table: NextTableRef<D>, host: Host) -> Self {
        Self { table, host }
    }

    /// Asks the rest of the chain and waits for its answer.
    ///
    /// Every call asks all of it anew, so that a retry is a loop; two at once do not compile.
    /// Where a listener further in fails, this never returns: the chain fails as a whole and the
    /// caller is dropped, so that no listener can hide another's failure.
    pub async fn run(&mut self) -> D {
        let mut future = SeamFuture::EMPTY;
        let mut fault = Buf::EMPTY;
        // SAFETY: the table is lent, and this is its listener's thread.
        let status =
            unsafe { self.table.run()(self.table.state(), &raw mut future, &raw mut fault) };
        let reply = match status {
            Status::PENDING => future.await,
            status => Reply::from_parts(status, D::EMPTY, &fault),
        };
        match reply {
            Reply::Ready(answer) => answer,
            Reply::Next => panic!("the rest of a chain always has an answer"),
            Reply::Fault(message) | Reply::Protocol(message) => panic!("{message}"),
        }
    }

    /// From now on what [`run`](Self::run) starts is cancelled once `timeout` has passed, besides
    /// whenever the call is. Whole milliseconds count, at least one.
    pub fn set_deadline(&mut self, timeout: Duration) -> Deadline {
        let timeout = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX).max(1);
        // SAFETY: the table is lent, and this is its listener's thread.
        let signal = unsafe { self.table.deadline()(self.table.state(), timeout) };
        Deadline { signal, host: self.host }
    }
}
