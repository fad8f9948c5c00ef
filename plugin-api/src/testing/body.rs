//! A tool's body, as a test plays it behind the *execute* listeners.

use std::time::Duration;

use super::stage::Stage;

/// One run of the body that a test plays.
#[derive(Debug)]
pub struct Body<'a> {
    pub(super) stage: &'a Stage,
    pub(super) attempt: usize,
    pub(super) call: u64,
    pub(super) deadlines: &'a [u64],
}

impl Body<'_> {
    /// Which run it is, counted from 1: a listener may run the body several times.
    pub fn attempt(&self) -> usize {
        self.attempt
    }

    /// Whether the body has been told to end: by the caller, or by a deadline set around it.
    pub fn is_told_to_end(&self) -> bool {
        let mut signals = self.deadlines.iter().chain([&self.call]);
        signals.any(|it| self.stage.has_fired(*it))
    }

    /// Works for `time` on the bench's clock, or until it is told to end, and says whether it
    /// was.
    pub fn work(&self, time: Duration) -> bool {
        let end = self.stage.now().saturating_add(time);
        while !self.is_told_to_end() {
            match self.stage.next_due().filter(|it| *it <= end) {
                Some(due) => self.stage.advance(due),
                None => {
                    self.stage.advance(end);
                    return self.is_told_to_end();
                }
            }
        }
        true
    }

    /// The caller gives up.
    pub fn cancel_call(&self) {
        self.stage.fire(self.call);
    }
}
