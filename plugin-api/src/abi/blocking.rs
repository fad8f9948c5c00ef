//! A closure that runs on a thread of the host's, and the way back for what it returns.

use std::future::{Future, poll_fn};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use abi_stable::StableAbi;

use super::future::guard;

/// Where the closure leaves what it returned, and its caller looks for it.
struct Slot<T> {
    result: Option<Result<T, String>>,
    waker: Option<Waker>,
}

type Shared<T> = Arc<Mutex<Slot<T>>>;

/// A closure on its way to the host.
pub(super) struct Work {
    run: Box<dyn FnOnce() + Send>,
}

/// A closure as it crosses. It may be called on any thread, once.
#[repr(C)]
#[derive(StableAbi, Clone, Copy)]
pub struct Closure {
    /// Calls it.
    pub run: unsafe extern "C" fn(state: *mut ()),
    /// What it is called with.
    pub state: *mut (),
}

/// The closure `f` for the host, and the future of what it returns or of its panic's message.
pub(super) fn work<T: Send + 'static>(
    f: impl FnOnce() -> T + Send + 'static,
) -> (Work, impl Future<Output = Result<T, String>> + Send) {
    let slot: Shared<T> = Arc::new(Mutex::new(Slot { result: None, waker: None }));
    let left = Arc::clone(&slot);
    let run = move || {
        let result = guard(f);
        let mut slot = lock(&left);
        slot.result = Some(result);
        let waker = slot.waker.take();
        drop(slot);
        if let Some(waker) = waker {
            waker.wake();
        }
    };
    let result = poll_fn(move |cx| {
        let mut slot = lock(&slot);
        match slot.result.take() {
            Some(result) => Poll::Ready(result),
            None => {
                slot.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    });
    (Work { run: Box::new(run) }, result)
}

impl Work {
    /// The closure that the host calls.
    pub(super) fn into_closure(self) -> Closure {
        unsafe extern "C" fn run(state: *mut ()) {
            // SAFETY: made by `Box::into_raw` below, and the host calls this once.
            let work = unsafe { Box::from_raw(state.cast::<Work>()) };
            // The closure's own panic is in its slot; what is left is a waker's.
            let _ = guard(move || (work.run)());
        }
        Closure { run, state: Box::into_raw(Box::new(self)).cast() }
    }
}

/// Takes the closure back from a host that did not call it.
///
/// # Safety
/// It came from [`Work::into_closure`], and was not called and never will be.
pub(super) unsafe fn give_up(closure: Closure) {
    // SAFETY: the caller vouches that it is still ours.
    drop(unsafe { Box::from_raw(closure.state.cast::<Work>()) });
}

fn lock<T>(slot: &Shared<T>) -> MutexGuard<'_, Slot<T>> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}
