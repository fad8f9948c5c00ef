//! The messages that wait for an agent, in two lists in order of arrival, as its log has them.

use lockgate_plugin_api::Message;
use uuid::Uuid;

use crate::session::{Fact, InboxTarget, LogError, SessionLog, SpliceOutcome};

/// What claims messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Boundary {
    /// A turn's beginning: everything for the next step, and one prompt after it.
    Turn,
    /// A later step: everything for the next step.
    Step,
}

/// What was claimed.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Claimed {
    /// What waited for the next step.
    pub(super) messages: Vec<Message>,
    /// The prompt that the turn is for.
    pub(super) prompt: Option<Message>,
}

/// Puts `message` last in a list. It gets an id if it has none, or one that waits already.
pub(super) fn push(
    log: &mut SessionLog,
    target: InboxTarget,
    mut message: Message,
) -> Result<(), LogError> {
    let waiting = log.waiting();
    if waiting.next_turn.iter().chain(&waiting.next_step).any(|it| it.id == message.id) {
        message.id.clear();
    }
    let inserted = vec![identified(message)];
    let start = count(list(log, target));
    log.append(Fact::InboxSpliced { target, start, removed_count: 0, inserted, outcome: None })?;
    Ok(())
}

/// Takes the messages that enter at a boundary.
pub(super) fn claim(log: &mut SessionLog, boundary: Boundary) -> Result<Claimed, LogError> {
    let messages = take(log, InboxTarget::NextStep, usize::MAX, None)?;
    let prompt = match boundary {
        Boundary::Turn => take(log, InboxTarget::NextTurn, 1, None)?.pop(),
        Boundary::Step => None,
    };
    Ok(Claimed { messages, prompt })
}

/// Withdraws everything.
pub(super) fn clear(log: &mut SessionLog) -> Result<(), LogError> {
    for target in [InboxTarget::NextStep, InboxTarget::NextTurn] {
        take(log, target, usize::MAX, Some(SpliceOutcome::Canceled))?;
    }
    Ok(())
}

/// Takes at most `most` messages from the front of a list.
fn take(
    log: &mut SessionLog,
    target: InboxTarget,
    most: usize,
    outcome: Option<SpliceOutcome>,
) -> Result<Vec<Message>, LogError> {
    let list = list(log, target);
    let taken = list[..most.min(list.len())].to_vec();
    if taken.is_empty() {
        return Ok(taken);
    }
    let removed_count = count(&taken);
    let inserted = Vec::new();
    log.append(Fact::InboxSpliced { target, start: 0, removed_count, inserted, outcome })?;
    Ok(taken)
}

fn list(log: &SessionLog, target: InboxTarget) -> &[Message] {
    match target {
        InboxTarget::NextTurn => &log.waiting().next_turn,
        InboxTarget::NextStep => &log.waiting().next_step,
    }
}

/// The same message, under a random id if it had none.
pub(super) fn identified(message: Message) -> Message {
    if message.id.is_empty() {
        return Message { id: Uuid::new_v4().to_string(), ..message };
    }
    message
}

fn count(list: &[Message]) -> u32 {
    u32::try_from(list.len()).expect("memory ends before four thousand million messages")
}
