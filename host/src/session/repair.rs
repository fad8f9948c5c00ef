//! What closes a turn that nobody goes on with.

use lockgate_plugin_api::{Block, ErrorInfo, Message, Role, Source};

use super::course::{Call, Course, NOT_STARTED};
use super::{Fact, TurnEndReason};

/// A fact, and the events that it is made from.
pub(super) type Closing = (Fact, Option<Vec<u64>>);

/// The next event on the way to the end of the open step: a result for each of its calls without
/// one, in order, and then its end.
pub(super) fn of_step(course: &Course) -> Option<Closing> {
    let turn = course.turn.as_ref()?;
    let step = turn.step.as_ref()?;
    let (turn, step, call) = (turn.number, step.number, step.unanswered().next());
    Some(match call {
        Some(call) => result(turn, step, call, course.next()),
        None => (Fact::StepEnd { turn, step }, None),
    })
}

/// The next event on the way to the end of the open turn.
pub(super) fn of_turn(course: &Course) -> Option<Closing> {
    let turn = course.turn.as_ref()?.number;
    let end = (Fact::TurnEnd { turn, reason: TurnEndReason::Interrupted }, None);
    Some(of_step(course).unwrap_or(end))
}

/// The result, as event `seq`, of a call of which nobody will say what came of it.
fn result(turn: u32, step: u32, call: &Call, seq: u64) -> Closing {
    let (name, code, text) = match call.event {
        None => ("ToolNotStartedError", NOT_STARTED, "Error: the tool call was not started"),
        Some(_) => (
            "ToolOutcomeUnknownError",
            "TOOL_OUTCOME_UNKNOWN",
            "Error: the outcome of the tool call is not known; it may have taken effect",
        ),
    };
    let call_id = call.id.clone();
    let content = vec![Block::ToolResult {
        tool_call_id: call_id.clone(),
        content: vec![Block::text(text)],
        is_error: true,
    }];
    let message = Message {
        id: format!("interrupted-tool-result-{call_id}-{seq}"),
        role: Role::User,
        content,
        source: Source::Tool { call_id },
    };
    let error = Some(ErrorInfo { name: name.to_owned(), code: code.to_owned() });
    let fact = Fact::ToolResult { turn, step, message, error, meta: None };
    (fact, call.event.map(|it| vec![it]))
}
