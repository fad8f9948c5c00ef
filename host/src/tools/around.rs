//! The *execute* seam: listeners around the body, which they may run any number of times.

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lockgate_plugin_api::ToolOutcome;

use super::{Pipeline, Route, body, contexts, failure, with_contexts};
use crate::library::body::RunState;
use crate::library::frame::{Begun, Ending, Frame};
use crate::seam;
use crate::signal::Signal;
use crate::trail::Said;

/// What the host remembers of a call's outcomes and of the last run of its body.
#[derive(Default)]
struct Ledger {
    /// The outcomes handed out; a token is a place in here, counted from 1.
    outcomes: Vec<Known>,
    /// The last run: what it added counts, what earlier ones added does not.
    run: Option<Arc<RunState>>,
}

struct Known {
    outcome: Arc<ToolOutcome>,
    /// Whether the host made it, so that its content follows from its value.
    canonical: bool,
}

impl Ledger {
    /// Remembers `outcome` and hands it out.
    fn hand_out(&mut self, outcome: ToolOutcome, canonical: bool) -> ToolOutcome {
        let outcome = Arc::new(outcome);
        self.outcomes.push(Known { outcome: Arc::clone(&outcome), canonical });
        ToolOutcome::lend(&outcome, self.outcomes.len() as u64)
    }

    /// The outcome behind a token.
    fn known(&self, token: u64) -> Option<&Known> {
        let place = usize::try_from(token).ok()?.checked_sub(1)?;
        self.outcomes.get(place)
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
            return Begun::Now(lock(self.ledger).hand_out(failure::aborted(false), true));
        }
        let state = Arc::new(RunState::new(signal.clone()));
        lock(self.ledger).run = Some(Arc::clone(&state));
        let (pipeline, ledger, signal) = (self.pipeline, self.ledger, signal.clone());
        Begun::Later(Box::pin(async move {
            let outcome = body::dispatch(pipeline, &state, &signal).await;
            lock(ledger).hand_out(outcome, true)
        }))
    }

    fn pass(&mut self, answer: ToolOutcome) -> Result<ToolOutcome, String> {
        let mut ledger = lock(self.ledger);
        let token = answer.token();
        if token != 0 {
            // Whatever the bytes say, the token means what the host knows by it.
            let known = ledger.known(token).ok_or("its outcome carries an unknown token")?;
            return Ok(ToolOutcome::lend(&known.outcome, token));
        }
        let checked = if answer.is_error() {
            body::checked_failure(answer)?
        } else {
            answer.extras().map_err(|error| format!("its extras: {error}"))?;
            answer
        };
        Ok(ledger.hand_out(checked, false))
    }

    fn said(&self, answer: &ToolOutcome) -> Said {
        match (answer.token(), answer.is_error()) {
            (_, true) => Said::because("failure", answer.message()),
            (_, false) => Said::new("success"),
        }
    }
}

impl Pipeline<'_> {
    /// Runs the body inside the listeners of *execute*.
    pub(super) async fn around(&self) -> Route {
        let ledger = Mutex::default();
        let signal = &self.call.call().signal;
        let mut end = Body { pipeline: self, ledger: &ledger };
        let answer = if self.snapshot.execute.is_empty() {
            match end.begin(signal) {
                Begun::Now(outcome) => outcome,
                Begun::Later(body) => body.await,
            }
        } else {
            let trail = seam::trail(self.snapshot, Some(self.call));
            let frame = Frame::new(&self.snapshot.execute, self.call, end, signal, trail);
            match pin!(frame).await {
                Ok(answer) => answer,
                Err(failure) => return Route::Final(failure::listener(&failure)),
            }
        };
        let (outcome, run) = {
            let mut ledger = lock(&ledger);
            let known = ledger.known(answer.token());
            let canonical = known.is_some_and(|it| it.canonical);
            (if canonical { answer } else { self.put_in_order(answer) }, ledger.run.take())
        };
        let has_run = run.is_some();
        let concluded = run.as_ref().is_some_and(|it| it.has_concluded());
        // What the body added comes before what the listeners around it did.
        let mut all = run.map(|it| it.take_contexts()).unwrap_or_default();
        all.extend(contexts(&outcome));
        let outcome = with_contexts(outcome.concluding(concluded), all);
        Route::Reviewed { outcome: self.unless_cancelled(outcome, has_run), has_run }
    }

    /// A new outcome of a listener: of a success only the value and the contexts count.
    fn put_in_order(&self, outcome: ToolOutcome) -> ToolOutcome {
        if outcome.is_error() {
            return outcome;
        }
        let added = contexts(&outcome);
        let made = match self.tool {
            Some(tool) => body::canonical(tool, self.call, &outcome.value_json()),
            None => failure::unknown_tool(&self.call.call().name),
        };
        with_contexts(made, added)
    }
}

fn lock(ledger: &Mutex<Ledger>) -> MutexGuard<'_, Ledger> {
    ledger.lock().unwrap_or_else(PoisonError::into_inner)
}
