//! Counts what a listener waits for the host to do: its own time stands still meanwhile.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

/// The host's functions that a listener has called and that have not answered.
#[derive(Debug, Clone, Default)]
pub(super) struct Hosted {
    waiting: Arc<AtomicUsize>,
}

thread_local! {
    /// Of the listener that this thread is inside, if it is inside one.
    static INSIDE: RefCell<Option<Hosted>> = const { RefCell::new(None) };
}

impl Hosted {
    /// Whether there is any.
    pub(super) fn is_waited_for(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }
}

/// Runs `f`, inside a plugin, and counts what it calls on for `hosted`.
pub(super) fn counting<R>(hosted: Option<&Hosted>, f: impl FnOnce() -> R) -> R {
    let outer = INSIDE.replace(hosted.cloned());
    let result = f();
    INSIDE.set(outer);
    result
}

/// The same future, counted for the listener inside which it is made.
pub(super) fn counted<F: Future>(future: F) -> Counted<F> {
    let hosted = INSIDE.with_borrow(Clone::clone);
    if let Some(hosted) = &hosted {
        hosted.waiting.fetch_add(1, Ordering::Relaxed);
    }
    Counted { future: Box::pin(future), hosted }
}

/// A future of the host's that a listener waits for.
pub(super) struct Counted<F> {
    future: Pin<Box<F>>,
    hosted: Option<Hosted>,
}

impl<F: Future> Future for Counted<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let answer = std::task::ready!(self.future.as_mut().poll(cx));
        self.release();
        Poll::Ready(answer)
    }
}

impl<F> Counted<F> {
    fn release(&mut self) {
        if let Some(hosted) = self.hosted.take() {
            hosted.waiting.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl<F> Drop for Counted<F> {
    fn drop(&mut self) {
        self.release();
    }
}
