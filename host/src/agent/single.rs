//! One tool call that no model asked for, in a turn of its own.

use std::error::Error;
use std::panic;
use std::sync::Arc;

use lockgate_plugin_api::ToolOutcome;
use thiserror::Error;

use super::record::Proposed;
use super::step::Place;
use super::turn::{Ending, TurnError};
use super::{Core, drive, record};
use crate::session::{Fact, TurnEndReason};
use crate::tools::{self, CallRequest};

/// A tool call that could not be made. One that was made and failed is an outcome.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CallError {
    /// The agent has a turn.
    #[error("the agent is at work: a call of its own can be made while it is idle")]
    Busy,
    /// The session cannot record it.
    #[error("the call cannot be recorded in the session")]
    Session(#[source] Box<dyn Error + Send + Sync>),
    /// The runtime that the agent was started in is gone.
    #[error("the runtime of the agent has ended")]
    Ended,
}

impl From<TurnError> for CallError {
    fn from(error: TurnError) -> Self {
        Self::Session(error.into())
    }
}

pub(super) async fn call(
    core: &Arc<Core>,
    name: &str,
    arguments: &str,
) -> Result<Arc<ToolOutcome>, CallError> {
    let (number, signal) =
        core.state().open_alone().map_err(TurnError::from)?.ok_or(CallError::Busy)?;
    let request = CallRequest {
        call_id: format!("call_{number}"),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
        agent: Some(core.id),
        cwd: core.options.cwd.clone(),
        signal: signal.clone(),
    };
    let own = Arc::clone(core);
    // A task of its own: the turn comes to its end whoever waits.
    let task = core.runtime.spawn(async move {
        let made = make(&own, number, request).await;
        let result = match &made {
            _ if signal.has_fired() => Err(TurnError::Cancelled),
            // What the call adds to the conversation waits for somebody to wake the agent.
            Ok(_) | Err(_) => Ok(Ending::Parked(TurnEndReason::Completed)),
        };
        let next = own.state().close(number, result);
        if let Some(turn) = next {
            own.runtime.clone().spawn(drive(own, turn));
        }
        made
    });
    match task.await {
        Ok(made) => made,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => panic::resume_unwind(panic),
            Err(_) => Err(CallError::Ended),
        },
    }
}

async fn make(core: &Core, turn: u32, request: CallRequest) -> Result<Arc<ToolOutcome>, CallError> {
    let place = Place { turn, step: 1 };
    let call_id = request.call_id.clone();
    let log = |fact| core.state().append(fact).map_err(TurnError::from);
    log(Fact::StepStart { turn, step: 1 })?;
    let proposed = Proposed {
        call_id: call_id.clone(),
        name: request.name.clone(),
        arguments: request.arguments.clone(),
    };
    let call = record::call(core, place, proposed).map_err(TurnError::from)?;
    core.checkpoint().await.map_err(TurnError::from)?;
    let outcome = tools::execute(&core.registry.snapshot(), request).await;
    record::result(core, place, call, call_id, &outcome)?;
    log(Fact::StepEnd { turn, step: 1 })?;
    Ok(outcome)
}
