//! A question to the listeners of one seam, asked from the outermost to the innermost.

use std::any::Any;
use std::future::pending;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::instance::Instance;
use super::lend::Lends;
use crate::abi::Prefixed;
use crate::abi::future::{Out, Reply, SeamFuture, write_future};
use crate::abi::listener::ListenerRef;
use crate::abi::next::{NextTable, NextTableRef};
use crate::abi::seam::Seam;
use crate::abi::tool::Lent;
use crate::abi::value::{Buf, Status};
use crate::testing::{Fault, wait};

/// Why a question ended without an answer.
pub(crate) enum Stop {
    /// The plugin.
    Fault(Fault),
    /// The test's own code panicked, behind the chain.
    Panic(Box<dyn Any + Send>),
}

/// What answers behind a chain. It gets the deadlines set around it.
pub(crate) type Behind<'a, D> = dyn Fn(&[u64]) -> Result<D, Stop> + 'a;

/// A question that is being asked.
pub(crate) struct Question<'a, S: Seam> {
    /// Who is asked.
    pub(crate) instance: &'a Instance,
    /// What.
    pub(crate) lent: &'a dyn Lends<S>,
    /// What stands behind the last listener.
    pub(crate) behind: &'a Behind<'a, S::Answer>,
    /// Whether that is a body, which a deadline can cancel.
    pub(crate) has_body: bool,
    /// The deadlines set around what runs now, the outermost first.
    pub(crate) deadlines: Mutex<Vec<u64>>,
}

/// The listeners of a seam in the order in which they are asked.
pub(crate) fn in_order<A: Copy, D>(listeners: &[ListenerRef<A, D>]) -> Vec<ListenerRef<A, D>> {
    let mut chain: Vec<_> = listeners.iter().map(|it| ListenerRef(it.0)).collect();
    chain.sort_by_key(|it| std::cmp::Reverse(it.priority()));
    chain
}

impl<S: Seam> Question<'_, S> {
    /// Asks `chain` up to the first answer; `None` where nobody had an opinion.
    pub(crate) fn waterfall(
        &self,
        chain: &[ListenerRef<S::Args, S::Answer>],
    ) -> Result<Option<S::Answer>, Stop> {
        let Some((listener, further)) = chain.split_first() else { return Ok(None) };
        match self.ask(listener, further)? {
            Some(answer) => Ok(Some(answer)),
            None => self.waterfall(further),
        }
    }

    /// Asks `chain`, and where nobody has an opinion what stands behind it.
    pub(crate) fn whole(
        &self,
        chain: &[ListenerRef<S::Args, S::Answer>],
    ) -> Result<S::Answer, Stop> {
        match self.waterfall(chain)? {
            Some(answer) => Ok(answer),
            None => (self.behind)(&self.deadlines()),
        }
    }

    /// Tells every listener of `chain`.
    pub(crate) fn tell(&self, chain: &[ListenerRef<S::Args, S::Answer>]) -> Result<(), Stop> {
        chain.iter().try_for_each(|it| self.ask(it, &[]).map(drop))
    }

    /// Asks one listener, with `further` as the rest of the chain.
    fn ask(
        &self,
        listener: &ListenerRef<S::Args, S::Answer>,
        further: &[ListenerRef<S::Args, S::Answer>],
    ) -> Result<Option<S::Answer>, Stop> {
        let rest = Rest { question: self, further, state: Mutex::default() };
        let table = Prefixed::new(NextTable {
            state: ptr::from_ref(&rest).cast(),
            run: Rest::<S>::run,
            deadline: Rest::<S>::deadline,
        });
        // SAFETY: `table` and `rest` outlive the listener's future, which `reply` drops.
        let next = NextTableRef(unsafe { table.as_prefix() });
        let mut answer = None;
        self.lent.lend(next, &mut |args| answer = self.reply(listener, args, &rest));
        let stop = rest.lock().stop.take();
        // SAFETY: the listeners of a linked plugin are in statics.
        let name = unsafe { listener.name().read() }.unwrap_or("(no text)");
        let place = format!("{}/{name}", S::NAME.as_str());
        match (stop, answer) {
            (Some(stop), _) => Err(stop),
            (None, Some(Reply::Ready(answer))) => Ok(Some(answer)),
            (None, Some(Reply::Next)) => Ok(None),
            (None, Some(Reply::Fault(message))) => {
                Err(Stop::Fault(Fault::Failed { place, message }))
            }
            (None, Some(Reply::Protocol(message))) => {
                Err(Stop::Fault(Fault::Protocol { place, message }))
            }
            (None, None) => Err(Stop::Fault(Fault::Stuck { place })),
        }
    }

    /// The listener's reply; `None` where it never comes.
    fn reply(
        &self,
        listener: &ListenerRef<S::Args, S::Answer>,
        args: S::Args,
        rest: &Rest<'_, S>,
    ) -> Option<Reply<S::Answer>> {
        let stage = self.instance.stage();
        stage.inside(|| {
            let mut out = S::Answer::EMPTY;
            let mut future = SeamFuture::EMPTY;
            let mut fault = Buf::EMPTY;
            let opaque = self.instance.opaque();
            // SAFETY: the plugin's entry, with its instance, lent arguments and empty places.
            let status = unsafe {
                listener.call()(opaque, args, &raw mut out, &raw mut future, &raw mut fault)
            };
            if status == Status::PENDING {
                return wait::answer(stage, future, || rest.lock().stop.is_some());
            }
            Some(Reply::from_parts(status, out, &fault))
        })
    }

    fn deadlines(&self) -> Vec<u64> {
        self.deadlines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The rest of a chain, as one listener reaches it.
struct Rest<'a, S: Seam> {
    question: &'a Question<'a, S>,
    further: &'a [ListenerRef<S::Args, S::Answer>],
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Whether there is a future of it.
    is_asked: bool,
    /// The last deadline that the listener set: when, and the signal that tells.
    deadline: Option<(Duration, u64)>,
    /// Why the listener gets no answer, and the whole question none.
    stop: Option<Stop>,
}

/// Takes the mark back when the future is dropped.
struct Asked<'a, S: Seam>(&'a Rest<'a, S>);

impl<S: Seam> Drop for Asked<'_, S> {
    fn drop(&mut self) {
        self.0.lock().is_asked = false;
    }
}

impl<S: Seam> Rest<'_, S> {
    unsafe extern "C" fn run(
        state: *const (),
        future: *mut SeamFuture<S::Answer>,
        fault: *mut Buf,
    ) -> Status {
        // SAFETY: the rest that the table was made for, alive while the table is lent.
        let rest = unsafe { &*state.cast::<Self>() };
        if std::mem::replace(&mut rest.lock().is_asked, true) {
            let message = "the rest of the chain was asked again while its last future was there";
            // SAFETY: the listener gives empty places to write to.
            return unsafe { write_future(Err(message.to_owned()), future, fault) };
        }
        let asked = Lent(Asked(rest));
        let further = async move {
            let asked = asked;
            match asked.0.0.further() {
                Some(answer) => Reply::Ready(answer),
                // The question is over: its listeners are dropped, not answered.
                None => pending().await,
            }
        };
        // SAFETY: the rest is lent until the listener's future, which owns this one, is dropped.
        let further = unsafe { SeamFuture::borrowing(further) };
        // SAFETY: the listener gives empty places to write to.
        unsafe { write_future(Ok(further), future, fault) }
    }

    unsafe extern "C" fn deadline(state: *const (), timeout_ms: u64) -> u64 {
        // SAFETY: the rest that the table was made for, alive while the table is lent.
        let rest = unsafe { &*state.cast::<Self>() };
        if !rest.question.has_body {
            return 0;
        }
        let stage = rest.question.instance.stage();
        let signal = stage.signal();
        let at = stage.now().saturating_add(Duration::from_millis(timeout_ms));
        rest.lock().deadline = Some((at, signal));
        signal
    }

    /// Asks the rest of the chain, with the listener's deadline around it.
    fn further(&self) -> Option<S::Answer> {
        let question = self.question;
        let stage = question.instance.stage();
        let deadline = self.lock().deadline;
        let around = || question.deadlines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, signal)) = deadline {
            around().push(signal);
            stage.set_time(signal, Some(at));
        }
        let answer = question.whole(self.further);
        if let Some((_, signal)) = deadline {
            around().pop();
            stage.set_time(signal, None);
        }
        answer.map_err(|stop| self.lock().stop = Some(stop)).ok()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
