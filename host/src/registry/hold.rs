//! Has new calls wait while one generation hands over to the next.

use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use super::{Registry, Snapshot};

/// How long a call waits; then it begins with what was live before.
const MOST_WAIT: Duration = Duration::from_millis(50);

/// How long the calls that run may take to end.
const DRAIN: Duration = Duration::from_secs(1);

/// Whether new calls wait.
#[derive(Default)]
pub(super) struct Hold {
    is_held: Mutex<bool>,
    released: Condvar,
}

impl Hold {
    /// Waits until nothing is held, for as long as a call does. Whether that came.
    pub(super) fn wait(&self) -> bool {
        let held = self.is_held.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.released.wait_timeout_while(held, MOST_WAIT, |it| *it);
        !*waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn set(&self, is_held: bool) {
        *self.is_held.lock().unwrap_or_else(PoisonError::into_inner) = is_held;
        self.released.notify_all();
    }
}

/// New calls wait until this is dropped.
pub(crate) struct Held<'a> {
    registry: &'a Registry,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.registry.common.hold.set(false);
    }
}

impl Registry {
    /// From now on new calls wait, each for at most 50 ms.
    pub(crate) fn hold(&self) -> Held<'_> {
        self.common.hold.set(true);
        // Nobody takes a snapshot of an older version without a look at the hold.
        self.base().touch();
        Held { registry: self }
    }
}

impl Held<'_> {
    /// Waits until no call runs, for at most a second. Whether that came.
    pub(crate) fn is_drained(&self) -> bool {
        let begun = Instant::now();
        loop {
            if self.registry.is_idle() {
                return true;
            }
            if begun.elapsed() > DRAIN {
                return false;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Registry {
    /// Whether nobody has a snapshot but the registries, each the one that it hands out.
    fn is_idle(&self) -> bool {
        let registries = self.common.registries().into_iter().chain(self.this.upgrade());
        let handed_out: Vec<*const Snapshot> =
            registries.map(|it| Arc::as_ptr(&*it.snapshot.load())).collect();
        let mut snapshots = self.common.snapshots.lock().unwrap_or_else(PoisonError::into_inner);
        snapshots.retain(|it| it.strong_count() > 0);
        snapshots.iter().all(|it| {
            it.strong_count() == 0 || it.strong_count() == 1 && handed_out.contains(&it.as_ptr())
        })
    }

    /// The snapshot is one that somebody may have from now on.
    pub(super) fn keep_track(&self, snapshot: &Arc<Snapshot>) {
        let mut snapshots = self.common.snapshots.lock().unwrap_or_else(PoisonError::into_inner);
        snapshots.retain(|it: &Weak<Snapshot>| it.strong_count() > 0);
        snapshots.push(Arc::downgrade(snapshot));
    }
}
