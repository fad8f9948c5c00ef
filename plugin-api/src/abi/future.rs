//! Futures and wakers that cross: a state with `poll` and `drop`, and a waker in C's terms.

use std::any::Any;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::ptr;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

use abi_stable::StableAbi;

use super::value::{Buf, Status};
use crate::decision::BadDecision;

/// What an entry or a future writes. The caller sets it to [`EMPTY`](Out::EMPTY) before it asks.
pub trait Out: Send + 'static {
    /// Nothing written: all zero, and never an answer.
    const EMPTY: Self;

    /// Whether nothing was written.
    fn is_empty(&self) -> bool;

    /// Whether this side knows what was written. Decisions are checked once they are read.
    ///
    /// # Errors
    /// What it does not know.
    fn known(&self) -> Result<(), BadDecision> {
        Ok(())
    }
}

/// How an entry or a future answered.
#[derive(Debug)]
pub enum Reply<D> {
    /// With this.
    Ready(D),
    /// With no opinion.
    Next,
    /// Not at all: it failed, and says how.
    Fault(String),
    /// Against the rules of the boundary.
    Protocol(String),
}

impl<D: Out> Reply<D> {
    /// Reads what was written under `status`. [`Status::PENDING`] is not an answer.
    pub fn from_parts(status: Status, out: D, fault: &Buf) -> Self {
        match status {
            Status::READY if out.is_empty() => {
                Self::Protocol("it answered `ready` and wrote no answer".into())
            }
            Status::READY => match out.known() {
                Ok(()) => Self::Ready(out),
                Err(error) => Self::Protocol(error.to_string()),
            },
            Status::NEXT => Self::Next,
            Status::FAULT => Self::Fault(String::from_utf8_lossy(fault.as_bytes()).into_owned()),
            Status(other) => Self::Protocol(format!("it answered with the unknown status {other}")),
        }
    }

    /// Writes the answer where the caller looks for it.
    ///
    /// # Safety
    /// `out` and `fault` are valid for writing and hold empty values.
    pub unsafe fn write(self, out: *mut D, fault: *mut Buf) -> Status {
        match self {
            Self::Ready(answer) => {
                // SAFETY: the caller vouches for `out`; what it holds is empty and needs no drop.
                unsafe { out.write(answer) };
                Status::READY
            }
            Self::Next => Status::NEXT,
            Self::Fault(message) | Self::Protocol(message) => {
                // SAFETY: the caller vouches for `fault`; what it holds is empty.
                unsafe { fault.write(Buf::from(message)) };
                Status::FAULT
            }
        }
    }
}

/// Writes the future of an answer, or why there is none, where the caller looks for it.
///
/// # Safety
/// `future` and `fault` are valid for writing and hold empty values.
pub unsafe fn write_future<D: Out>(
    answer: Result<SeamFuture<D>, String>,
    future: *mut SeamFuture<D>,
    fault: *mut Buf,
) -> Status {
    match answer {
        Ok(answer) => {
            // SAFETY: the caller vouches for `future`; what it holds is empty.
            unsafe { future.write(answer) };
            Status::PENDING
        }
        Err(message) => {
            // SAFETY: the caller vouches for `fault`; what it holds is empty.
            unsafe { fault.write(Buf::from(message)) };
            Status::FAULT
        }
    }
}

/// As [`write_future`], of what is done at once.
///
/// # Safety
/// `fault` is valid for writing and holds an empty value.
pub unsafe fn write_done(done: Result<(), String>, fault: *mut Buf) -> Status {
    let Err(message) = done else { return Status::READY };
    // SAFETY: the caller vouches for `fault`; what it holds is empty.
    unsafe { fault.write(Buf::from(message)) };
    Status::FAULT
}

/// A waker as it crosses. Lent for one `poll`; `clone` makes one that may be kept.
#[repr(C)]
#[derive(StableAbi, Clone, Copy)]
pub struct TaskWaker {
    data: *const (),
    table: *const WakerTable,
}

impl TaskWaker {
    /// A waker of this side that wakes the same task and may be kept.
    ///
    /// # Safety
    /// `waker` is valid during the call.
    pub unsafe fn to_owned(waker: *const TaskWaker) -> Waker {
        // SAFETY: the caller vouches for `waker`.
        unsafe { with_lent_waker(waker, |cx| cx.waker().clone()) }
    }
}

/// What a waker can do. [any thread, concurrent, must not block]
#[repr(C)]
#[derive(StableAbi)]
pub struct WakerTable {
    /// Makes a waker of its own, to be given to `wake` or `drop` once.
    pub clone: unsafe extern "C" fn(data: *const ()) -> TaskWaker,
    /// Wakes the task and uses the waker up. Never called on a lent one.
    pub wake: unsafe extern "C" fn(data: *const ()),
    /// Wakes the task.
    pub wake_by_ref: unsafe extern "C" fn(data: *const ()),
    /// Uses the waker up. Never called on a lent one.
    pub drop: unsafe extern "C" fn(data: *const ()),
}

/// A future that crosses. `poll` answers with any status, [`Status::PENDING`] included, and is
/// never called after another one; `drop` is called exactly once.
/// [any thread, one at a time, must not block]
#[repr(C)]
#[derive(StableAbi)]
pub struct SeamFuture<D> {
    state: *mut (),
    poll: Option<
        unsafe extern "C" fn(
            state: *mut (),
            waker: *const TaskWaker,
            out: *mut D,
            fault: *mut Buf,
        ) -> Status,
    >,
    drop: Option<unsafe extern "C" fn(state: *mut ())>,
}

// SAFETY: the makers, here and in C, promise that the state may move between threads.
unsafe impl<D> Send for SeamFuture<D> {}

impl<D: Out> SeamFuture<D> {
    /// No future.
    pub const EMPTY: Self = Self { state: ptr::null_mut(), poll: None, drop: None };

    /// A future over `state`.
    ///
    /// # Safety
    /// `poll` and `drop` may be called with `state` as this type says they are.
    pub unsafe fn from_parts(
        state: *mut (),
        poll: unsafe extern "C" fn(
            state: *mut (),
            waker: *const TaskWaker,
            out: *mut D,
            fault: *mut Buf,
        ) -> Status,
        drop: unsafe extern "C" fn(state: *mut ()),
    ) -> Self {
        Self { state, poll: Some(poll), drop: Some(drop) }
    }

    /// A future that answers as `future` does. A panic in it is a fault.
    pub fn new<F: Future<Output = Reply<D>> + Send + 'static>(future: F) -> Self {
        // SAFETY: `future` borrows nothing.
        unsafe { Self::borrowing(future) }
    }

    /// As [`new`](Self::new), for a future that borrows.
    ///
    /// # Safety
    /// What `future` borrows outlives the value returned.
    pub unsafe fn borrowing<F: Future<Output = Reply<D>> + Send>(future: F) -> Self {
        unsafe extern "C" fn poll<D: Out, F: Future<Output = Reply<D>>>(
            state: *mut (),
            waker: *const TaskWaker,
            out: *mut D,
            fault: *mut Buf,
        ) -> Status {
            let ask = || {
                // SAFETY: `state` is the boxed future below, polled by one thread at a time.
                let future = unsafe { &mut *state.cast::<F>() };
                // SAFETY: it stays in its box until it is dropped.
                let future = unsafe { Pin::new_unchecked(future) };
                // SAFETY: the caller lends `waker` for this call.
                unsafe { with_lent_waker(waker, |cx| future.poll(cx)) }
            };
            let reply = match guard(ask) {
                Ok(Poll::Pending) => return Status::PENDING,
                Ok(Poll::Ready(reply)) => reply,
                Err(panic) => Reply::Fault(panic),
            };
            // SAFETY: the caller gives places to write to.
            unsafe { reply.write(out, fault) }
        }
        unsafe extern "C" fn drop<F>(state: *mut ()) {
            // SAFETY: `state` is the boxed future below, and `drop` is called once.
            let future = unsafe { Box::from_raw(state.cast::<F>()) };
            // A destructor that panics has been reported by the panic hook; there is no one to tell.
            let _ = guard(move || std::mem::drop(future));
        }
        let state = Box::into_raw(Box::new(future)).cast();
        Self { state, poll: Some(poll::<D, F>), drop: Some(drop::<F>) }
    }

    /// Whether there is a future to poll.
    pub fn is_set(&self) -> bool {
        self.poll.is_some()
    }

    /// Asks on. After an answer, and where there is no future, the reply is a protocol error.
    pub fn ask(&mut self, cx: &mut Context<'_>) -> Poll<Reply<D>> {
        let Some(poll) = self.poll else {
            return Poll::Ready(Reply::Protocol("it said `pending` and left no future".into()));
        };
        let mut out = D::EMPTY;
        let mut fault = Buf::EMPTY;
        let ask = |waker: &TaskWaker| {
            // SAFETY: `poll` came with `state`, is not called after an answer, and `&mut self`
            // makes this the only thread that polls.
            unsafe { poll(self.state, waker, &raw mut out, &raw mut fault) }
        };
        let status = lend_waker(cx.waker(), ask);
        if status == Status::PENDING {
            return Poll::Pending;
        }
        self.poll = None;
        Poll::Ready(Reply::from_parts(status, out, &fault))
    }
}

impl<D: Out> Future for SeamFuture<D> {
    type Output = Reply<D>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Reply<D>> {
        self.get_mut().ask(cx)
    }
}

impl<D> Drop for SeamFuture<D> {
    fn drop(&mut self) {
        if let Some(drop) = self.drop.take() {
            // SAFETY: `drop` came with `state` and is called only here, once.
            unsafe { drop(self.state) }
        }
    }
}

/// Runs `f` and turns a panic into its message, whatever the panic's payload does when dropped.
///
/// # Errors
/// When `f` panics.
pub fn guard<R>(f: impl FnOnce() -> R) -> Result<R, String> {
    // What `f` leaves half done belongs to the plugin, which lives with it as after any panic.
    catch_unwind(AssertUnwindSafe(f)).map_err(|payload| {
        let message = panic_message(&*payload);
        if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            std::mem::forget(second);
        }
        message
    })
}

fn panic_message(payload: &(dyn Any + Send)) -> String {
    let text = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    format!("panicked: {}", text.unwrap_or("(a payload that is not text)"))
}

/// Lends a Rust waker to the other side for the time of `f`.
fn lend_waker<R>(waker: &Waker, f: impl FnOnce(&TaskWaker) -> R) -> R {
    unsafe extern "C" fn clone(data: *const ()) -> TaskWaker {
        // SAFETY: `data` is a `Waker`, lent or boxed, alive during the call.
        let waker = unsafe { &*data.cast::<Waker>() }.clone();
        TaskWaker { data: Box::into_raw(Box::new(waker)).cast(), table: &OWNED }
    }
    unsafe extern "C" fn wake(data: *const ()) {
        // SAFETY: only owned wakers have this entry; theirs is a box, used up once.
        let waker = unsafe { Box::from_raw(data.cast_mut().cast::<Waker>()) };
        // Waking may run code of whoever made the waker, who has no one to tell of a panic.
        let _ = guard(move || waker.wake());
    }
    unsafe extern "C" fn wake_by_ref(data: *const ()) {
        // SAFETY: `data` is a `Waker`, lent or boxed, alive during the call.
        let waker = unsafe { &*data.cast::<Waker>() };
        // As in `wake`.
        let _ = guard(|| waker.wake_by_ref());
    }
    unsafe extern "C" fn drop_owned(data: *const ()) {
        // SAFETY: only owned wakers have this entry; theirs is a box, used up once.
        let waker = unsafe { Box::from_raw(data.cast_mut().cast::<Waker>()) };
        // As in `wake`.
        let _ = guard(move || drop(waker));
    }
    // A lent waker must not be used up; doing so anyway is harmless.
    unsafe extern "C" fn keep(_: *const ()) {}
    static OWNED: WakerTable = WakerTable { clone, wake, wake_by_ref, drop: drop_owned };
    static LENT: WakerTable = WakerTable { clone, wake: wake_by_ref, wake_by_ref, drop: keep };
    f(&TaskWaker { data: ptr::from_ref(waker).cast(), table: &LENT })
}

/// Makes a Rust context of a lent waker for the time of `f`.
///
/// # Safety
/// `waker` is valid during the call.
unsafe fn with_lent_waker<R>(waker: *const TaskWaker, f: impl FnOnce(&mut Context<'_>) -> R) -> R {
    unsafe fn clone(data: *const ()) -> RawWaker {
        // SAFETY: `data` is a `TaskWaker`, lent or boxed, alive during the call.
        let waker = unsafe { *data.cast::<TaskWaker>() };
        // SAFETY: a waker's table outlives it.
        let table = unsafe { &*waker.table };
        // SAFETY: `data` belongs to `table`.
        let owned = unsafe { (table.clone)(waker.data) };
        RawWaker::new(Box::into_raw(Box::new(owned)).cast_const().cast(), &OWNED)
    }
    unsafe fn wake(data: *const ()) {
        // SAFETY: only owned wakers have this entry; theirs is a box, used up once.
        let waker = unsafe { Box::from_raw(data.cast_mut().cast::<TaskWaker>()) };
        // SAFETY: a waker's table outlives it.
        let table = unsafe { &*waker.table };
        // SAFETY: `data` belongs to `table`, and the owned waker is used up here.
        unsafe { (table.wake)(waker.data) }
    }
    unsafe fn wake_by_ref(data: *const ()) {
        // SAFETY: `data` is a `TaskWaker`, lent or boxed, alive during the call.
        let waker = unsafe { *data.cast::<TaskWaker>() };
        // SAFETY: a waker's table outlives it.
        let table = unsafe { &*waker.table };
        // SAFETY: `data` belongs to `table`.
        unsafe { (table.wake_by_ref)(waker.data) }
    }
    unsafe fn drop_owned(data: *const ()) {
        // SAFETY: only owned wakers have this entry; theirs is a box, used up once.
        let waker = unsafe { Box::from_raw(data.cast_mut().cast::<TaskWaker>()) };
        // SAFETY: a waker's table outlives it.
        let table = unsafe { &*waker.table };
        // SAFETY: `data` belongs to `table`, and the owned waker is used up here.
        unsafe { (table.drop)(waker.data) }
    }
    unsafe fn keep(_: *const ()) {}
    static OWNED: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop_owned);
    static LENT: RawWakerVTable = RawWakerVTable::new(clone, wake_by_ref, wake_by_ref, keep);
    // SAFETY: the entries of both tables treat `data` as what it is.
    let waker = unsafe { Waker::new(waker.cast(), &LENT) };
    // `LENT` drops nothing, and a panic in `f` must not run it either.
    let waker = ManuallyDrop::new(waker);
    f(&mut Context::from_waker(&waker))
}
