//! Counts what goes wrong in a generation while it is new.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long a generation is new.
const PROBATION: Duration = Duration::from_secs(60);

/// The failures of a new generation after which the last proven one takes its place again.
const MOST_FAULTS: u32 = 3;

/// The first time of an instance that has taken the place of another one. Without a beginning, it
/// has none.
#[derive(Default)]
pub(crate) struct Probation {
    begun: OnceLock<Begun>,
    faults: AtomicU32,
}

struct Begun {
    at: Instant,
    failed: Box<dyn Fn() + Send + Sync>,
}

impl Probation {
    /// From now on failures count. `failed` is called once there were too many, on the thread that
    /// was in the plugin, and only sees to what is to be done.
    pub(crate) fn begin(&self, failed: impl Fn() + Send + Sync + 'static) {
        // A second beginning changes nothing.
        let _ = self.begun.set(Begun { at: Instant::now(), failed: Box::new(failed) });
    }

    /// A listener failed, or stays inside past its deadline.
    pub(crate) fn fault(&self) {
        let Some(begun) = self.begun.get().filter(|it| it.at.elapsed() < PROBATION) else { return };
        if self.faults.fetch_add(1, Ordering::Relaxed) + 1 == MOST_FAULTS {
            (begun.failed)();
        }
    }

    /// Whether it had its time without too many failures.
    pub(crate) fn is_proven(&self) -> bool {
        let is_over = self.begun.get().is_none_or(|it| it.at.elapsed() >= PROBATION);
        is_over && self.faults.load(Ordering::Relaxed) < MOST_FAULTS
    }
}

impl fmt::Debug for Probation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Probation").field("faults", &self.faults).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn the_third_failure_of_a_new_generation_is_told_once() {
        let told = Arc::new(AtomicU32::new(0));
        let probation = Probation::default();
        probation.fault();
        assert!(probation.is_proven(), "what has no probation is proven");
        let sink = Arc::clone(&told);
        probation.begin(move || {
            sink.fetch_add(1, Ordering::Relaxed);
        });
        assert!(!probation.is_proven(), "it has just begun");
        for expected in [0, 0, 1, 1] {
            probation.fault();
            assert_eq!(told.load(Ordering::Relaxed), expected);
        }
    }
}
