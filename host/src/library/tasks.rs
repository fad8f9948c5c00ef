//! What an instance has running on the host's runtime: it ends before the instance does.

use std::future::{Future, poll_fn};
use std::time::Duration;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;
use tokio::time;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How long closures may go on once their instance has nothing more to do.
const PATIENCE: Duration = Duration::from_secs(5);

/// The futures and closures of one instance. Clones are of the same instance.
#[derive(Debug, Clone, Default)]
pub(super) struct Tasks {
    tracker: TaskTracker,
    ended: CancellationToken,
}

impl Tasks {
    /// Polls `future` on `runtime`, to its end or the instance's. `false`, and dropped, where that
    /// has come.
    pub(super) fn spawn(
        &self,
        runtime: &Handle,
        future: impl Future<Output = ()> + Send + 'static,
    ) -> bool {
        if self.ended.is_cancelled() {
            return false;
        }
        let ended = self.ended.clone().cancelled_owned();
        let is_many = runtime.runtime_flavor() == RuntimeFlavor::MultiThread;
        let task = async move {
            let mut future = Box::pin(future);
            // As for questions: a future that blocks costs a thread, and no worker.
            let future = poll_fn(|cx| {
                let mut poll = || future.as_mut().poll(cx);
                if is_many { block_in_place(poll) } else { poll() }
            });
            tokio::select! {
                // First: once the end has come, nothing of the plugin is polled.
                biased;
                () = ended => {}
                () = future => {}
            }
        };
        self.tracker.spawn_on(task, runtime);
        true
    }

    /// Calls `run` on a thread of `runtime` that may block. `false`, and not called, where the end
    /// of the instance has come.
    pub(super) fn spawn_blocking(
        &self,
        runtime: &Handle,
        run: impl FnOnce() + Send + 'static,
    ) -> bool {
        // Before looking, so that an end that comes now waits for the closure.
        let token = self.tracker.token();
        if self.ended.is_cancelled() {
            return false;
        }
        runtime.spawn_blocking(move || {
            run();
            drop(token);
        });
        true
    }

    /// Drops the futures, and lets no more begin. `true` where nothing is left.
    pub(super) fn end(&self) -> bool {
        self.ended.cancel();
        self.tracker.close();
        self.tracker.is_empty()
    }

    /// Waits until nothing is left, after [`end`](Self::end). `false` where that takes too long.
    pub(super) async fn ended(&self) -> bool {
        time::timeout(PATIENCE, self.tracker.wait()).await.is_ok()
    }
}
