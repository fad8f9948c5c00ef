//! What two recordings of one session must have in common.

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use lockgate::session::{Fact, Recording};
use lockgate_plugin_api::{Block, ErrorInfo, Message, Source};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The tool whose output is the same wherever it runs.
const SHELL: &str = "bash";

/// The plugin whose reminders count, and not what they say.
const REMINDER: &str = "repeat-tool-reminder";

/// Whose messages another program has no reason to send.
const REFERENCE: &str = "@deepseek-ai/";

/// What is left of a recording once all is gone that may differ between two programs: ids and
/// times, requests and how answers were streamed, what tools other than the shell print, and the
/// directory, which reads `{{cwd}}`.
///
/// One object is left of each event that counts, with its `type` and the data that count.
pub fn reduced(recording: &Recording) -> Vec<Value> {
    let cwd = recording.header.cwd.as_deref().map(|it| it.to_string_lossy().into_owned());
    let mut tools: HashMap<&str, &str> = HashMap::new();
    let mut reduced = Vec::new();
    for event in &recording.events {
        if let Fact::ToolCall { call_id, name, .. } = &event.fact {
            tools.insert(call_id, name);
        }
        reduced.extend(left_of(&event.fact, &tools));
    }
    if let Some(cwd) = cwd.filter(|it| !it.is_empty()) {
        reduced.iter_mut().for_each(|it| replace(it, &cwd, "{{cwd}}"));
    }
    reduced
}

/// What is left of a fact; `tools` are the names of the tools that were called, by call.
fn left_of(fact: &Fact, tools: &HashMap<&str, &str>) -> Option<Value> {
    match fact {
        Fact::TurnStart { .. } => Some(part(fact, &["turn"])),
        Fact::TurnEnd { .. } => Some(part(fact, &["turn", "reason"])),
        Fact::StepStart { .. } | Fact::StepEnd { .. } => Some(part(fact, &["turn", "step"])),
        Fact::UserMessage(message) => said(message),
        Fact::AssistantMessage { message, interrupted, .. } => Some(json!({
            "type": "assistant/message",
            "content": message.content,
            "interrupted": interrupted,
        })),
        Fact::ToolCall { .. } => Some(part(fact, &["callId", "name", "arguments"])),
        Fact::ToolResult { message, error, .. } => result(message, error.as_ref(), tools),
        Fact::HookInvoked { .. } => Some(part(fact, &["turn", "point", "dialect", "matcher"])),
        Fact::HookResult { .. } => {
            Some(part(fact, &["turn", "point", "decision", "exitCode", "stderrSummary"]))
        }
        Fact::ApprovalAsked { .. } => Some(part(fact, &["toolName", "callId", "reason"])),
        Fact::ApprovalDecided { .. } => Some(part(fact, &["outcome"])),
        Fact::InboxSpliced { target, start, removed_count, inserted, outcome } => Some(json!({
            "type": "agent/inbox/spliced",
            "target": target,
            "start": start,
            "removedCount": removed_count,
            "inserted": inserted.len(),
            "outcome": outcome,
        })),
        Fact::TodoWrite { .. } => Some(part(fact, &["todos"])),
        Fact::AssistantChunk { .. }
        | Fact::RequestHeader { .. }
        | Fact::RequestContext { .. }
        | Fact::EndSeed {}
        | Fact::ApprovalPolicy { .. }
        | Fact::SessionTitle { .. }
        | Fact::Other { .. } => None,
    }
}

/// The type of a fact, and these keys of its data where they are there.
fn part(fact: &Fact, keys: &[&str]) -> Value {
    let Value::Object(mut whole) = plain(fact) else { return Value::Null };
    let kept = keys.iter().filter_map(|it| {
        let (key, value) = whole.get_mut("data")?.as_object_mut()?.remove_entry(*it)?;
        Some((key, value))
    });
    let mut kept: Map<String, Value> = kept.collect();
    kept.extend(whole.remove_entry("type"));
    Value::Object(kept)
}

/// A message from the user's side. What only the reference says, and snapshots of the state a
/// session is in, do not count.
fn said(message: &Message) -> Option<Value> {
    let mut left = json!({"type": "user/message", "source": plain(&message.source)["kind"]});
    let says = match &message.source {
        Source::Plugin { plugin, form } => {
            let is_snapshot = form.get("form").is_some_and(|it| it == "snapshot");
            if is_snapshot || plugin.starts_with(REFERENCE) {
                return None;
            }
            left["plugin"] = plugin.as_str().into();
            plugin != REMINDER
        }
        Source::User | Source::Model { .. } | Source::Tool { .. } | Source::Other(_) => true,
    };
    if says {
        left["content"] = plain(&message.content);
    }
    Some(left)
}

/// What a tool call came to. What it shows counts where the host made it, in a refusal or an
/// abort, and where the shell printed something.
fn result(
    message: &Message,
    error: Option<&ErrorInfo>,
    tools: &HashMap<&str, &str>,
) -> Option<Value> {
    let [Block::ToolResult { tool_call_id, content, is_error }] = &*message.content else {
        return None;
    };
    let code = error.map(|it| &*it.code);
    let from_host = *is_error && code.is_none_or(|it| it.starts_with("ABORTED"));
    let from_shell = tools.get(&**tool_call_id) == Some(&SHELL) && printed(content);
    let mut left = json!({"type": "tool/result", "callId": tool_call_id, "isError": is_error});
    if let Some(code) = code {
        left["code"] = code.into();
    }
    if from_host || from_shell {
        left["content"] = plain(content);
    }
    Some(left)
}

/// Whether a command printed anything; each program has its own words for that it did not.
fn printed(content: &[Block]) -> bool {
    content.iter().any(|it| match it {
        Block::Text { text } => !text.is_empty() && text != "(no output)",
        Block::Reasoning { .. }
        | Block::Image { .. }
        | Block::ToolCall { .. }
        | Block::ToolResult { .. } => true,
    })
}

/// Replaces a text within every text in `value`.
fn replace(value: &mut Value, from: &str, to: &str) {
    match value {
        Value::String(text) => {
            if text.contains(from) {
                *text = text.replace(from, to);
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|it| replace(it, from, to)),
        Value::Object(object) => object.values_mut().for_each(|it| replace(it, from, to)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn plain(value: &impl Serialize) -> Value {
    serde_json::to_value(value).expect("what a log holds is JSON")
}
