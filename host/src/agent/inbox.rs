//! The messages that wait for an agent.

use lockgate_plugin_api::{Inbox as Waiting, Message};
use uuid::Uuid;

use crate::session::{Fact, InboxTarget, LogError, SessionLog, SpliceOutcome};

/// Two lists in order of arrival. Every change is in the log before it is here.
#[derive(Default)]
pub(super) struct Inbox {
    waiting: Waiting,
}

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

impl Inbox {
    pub(super) fn is_empty(&self) -> bool {
        self.lets_turn_end() && self.waiting.next_turn.is_empty()
    }

    /// Whether nothing waits for the next step.
    pub(super) fn lets_turn_end(&self) -> bool {
        self.waiting.next_step.is_empty()
    }

    /// What waits.
    pub(super) fn waiting(&self) -> &Waiting {
        &self.waiting
    }

    /// Puts `message` last in a list. It gets an id if it has none, or one that waits already.
    pub(super) fn push(
        &mut self,
        log: &mut SessionLog,
        target: InboxTarget,
        mut message: Message,
    ) -> Result<(), LogError> {
        let mut waiting = self.waiting.next_turn.iter().chain(&self.waiting.next_step);
        if waiting.any(|it| it.id == message.id) {
            message.id.clear();
        }
        let message = identified(message);
        let list = self.list(target);
        log.append(Fact::InboxSpliced {
            target,
            start: count(list),
            removed_count: 0,
            inserted: vec![message.clone()],
            outcome: None,
        })?;
        list.push(message);
        Ok(())
    }

    /// Takes the messages that enter at a boundary.
    pub(super) fn claim(
        &mut self,
        log: &mut SessionLog,
        boundary: Boundary,
    ) -> Result<Claimed, LogError> {
        let messages = self.take(log, InboxTarget::NextStep, usize::MAX, None)?;
        let prompt = match boundary {
            Boundary::Turn => self.take(log, InboxTarget::NextTurn, 1, None)?.pop(),
            Boundary::Step => None,
        };
        Ok(Claimed { messages, prompt })
    }

    /// Withdraws everything.
    pub(super) fn clear(&mut self, log: &mut SessionLog) -> Result<(), LogError> {
        for target in [InboxTarget::NextStep, InboxTarget::NextTurn] {
            self.take(log, target, usize::MAX, Some(SpliceOutcome::Canceled))?;
        }
        Ok(())
    }

    /// Takes at most `most` messages from the front of a list.
    fn take(
        &mut self,
        log: &mut SessionLog,
        target: InboxTarget,
        most: usize,
        outcome: Option<SpliceOutcome>,
    ) -> Result<Vec<Message>, LogError> {
        let list = self.list(target);
        let taken = most.min(list.len());
        if taken == 0 {
            return Ok(Vec::new());
        }
        log.append(Fact::InboxSpliced {
            target,
            start: 0,
            removed_count: count(&list[..taken]),
            inserted: Vec::new(),
            outcome,
        })?;
        Ok(list.drain(..taken).collect())
    }

    fn list(&mut self, target: InboxTarget) -> &mut Vec<Message> {
        match target {
            InboxTarget::NextTurn => &mut self.waiting.next_turn,
            InboxTarget::NextStep => &mut self.waiting.next_step,
        }
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
