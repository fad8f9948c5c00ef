//! One turn: steps, until the model has nothing more to do.

use std::error::Error;
use std::iter;

use thiserror::Error;

use super::Core;
use super::inbox::{Boundary, Claimed};
use super::state::Turn;
use super::step::{self, Place};
use crate::seam::{self, Admission, ListenerFailure, Submission};
use crate::session::{LlmFailure, LogError, TurnEndReason};
use crate::signal::Signal;

/// How a turn came to its end.
#[derive(Debug)]
pub(super) enum Ending {
    /// What else waits gets its turn.
    Ended(TurnEndReason),
    /// What else waits goes on waiting until the agent is woken.
    Parked(TurnEndReason),
}

/// What broke a turn off.
#[derive(Debug, Error)]
pub(super) enum TurnError {
    /// The signal fired.
    #[error("the turn was cancelled")]
    Cancelled,
    /// The model did not answer.
    #[error(transparent)]
    Model(#[from] LlmFailure),
    /// A listener that had to be asked did not answer.
    #[error(transparent)]
    Listener(#[from] ListenerFailure),
    /// The session log cannot be written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The pipeline made an outcome that is none.
    #[error("cannot read the outcome of the tool call `{call_id}`")]
    Outcome {
        /// The model's id for the call.
        call_id: String,
        /// Why.
        #[source]
        cause: serde_json::Error,
    },
}

impl TurnError {
    /// The failure as the log keeps it.
    pub(super) fn failure(&self) -> LlmFailure {
        let code = match self {
            Self::Model(failure) => return failure.clone(),
            Self::Listener(failure) => failure.code(),
            Self::Cancelled | Self::Log(_) | Self::Outcome { .. } => "UNKNOWN",
        };
        let causes = iter::successors(Some(self as &dyn Error), |it: &&dyn Error| (*it).source());
        let chain: Vec<String> = causes.map(ToString::to_string).collect();
        LlmFailure::new(code, chain.join(": "))
    }
}

/// Runs an open turn and tells how it ended; closing it is left to the caller.
pub(super) async fn run(core: &Core, turn: Turn) -> Result<Ending, TurnError> {
    let Turn { number, signal, claimed } = turn;
    let Claimed { messages: mut batch, prompt } = match claimed {
        Some(claimed) => claimed?,
        None => {
            introduced(core, &signal).await;
            uncancelled(&signal)?;
            core.state().claim(Boundary::Turn)?
        }
    };
    uncancelled(&signal)?;
    if let Some(prompt) = prompt {
        let snapshot = core.registry.snapshot();
        match seam::prompt_submit(&snapshot, core.id, u64::from(number), &signal, prompt).await? {
            Submission::Allow(messages) => batch.extend(messages),
            Submission::Block => return Ok(Ending::Parked(TurnEndReason::Blocked)),
        }
        uncancelled(&signal)?;
    }
    let mut ending = None;
    let mut place = Place { turn: number, step: 0 };
    loop {
        place.step += 1;
        // The model and the tools are not reached without: there a failure ends the turn.
        if let Err(error) = core.checkpoint().await {
            tracing::warn!(%error, "what a session has come to may not be on the disk");
        }
        let (turn, step) = (u64::from(place.turn), u64::from(place.step));
        let entry =
            seam::pre_step(&core.registry.snapshot(), core.id, turn, step, &signal, batch).await?;
        uncancelled(&signal)?;
        let entered = match entry {
            Admission::Enter(messages) => messages,
            Admission::Reject => return Ok(Ending::Parked(TurnEndReason::Blocked)),
        };
        match ending {
            Some(reason) if entered.is_empty() => return Ok(Ending::Ended(reason)),
            None if entered.is_empty() && place.step == 1 => {
                return Ok(Ending::Parked(TurnEndReason::Completed));
            }
            Some(_) | None => {}
        }
        let reason = step::run(core, place, &signal, entered).await?;
        // An answer that was cut off marks the whole turn.
        if ending != Some(TurnEndReason::MaxTokens) {
            ending = reason;
        }
        uncancelled(&signal)?;
        if let Some(reason) = &ending {
            if core.state().lets_turn_end() {
                seam::turn_stopping(&core.registry.snapshot(), core.id, turn, &signal).await?;
                uncancelled(&signal)?;
            }
            if core.state().lets_turn_end() {
                return Ok(Ending::Ended(reason.clone()));
            }
        }
        batch = core.state().claim(Boundary::Step)?.messages;
    }
}

/// Refuses to go on once `signal` has fired.
pub(super) fn uncancelled(signal: &Signal) -> Result<(), TurnError> {
    if signal.has_fired() { Err(TurnError::Cancelled) } else { Ok(()) }
}

/// Waits for the *session-start* listeners, no longer than they may take and only the first time.
async fn introduced(core: &Core, signal: &Signal) {
    let introduced = core.state().introduced();
    let grace = core.options.session_start_grace;
    tokio::select! {
        () = signal.fired() => {}
        () = introduced.fired() => {}
        () = tokio::time::sleep(grace) => introduced.fire(),
    }
}
