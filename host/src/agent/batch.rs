//! The tool calls of one answer.

use std::sync::Arc;

use lockgate_plugin_api::{Block, Extras, Message, Role, Source, ToolOutcome};
use serde::de::IgnoredAny;
use serde_json::Value;
use uuid::Uuid;

use super::Core;
use super::step::Place;
use super::turn::TurnError;
use crate::session::{Fact, InboxTarget};
use crate::signal::Signal;
use crate::tools::{self, CallRequest};

/// Runs the tool calls in `content`, one after another. Returns whether one of them concluded the
/// turn; none if there was no call.
///
/// Once the signal has fired no call is started any more, and each of them is told so. One that
/// runs is waited for.
pub(super) async fn run(
    core: &Core,
    place: Place,
    signal: &Signal,
    content: Vec<Block>,
) -> Result<Option<bool>, TurnError> {
    let mut concluded = None;
    for block in content {
        let Block::ToolCall { id, name, arguments } = block else { continue };
        let skipped = signal.has_fired();
        let call = core.state().append(Fact::ToolCall {
            turn: place.turn,
            step: place.step,
            call_id: id.clone(),
            name: name.clone(),
            arguments: arguments.clone(),
        })?;
        let outcome = if skipped {
            Arc::new(never_started())
        } else {
            let request = CallRequest {
                call_id: id.clone(),
                name,
                arguments: json_text(arguments),
                agent: Some(core.id),
                cwd: core.options.cwd.clone(),
                signal: signal.clone(),
            };
            tools::execute(&core.registry.snapshot(), request).await
        };
        commit(core, place, call, id, &outcome)?;
        concluded = Some(concluded.unwrap_or(false) || outcome.concludes_turn());
    }
    Ok(concluded)
}

/// Appends the outcome of the call that event `call` began, and parks its contexts.
pub(super) fn commit(
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

fn never_started() -> ToolOutcome {
    let message = "tool call aborted before dispatch";
    ToolOutcome::coded_failure(message, "AbortError", "ABORTED_BEFORE_DISPATCH")
}

/// What a model wrote as arguments, as JSON: nothing is no arguments, and what is no JSON is a
/// text.
fn json_text(raw: String) -> String {
    if raw.is_empty() {
        return "{}".to_owned();
    }
    match serde_json::from_str::<IgnoredAny>(&raw) {
        Ok(IgnoredAny) => raw,
        Err(_) => Value::String(raw).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_json_whatever_the_model_wrote() {
        #[track_caller]
        fn check(raw: &str, expected: &str) {
            assert_eq!(json_text(raw.to_owned()), expected);
        }
        check("", "{}");
        check(r#"{"a": 1}"#, r#"{"a": 1}"#);
        check("[1]", "[1]");
        check(" ", r#"" ""#);
        check("not json", r#""not json""#);
        check(r#"{"a": "b"#, r#""{\"a\": \"b""#);
        let deep = "[".repeat(5000) + &"]".repeat(5000);
        check(&deep, &deep);
    }
}
