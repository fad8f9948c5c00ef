//! Sees a thread that stays inside a plugin past its deadline, and answers for it.
//!
//! Whoever enters a plugin leaves a number, and takes it away when it returns: two stores, no
//! clock. One thread looks at the numbers a hundred times a second; one that it has seen for
//! longer than its place may take is wedged. Such a thread can only be outlived.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

/// The time between two looks.
const LOOK: Duration = Duration::from_millis(10);

/// The wedges after which the process should be started anew: each holds a thread for ever.
const MOST_WEDGES: u64 = 64;

/// A place where a thread may be inside a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Watched {
    pub(crate) plugin: Arc<str>,
    /// The listener, or the tool.
    pub(crate) listener: Arc<str>,
    /// The seam, or `body`.
    pub(crate) seam: &'static str,
    /// How long a thread may be inside; none for as long as it likes.
    pub(crate) deadline: Option<Duration>,
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
    /// The count of entries so far and the number of the place that was entered, or 0.
    inside: AtomicU64,
    entries: AtomicU64,
    answered: AtomicU8,
}

const OPEN: u8 = 0;
const BY_CALL: u8 = 1;
const BY_WATCHDOG: u8 = 2;

impl Watch {
    /// The thread that polls the call is about to be inside this place.
    pub(crate) fn enter(&self, number: u16) {
        // One thread polls a call at a time, so this is the only writer.
        let entry = self.entries.load(Ordering::Relaxed) + 1;
        self.entries.store(entry, Ordering::Relaxed);
        self.inside.store(entry << 16 | (u64::from(number) + 1), Ordering::Relaxed);
    }

    /// It is back. `false` when the call was answered meanwhile, and nothing may begin any more.
    #[must_use]
    pub(crate) fn leave(&self) -> bool {
        self.inside.store(0, Ordering::Relaxed);
        self.is_open()
    }

    /// Whether nobody has answered yet.
    pub(crate) fn is_open(&self) -> bool {
        self.answered.load(Ordering::Acquire) == OPEN
    }

    /// Answers for the call itself. `false` when the watchdog was first.
    pub(crate) fn finish(&self) -> bool {
        self.answer(BY_CALL)
    }

    fn answer(&self, by: u8) -> bool {
        self.answered.compare_exchange(OPEN, by, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

/// A call under watch, until this is dropped.
pub(crate) struct Watching {
    id: u64,
}

struct Call {
    watch: Arc<Watch>,
    places: Arc<[Watched]>,
    /// What was inside at the last look, and since which look.
    seen: (u64, Instant),
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
    let seen = (0, Instant::now());
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
        WATCHDOG.lock().remove(&self.id);
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
        let wedged: Vec<(u64, Wedge)> =
            calls.iter_mut().filter_map(|(id, it)| Some((*id, it.look(now)?))).collect();
        for (id, wedge) in wedged {
            let Some(call) = calls.remove(&id) else { continue };
            let count = watchdog.wedges.fetch_add(1, Ordering::Relaxed) + 1;
            let Watched { plugin, listener, seam, .. } = &wedge.place;
            tracing::error!(%plugin, %listener, seam, count, "a thread is wedged in a plugin");
            if count > MOST_WEDGES {
                tracing::error!(count, "restart recommended: each wedge holds a thread for ever");
            }
            // Nobody hears where whoever made the call has gone.
            let _ = call.wedged.send(wedge);
        }
        drop(calls);
        thread::sleep(LOOK);
    }
}

impl Call {
    /// The wedge, once what is inside has been there for too long and nobody has answered.
    fn look(&mut self, now: Instant) -> Option<Wedge> {
        let inside = self.watch.inside.load(Ordering::Relaxed);
        if inside != self.seen.0 {
            self.seen = (inside, now);
        }
        let number = u16::try_from((inside & 0xFFFF).checked_sub(1)?).ok()?;
        let place = self.places.get(usize::from(number))?;
        let is_late = now.duration_since(self.seen.1) >= place.deadline?;
        (is_late && self.watch.answer(BY_WATCHDOG)).then(|| Wedge { number, place: place.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(deadline: Option<Duration>) -> Call {
        let (plugin, listener) = ("p".into(), "l".into());
        let place = Watched { plugin, listener, seam: "guard", deadline };
        let (wedged, _) = oneshot::channel();
        let watch = Arc::default();
        Call { watch, places: [place].into(), seen: (0, Instant::now()), wedged }
    }

    #[test]
    fn a_thread_is_wedged_once_one_entry_has_lasted_its_deadline() {
        let mut call = call(Some(Duration::from_secs(5)));
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        assert!(call.look(at(0)).is_none(), "nobody is inside");
        call.watch.enter(0);
        assert!(call.look(at(1)).is_none());
        assert!(call.watch.leave());
        call.watch.enter(0);
        assert!(call.look(at(6)).is_none(), "another entry: its time begins when it is seen");
        assert!(call.look(at(10)).is_none());
        let wedge = call.look(at(11)).expect("the same entry is still inside");
        assert_eq!((wedge.number, wedge.place.seam), (0, "guard"));
        assert!(!call.watch.leave(), "a late return begins nothing any more");
        assert!(!call.watch.finish());
    }

    #[test]
    fn a_call_that_has_answered_is_not_wedged() {
        let mut call = call(Some(Duration::ZERO));
        call.watch.enter(0);
        assert!(call.watch.finish());
        assert!(call.look(Instant::now()).is_none());
    }

    #[test]
    fn without_a_deadline_a_thread_may_stay() {
        let mut call = call(None);
        call.watch.enter(0);
        let later = Instant::now() + Duration::from_secs(100_000);
        assert!(call.look(later).is_none());
    }
}
