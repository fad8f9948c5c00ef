//! One chain of listeners being asked: it owns what it lends, its futures and its answers.
//!
//! The frame enters one listener at a time, from its own loop: a listener that asks for the rest
//! of the chain leaves a note on its desk, and the frame acts on it once the listener has
//! returned. So the depth of the stack does not grow with the chain, one plugin at a time is on
//! it, and what a listener abandons goes on belonging to the frame, which waits for its end.

mod level;
mod question;
mod time;

use std::future::Future;
use std::marker::PhantomPinned;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use lockgate_plugin_api::abi::Prefixed;
use lockgate_plugin_api::abi::future::Reply;
use lockgate_plugin_api::abi::next::{NextTable, NextTableRef};

use self::level::{Level, LevelState, Settled, Verdict, outer_signal};
pub(crate) use self::question::{Begun, Ending, Terms, Trail};
use super::facts::Lend;
use super::hosted;
use super::listener::{Asked, FailureKind, Held, ListenerFailure, Place};
use super::next::Desks;
use crate::trail::{Said, TrailEntry};

/// One question put to a chain of listeners, as a future of the answer.
pub(crate) struct Frame<'a, S: Lend, E> {
    places: &'a [Place<S>],
    facts: S::Facts<'a>,
    ending: E,
    terms: Terms<'a>,
    desks: Desks<S::Answer>,
    /// What listeners see, made once the frame is pinned: `table` points to `next`, and that to
    /// `desks`.
    next: Option<Prefixed<NextTable<S::Answer>>>,
    table: Option<S::Table>,
    /// Who is waited for, the outermost first.
    levels: Vec<Level<'a, S::Answer>>,
    _pinned: PhantomPinned,
}

// SAFETY: the tables are read-only and point into the pinned frame and to `facts`, which may be
// sent; desks are locked.
unsafe impl<S: Lend, E: Send> Send for Frame<'_, S, E> {}

impl<'a, S: Lend, E: Ending<'a, S::Answer>> Frame<'a, S, E> {
    /// A question about `facts` to `places`, the outermost first.
    pub(crate) fn new(
        places: &'a [Place<S>],
        facts: S::Facts<'a>,
        ending: E,
        terms: Terms<'a>,
    ) -> Self {
        Self {
            places,
            facts,
            ending,
            terms,
            desks: Desks::new(E::HAS_BODY),
            next: None,
            table: None,
            levels: Vec::new(),
            _pinned: PhantomPinned,
        }
    }

    /// Makes what listeners see. `self` is pinned.
    fn lend(&mut self) {
        let next = self.next.insert(Prefixed::new(self.desks.table()));
        // SAFETY: the frame is pinned, so the table stays where it is as long as the frame does.
        let next = NextTableRef(unsafe { next.as_prefix() });
        self.table = Some(S::table(self.facts, next));
    }

    /// Asks the listeners from `first` on, and behind the last one the end. `None` when somebody
    /// answers later, and is on a level of their own by then.
    fn ask_from(&mut self, first: usize) -> Option<Verdict<S::Answer>> {
        let places = self.places;
        for (index, place) in places.iter().enumerate().skip(first) {
            let bound = match &place.held {
                Held::Live(bound) => bound,
                Held::Lost(refusal) => {
                    let verdict = Err(ListenerFailure::unavailable(place, refusal));
                    self.report(place, Some(&verdict), Duration::ZERO);
                    return Some(verdict);
                }
            };
            // Only a listener that was polled has a desk; this one may come to need one.
            self.desks.clear();
            let clock = self.clock();
            let table = self.table.as_ref().expect("the tables are made before anybody is asked");
            // SAFETY: the table stays until the frame is dropped, which drops the futures first.
            let args = unsafe { S::lend(table) };
            if !self.terms.watch.enter(place.number) {
                return Some(Err(ListenerFailure::overtaken(place)));
            }
            // SAFETY: as above.
            let asked = unsafe { bound.ask(args) };
            let is_open = self.terms.watch.leave();
            let spent = elapsed(clock);
            if !is_open {
                return Some(Err(ListenerFailure::overtaken(place)));
            }
            match asked {
                Asked::Later(future) => {
                    let (state, desk) = (LevelState::Listener(future), Some(self.desks.leave()));
                    self.levels.push(Level::new(index, state, desk, None, spent));
                    return None;
                }
                Asked::Now(reply) => {
                    if let Some(verdict) = self.judge(place, reply, spent) {
                        return Some(verdict);
                    }
                }
            }
        }
        self.desks.clear();
        if let Some(place) = places.last()
            && !self.terms.watch.is_open()
        {
            return Some(Err(ListenerFailure::overtaken(place)));
        }
        let outer = outer_signal(&self.levels, self.terms.signal);
        // A body has a signal of its own where a listener may abandon it, and nothing begins for
        // one that has done so.
        let own = (E::HAS_BODY && !self.levels.is_empty()).then(|| outer.child());
        if let Some(own) = &own
            && self.levels.iter().any(|it| !it.is_waiting())
        {
            own.fire();
        }
        match self.ending.begin(own.as_ref().unwrap_or(outer)) {
            Begun::Now(answer) => Some(Ok(answer)),
            Begun::Later(future) => {
                let end = LevelState::End(future);
                self.levels.push(Level::new(places.len(), end, None, own, Duration::ZERO));
                None
            }
        }
    }

    /// Polls one level. `true` when something came of it.
    fn poll_level(&mut self, depth: usize, cx: &mut Context<'_>) -> bool {
        let clock = self.clock();
        let level = &mut self.levels[depth];
        let reply = match &mut level.state {
            LevelState::Done(_) | LevelState::GivenUp => return false,
            LevelState::End(future) => match future.as_mut().poll(cx) {
                Poll::Pending => return false,
                Poll::Ready(answer) => {
                    level.state = LevelState::Done(Some(Ok(answer)));
                    return true;
                }
            },
            LevelState::Listener(future) => {
                if let Some(desk) = &level.desk {
                    self.desks.enter(desk);
                }
                let place = &self.places[level.place];
                let hosted = level.desk.as_ref().map(|it| it.hosted());
                if !self.terms.watch.enter(place.number) {
                    return false;
                }
                let reply = hosted::counting(hosted, || future.ask(cx));
                let is_open = self.terms.watch.leave();
                self.desks.clear();
                level.spent += elapsed(clock);
                match reply {
                    // Somebody has answered: the task ends, and all of this with it.
                    _ if !is_open => return false,
                    Poll::Pending => {
                        level.keep_time(self.places[level.place].patience.answer, cx.waker());
                        return false;
                    }
                    Poll::Ready(reply) => reply,
                }
            }
        };
        let (place, spent) = (&self.places[level.place], level.spent);
        let verdict = self.judge(place, reply, spent);
        self.put(depth, LevelState::Done(verdict));
        true
    }

    /// The listener at `depth` is done: drops its future, which may run the plugin's code.
    fn put(&mut self, depth: usize, state: LevelState<'a, S::Answer>) {
        let level = &mut self.levels[depth];
        let old = mem::replace(&mut level.state, state);
        if matches!(old, LevelState::Listener(_)) {
            let number = self.places[level.place].number;
            self.watched(number, || drop(old));
        }
    }

    /// Does something that may run code of the plugin at this place. Whether anybody has answered
    /// meanwhile is seen at the next entry.
    fn watched(&self, number: u16, f: impl FnOnce()) {
        let entered = self.terms.watch.enter(number);
        f();
        if entered {
            let _ = self.terms.watch.leave();
        }
    }

    /// What a listener's answer comes to; `None` for no opinion.
    fn judge(
        &mut self,
        place: &Place<S>,
        reply: Reply<S::Answer>,
        spent: Duration,
    ) -> Option<Verdict<S::Answer>> {
        let fail = |kind| Err(ListenerFailure::new(place, kind));
        let verdict = match reply {
            Reply::Next => None,
            Reply::Fault(message) => Some(fail(FailureKind::Fault(message))),
            Reply::Protocol(message) => Some(fail(FailureKind::Protocol(message))),
            Reply::Ready(answer) => {
                let passed = self.ending.pass(answer);
                Some(passed.or_else(|message| fail(FailureKind::Protocol(message))))
            }
        };
        if let Some(Err(_)) = &verdict {
            place.blame();
        }
        self.report(place, verdict.as_ref(), spent);
        verdict
    }

    fn report(&self, place: &Place<S>, verdict: Option<&Verdict<S::Answer>>, spent: Duration) {
        let Some(trail) = self.terms.trail else { return };
        let said = match verdict {
            None => Said::new("next"),
            Some(Ok(answer)) => self.ending.said(answer),
            Some(Err(failure)) => Said::because(failure.verdict(), failure.to_string()),
        };
        trail.sink.put(TrailEntry {
            plugin: Arc::clone(&place.plugin),
            listener: Arc::clone(&place.name),
            seam: S::NAME.as_str(),
            verdict: said.verdict,
            reason: said.reason,
            ns: u64::try_from(spent.as_nanos()).unwrap_or(u64::MAX),
            call: trail.call.map(Into::into),
        });
    }

    /// Acts on the note that the innermost listener left, if it did. `true` when it had one.
    fn serve(&mut self) -> bool {
        let Some((level, outer)) = self.levels.split_last_mut() else { return false };
        let Some(question) = level.asked() else { return false };
        level.serving = Some(question);
        level.take_up_deadlines(outer_signal(outer, self.terms.signal));
        let first = level.place + 1;
        let asker = outer.len();
        if let Some(verdict) = self.ask_from(first) {
            self.deliver(asker, verdict);
        }
        true
    }

    /// Gives `asker` what came of its question, if it still waits for that. A failure becomes the
    /// asker's own and goes on outwards: nobody further out can hide it.
    fn deliver(&mut self, asker: usize, verdict: Verdict<S::Answer>) {
        let level = &self.levels[asker];
        match (verdict, &level.state, &level.desk) {
            (Ok(answer), LevelState::Listener(_), Some(desk)) if level.is_waiting() => {
                let number = self.places[level.place].number;
                self.watched(number, || desk.answer(answer));
            }
            // Also where it has given up and asks again: what failed has failed.
            (Err(failure), LevelState::Listener(_), _) => {
                self.put(asker, LevelState::Done(Some(Err(failure))));
            }
            (Ok(_) | Err(_), _, _) => {}
        }
    }

    /// Takes the innermost level away if it is done.
    fn settle(&mut self) -> Settled<S::Answer> {
        let Some(level) = self.levels.pop_if(|it| it.is_done()) else {
            return Settled::Nothing;
        };
        let verdict = match level.state {
            LevelState::GivenUp => return Settled::Level,
            LevelState::Done(Some(verdict)) => Some(verdict),
            // As if the listener were not there: the chain goes on behind it.
            _ => self.ask_from(level.place + 1),
        };
        match (verdict, self.levels.len().checked_sub(1)) {
            (Some(verdict), None) => Settled::Chain(verdict),
            (Some(verdict), Some(asker)) => {
                self.deliver(asker, verdict);
                Settled::Level
            }
            (None, _) => Settled::Level,
        }
    }

    fn clock(&self) -> Option<Instant> {
        self.terms.trail.is_some().then(Instant::now)
    }
}

impl<'a, S: Lend, E: Ending<'a, S::Answer>> Future for Frame<'a, S, E> {
    type Output = Result<S::Answer, ListenerFailure>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: nothing is moved out of the frame, and the fields that are pointed to stay.
        let this = unsafe { self.get_unchecked_mut() };
        if this.table.is_none() {
            this.lend();
            if let Some(verdict) = this.ask_from(0) {
                return Poll::Ready(verdict);
            }
        }
        // Who woke the frame is not known, so everybody is polled once; after that only the
        // innermost has anything new.
        let mut outermost = 0;
        loop {
            // The innermost first: a body that has ended beats a deadline that passes now.
            let mut moved = false;
            for depth in (outermost..this.levels.len()).rev() {
                moved |= this.poll_level(depth, cx);
            }
            this.release_abandoned();
            match this.settle() {
                Settled::Chain(verdict) => return Poll::Ready(verdict),
                Settled::Level => moved = true,
                Settled::Nothing => {}
            }
            moved |= this.serve();
            moved |= this.poll_timers(cx);
            moved |= this.poll_patience(cx);
            moved |= this.poll_grace(cx);
            if !moved {
                return Poll::Pending;
            }
            outermost = this.levels.len().saturating_sub(1);
        }
    }
}

impl<S: Lend, E> Drop for Frame<'_, S, E> {
    fn drop(&mut self) {
        // Inner futures may use what outer ones hold: the innermost goes first.
        while let Some(level) = self.levels.pop() {
            let entered = match &level.state {
                LevelState::Listener(_) => self.terms.watch.enter(self.places[level.place].number),
                LevelState::End(_) | LevelState::Done(_) | LevelState::GivenUp => false,
            };
            drop(level);
            if entered {
                let _ = self.terms.watch.leave();
            }
        }
    }
}

fn elapsed(clock: Option<Instant>) -> Duration {
    clock.map_or(Duration::ZERO, |it| it.elapsed())
}
