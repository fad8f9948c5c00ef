//! The rest of a chain as a listener reaches it: a place where it asks and finds the answer.

use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};

use lockgate_plugin_api::abi::future::{Out, Reply, SeamFuture, TaskWaker, guard, write_future};
use lockgate_plugin_api::abi::next::NextTable;
use lockgate_plugin_api::abi::value::{Buf, Status};

use super::hosted::Hosted;
use crate::signal::Signal;

/// Which desk the listener that is inside writes on. One listener of a chain is inside at a time.
pub(super) struct Desks<D> {
    inside: Mutex<Option<Arc<Desk<D>>>>,
    /// Whether there may be a desk inside, so that listeners without one cost no lock.
    occupied: AtomicBool,
    /// Whether there is a body behind the chain, which a deadline can cancel.
    has_body: bool,
}

/// Where one listener asks for the rest of its chain, and where the frame leaves the answer.
pub(super) struct Desk<D> {
    state: Mutex<State<D>>,
    hosted: Hosted,
}

struct State<D> {
    phase: Phase<D>,
    /// Counts the questions.
    question: u64,
    waker: Option<Waker>,
    deadlines: Vec<Deadline>,
}

enum Phase<D> {
    /// Nothing is asked.
    Idle,
    /// A future exists that has not been polled yet.
    Offered,
    /// The future waits.
    Asked,
    /// The answer lies there.
    Answered(D),
    /// The answer was taken, and its future is still there.
    Taken,
}

/// A deadline that a listener set.
#[derive(Debug, Clone)]
pub(super) struct Deadline {
    /// When it passes.
    pub(super) at: Instant,
    /// Fires when it has passed, and only then.
    pub(super) passed: Signal,
}

impl<D: Out> Desks<D> {
    pub(super) fn new(has_body: bool) -> Self {
        Self { inside: Mutex::new(None), occupied: AtomicBool::new(false), has_body }
    }

    /// The table for listeners. Lent: `self` must outlive its use.
    pub(super) fn table(&self) -> NextTable<D> {
        NextTable { state: ptr::from_ref(self).cast(), run: run::<D>, deadline: deadline::<D> }
    }

    /// The listener that has `desk` is about to be inside.
    pub(super) fn enter(&self, desk: &Arc<Desk<D>>) {
        self.occupied.store(true, Ordering::Relaxed);
        *self.lock() = Some(Arc::clone(desk));
    }

    /// Nobody with a desk is inside.
    pub(super) fn clear(&self) {
        // Read first: most chains never have a desk, and a read costs next to nothing.
        if self.occupied.load(Ordering::Relaxed) {
            self.occupied.store(false, Ordering::Relaxed);
            *self.lock() = None;
        }
    }

    /// The desk of the listener that was inside; a new one where it has not asked for one.
    pub(super) fn leave(&self) -> Arc<Desk<D>> {
        self.lock().take().unwrap_or_default()
    }

    fn desk(&self) -> Arc<Desk<D>> {
        self.occupied.store(true, Ordering::Relaxed);
        Arc::clone(self.lock().get_or_insert_default())
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Desk<D>>>> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<D> Default for Desk<D> {
    fn default() -> Self {
        let state = State { phase: Phase::Idle, question: 0, waker: None, deadlines: Vec::new() };
        Self { state: Mutex::new(state), hosted: Hosted::default() }
    }
}

impl<D> Desk<D> {
    /// What the listener waits for the host to do.
    pub(super) fn hosted(&self) -> &Hosted {
        &self.hosted
    }

    /// The number of the question that the listener waits for, if it does.
    pub(super) fn asked(&self) -> Option<u64> {
        let state = self.lock();
        matches!(state.phase, Phase::Asked).then_some(state.question)
    }

    /// The deadlines that the listener has set since this was last asked, in order.
    pub(super) fn take_deadlines(&self) -> Vec<Deadline> {
        mem::take(&mut self.lock().deadlines)
    }

    /// Leaves the answer for the listener, which waits for it.
    pub(super) fn answer(&self, answer: D) {
        let mut state = self.lock();
        state.phase = Phase::Answered(answer);
        let waker = state.waker.take();
        drop(state);
        // The listener may look for the answer only once its own waker was woken.
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<D>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

unsafe extern "C" fn run<D: Out>(
    state: *const (),
    future: *mut SeamFuture<D>,
    fault: *mut Buf,
) -> Status {
    // SAFETY: the `Desks` that the table was made for, alive while the table is lent.
    let desk = unsafe { &*state.cast::<Desks<D>>() }.desk();
    let mut held = desk.lock();
    let is_free = matches!(held.phase, Phase::Idle);
    if is_free {
        held.phase = Phase::Offered;
        held.question += 1;
    }
    drop(held);
    let message = "the rest of the chain was asked again while its last future was there";
    let asked = is_free.then(|| {
        let desk = Arc::into_raw(desk).cast_mut().cast();
        // SAFETY: both functions take the desk that `into_raw` gives; `give_up` takes it back.
        unsafe { SeamFuture::from_parts(desk, wait::<D>, give_up::<D>) }
    });
    // SAFETY: the caller gives empty places to write to.
    unsafe { write_future(asked.ok_or_else(|| message.into()), future, fault) }
}

unsafe extern "C" fn wait<D: Out>(
    state: *mut (),
    waker: *const TaskWaker,
    out: *mut D,
    fault: *mut Buf,
) -> Status {
    // SAFETY: the desk of `run` above, kept until `give_up`.
    let desk = unsafe { &*state.cast_const().cast::<Desk<D>>() };
    // SAFETY: the caller lends the waker for this call.
    let waker = unsafe { TaskWaker::to_owned(waker) };
    let mut held = desk.lock();
    let reply = match mem::replace(&mut held.phase, Phase::Taken) {
        Phase::Offered | Phase::Asked => {
            held.phase = Phase::Asked;
            let old = held.waker.replace(waker);
            drop(held);
            // Not under the lock: dropping a waker runs code of whoever made it.
            drop(old);
            return Status::PENDING;
        }
        Phase::Answered(answer) => Reply::Ready(answer),
        Phase::Idle | Phase::Taken => {
            Reply::Fault("the rest of the chain has answered already".into())
        }
    };
    drop(held);
    // SAFETY: the caller gives empty places to write to.
    unsafe { reply.write(out, fault) }
}

unsafe extern "C" fn give_up<D: Out>(state: *mut ()) {
    // SAFETY: the desk of `run` above; a future is dropped once.
    let desk = unsafe { Arc::from_raw(state.cast_const().cast::<Desk<D>>()) };
    let mut held = desk.lock();
    // What was asked for goes on without anybody who waits; the frame sees that and ends it.
    let unused = mem::replace(&mut held.phase, Phase::Idle);
    let waker = held.waker.take();
    drop(held);
    // Not under the lock, and caught: both may run code of whoever made them.
    let _ = guard(move || drop((unused, waker)));
}

unsafe extern "C" fn deadline<D: Out>(state: *const (), timeout_ms: u64) -> u64 {
    // SAFETY: the `Desks` that the table was made for, alive while the table is lent.
    let desks = unsafe { &*state.cast::<Desks<D>>() };
    if !desks.has_body {
        return 0;
    }
    // A century stands for every longer time, which the clock could not add.
    let timeout = Duration::from_millis(timeout_ms).min(Duration::from_secs(100 * 365 * 86_400));
    let deadline = Deadline { at: Instant::now() + timeout, passed: Signal::new() };
    let id = deadline.passed.id();
    desks.desk().lock().deadlines.push(deadline);
    id
}
