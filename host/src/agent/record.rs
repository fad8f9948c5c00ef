//! A tool call in the session log: that it was made, and what came of it.

use lockgate_plugin_api::{Block, Extras, Message, Role, Source, ToolOutcome};
use serde_json::Value;
use uuid::Uuid;

use super::Core;
use super::step::Place;
use super::turn::TurnError;
use crate::session::{Fact, InboxTarget, LogError};

/// A call as the model wrote it.
#[derive(Debug, Clone)]
pub(super) struct Proposed {
    /// The model's id for it.
    pub(super) call_id: String,
    pub(super) name: String,
    /// As they were written, whatever that is.
    pub(super) arguments: String,
}

/// Appends that `call` is made. Returns the number of the event.
pub(super) fn call(core: &Core, place: Place, call: Proposed) -> Result<u64, LogError> {
    let Place { turn, step } = place;
    let Proposed { call_id, name, arguments } = call;
    core.state().append(Fact::ToolCall { turn, step, call_id, name, arguments })
}

/// Appends the outcome of the call that event `call` began, and parks its contexts.
pub(super) fn result(
    core: &Core,
    place: Place,
    call: u64,
    call_id: String,
    outcome: &ToolOutcome,
) -> Result<(), TurnError> {
    let (content, extras, meta) = match read(outcome) {
        Ok(parts) => parts,
        Err(cause) => return Err(TurnError::Outcome { call_id, cause }),
    };
    let result =
        Block::ToolResult { tool_call_id: call_id.clone(), content, is_error: outcome.is_error() };
    let message = Message {
        id: Uuid::new_v4().to_string(),
        role: Role::User,
        content: vec![result],
        source: Source::Tool { call_id },
    };
    let Place { turn, step } = place;
    let fact = Fact::ToolResult { turn, step, message, error: extras.error, meta };
    // Under one lock: nothing comes between a result and its contexts.
    let mut state = core.state();
    state.log.append_from(fact, vec![call])?;
    for context in extras.contexts {
        state.push(InboxTarget::NextStep, context)?;
    }
    Ok(())
}

fn read(outcome: &ToolOutcome) -> serde_json::Result<(Vec<Block>, Extras, Option<Value>)> {
    let extras = outcome.extras()?;
    let meta = extras.meta.as_ref().map(|it| serde_json::from_str(it.get())).transpose()?;
    Ok((outcome.content()?, extras, meta))
}
