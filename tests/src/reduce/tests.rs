//! What is left of each kind of event.

use lockgate::session::{Event, Header};

use super::*;

#[test]
fn turns_and_steps_are_kept_and_requests_and_chunks_are_not() {
    check(
        json!([
            {"type": "turn/start", "data": {"turn": 1}},
            {"type": "step/start", "data": {"turn": 1, "step": 1}},
            {"type": "request/context", "data": {"provider": "p", "model": "m"}},
            {"type": "assistant/chunk", "data": {"turn": 1, "step": 1, "chunk": {
                "type": "text-delta", "index": 0, "text": "Hi",
            }}},
            {"type": "session/title", "data": {"title": "Hi"}},
            {"type": "of/the/future", "data": {}},
            {"type": "assistant/message", "data": {
                "turn": 1, "step": 1, "message": {
                    "id": "m1", "role": "assistant", "content": [{"type": "text", "text": "Hi"}],
                    "source": {"kind": "model", "provider": "p", "model": "m"},
                },
                "usage": {"inputTokens": 1, "outputTokens": 1},
            }},
            {"type": "step/end", "data": {"turn": 1, "step": 1}},
            {"type": "turn/end", "data": {"turn": 1, "reason": {"kind": "completed"}}},
        ]),
        json!([
            {"type": "turn/start", "turn": 1},
            {"type": "step/start", "turn": 1, "step": 1},
            {
                "type": "assistant/message",
                "content": [{"type": "text", "text": "Hi"}],
                "interrupted": false,
            },
            {"type": "step/end", "turn": 1, "step": 1},
            {"type": "turn/end", "turn": 1, "reason": {"kind": "completed"}},
        ]),
    );
}

#[test]
fn messages_are_kept_with_where_they_came_from_but_for_what_only_the_reference_says() {
    let message = |source: Value| {
        let content = json!([{"type": "text", "text": "in {here}/a"}]);
        let data = json!({"id": "m", "role": "user", "content": content, "source": source});
        json!({"type": "user/message", "data": data})
    };
    let content = json!([{"type": "text", "text": "in {{cwd}}/a"}]);
    check(
        json!([
            message(json!({"kind": "user"})),
            message(json!({"kind": "plugin", "plugin": "p", "form": "notice"})),
            message(json!({"kind": "plugin", "plugin": "p", "form": "snapshot"})),
            message(json!({"kind": "plugin", "plugin": "@deepseek-ai/dsh-system-prompt"})),
            message(json!({"kind": "plugin", "plugin": REMINDER, "summary": "s"})),
        ]),
        json!([
            {"type": "user/message", "source": "user", "content": content},
            {"type": "user/message", "source": "plugin", "plugin": "p", "content": content},
            {"type": "user/message", "source": "plugin", "plugin": REMINDER},
        ]),
    );
}

#[test]
fn what_a_result_shows_counts_where_the_host_or_the_shell_made_it() {
    #[track_caller]
    fn case(tool: &str, is_error: bool, text: &str, code: Option<&str>, counts: bool) {
        let content = json!([{"type": "text", "text": text}]);
        let mut result = json!({"turn": 1, "step": 1, "message": {
            "id": "m", "role": "user", "source": {"kind": "tool", "callId": "c"},
            "content": [{
                "type": "tool-result", "toolCallId": "c", "isError": is_error,
                "content": content,
            }],
        }, "meta": {"lines": 1}});
        let mut left = json!({"type": "tool/result", "callId": "c", "isError": is_error});
        if let Some(code) = code {
            result["error"] = json!({"name": "E", "code": code});
            left["code"] = code.into();
        }
        if counts {
            left["content"] = content;
        }
        check(
            json!([
                {"type": "tool/call", "data": {
                    "turn": 1, "step": 1, "callId": "c", "name": tool, "arguments": "{}",
                }},
                {"type": "tool/result", "data": result},
            ]),
            json!([{"type": "tool/call", "callId": "c", "name": tool, "arguments": "{}"}, left]),
        );
    }
    case("bash", false, "HELLO\n", None, true);
    case("bash", false, "(no output)", None, false);
    case("bash", true, "Error: timed out", Some("TOOL_TIMEOUT"), true);
    case("bash", true, "Error: not here", None, true);
    case("read", false, "alpha", None, false);
    case("read", true, "Error: not here", None, true);
    case("read", true, "Error: tool call aborted", Some("ABORTED"), true);
    case("read", true, "Error: no such file", Some("NOT_FOUND"), false);
}

#[test]
fn the_inbox_hooks_questions_and_lists_are_kept_without_ids_and_times() {
    check(
        json!([
            {"type": "agent/inbox/spliced", "data": {"target": "next-turn", "start": 0, "inserted": [
                {"id": "m", "role": "user", "content": [], "source": {"kind": "user"}},
            ]}},
            {"type": "agent/inbox/spliced", "data": {
                "target": "next-step", "start": 1, "removedCount": 2, "inserted": [],
                "outcome": "canceled",
            }},
            {"type": "hook/invoked", "data": {
                "turn": 1, "point": "Stop", "dialect": "codex", "handlerId": "h",
            }},
            {"type": "hook/result", "data": {
                "turn": 1, "point": "Stop", "handlerId": "h", "decision": "block",
                "exitCode": 2, "stderrSummary": "no", "durationMs": 3.5,
            }},
            {"type": "approval/asked", "data": {"id": "a", "toolName": "bash", "callId": "c"}},
            {"type": "approval/decided", "data": {"id": "a", "outcome": "rejected"}},
            {"type": "approval/policy", "data": {"policy": "never"}},
            {"type": "todo/write", "data": {"todos": [{"content": "t", "status": "pending"}]}},
        ]),
        json!([
            {
                "type": "agent/inbox/spliced", "target": "next-turn", "start": 0,
                "removedCount": 0, "inserted": 1, "outcome": null,
            },
            {
                "type": "agent/inbox/spliced", "target": "next-step", "start": 1,
                "removedCount": 2, "inserted": 0, "outcome": "canceled",
            },
            {"type": "hook/invoked", "turn": 1, "point": "Stop", "dialect": "codex"},
            {
                "type": "hook/result", "turn": 1, "point": "Stop", "decision": "block",
                "exitCode": 2, "stderrSummary": "no",
            },
            {"type": "approval/asked", "toolName": "bash", "callId": "c"},
            {"type": "approval/decided", "outcome": "rejected"},
            {"type": "todo/write", "todos": [{"content": "t", "status": "pending"}]},
        ]),
    );
}

#[track_caller]
fn check(events: Value, expected: Value) {
    let events: Vec<Event> = serde_json::from_value(events).unwrap();
    let recording = Recording { header: Header::new(Some("{here}".into()), 5), events };
    assert_eq!(Value::Array(reduced(&recording)), expected);
}
