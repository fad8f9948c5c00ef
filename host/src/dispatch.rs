//! Where questions to plugins run: on the caller's task, or on one of their own that may wedge.

use std::future::Future;
use std::panic;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::runtime::{Handle, RuntimeFlavor};

use crate::watchdog::{self, Watch, Watched, Watching, Wedge};

/// Where the plugins of a host are asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Dispatch {
    /// On tasks of their own, on the runtime in which the host was started: a plugin that stays
    /// inside past its deadline costs a thread, and its caller is answered. Needs a multi-thread
    /// runtime; on another one it is as [`Inline`](Self::Inline).
    #[default]
    Guarded,
    /// On the caller's task, which saves microseconds and waits for whatever a plugin does.
    Inline,
}

/// A [`Dispatch`] on a runtime.
#[derive(Debug, Clone, Default)]
pub(crate) struct Dispatcher {
    /// The runtime for tasks that may wedge; none to ask inline.
    guarded: Option<Handle>,
    /// The places that may be entered, by number.
    places: Arc<[Watched]>,
}

impl Dispatcher {
    pub(crate) fn new(dispatch: Dispatch, runtime: &Handle, places: Vec<Watched>) -> Self {
        let guarded = match (dispatch, runtime.runtime_flavor()) {
            (Dispatch::Guarded, RuntimeFlavor::MultiThread) => Some(runtime.clone()),
            (Dispatch::Guarded | Dispatch::Inline, _) => None,
        };
        Self { guarded, places: places.into() }
    }

    /// Runs `work`, which stamps the watch it is given around every entry into a plugin.
    ///
    /// # Errors
    /// The wedge, where a thread stayed inside: `work` goes on nowhere, and is never dropped while
    /// the thread is.
    ///
    /// # Panics
    /// When the runtime in which the host was started is gone, and the caller is on another one.
    pub(crate) async fn run<T, F>(&self, work: impl FnOnce(Arc<Watch>) -> F) -> Result<T, Wedge>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let watch = Arc::new(Watch::default());
        let work = Box::pin(work(Arc::clone(&watch)));
        let Some(runtime) = &self.guarded else { return Ok(work.await) };
        let (watching, mut wedged) = watchdog::watch(&watch, &self.places);
        let work = Some(work);
        let mut task = runtime.spawn(InPlace { work, watch, _watching: watching });
        tokio::select! {
            done = &mut task => match done {
                Ok(Some(value)) => Ok(value),
                // The watchdog was first, and has said so.
                Ok(None) => Err(wedged.await.expect("the watchdog tells whom it answers for")),
                Err(error) => match error.try_into_panic() {
                    Ok(panic) => panic::resume_unwind(panic),
                    Err(error) => panic!("the runtime in which the host was started is gone: {error}"),
                },
            },
            Ok(wedge) = &mut wedged => Err(wedge),
        }
    }
}

impl Dispatcher {
    /// Does what may run code of a plugin and that nobody waits for.
    pub(crate) fn aside(&self, f: impl FnOnce() + Send + 'static) {
        match &self.guarded {
            Some(runtime) => drop(runtime.spawn_blocking(f)),
            None => f(),
        }
    }
}

/// Work that may block the thread that polls it, and ends when it is done or somebody else has
/// answered.
struct InPlace<F> {
    work: Option<Pin<Box<F>>>,
    watch: Arc<Watch>,
    _watching: Watching,
}

impl<T, F: Future<Output = T>> Future for InPlace<F> {
    /// The value, unless somebody else has answered.
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let this = &mut *self;
        // The worker's other tasks go to another thread first: a wedge then costs no worker.
        let polled = tokio::task::block_in_place(|| {
            let work = this.work.as_mut().expect("a task is not polled after its end");
            let polled = work.as_mut().poll(cx);
            // The thread is out again. What is left is dropped here, where it may block.
            if polled.is_ready() || !this.watch.is_open() {
                this.work = None;
            }
            polled
        });
        match polled {
            Poll::Ready(value) => Poll::Ready(this.watch.finish().then_some(value)),
            Poll::Pending if this.work.is_none() => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    }
}
