//! How a bench puts a question to a chain, and takes the test's own panics out of it.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;

use super::{Bench, Fault, Sent};
use crate::abi::future::Out;
use crate::abi::listener::ListenerRef;
use crate::abi::seam::Seam;
use crate::abi::testing::chain::{Question, Stop, in_order};
use crate::abi::testing::lend::Lends;

/// What the test puts behind a chain. It gets the deadlines set around it.
type Behind<'a, D> = &'a dyn Fn(&[u64]) -> D;

impl<P> Bench<P> {
    /// What is sent while `f` runs.
    pub(super) fn telling(
        &self,
        f: impl FnOnce() -> Result<(), Fault>,
    ) -> Result<Vec<Sent>, Fault> {
        let before = self.sent().len();
        f()?;
        Ok(self.instance.stage().agent().sent(before))
    }

    /// Asks `chain` up to the first answer.
    pub(super) fn ask<S: Seam>(
        &self,
        lent: &dyn Lends<S>,
        chain: &[ListenerRef<S::Args, S::Answer>],
        behind: Behind<'_, S::Answer>,
    ) -> Result<Option<S::Answer>, Fault> {
        self.question(lent, false, behind, |it| it.waterfall(&in_order(chain)))
    }

    /// Asks `chain`, and `behind` where nobody has an opinion.
    pub(super) fn whole<S: Seam>(
        &self,
        lent: &dyn Lends<S>,
        chain: &[ListenerRef<S::Args, S::Answer>],
        has_body: bool,
        behind: Behind<'_, S::Answer>,
    ) -> Result<S::Answer, Fault> {
        self.question(lent, has_body, behind, |it| it.whole(&in_order(chain)))
    }

    /// Tells every listener of `chain`.
    pub(super) fn tell<S: Seam>(
        &self,
        lent: &dyn Lends<S>,
        chain: &[ListenerRef<S::Args, S::Answer>],
    ) -> Result<(), Fault> {
        let behind: Behind<'_, S::Answer> = &|_| S::Answer::EMPTY;
        self.question(lent, false, behind, |it| it.tell(&in_order(chain)))
    }

    fn question<S: Seam, R>(
        &self,
        lent: &dyn Lends<S>,
        has_body: bool,
        behind: Behind<'_, S::Answer>,
        ask: impl FnOnce(&Question<'_, S>) -> Result<R, Stop>,
    ) -> Result<R, Fault> {
        // The test's own code runs inside the plugin's, through which its panic must not go.
        let behind = |deadlines: &[u64]| {
            catch_unwind(AssertUnwindSafe(|| behind(deadlines))).map_err(Stop::Panic)
        };
        let (instance, deadlines) = (&self.instance, Mutex::default());
        let question = Question { instance, lent, behind: &behind, has_body, deadlines };
        ask(&question).map_err(|stop| match stop {
            Stop::Fault(fault) => fault,
            Stop::Panic(panic) => resume_unwind(panic),
        })
    }
}
