//! The host of one bench: its clock, its signals, and what the plugin said to it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Poll, Waker};
use std::time::Duration;

use serde_json::Value;

use super::agent::Agent;
use super::process::{Ended, Process};
use super::spawned::Spawned;
use super::{Line, Progress};
use crate::outcome::ToolOutcome;

/// Answers for the processes that a plugin runs.
pub(crate) type RunProcess = Arc<dyn Fn(&Process) -> Ended + Send + Sync>;

/// Answers for the calls that a tool's body makes, by their names and arguments.
pub(crate) type AnswerCall = Arc<dyn Fn(&str, &Value) -> ToolOutcome + Send + Sync>;

/// What a bench shares with the functions of its host.
pub(crate) struct Stage {
    number: u64,
    /// The types of event that the plugin may append.
    events: Vec<String>,
    spawned: Spawned,
    agent: Agent,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    now: Duration,
    timers: Vec<(Duration, Waker)>,
    signals: BTreeMap<u64, Signal>,
    signals_made: u64,
    lines: Vec<Line>,
    progress: Vec<Progress>,
    tools_changed: bool,
    run_process: Option<RunProcess>,
    answer_call: Option<AnswerCall>,
}

#[derive(Default)]
struct Signal {
    has_fired: bool,
    /// When it fires by itself.
    at: Option<Duration>,
    wakers: Vec<Waker>,
}

static STAGES: Mutex<BTreeMap<u64, Weak<Stage>>> = Mutex::new(BTreeMap::new());

thread_local! {
    /// The stages whose plugins this thread is inside, the innermost last.
    static INSIDE: RefCell<Vec<Arc<Stage>>> = const { RefCell::new(Vec::new()) };
}

/// The bits of a signal's number that count the signals of its stage.
const SIGNAL_BITS: u32 = 32;

fn lock<T>(it: &Mutex<T>) -> MutexGuard<'_, T> {
    it.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The stage of the instance with this number, unless its bench is gone.
pub(crate) fn find(instance: u64) -> Option<Arc<Stage>> {
    lock(&STAGES).get(&instance).and_then(Weak::upgrade)
}

/// The stage of the plugin that this thread is inside.
pub(crate) fn innermost() -> Option<Arc<Stage>> {
    INSIDE.try_with(|it| it.borrow().last().cloned()).ok().flatten()
}

/// Whether the signal has fired; one that is gone has, and no signal (0) has not.
pub(crate) fn has_fired(signal: u64) -> bool {
    signal != 0 && find(signal >> SIGNAL_BITS).is_none_or(|it| it.has_fired(signal))
}

impl Stage {
    /// The stage of a plugin that may append events of these types.
    pub(crate) fn new(events: Vec<String>) -> Arc<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let (spawned, agent, state) = (Spawned::default(), Agent::default(), Mutex::default());
        let stage = Arc::new(Self { number, events, spawned, agent, state });
        lock(&STAGES).insert(number, Arc::downgrade(&stage));
        stage
    }

    /// The number of the instance that it is the host of.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Runs `f`, which enters the plugin: what is logged on this thread meanwhile is this
    /// stage's, whichever instance of the library speaks for all of them.
    pub(crate) fn inside<R>(self: &Arc<Self>, f: impl FnOnce() -> R) -> R {
        struct Leave;
        impl Drop for Leave {
            fn drop(&mut self) {
                INSIDE.with_borrow_mut(Vec::pop);
            }
        }
        INSIDE.with_borrow_mut(|it| it.push(Arc::clone(self)));
        let _leave = Leave;
        f()
    }

    /// What the plugin has spawned.
    pub(crate) fn spawned(&self) -> &Spawned {
        &self.spawned
    }

    /// The agent that the plugin works for.
    pub(crate) fn agent(&self) -> &Agent {
        &self.agent
    }

    /// Whether the plugin may append events of this type.
    pub(crate) fn may_append(&self, kind: &str) -> bool {
        self.events.iter().any(|it| it == kind)
    }

    pub(crate) fn now(&self) -> Duration {
        lock(&self.state).now
    }

    /// Lets the time until `then` pass, and wakes whoever waited for it.
    pub(crate) fn advance(&self, then: Duration) {
        let mut state = lock(&self.state);
        let now = state.now.max(then);
        state.now = now;
        let due = state.timers.extract_if(.., |it| it.0 <= now).map(|it| it.1);
        let mut wakers: Vec<Waker> = due.collect();
        for signal in state.signals.values_mut() {
            if signal.at.is_some_and(|it| it <= now) {
                signal.has_fired = true;
                wakers.append(&mut signal.wakers);
            }
        }
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// When the next timer or deadline that lies ahead is due.
    pub(crate) fn next_due(&self) -> Option<Duration> {
        let state = lock(&self.state);
        let timers = state.timers.iter().map(|it| it.0);
        let pending = state.signals.values().filter(|it| !it.has_fired);
        timers.chain(pending.filter_map(|it| it.at)).min()
    }

    pub(crate) fn poll_time(&self, at: Duration, waker: &Waker) -> Poll<()> {
        let mut state = lock(&self.state);
        if state.now >= at {
            return Poll::Ready(());
        }
        state.timers.push((at, waker.clone()));
        Poll::Pending
    }

    /// A new signal.
    pub(crate) fn signal(&self) -> u64 {
        let mut state = lock(&self.state);
        state.signals_made += 1;
        let number = self.number << SIGNAL_BITS | state.signals_made;
        state.signals.insert(number, Signal::default());
        number
    }

    pub(crate) fn has_fired(&self, signal: u64) -> bool {
        lock(&self.state).signals.get(&signal).is_none_or(|it| it.has_fired)
    }

    pub(crate) fn poll_fired(&self, signal: u64, waker: &Waker) -> Poll<()> {
        match lock(&self.state).signals.get_mut(&signal) {
            Some(it) if !it.has_fired => {
                it.wakers.push(waker.clone());
                Poll::Pending
            }
            _ => Poll::Ready(()),
        }
    }

    pub(crate) fn fire(&self, signal: u64) {
        let mut state = lock(&self.state);
        let Some(it) = state.signals.get_mut(&signal) else { return };
        it.has_fired = true;
        let wakers = std::mem::take(&mut it.wakers);
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// From now on the signal fires by itself at `at`, or not at all.
    pub(crate) fn set_time(&self, signal: u64, at: Option<Duration>) {
        if let Some(it) = lock(&self.state).signals.get_mut(&signal) {
            it.at = at;
        }
        self.advance(self.now());
    }

    /// The work that the signal was for is over.
    pub(crate) fn forget(&self, signal: u64) {
        self.fire(signal);
        lock(&self.state).signals.remove(&signal);
    }

    pub(crate) fn log(&self, line: Line) {
        lock(&self.state).lines.push(line);
    }

    pub(crate) fn lines(&self) -> Vec<Line> {
        lock(&self.state).lines.clone()
    }

    pub(crate) fn make_progress(&self, progress: Progress) {
        lock(&self.state).progress.push(progress);
    }

    pub(crate) fn progress(&self) -> Vec<Progress> {
        lock(&self.state).progress.clone()
    }

    /// The plugin says that it has other tools now.
    pub(crate) fn change_tools(&self) {
        lock(&self.state).tools_changed = true;
    }

    /// Whether the plugin has said so since this was last asked.
    pub(crate) fn take_tools_changed(&self) -> bool {
        std::mem::take(&mut lock(&self.state).tools_changed)
    }

    pub(crate) fn answer_processes(&self, run: RunProcess) {
        lock(&self.state).run_process = Some(run);
    }

    pub(crate) fn run_process(&self) -> Option<RunProcess> {
        lock(&self.state).run_process.clone()
    }

    pub(crate) fn answer_calls(&self, answer: AnswerCall) {
        lock(&self.state).answer_call = Some(answer);
    }

    pub(crate) fn answer_call(&self) -> Option<AnswerCall> {
        lock(&self.state).answer_call.clone()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        lock(&STAGES).remove(&self.number);
    }
}

impl fmt::Debug for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stage").field("number", &self.number).finish_non_exhaustive()
    }
}
