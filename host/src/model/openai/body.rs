//! A request in the provider's form: the conversation, the tools, the settings.

use lockgate_plugin_api::{Block, Message, Role, Source};
use serde_json::{Map, Value, json};

use crate::model::{Request, ToolSchema};
use crate::session::CallConfig;

/// The body that asks for a streamed answer to `request`. What the model thought goes back to the
/// provider that `wants_reasoning`, and to nobody else.
pub(super) fn body(request: &Request, wants_reasoning: Option<&str>) -> Value {
    let mut messages = Vec::new();
    messages
        .extend(request.system.as_ref().map(|text| json!({ "role": "system", "content": text })));
    for message in &request.messages {
        match message.role {
            Role::User => user(message, &mut messages),
            Role::Assistant => messages.extend(assistant(message, wants_reasoning)),
        }
    }
    let CallConfig { provider: _, model, reasoning_effort, temperature, max_tokens, stop } =
        &request.config;
    let mut body = json!({
        "model": model,
        "messages": messages,
        "stream": true,
        "stream_options": { "include_usage": true },
    });
    let settings = [
        ("reasoning_effort", reasoning_effort.as_ref().map(|it| json!(it))),
        ("temperature", temperature.map(|it| json!(it))),
        ("max_tokens", max_tokens.map(|it| json!(it))),
        ("stop", stop.as_ref().map(|it| json!(it))),
        // An empty list is an error with most providers.
        ("tools", (!request.tools.is_empty()).then(|| tools(&request.tools))),
    ];
    for (key, value) in settings {
        if let Some(value) = value {
            body[key] = value;
        }
    }
    body
}

fn tools(tools: &[ToolSchema]) -> Value {
    let tool = |it: &ToolSchema| {
        let ToolSchema { name, description, parameters } = it;
        let function =
            json!({ "name": name, "description": description, "parameters": parameters });
        json!({ "type": "function", "function": function })
    };
    tools.iter().map(tool).collect()
}

/// What the user's side said: the results of tools are messages of their own, and come first,
/// because nothing may stand between them and their calls.
fn user(message: &Message, messages: &mut Vec<Value>) {
    let mut said = Vec::new();
    for block in &message.content {
        match block {
            Block::ToolResult { tool_call_id, content, is_error: _ } => messages.push(json!({
                "role": "tool",
                "tool_call_id": tool_call_id,
                "content": text(content),
            })),
            Block::Text { .. } | Block::Image { .. } => said.push(block.clone()),
            // A user neither thinks nor calls.
            Block::Reasoning { .. } | Block::ToolCall { .. } => {}
        }
    }
    if !said.is_empty() {
        messages.push(json!({ "role": "user", "content": text(&said) }));
    }
}

/// What the model said, if that is anything that can be sent back.
fn assistant(message: &Message, wants_reasoning: Option<&str>) -> Option<Value> {
    let calls: Vec<Value> = message.content.iter().filter_map(call).collect();
    let said = text(&message.content);
    if said.is_empty() && calls.is_empty() {
        return None;
    }
    let mut sent = Map::from_iter([("role".to_owned(), json!("assistant"))]);
    sent.insert("content".to_owned(), if said.is_empty() { Value::Null } else { json!(said) });
    let theirs = match &message.source {
        Source::Model { provider, .. } => Some(provider.as_str()) == wants_reasoning,
        Source::User | Source::Plugin { .. } | Source::Tool { .. } | Source::Other(_) => false,
    };
    let thought = reasoning(&message.content);
    if theirs && !thought.is_empty() {
        sent.insert("reasoning_content".to_owned(), json!(thought));
    }
    if !calls.is_empty() {
        sent.insert("tool_calls".to_owned(), json!(calls));
    }
    Some(Value::Object(sent))
}

fn call(block: &Block) -> Option<Value> {
    match block {
        Block::ToolCall { id, name, arguments } => {
            // A call without arguments is one with none.
            let arguments = if arguments.trim().is_empty() { "{}" } else { arguments };
            let function = json!({ "name": name, "arguments": arguments });
            Some(json!({ "id": id, "type": "function", "function": function }))
        }
        Block::Text { .. } | Block::Reasoning { .. } => None,
        Block::Image { .. } | Block::ToolResult { .. } => None,
    }
}

fn reasoning(content: &[Block]) -> String {
    let thought = content.iter().filter_map(|it| match it {
        Block::Reasoning { text } => Some(text.as_str()),
        Block::Text { .. } | Block::Image { .. } => None,
        Block::ToolCall { .. } | Block::ToolResult { .. } => None,
    });
    thought.collect()
}

/// The texts, a line each. The log says of an image that there is one and not what it shows, so
/// that is all the model is told.
fn text(content: &[Block]) -> String {
    let texts = content.iter().filter_map(|it| match it {
        Block::Text { text } => Some(text.clone()),
        Block::Image { attachment } => {
            let kind = attachment.get("mediaType").and_then(Value::as_str).unwrap_or("image");
            Some(format!("[an attachment that cannot be shown here: {kind}]"))
        }
        Block::Reasoning { .. } | Block::ToolCall { .. } | Block::ToolResult { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use tokio_util::sync::CancellationToken;

    use super::*;

    /// Checks what `conversation`, a request but for its signal, is sent as.
    #[track_caller]
    fn check(conversation: Value, wants_reasoning: Option<&str>, expected: Value) {
        let part = |key: &str| conversation.get(key).cloned();
        let mut config = json!({ "provider": "p", "model": "m" });
        for (key, value) in part("config").iter().flat_map(|it| it.as_object().unwrap()) {
            config[key] = value.clone();
        }
        let request = Request {
            config: serde_json::from_value(config).unwrap(),
            system: part("system").map(|it| it.as_str().unwrap().to_owned()),
            messages: serde_json::from_value(part("messages").unwrap_or(json!([]))).unwrap(),
            tools: serde_json::from_value(part("tools").unwrap_or(json!([]))).unwrap(),
            signal: CancellationToken::new(),
        };
        let mut whole = json!({
            "model": "m",
            "messages": [],
            "stream": true,
            "stream_options": { "include_usage": true },
        });
        for (key, value) in expected.as_object().unwrap() {
            whole[key] = value.clone();
        }
        assert_eq!(body(&request, wants_reasoning), whole);
    }

    #[test]
    fn settings_and_tools_are_sent_where_there_are_any() {
        check(json!({}), None, json!({}));
        check(
            json!({
                "config": {
                    "reasoningEffort": "low", "temperature": 0.5, "maxTokens": 9, "stop": ["x"],
                },
                "system": "Be brief.",
                "tools": [{ "name": "bash", "description": "Runs.", "parameters": { "a": 1 } }],
            }),
            None,
            json!({
                "messages": [{ "role": "system", "content": "Be brief." }],
                "reasoning_effort": "low",
                "temperature": 0.5,
                "max_tokens": 9,
                "stop": ["x"],
                "tools": [{
                    "type": "function",
                    "function":
                        { "name": "bash", "description": "Runs.", "parameters": { "a": 1 } },
                }],
            }),
        );
    }

    /// A message of ours.
    fn message(role: &str, content: Value) -> Value {
        let source = match role {
            "assistant" => json!({ "kind": "model", "provider": "p", "model": "m" }),
            _ => json!({ "kind": "user" }),
        };
        json!({ "id": "1", "role": role, "content": content, "source": source })
    }

    #[test]
    fn results_of_tools_follow_their_calls_before_anything_else_is_said() {
        check(
            json!({ "messages": [
                message("user", json!([{ "type": "text", "text": "Go." }])),
                message("assistant", json!([
                    { "type": "reasoning", "text": "Hm." },
                    { "type": "text", "text": "Let me see." },
                    { "type": "tool-call", "id": "c1", "name": "bash", "arguments": "{\"a\":" },
                    { "type": "tool-call", "id": "c2", "name": "read", "arguments": " " },
                ])),
                message("user", json!([
                    { "type": "text", "text": "By the way," },
                    {
                        "type": "tool-result", "toolCallId": "c1", "isError": true,
                        "content": [{ "type": "text", "text": "Error: no" }],
                    },
                    { "type": "tool-result", "toolCallId": "c2", "isError": false, "content": [] },
                    { "type": "text", "text": "hurry." },
                ])),
            ]}),
            None,
            json!({ "messages": [
                { "role": "user", "content": "Go." },
                {
                    "role": "assistant",
                    "content": "Let me see.",
                    "tool_calls": [
                        {
                            "id": "c1", "type": "function",
                            "function": { "name": "bash", "arguments": "{\"a\":" },
                        },
                        {
                            "id": "c2", "type": "function",
                            "function": { "name": "read", "arguments": "{}" },
                        },
                    ],
                },
                { "role": "tool", "tool_call_id": "c1", "content": "Error: no" },
                { "role": "tool", "tool_call_id": "c2", "content": "" },
                { "role": "user", "content": "By the way,\nhurry." },
            ]}),
        );
    }

    #[test]
    fn what_a_model_thought_goes_back_to_who_wants_it_and_made_it() {
        let thought = json!({ "messages": [
            message("assistant", json!([
                { "type": "reasoning", "text": "Hm" },
                { "type": "reasoning", "text": "." },
                { "type": "tool-call", "id": "c1", "name": "bash", "arguments": "{}" },
            ])),
            message("assistant", json!([{ "type": "reasoning", "text": "cut off" }])),
        ]});
        let sent = |reasoning: Option<&str>| {
            let mut sent = json!({
                "role": "assistant",
                "content": null,
                "tool_calls": [{
                    "id": "c1", "type": "function",
                    "function": { "name": "bash", "arguments": "{}" },
                }],
            });
            if let Some(reasoning) = reasoning {
                sent["reasoning_content"] = json!(reasoning);
            }
            json!({ "messages": [sent] })
        };
        check(thought.clone(), Some("p"), sent(Some("Hm.")));
        check(thought.clone(), Some("another"), sent(None));
        check(thought, None, sent(None));
    }

    #[test]
    fn an_image_is_told_of_and_not_shown() {
        check(
            json!({ "messages": [message("user", json!([
                { "type": "text", "text": "Look:" },
                { "type": "image", "attachment": { "attachmentId": "a", "mediaType": "image/png" } },
            ]))]}),
            None,
            json!({ "messages": [{
                "role": "user",
                "content": "Look:\n[an attachment that cannot be shown here: image/png]",
            }]}),
        );
    }
}
