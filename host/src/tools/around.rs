//! The *execute* seam: listeners around the body, which they may run any number of times.

use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lockgate_plugin_api::ToolOutcome;

use super::nested::Inside;
use super::{Pipeline, Route, body, contexts, failure, with_contexts};
use crate::library::body::{RunState, Watcher};
use crate::library::frame::{Begun, Ending, Frame};
use crate::progress::Progress;
use crate::signal::Signal;
use crate::trail::Said;

/// What the host remembers of a call's outcomes and of the last run of its body.
#[derive(Default)]
struct Ledger {
    outcomes: Vec<Known>,
    /// The last run: what it added counts for a new outcome.
    last: Option<Arc<RunState>>,
    /// Whether the body has run at all.
    has_run: bool,
}

/// An outcome that was handed out.
#[derive(Clone)]
struct Known {
    /// Unique in the process, so that one kept from another call means nothing here.
    token: u64,
    outcome: Arc<ToolOutcome>,
    /// The run it came from, where the host made it and its content follows from its value.
    origin: Option<Origin>,
}

/// Where an outcome of the host's own came from.
#[derive(Clone)]
struct Origin {
    /// The run of the body; none where the body was not to begin.
    run: Option<Arc<RunState>>,
}

impl Ledger {
    /// Remembers `outcome` and hands it out.
    fn hand_out(&mut self, outcome: ToolOutcome, origin: Option<Origin>) -> ToolOutcome {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let token = NEXT.fetch_add(1, Ordering::Relaxed);
        let outcome = Arc::new(outcome);
        let lent = ToolOutcome::lend(&outcome, token);
        self.outcomes.push(Known { token, outcome, origin });
        lent
    }

    /// The outcome behind a token of this call.
    fn known(&self, token: u64) -> Option<Known> {
        self.outcomes.iter().rev().find(|it| it.token == token).cloned()
    }
}

/// The end of the chain: the body.
struct Body<'a> {
    pipeline: &'a Pipeline<'a>,
    ledger: &'a Mutex<Ledger>,
}

impl<'a> Ending<'a, ToolOutcome> for Body<'a> {
    const HAS_BODY: bool = true;

    fn begin(&mut self, signal: &Signal) -> Begun<'a, ToolOutcome> {
        if signal.has_fired() {
            let mut ledger = lock(self.ledger);
            ledger.last = None;
            let origin = Some(Origin { run: None });
            return Begun::Now(ledger.hand_out(failure::aborted(false), origin));
        }
        let nested = Box::new(Inside::of(self.pipeline, signal));
        let watcher = self.pipeline.watcher();
        let state = Arc::new(RunState::new(signal.clone(), nested, watcher));
        let mut ledger = lock(self.ledger);
        ledger.last = Some(Arc::clone(&state));
        ledger.has_run = true;
        drop(ledger);
        let (pipeline, ledger, signal) = (self.pipeline, self.ledger, signal.clone());
        Begun::Later(Box::pin(async move {
            let outcome = body::dispatch(pipeline, &state, &signal).await;
            lock(ledger).hand_out(outcome, Some(Origin { run: Some(state) }))
        }))
    }

    fn pass(&mut self, answer: ToolOutcome) -> Result<ToolOutcome, String> {
        let known = lock(self.ledger).known(answer.token());
        if let Some(Known { token, outcome, origin }) = known {
            // Whatever the other bytes say, a token means what the host knows by it; only
            // messages may have been added.
            if answer.shares_extras_with(&outcome) {
                return Ok(ToolOutcome::lend(&outcome, token));
            }
            let extras = answer.extras();
            let extras = extras.map_err(|error| format!("its data cannot be read: {error}"))?;
            let same = with_contexts(ToolOutcome::lend(&outcome, 0), extras.contexts);
            return Ok(lock(self.ledger).hand_out(same, origin));
        }
        let checked = body::checked(answer)?;
        Ok(lock(self.ledger).hand_out(checked, None))
    }

    fn said(&self, answer: &ToolOutcome) -> Said {
        if answer.is_error() {
            Said::because("failure", answer.message())
        } else {
            Said::new("success")
        }
    }
}

impl Pipeline<'_> {
    /// Runs the body inside the listeners of *execute*.
    pub(super) async fn around(&self) -> Route {
        let ledger = Mutex::default();
        let signal = &self.call.call().signal;
        let mut end = Body { pipeline: self, ledger: &ledger };
        let answer = if self.asking.snapshot.execute.is_empty() {
            match end.begin(signal) {
                Begun::Now(outcome) => outcome,
                Begun::Later(body) => body.await,
            }
        } else {
            let places = &self.asking.snapshot.execute;
            let frame = Frame::new(places, self.call, end, self.asking.terms());
            match pin!(frame).await {
                Ok(answer) => answer,
                Err(failure) => return Route::Final(failure::listener(&failure)),
            }
        };
        let (known, last, has_run) = {
            let mut ledger = lock(&ledger);
            (ledger.known(answer.token()), ledger.last.take(), ledger.has_run)
        };
        let (outcome, run, concluded) = match known.and_then(|it| it.origin) {
            Some(Origin { run }) => {
                let concluded = run.as_ref().is_some_and(|it| it.has_concluded());
                (answer, run, concluded)
            }
            None if !answer.is_error() && self.tool.is_none() => {
                return Route::Final(failure::unknown_tool(&self.call.call().name));
            }
            // A new outcome has the last run's contexts, and never its conclusion.
            None => (self.put_in_order(answer), last, false),
        };
        // What the body added comes before what the listeners around it did.
        let mut all = run.map(|it| it.take_contexts()).unwrap_or_default();
        all.extend(contexts(&outcome));
        let outcome = with_contexts(outcome.concluding(concluded), all);
        Route::Reviewed { outcome: self.unless_cancelled(outcome, has_run), has_run }
    }

    /// Who watches how far the body is.
    fn watcher(&self) -> Option<Watcher> {
        let sink = self.asking.snapshot.progress.clone()?;
        let call = self.call.call();
        let call = Progress {
            tool: call.name.clone(),
            call: call.call_id.clone(),
            agent: call.agent,
            done: 0,
            total: 0,
            text: String::new(),
        };
        Some(Watcher { sink, call })
    }

    /// A new outcome of a listener: of a success only the value and the contexts count.
    fn put_in_order(&self, outcome: ToolOutcome) -> ToolOutcome {
        if outcome.is_error() {
            return outcome;
        }
        let added = contexts(&outcome);
        let made = match self.tool {
            Some(offer) => body::canonical(offer, self.call, outcome, self.asking.watch),
            None => failure::unknown_tool(&self.call.call().name),
        };
        with_contexts(made, added)
    }
}

fn lock(ledger: &Mutex<Ledger>) -> MutexGuard<'_, Ledger> {
    ledger.lock().unwrap_or_else(PoisonError::into_inner)
}
