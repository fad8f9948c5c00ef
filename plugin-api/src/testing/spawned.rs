//! The futures that a plugin spawned: polled on the test's own thread, whenever its bench waits.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};

/// One of them.
pub(crate) type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Those of one instance.
#[derive(Default)]
pub(crate) struct Spawned {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    tasks: Vec<Task>,
    has_ended: bool,
}

impl Spawned {
    /// Takes `task`; `false`, and dropped, once the instance has ended.
    pub(crate) fn add(&self, task: Task) -> bool {
        let mut state = self.lock();
        if state.has_ended {
            drop(state);
            return false;
        }
        state.tasks.push(task);
        true
    }

    /// Polls them all, those included that they spawn meanwhile.
    pub(crate) fn poll(&self, waker: &Waker) {
        let mut waiting = Vec::new();
        // Not under the lock: a future may spawn another one.
        loop {
            let tasks = std::mem::take(&mut self.lock().tasks);
            if tasks.is_empty() {
                break;
            }
            let mut cx = Context::from_waker(waker);
            waiting.extend(
                tasks
                    .into_iter()
                    .filter_map(|mut it| it.as_mut().poll(&mut cx).is_pending().then_some(it)),
            );
        }
        self.lock().tasks = waiting;
    }

    /// Drops them all, and lets no more begin.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        state.has_ended = true;
        let tasks = std::mem::take(&mut state.tasks);
        drop(state);
        drop(tasks);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
