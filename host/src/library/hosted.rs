//! Counts what a listener waits for the host to do: its own time stands still meanwhile.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use futures_util::task::AtomicWaker;

/// The host's functions that a listener has called and that have not answered.
#[derive(Debug, Clone, Default)]
pub(super) struct Hosted {
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    waiting: AtomicUsize,
    /// Woken when none is left, which may be on a thread that polls no listener.
    waker: AtomicWaker,
}

thread_local! {
    /// Of the listener that this thread is inside, if it is inside one.
    static INSIDE: RefCell<Option<Hosted>> = const { RefCell::new(None) };
}

impl Hosted {
    /// Whether there is any.
    pub(super) fn is_waited_for(&self) -> bool {
        self.state.waiting.load(Ordering::Acquire) > 0
    }

    /// As [`is_waited_for`](Self::is_waited_for); if so, `waker` hears of it when that ends.
    pub(super) fn waits(&self, waker: &Waker) -> bool {
        if !self.is_waited_for() {
            return false;
        }
        self.state.waker.register(waker);
        // Looked at again, for what has ended in between.
        self.is_waited_for()
    }
}

impl Hosted {
    /// Whether this thread is inside the listener.
    fn is_inside(&self) -> bool {
        INSIDE.with_borrow(|it| it.as_ref().is_some_and(|it| Arc::ptr_eq(&it.state, &self.state)))
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
        hosted.state.waiting.fetch_add(1, Ordering::Relaxed);
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
            let was_last = hosted.state.waiting.fetch_sub(1, Ordering::AcqRel) == 1;
            // Whoever polls the listener looks by itself when it is out again.
            if was_last && !hosted.is_inside() {
                hosted.state.waker.wake();
            }
        }
    }
}

impl<F> Drop for Counted<F> {
    fn drop(&mut self) {
        self.release();
    }
}
