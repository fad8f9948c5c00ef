//! What a question to a chain is besides its facts: its end, and what holds for all of it.

use std::future::Future;
use std::pin::Pin;

use crate::signal::Signal;
use crate::trail::{Said, TrailSink};
use crate::watchdog::Watch;

/// What stands behind the last listener, and what is done with answers on their way out.
pub(crate) trait Ending<'a, D>: Send {
    /// Whether [`begin`](Self::begin) may start something that a signal can cancel.
    const HAS_BODY: bool;

    /// The answer where no listener has one. Called once for each time the chain is asked to its
    /// end; `signal` tells what is started to end.
    fn begin(&mut self, signal: &Signal) -> Begun<'a, D>;

    /// Checks an answer before anybody else sees it.
    ///
    /// # Errors
    /// What is wrong with it.
    fn pass(&mut self, answer: D) -> Result<D, String>;

    /// The answer in a word, for the trail.
    fn said(&self, answer: &D) -> Said;
}

/// An end of the chain that was reached.
pub(crate) enum Begun<'a, D> {
    /// The answer.
    Now(D),
    /// The answer, later. Always polled to its end.
    Later(Pin<Box<dyn Future<Output = D> + Send + 'a>>),
}

/// What holds for a whole question.
#[derive(Clone, Copy)]
pub(crate) struct Terms<'a> {
    /// The caller's.
    pub(crate) signal: &'a Signal,
    /// Who is told every answer.
    pub(crate) trail: Option<Trail<'a>>,
    /// Who sees a thread that stays inside.
    pub(crate) watch: &'a Watch,
}

/// Where a frame reports what was answered, and about which call.
#[derive(Clone, Copy)]
pub(crate) struct Trail<'a> {
    pub(crate) sink: &'a TrailSink,
    pub(crate) call: Option<&'a str>,
}
