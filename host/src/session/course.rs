//! The course of a session: what is open after its events so far, and what may come next.

use std::collections::BTreeSet;

use lockgate_plugin_api::{Block, Inbox, Message, Source};

use super::rule::{Rule, Violation};
use super::surface::Surface;
use super::{Event, Fact, Header, InboxTarget, SurfaceOp};

/// The code of a result of a call that was never made.
pub(super) const NOT_STARTED: &str = "TOOL_NOT_STARTED";

/// What the events of a log have come to.
///
/// An event is checked without leaving a trace, and taken once it stands in the log.
#[derive(Debug, Default)]
pub(super) struct Course {
    /// The number of the next event.
    next: u64,
    /// The number of the first event that is the session's own, and not a parent's.
    own: u64,
    /// The number of the last turn; 0 before the first.
    pub(super) turns: u32,
    pub(super) turn: Option<OpenTurn>,
    /// The approval questions without an answer.
    asked: BTreeSet<String>,
    pub(super) waiting: Inbox,
    surface: Surface,
}

/// A turn that has begun and not ended.
#[derive(Debug)]
pub(super) struct OpenTurn {
    pub(super) number: u32,
    /// The number of its last step; 0 before the first.
    steps: u32,
    pub(super) step: Option<OpenStep>,
}

/// A step that has begun and not ended.
#[derive(Debug)]
pub(super) struct OpenStep {
    pub(super) number: u32,
    calls: Vec<Call>,
}

/// A tool call of an open step.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) id: String,
    /// The event that says it was made; none of one that the model only asked for.
    pub(super) event: Option<u64>,
    answered: bool,
}

impl OpenStep {
    /// Its calls that have no result, in order.
    pub(super) fn unanswered(&self) -> impl Iterator<Item = &Call> {
        self.calls.iter().filter(|it| !it.answered)
    }
}

impl Course {
    /// Of a session of which nothing is known but its header.
    pub(super) fn new(header: &Header) -> Self {
        Self { own: header.seed_length.unwrap_or(0), ..Self::default() }
    }

    /// The number of the next event.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Whether `event` may come next.
    pub(super) fn check(&self, event: &Event) -> Result<(), Violation> {
        self.allows(event).map_err(|rule| Violation { seq: self.next, rule })
    }

    /// Whether the log may end here.
    pub(super) fn check_end(&self) -> Result<(), Violation> {
        if self.next < self.own {
            return Err(Violation { seq: self.next, rule: Rule::Seed { expected: self.own } });
        }
        Ok(())
    }

    fn allows(&self, event: &Event) -> Result<(), Rule> {
        let expected = self.next;
        if let Some(found) = event.seq.filter(|it| *it != expected) {
            return Err(Rule::Number { found, expected });
        }
        self.surface.check(event, self.next)?;
        match &event.fact {
            Fact::TurnStart { turn } => self.may_open_turn(*turn),
            Fact::TurnEnd { turn, .. } => match &self.turn_at(*turn)?.step {
                Some(step) => Err(Rule::StepOpen { turn: *turn, step: step.number }),
                None => Ok(()),
            },
            Fact::StepStart { turn, step } => self.may_open_step(*turn, *step),
            Fact::StepEnd { turn, step } => match self.step_at(*turn, *step)?.unanswered().next() {
                Some(call) => Err(Rule::Unanswered { call_id: call.id.clone() }),
                None => Ok(()),
            },
            Fact::AssistantChunk { turn, step, .. }
            | Fact::AssistantMessage { turn, step, .. }
            | Fact::ToolCall { turn, step, .. } => self.step_at(*turn, *step).map(drop),
            Fact::ToolResult { turn, step, message, error, .. } => {
                if matches!(event.surface_op, Some(SurfaceOp::Change(_))) {
                    return self.in_turn();
                }
                let call_id = answered_by(message).ok_or(Rule::NoResult)?;
                let is_made = error.as_ref().is_none_or(|it| it.code != NOT_STARTED);
                let calls = &self.step_at(*turn, *step)?.calls;
                match waiting(calls, call_id, is_made) {
                    Some(_) => Ok(()),
                    None => Err(Rule::NotCalled { call_id: call_id.to_owned() }),
                }
            }
            Fact::RequestHeader { .. } | Fact::RequestContext { .. } | Fact::TodoWrite { .. } => {
                self.in_turn()
            }
            Fact::ApprovalAsked { id, .. } if self.asked.contains(id) => {
                Err(Rule::AskedTwice { id: id.clone() })
            }
            Fact::ApprovalDecided { id, .. } if !self.asked.contains(id) => {
                Err(Rule::NotAsked { id: id.clone() })
            }
            Fact::ApprovalAsked { .. } | Fact::ApprovalDecided { .. } => self.in_turn(),
            Fact::InboxSpliced { target, start, removed_count, inserted, .. } => {
                self.may_splice(*target, *start, *removed_count, inserted)
            }
            Fact::Other { kind, .. } if !event.ignorable => {
                Err(Rule::UnknownType { kind: kind.clone() })
            }
            Fact::UserMessage(_)
            | Fact::EndSeed {}
            | Fact::ApprovalPolicy { .. }
            | Fact::HookInvoked { .. }
            | Fact::HookResult { .. }
            | Fact::SessionTitle { .. }
            | Fact::Other { .. } => Ok(()),
        }
    }

    /// Goes on after `event`, which was checked.
    pub(super) fn take(&mut self, event: &Event) {
        self.surface.take(event, self.next);
        match &event.fact {
            Fact::TurnStart { turn } => {
                self.turns = *turn;
                self.turn = Some(OpenTurn { number: *turn, steps: 0, step: None });
            }
            Fact::TurnEnd { .. } => {
                self.turn = None;
                self.asked.clear();
            }
            Fact::StepStart { step, .. } => {
                if let Some(turn) = &mut self.turn {
                    turn.steps = *step;
                    turn.step = Some(OpenStep { number: *step, calls: Vec::new() });
                }
            }
            Fact::StepEnd { .. } => {
                if let Some(turn) = &mut self.turn {
                    turn.step = None;
                }
            }
            Fact::AssistantMessage { message, .. } => {
                let proposed = message.content.iter().filter_map(|it| match it {
                    Block::ToolCall { id, .. } => {
                        Some(Call { id: id.clone(), event: None, answered: false })
                    }
                    Block::Text { .. }
                    | Block::Reasoning { .. }
                    | Block::Image { .. }
                    | Block::ToolResult { .. } => None,
                });
                self.calls().extend(proposed);
            }
            Fact::ToolCall { call_id, .. } => {
                let event = Some(self.next);
                let calls = self.calls();
                let proposed = calls.iter_mut().find(|it| it.event.is_none() && it.id == *call_id);
                match proposed {
                    Some(call) => call.event = event,
                    None => calls.push(Call { id: call_id.clone(), event, answered: false }),
                }
            }
            // A replacement says in other words what came of a call.
            Fact::ToolResult { .. } if matches!(event.surface_op, Some(SurfaceOp::Change(_))) => {}
            Fact::ToolResult { message, error, .. } => {
                let is_made = error.as_ref().is_none_or(|it| it.code != NOT_STARTED);
                let calls = self.calls();
                let answered = answered_by(message).and_then(|it| waiting(calls, it, is_made));
                if let Some(place) = answered {
                    calls[place].answered = true;
                }
            }
            Fact::ApprovalAsked { id, .. } => {
                self.asked.insert(id.clone());
            }
            Fact::ApprovalDecided { id, .. } => {
                self.asked.remove(id);
            }
            Fact::InboxSpliced { target, start, removed_count, inserted, .. }
                if self.next >= self.own =>
            {
                let removed = places(*start, *removed_count);
                self.list(*target).splice(removed, inserted.iter().cloned());
            }
            Fact::InboxSpliced { .. }
            | Fact::AssistantChunk { .. }
            | Fact::UserMessage(_)
            | Fact::RequestHeader { .. }
            | Fact::RequestContext { .. }
            | Fact::TodoWrite { .. }
            | Fact::EndSeed {}
            | Fact::ApprovalPolicy { .. }
            | Fact::HookInvoked { .. }
            | Fact::HookResult { .. }
            | Fact::SessionTitle { .. }
            | Fact::Other { .. } => {}
        }
        self.next += 1;
    }

    fn may_open_turn(&self, found: u32) -> Result<(), Rule> {
        let expected = self.turns.saturating_add(1);
        match &self.turn {
            Some(open) => Err(Rule::TurnOpen { open: open.number }),
            None if found != expected => Err(Rule::TurnNumber { found, expected }),
            None => Ok(()),
        }
    }

    fn may_open_step(&self, turn: u32, found: u32) -> Result<(), Rule> {
        let open = self.turn_at(turn)?;
        let expected = open.steps.saturating_add(1);
        match &open.step {
            Some(step) => Err(Rule::StepOpen { turn, step: step.number }),
            None if found != expected => Err(Rule::StepNumber { found, expected }),
            None => Ok(()),
        }
    }

    /// What a fork came with tells nothing of its own inbox.
    fn may_splice(
        &self,
        target: InboxTarget,
        start: u32,
        removed: u32,
        inserted: &[Message],
    ) -> Result<(), Rule> {
        if self.next < self.own {
            return Ok(());
        }
        let (list, other) = match target {
            InboxTarget::NextTurn => (&self.waiting.next_turn, &self.waiting.next_step),
            InboxTarget::NextStep => (&self.waiting.next_step, &self.waiting.next_turn),
        };
        let removed = places(start, removed);
        if list.get(removed.clone()).is_none() {
            return Err(Rule::Splice);
        }
        let kept = list[..removed.start].iter().chain(&list[removed.end..]).chain(other);
        let mut ids: BTreeSet<&str> = kept.map(|it| &*it.id).collect();
        match inserted.iter().find(|it| !ids.insert(&it.id)) {
            Some(twice) => Err(Rule::Waiting { id: twice.id.clone() }),
            None => Ok(()),
        }
    }

    fn in_turn(&self) -> Result<(), Rule> {
        if self.turn.is_some() { Ok(()) } else { Err(Rule::NoTurn) }
    }

    fn turn_at(&self, turn: u32) -> Result<&OpenTurn, Rule> {
        self.turn.as_ref().filter(|it| it.number == turn).ok_or(Rule::TurnNotOpen { turn })
    }

    fn step_at(&self, turn: u32, step: u32) -> Result<&OpenStep, Rule> {
        let open = self.turn_at(turn)?.step.as_ref();
        open.filter(|it| it.number == step).ok_or(Rule::StepNotOpen { turn, step })
    }

    /// The calls of the open step.
    fn calls(&mut self) -> &mut Vec<Call> {
        let step = self.turn.as_mut().and_then(|it| it.step.as_mut());
        &mut step.expect("what belongs to a step was checked").calls
    }

    fn list(&mut self, target: InboxTarget) -> &mut Vec<Message> {
        match target {
            InboxTarget::NextTurn => &mut self.waiting.next_turn,
            InboxTarget::NextStep => &mut self.waiting.next_step,
        }
    }
}

/// The place of the first call of that id that waits for a result; of one that was made, or of one
/// that was not.
fn waiting(calls: &[Call], id: &str, is_made: bool) -> Option<usize> {
    calls.iter().position(|it| !it.answered && it.event.is_some() == is_made && it.id == id)
}

/// The call whose result `message` is.
fn answered_by(message: &Message) -> Option<&str> {
    match (&message.source, &message.content[..]) {
        (Source::Tool { call_id }, [Block::ToolResult { tool_call_id, .. }])
            if tool_call_id == call_id =>
        {
            Some(call_id)
        }
        _ => None,
    }
}

fn places(start: u32, count: u32) -> std::ops::Range<usize> {
    let start = usize::try_from(start).unwrap_or(usize::MAX);
    start..start.saturating_add(usize::try_from(count).unwrap_or(usize::MAX))
}
