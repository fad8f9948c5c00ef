//! A session as a person would tell it: turn by turn.

use lockgate_plugin_api::{Block, Message, Source};
use serde::Serialize;

use crate::session::{ApprovalOutcome, Event, Fact, Recording, TurnEndReason};

/// One turn.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Turn {
    pub(super) turn: u32,
    /// When it began, in Unix milliseconds.
    pub(super) began: Option<u64>,
    /// How long it took; none of one that has not ended.
    pub(super) ms: Option<u64>,
    pub(super) end: Option<TurnEndReason>,
    pub(super) entries: Vec<Entry>,
}

/// What happened in it.
#[derive(Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(super) enum Entry {
    /// Something was said to the model.
    Prompt {
        /// The plugin that said it; none for the person.
        from: Option<String>,
        text: String,
    },
    /// The model said something.
    Answer {
        text: String,
        /// How long the model took, from the last event before its answer came.
        ms: Option<u64>,
    },
    /// A tool was called.
    Call {
        call_id: String,
        name: String,
        arguments: String,
        /// How long it took, with everybody who was asked about it.
        ms: Option<u64>,
        /// Whether it failed; none of one without a result.
        failed: Option<bool>,
        code: Option<String>,
        text: String,
    },
    /// Somebody was asked whether a call may run.
    Approval { tool: String, reason: Option<String>, outcome: Option<ApprovalOutcome> },
}

/// Where the rest of an entry will belong.
struct Open {
    entry: usize,
    /// The call's id, or the question's.
    id: String,
    began: Option<u64>,
}

/// The turns of a session, in order.
pub(super) fn turns(recording: &Recording) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    let (mut open, mut asked): (Vec<Open>, Option<u64>) = (Vec::new(), None);
    for event in &recording.events {
        if let Fact::TurnStart { turn } = event.fact {
            let (began, entries) = (event.time, Vec::new());
            turns.push(Turn { turn, began, ms: None, end: None, entries });
            open.clear();
        } else if let Some(turn) = turns.last_mut() {
            add(turn, event, &mut open, asked);
        }
        if !matches!(event.fact, Fact::AssistantChunk { .. }) {
            asked = event.time;
        }
    }
    turns
}

/// Adds `event` to its turn; `asked` is when the last thing before an answer happened.
fn add(turn: &mut Turn, event: &Event, open: &mut Vec<Open>, asked: Option<u64>) {
    let since = |began: Option<u64>| Some(event.time?.saturating_sub(began?));
    let entries = &mut turn.entries;
    let entry = entries.len();
    match &event.fact {
        Fact::TurnEnd { reason, .. } => {
            turn.end = Some(reason.clone());
            turn.ms = since(turn.began);
        }
        Fact::UserMessage(message) => entries.push(prompt(message)),
        Fact::AssistantMessage { message, .. } => {
            entries.push(Entry::Answer { text: message.text(), ms: since(asked) });
        }
        Fact::ToolCall { call_id, name, arguments, .. } => {
            open.push(Open { entry, id: call_id.clone(), began: event.time });
            entries.push(Entry::Call {
                call_id: call_id.clone(),
                name: name.clone(),
                arguments: arguments.clone(),
                ms: None,
                failed: None,
                code: None,
                text: String::new(),
            });
        }
        Fact::ToolResult { message, error, .. } => {
            let Source::Tool { call_id } = &message.source else { return };
            let Some(place) = open.iter().position(|it| it.id == *call_id) else { return };
            let Open { entry, began, .. } = open.remove(place);
            let Entry::Call { ms, failed, code, text, .. } = &mut entries[entry] else { return };
            let (is_error, shown) = result(message);
            (*ms, *failed, *text) = (since(began), Some(is_error), shown);
            *code = error.as_ref().map(|it| it.code.clone());
        }
        Fact::ApprovalAsked { id, tool_name, reason, .. } => {
            open.push(Open { entry, id: id.clone(), began: event.time });
            let (tool, reason) = (tool_name.clone(), reason.clone());
            entries.push(Entry::Approval { tool, reason, outcome: None });
        }
        Fact::ApprovalDecided { id, outcome } => {
            let Some(place) = open.iter().position(|it| it.id == *id) else { return };
            let Open { entry, .. } = open.remove(place);
            if let Entry::Approval { outcome: answer, .. } = &mut entries[entry] {
                *answer = Some(*outcome);
            }
        }
        Fact::TurnStart { .. }
        | Fact::StepStart { .. }
        | Fact::StepEnd { .. }
        | Fact::AssistantChunk { .. }
        | Fact::RequestHeader { .. }
        | Fact::RequestContext { .. }
        | Fact::InboxSpliced { .. }
        | Fact::EndSeed {}
        | Fact::ApprovalPolicy { .. }
        | Fact::HookInvoked { .. }
        | Fact::HookResult { .. }
        | Fact::TodoWrite { .. }
        | Fact::SessionTitle { .. }
        | Fact::Other { .. } => {}
    }
}

fn prompt(message: &Message) -> Entry {
    let from = match &message.source {
        Source::Plugin { plugin, .. } => Some(plugin.clone()),
        Source::User | Source::Model { .. } | Source::Tool { .. } | Source::Other(_) => None,
    };
    Entry::Prompt { from, text: message.text() }
}

/// Whether a call failed, and the text that came of it.
fn result(message: &Message) -> (bool, String) {
    let Some(Block::ToolResult { content, is_error, .. }) = message.content.first() else {
        return (false, String::new());
    };
    let texts = content.iter().filter_map(|it| match it {
        Block::Text { text } => Some(&**text),
        Block::Reasoning { .. }
        | Block::Image { .. }
        | Block::ToolCall { .. }
        | Block::ToolResult { .. } => None,
    });
    (*is_error, texts.collect::<Vec<_>>().join("\n"))
}
