//! Sees a thread that stays inside a plugin past its deadline, and answers for it.
//!
//! Whoever enters a plugin leaves a number in a word, and takes it away when it returns. One thread
//! looks at the words a hundred times a second and puts an end to one that it has seen for longer
//! than its place may take. Both change the word only from what they have seen in it, so either
//! the call goes on or the watchdog has answered, never both. A wedged thread can only be outlived.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use lockgate_plugin_api::abi::future::guard;
use tokio::sync::oneshot;

use crate::probation::Probation;

/// The time between two looks.
const LOOK: Duration = Duration::from_millis(10);

/// The wedges after which the process should be started anew: each holds a thread for ever.
const MOST_WEDGES: u64 = 64;

/// A place where a thread may be inside a plugin.
#[derive(Debug, Clone)]
pub(crate) struct Watched {
    pub(crate) plugin: Arc<str>,
    /// The listener, or the tool.
    pub(crate) listener: Arc<str>,
    /// The seam, or `body`.
    pub(crate) seam: &'static str,
    /// How long a thread may be inside; none for as long as it likes.
    pub(crate) deadline: Option<Duration>,
    /// Where it counts that a thread stayed inside.
    pub(crate) probation: Option<Arc<Probation>>,
}

/// A thread that stayed inside.
#[derive(Debug, Clone)]
pub(crate) struct Wedge {
    /// The number of its place.
    pub(crate) number: u16,
    pub(crate) place: Watched,
}

/// One call, as the watchdog sees it.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// [`OUTSIDE`], [`FINISHED`], [`WEDGED`], or the count of entries and the number of the place
    /// that the thread is inside.
    state: AtomicU64,
    entries: AtomicU64,
}

const OUTSIDE: u64 = 0;
const FINISHED: u64 = u64::MAX - 1;
const WEDGED: u64 = u64::MAX;

impl Watch {
    /// The thread that polls the call is about to be inside this place. `false` when the call was
    /// answered, and the place must not be entered.
    #[must_use]
    pub(crate) fn enter(&self, number: u16) -> bool {
        // One thread polls a call at a time, so this is the only writer.
        let entry = self.entries.load(Ordering::Relaxed) + 1;
        self.entries.store(entry, Ordering::Relaxed);
        self.change(OUTSIDE, entry << 16 | (u64::from(number) + 1))
    }

    /// It is back. `false` when the call was answered meanwhile, and nothing may begin any more.
    #[must_use]
    pub(crate) fn leave(&self) -> bool {
        let inside = self.state.load(Ordering::Acquire);
        inside < FINISHED && self.change(inside, OUTSIDE)
    }

    /// Whether nobody has answered yet.
    pub(crate) fn is_open(&self) -> bool {
        self.state.load(Ordering::Acquire) < FINISHED
    }

    /// Answers for the call itself. `false` when the watchdog was first.
    pub(crate) fn finish(&self) -> bool {
        self.change(OUTSIDE, FINISHED)
    }

    fn change(&self, from: u64, to: u64) -> bool {
        self.state.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

/// A call under watch, until this is dropped.
pub(crate) struct Watching {
    id: u64,
}

struct Call {
    watch: Arc<Watch>,
    places: Arc<[Watched]>,
    /// What was inside at the last look, when that was, and for how long it had been there.
    seen: (u64, Instant, Duration),
    wedged: oneshot::Sender<Wedge>,
}

struct Watchdog {
    calls: Mutex<HashMap<u64, Call>>,
    /// Wakes the thread, which sleeps while there are no calls.
    some: Condvar,
    next: AtomicU64,
    wedges: AtomicU64,
}

static WATCHDOG: LazyLock<Watchdog> = LazyLock::new(|| {
    // It looks after the process for as long as that lives.
    let started = thread::Builder::new().name("lockgate-watchdog".into()).spawn(look_for_ever);
    if let Err(error) = started {
        tracing::error!(%error, "there is no watchdog: a listener that hangs is waited for");
    }
    Watchdog {
        calls: Mutex::default(),
        some: Condvar::new(),
        next: AtomicU64::new(0),
        wedges: AtomicU64::new(0),
    }
});

/// Watches `watch`, whose numbers are of `places`. The receiver hears of a wedge.
pub(crate) fn watch(
    watch: &Arc<Watch>,
    places: &Arc<[Watched]>,
) -> (Watching, oneshot::Receiver<Wedge>) {
    let (wedged, hears) = oneshot::channel();
    let id = WATCHDOG.next.fetch_add(1, Ordering::Relaxed);
    let seen = (OUTSIDE, Instant::now(), Duration::ZERO);
    let call = Call { watch: Arc::clone(watch), places: Arc::clone(places), seen, wedged };
    WATCHDOG.lock().insert(id, call);
    WATCHDOG.some.notify_one();
    (Watching { id }, hears)
}

/// How many threads of this process stayed inside a plugin past their deadline.
pub(crate) fn wedges() -> u64 {
    WATCHDOG.wedges.load(Ordering::Relaxed)
}

impl Drop for Watching {
    fn drop(&mut self) {
        let gone = WATCHDOG.lock().remove(&self.id);
        // Not under the lock: it may wake whoever waits.
        drop(gone);
    }
}

impl Watchdog {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Call>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn look_for_ever() {
    let watchdog = &*WATCHDOG;
    loop {
        let calls = watchdog.lock();
        let waited = watchdog.some.wait_while(calls, |it| it.is_empty());
        let mut calls = waited.unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let late: Vec<(u64, Wedge)> =
            calls.iter_mut().filter_map(|(id, it)| Some((*id, it.look(now)?))).collect();
        let late: Vec<(Call, Wedge)> =
            late.into_iter().filter_map(|(id, it)| Some((calls.remove(&id)?, it))).collect();
        drop(calls);
        for (call, wedge) in late {
            // Nobody hears where whoever made the call has gone.
            let _ = call.wedged.send(wedge.clone());
            if let Some(probation) = &wedge.place.probation {
                probation.fault();
            }
            // The log may be what the thread is wedged in, or may panic; who waits has heard.
            let _ = guard(|| report(watchdog, &wedge));
        }
        thread::sleep(LOOK);
    }
}

fn report(watchdog: &Watchdog, wedge: &Wedge) {
    let count = watchdog.wedges.fetch_add(1, Ordering::Relaxed) + 1;
    let Watched { plugin, listener, seam, .. } = &wedge.place;
    tracing::error!(%plugin, %listener, seam, count, "a thread is wedged in a plugin");
    if count > MOST_WEDGES {
        tracing::error!(count, "restart recommended: each wedge holds a thread for ever");
    }
}

impl Call {
    /// The wedge, once what is inside has been there for too long and nobody has answered.
    fn look(&mut self, now: Instant) -> Option<Wedge> {
        let inside = self.watch.state.load(Ordering::Acquire);
        let (before, at, been) = self.seen;
        // What passed while the whole process stood still is nobody's time.
        let passed = now.duration_since(at).min(10 * LOOK);
        let been = if inside == before { been + passed } else { Duration::ZERO };
        self.seen = (inside, now, been);
        if inside >= FINISHED {
            return None;
        }
        let number = u16::try_from((inside & 0xFFFF).checked_sub(1)?).ok()?;
        let place = self.places.get(usize::from(number))?;
        let is_late = been >= place.deadline?;
        let wedged = is_late && self.watch.change(inside, WEDGED);
        wedged.then(|| Wedge { number, place: place.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(deadline: Option<Duration>) -> Call {
        let (plugin, listener) = ("p".into(), "l".into());
        let place = Watched { plugin, listener, seam: "guard", deadline, probation: None };
        let (wedged, _) = oneshot::channel();
        let seen = (OUTSIDE, Instant::now(), Duration::ZERO);
        Call { watch: Arc::default(), places: [place].into(), seen, wedged }
    }

    /// Looks every 10 ms from `from` to `to`, in milliseconds; whether there is a wedge.
    fn look(call: &mut Call, start: Instant, from: u64, to: u64) -> Option<Wedge> {
        let looks = (from..to).step_by(10);
        looks.map(Duration::from_millis).find_map(|it| call.look(start + it))
    }

    #[test]
    fn a_thread_is_wedged_once_one_entry_has_lasted_its_deadline() {
        let mut call = call(Some(Duration::from_millis(500)));
        let start = Instant::now();
        assert!(look(&mut call, start, 0, 900).is_none(), "nobody is inside");
        assert!(call.watch.enter(0));
        assert!(look(&mut call, start, 900, 1300).is_none());
        assert!(call.watch.leave());
        assert!(call.watch.enter(0));
        assert!(look(&mut call, start, 1300, 1700).is_none(), "another entry");
        let wedge = look(&mut call, start, 1700, 2000).expect("the same entry is still inside");
        assert_eq!((wedge.number, wedge.place.seam), (0, "guard"));
        assert!(!call.watch.leave(), "a late return begins nothing any more");
        assert!(!call.watch.enter(0));
        assert!(!call.watch.finish());
    }

    #[test]
    fn a_call_that_has_answered_is_not_wedged() {
        let mut call = call(Some(Duration::ZERO));
        assert!(call.watch.enter(0));
        assert!(call.watch.leave());
        assert!(call.watch.finish());
        assert!(look(&mut call, Instant::now(), 0, 1000).is_none());
        assert!(!call.watch.enter(0));
    }

    #[test]
    fn without_a_deadline_a_thread_may_stay() {
        let mut call = call(None);
        assert!(call.watch.enter(0));
        assert!(look(&mut call, Instant::now(), 0, 100_000).is_none());
    }

    #[test]
    fn a_process_that_stood_still_blames_nobody() {
        let mut call = call(Some(Duration::from_secs(5)));
        let start = Instant::now();
        assert!(call.watch.enter(0));
        assert!(call.look(start).is_none());
        assert!(call.look(start + Duration::from_secs(3600)).is_none());
    }
}
