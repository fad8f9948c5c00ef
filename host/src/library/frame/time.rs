//! What passes while a chain is asked: deadlines, the listeners' own time, and the grace of what
//! nobody waits for any more.

use std::task::Context;
use std::time::Duration;

use super::level::LevelState;
use super::{Ending, Frame, ListenerFailure};
use crate::library::facts::Lend;

/// How long a listener may go on that nobody waits for any more and that was told to end. A body
/// has no such limit: it is always waited for.
const GRACE: Duration = Duration::from_secs(5);

impl<'a, S: Lend, E: Ending<'a, S::Answer>> Frame<'a, S, E> {
    /// Tells what a listener started and no longer waits for to end.
    pub(super) fn release_abandoned(&mut self) {
        let Some((_, askers)) = self.levels.split_last() else { return };
        let Some(gone) = askers.iter().position(|it| !it.is_waiting()) else { return };
        for level in &mut self.levels[gone + 1..] {
            if let Some(signal) = &level.signal {
                signal.fire();
            }
            level.grant(GRACE);
        }
    }

    /// Gives up the listeners whose grace is over: their answers are wanted by nobody.
    pub(super) fn poll_grace(&mut self, cx: &mut Context<'_>) -> bool {
        let mut moved = false;
        for depth in 0..self.levels.len() {
            if self.levels[depth].is_out_of_grace(cx) {
                self.put(depth, LevelState::GivenUp);
                moved = true;
            }
        }
        moved
    }

    /// Gives up the listeners whose own time is over.
    pub(super) fn poll_patience(&mut self, cx: &mut Context<'_>) -> bool {
        let mut moved = false;
        for depth in 0..self.levels.len() {
            if self.levels[depth].is_out_of_time(cx) {
                let level = &self.levels[depth];
                let (place, spent) = (&self.places[level.place], level.spent);
                let verdict = Err(ListenerFailure::too_slow(place));
                place.blame();
                self.report(place, Some(&verdict), spent);
                self.put(depth, LevelState::Done(Some(verdict)));
                moved = true;
            }
        }
        moved
    }

    /// Fires the deadlines that have passed while something runs further in.
    pub(super) fn poll_timers(&mut self, cx: &mut Context<'_>) -> bool {
        let Some((_, askers)) = self.levels.split_last_mut() else { return false };
        let mut passed = false;
        for level in askers {
            if level.timer.as_mut().is_some_and(|it| it.as_mut().poll(cx).is_ready()) {
                level.pass_deadline();
                passed = true;
            }
        }
        passed
    }
}
