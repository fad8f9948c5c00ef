//! The executor of a bench: waits on the test's own thread, and lets the bench's time pass.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use super::stage::Stage;

/// How long a thread of the plugin's own may take to wake what waits for it, in real time.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often one answer is asked for, or time jumps for it: who then still waits does so for ever.
const MOST_JUMPS: u32 = 100_000;

struct Parked {
    thread: Thread,
    is_woken: AtomicBool,
}

impl Parked {
    fn here() -> Arc<Self> {
        Arc::new(Self { thread: thread::current(), is_woken: AtomicBool::new(false) })
    }

    /// Whether it was woken since the last time.
    fn take(&self) -> bool {
        self.is_woken.swap(false, Ordering::Acquire)
    }
}

impl Wake for Parked {
    fn wake(self: Arc<Self>) {
        self.is_woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// The answer of `future`; `None` where it never comes, or `is_over` says that nobody wants it
/// any more.
pub(crate) fn answer<F: Future>(
    stage: &Stage,
    future: F,
    is_over: impl Fn() -> bool,
) -> Option<F::Output> {
    let parked = Parked::here();
    let waker = Arc::clone(&parked).into();
    // Another one: that a spawned future waits is no reason to wait for it.
    let beside = Parked::here();
    let waker_beside = Arc::clone(&beside).into();
    let mut future = pin!(future);
    let mut jumps = 0;
    loop {
        if let Poll::Ready(answer) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Some(answer);
        }
        if is_over() {
            return None;
        }
        stage.spawned().poll(&waker_beside);
        if !wait(stage, &parked, &beside, &mut jumps) {
            return None;
        }
    }
}

/// Lets `time` pass for what the plugin has spawned. `false` where that never comes to rest.
pub(crate) fn pass(stage: &Stage, time: Duration) -> bool {
    let end = stage.now().saturating_add(time);
    let parked = Parked::here();
    let waker = Arc::clone(&parked).into();
    for _ in 0..MOST_JUMPS {
        stage.spawned().poll(&waker);
        if parked.take() {
            continue;
        }
        match stage.next_due().filter(|it| *it <= end) {
            Some(due) => stage.advance(due),
            None => {
                stage.advance(end);
                return true;
            }
        }
    }
    false
}

/// Waits until the future may go on. Whoever is awake goes first; then time jumps to what is due
/// next; then only another thread can help.
fn wait(stage: &Stage, parked: &Arc<Parked>, beside: &Parked, jumps: &mut u32) -> bool {
    let patience = Instant::now() + PATIENCE;
    loop {
        if parked.take() | beside.take() {
            *jumps += 1;
            return *jumps <= MOST_JUMPS;
        }
        if let Some(due) = stage.next_due() {
            *jumps += 1;
            if *jumps > MOST_JUMPS {
                return false;
            }
            stage.advance(due);
            continue;
        }
        // The executor's own two: nobody has kept a waker to wake it with.
        if Arc::strong_count(parked) <= 2 {
            return parked.take();
        }
        let left = patience.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        thread::park_timeout(left);
    }
}
