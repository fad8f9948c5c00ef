//! Who a frame waits for: the listeners that answer later, and the end of the chain.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use lockgate_plugin_api::abi::future::{Out, SeamFuture};
use tokio::time::Sleep;

use crate::library::listener::ListenerFailure;
use crate::library::next::{Deadline, Desk};
use crate::signal::Signal;

/// One that is waited for. The one before it in the frame's list waits for it in turn.
pub(super) struct Level<'a, D> {
    /// The place of its listener; the count of places for the end.
    pub(super) place: usize,
    pub(super) state: LevelState<'a, D>,
    /// Where its listener asks; the end of a chain asks nobody.
    pub(super) desk: Option<Arc<Desk<D>>>,
    /// Which of its questions is being answered further in.
    pub(super) serving: Option<u64>,
    /// Tells what runs further in to end, where that differs from further out.
    pub(super) signal: Option<Signal>,
    /// The deadlines set by the listener, which it may ask about; the last one counts.
    pub(super) deadlines: Vec<Deadline>,
    pub(super) timer: Option<Pin<Box<Sleep>>>,
    /// The listener's own time that is left, while it is not waiting for anybody.
    own: OwnTime,
    /// How long it may go on, once nobody waits for it.
    grace: Option<Pin<Box<Sleep>>>,
    pub(super) spent: Duration,
}

pub(super) enum LevelState<'a, D> {
    Listener(SeamFuture<D>),
    End(Pin<Box<dyn Future<Output = D> + Send + 'a>>),
    /// It has answered, or has no opinion; what it started further in is waited for first.
    Done(Option<Verdict<D>>),
    /// Nobody waits for it, and it did not end when it was told to.
    GivenUp,
}

/// What became of a question.
pub(super) type Verdict<D> = Result<D, ListenerFailure>;

/// What one look at the innermost level came to.
pub(super) enum Settled<D> {
    /// It is not done.
    Nothing,
    /// It is gone, and somebody further out has its answer.
    Level,
    /// It was the outermost: the answer of the chain.
    Chain(Verdict<D>),
}

impl<'a, D: Out> Level<'a, D> {
    /// The level of the listener at `place`, which was inside for `spent` so far.
    pub(super) fn new(
        place: usize,
        state: LevelState<'a, D>,
        desk: Option<Arc<Desk<D>>>,
        signal: Option<Signal>,
        spent: Duration,
    ) -> Self {
        let (serving, deadlines, timer) = (None, Vec::new(), None);
        let (own, grace) = (OwnTime::default(), None);
        Self { place, state, desk, serving, signal, deadlines, timer, own, grace, spent }
    }

    /// Whether it has come to its end.
    pub(super) fn is_done(&self) -> bool {
        matches!(self.state, LevelState::Done(_) | LevelState::GivenUp)
    }

    /// Nobody waits for it any more: it may go on for `grace` from when this is first said.
    pub(super) fn grant(&mut self, grace: Duration) {
        self.grace.get_or_insert_with(|| Box::pin(tokio::time::sleep(grace)));
    }

    /// Whether that is over. A listener that waits for a body goes on as long as the body does.
    pub(super) fn is_out_of_grace(&mut self, cx: &mut Context<'_>) -> bool {
        if !matches!(self.state, LevelState::Listener(_)) || self.is_waiting() {
            return false;
        }
        self.grace.as_mut().is_some_and(|it| it.as_mut().poll(cx).is_ready())
    }

    /// The number of the question that its listener waits for, if it does.
    pub(super) fn asked(&self) -> Option<u64> {
        match &self.state {
            LevelState::Listener(_) => self.desk.as_ref()?.asked(),
            LevelState::End(_) | LevelState::Done(_) | LevelState::GivenUp => None,
        }
    }

    /// Whether its listener waits for what runs further in.
    pub(super) fn is_waiting(&self) -> bool {
        self.serving.is_some() && self.asked() == self.serving
    }

    /// The listener has not answered yet: its time runs, unless it waits for what is further in or
    /// for the host. All of it is `patience`.
    pub(super) fn keep_time(&mut self, patience: Duration, waker: &Waker) {
        let hosted = self.desk.as_ref().is_some_and(|it| it.hosted().waits(waker));
        if hosted || self.asked().is_some() {
            self.own.stop();
        } else {
            self.own.run(patience);
        }
    }

    /// Whether the listener has used its own time up.
    pub(super) fn is_out_of_time(&mut self, cx: &mut Context<'_>) -> bool {
        let timer = self.own.timer.as_mut();
        let is_over = timer.is_some_and(|it| it.as_mut().poll(cx).is_ready());
        is_over && matches!(self.state, LevelState::Listener(_))
    }

    /// Takes up the deadlines that its listener has set: the last one counts, from when it was
    /// set. `outer` is the signal further out.
    pub(super) fn take_up_deadlines(&mut self, outer: &Signal) {
        let Some(desk) = &self.desk else { return };
        let set = desk.take_deadlines();
        let Some(last) = set.last() else { return };
        self.signal = Some(outer.child());
        self.timer = Some(Box::pin(tokio::time::sleep_until(last.at.into())));
        self.deadlines.extend(set);
        // One that has passed already must not let a body begin.
        if self.deadlines.last().is_some_and(|it| it.at <= Instant::now()) {
            self.pass_deadline();
        }
    }

    /// The last deadline has passed: says so, and tells what runs further in to end.
    pub(super) fn pass_deadline(&mut self) {
        self.timer = None;
        let passed = self.deadlines.last().map(|it| &it.passed);
        for signal in passed.into_iter().chain(&self.signal) {
            signal.fire();
        }
    }
}

/// A clock that stops while somebody else is waited for.
#[derive(Default)]
struct OwnTime {
    used: Duration,
    since: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl OwnTime {
    fn run(&mut self, patience: Duration) {
        if self.since.is_none() {
            self.since = Some(Instant::now());
            let left = patience.saturating_sub(self.used);
            self.timer = Some(Box::pin(tokio::time::sleep(left)));
        }
    }

    fn stop(&mut self) {
        if let Some(since) = self.since.take() {
            self.used += since.elapsed();
            self.timer = None;
        }
    }
}

/// The innermost of the signals that were set, or the caller's.
pub(super) fn outer_signal<'s, D>(levels: &'s [Level<'_, D>], caller: &'s Signal) -> &'s Signal {
    levels.iter().rev().find_map(|it| it.signal.as_ref()).unwrap_or(caller)
}
