//! A session log in short.

use lockgate::session::{Event, Fact, InboxTarget};
use lockgate_plugin_api::{Block, Message};
use serde::Serialize;

/// The events in short, one a line, and a run of chunks in one.
///
/// Where an event names the events it was made from, they stand behind an arrow.
pub fn lines(events: &[Event]) -> Vec<String> {
    let runs = events.chunk_by(|a, b| is_chunk(a) && is_chunk(b));
    let short = |run: &[Event]| match run {
        [event] if !is_chunk(event) => line(event),
        chunks => format!("assistant/chunk x{}", chunks.len()),
    };
    runs.map(short).collect()
}

fn is_chunk(event: &Event) -> bool {
    matches!(event.fact, Fact::AssistantChunk { .. })
}

fn line(event: &Event) -> String {
    let sources = event.source_event_seqs.as_deref().unwrap_or_default();
    match &event.fact {
        Fact::TurnStart { turn } => format!("turn/start {turn}"),
        Fact::TurnEnd { turn, reason } => format!("turn/end {turn} {}", json(reason)),
        Fact::StepStart { turn, step } => format!("step/start {turn}.{step}"),
        Fact::StepEnd { turn, step } => format!("step/end {turn}.{step}"),
        Fact::UserMessage(message) => format!("user/message {}", message.text()),
        Fact::AssistantMessage { message, interrupted, .. } => {
            let mark = if *interrupted { " interrupted" } else { "" };
            format!("assistant/message{mark} {} <- {}", content(message), range(sources))
        }
        Fact::ToolCall { call_id, name, arguments, .. } => {
            format!("tool/call {call_id} {name} {arguments}")
        }
        Fact::ToolResult { message, error, meta, .. } => {
            let code = error.as_ref().map_or(String::new(), |it| format!(" {}", it.code));
            let meta = meta.as_ref().map_or(String::new(), |it| format!(" {it}"));
            format!("tool/result {}{code}{meta} <- {}", content(message), range(sources))
        }
        Fact::RequestHeader { reason, .. } => format!("request/header {reason:?}"),
        Fact::RequestContext { provider, model, .. } => {
            format!("request/context {provider}/{model}")
        }
        Fact::InboxSpliced { target, start, removed_count, inserted, outcome } => {
            let target = match target {
                InboxTarget::NextTurn => "next-turn",
                InboxTarget::NextStep => "next-step",
            };
            let added = inserted.iter().map(|it| format!(" +{}", it.text()));
            let removed = (*removed_count > 0).then(|| format!(" -{removed_count}"));
            let outcome = outcome.map(|_| " canceled".to_owned());
            let rest: String = added.chain(removed).chain(outcome).collect();
            format!("spliced {target} {start}{rest}")
        }
        other => json(other),
    }
}

fn content(message: &Message) -> String {
    let blocks: Vec<String> = message.content.iter().map(block).collect();
    blocks.join(", ")
}

fn block(block: &Block) -> String {
    match block {
        Block::Text { text } | Block::Reasoning { text } => text.clone(),
        Block::ToolCall { id, .. } => id.clone(),
        Block::ToolResult { tool_call_id, content, is_error } => {
            let shown: Vec<String> = content.iter().map(self::block).collect();
            let mark = if *is_error { "failed" } else { "ok" };
            format!("{tool_call_id} {mark}: {}", shown.join(", "))
        }
        Block::Image { attachment } => format!("image {attachment}"),
    }
}

/// The first and the last of these numbers.
fn range(numbers: &[u64]) -> String {
    match numbers {
        [] => "nothing".to_owned(),
        [only] => only.to_string(),
        [first, .., last] => format!("{first}..={last}"),
    }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("what a log holds is JSON")
}
