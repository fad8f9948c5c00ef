//! What is read from a session log.

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use lockgate::session::{Event, Fact, ReadError, read};
use serde_json::{Value, json};
use tempfile::TempDir;

const HEADER: &str = r#"{"type":"session","version":0,"id":"s1","createdAt":5}"#;

#[test]
fn every_type_comes_back_as_it_was() {
    #[track_caller]
    fn check(kind: &str, data: Value) {
        let row = json!({ "seq": 3, "time": 9, "type": kind, "data": data });
        let event: Event = serde_json::from_value(row.clone()).unwrap();
        assert!(!matches!(event.fact, Fact::Other { .. }), "{kind} is not known");
        assert_eq!(serde_json::to_value(&event).unwrap(), row);
    }
    let user = json!({
        "id": "m1", "role": "user", "content": [{ "type": "text", "text": "Hi." }],
        "source": { "kind": "plugin", "plugin": "clock", "form": "notice", "summary": "noon" },
    });
    let answer = json!({
        "id": "m2", "role": "assistant",
        "content": [{ "type": "tool-call", "id": "c1", "name": "bash", "arguments": "{" }],
        "source": { "kind": "model", "provider": "p", "model": "m", "replayState": { "a": 1 } },
    });
    let result = json!({
        "id": "m3", "role": "user",
        "content": [{ "type": "tool-result", "toolCallId": "c1", "content": [], "isError": true }],
        "source": { "kind": "tool", "callId": "c1" },
    });
    check("turn/start", json!({ "turn": 1 }));
    check("turn/end", json!({ "turn": 1, "reason": { "kind": "completed" } }));
    check("step/start", json!({ "turn": 1, "step": 1 }));
    check("step/end", json!({ "turn": 1, "step": 1 }));
    check("user/message", user.clone());
    check("assistant/message", json!({ "turn": 1, "step": 1, "message": answer }));
    check(
        "assistant/message",
        json!({
            "turn": 1, "step": 1, "message": answer, "interrupted": true,
            "usage": {
                "inputTokens": 1, "outputTokens": 2, "cacheReadTokens": 3,
                "cacheWriteTokens": 4, "reasoningTokens": 5,
            },
        }),
    );
    check(
        "tool/call",
        json!({ "turn": 1, "step": 1, "callId": "c1", "name": "bash", "arguments": "{" }),
    );
    check("tool/result", json!({ "turn": 1, "step": 1, "message": result }));
    check(
        "tool/result",
        json!({
            "turn": 1, "step": 1, "message": result, "meta": { "lines": 2 },
            "error": { "name": "AbortError", "code": "ABORTED" },
        }),
    );
    check(
        "request/header",
        json!({
            "reason": "initial",
            "header": {
                "config": {
                    "provider": "p", "model": "m", "reasoningEffort": "high",
                    "temperature": 0.5, "maxTokens": 7, "stop": ["."],
                },
                "adapterDefaults": { "temperature": true }, "system": "Be brief.", "tools": [],
            },
        }),
    );
    check("request/context", json!({ "provider": "p", "model": "m", "contextWindow": 8 }));
    check("agent/inbox/spliced", json!({ "target": "next-turn", "start": 0, "inserted": [user] }));
    check(
        "agent/inbox/spliced",
        json!({
            "target": "next-step", "start": 2, "removedCount": 1, "inserted": [],
            "outcome": "canceled",
        }),
    );
    check("session/end-seed", json!({}));
    check(
        "approval/asked",
        json!({ "id": "a1", "toolName": "bash", "callId": "c1", "reason": "it writes" }),
    );
    check("approval/decided", json!({ "id": "a1", "outcome": "allowed-once" }));
    check("approval/policy", json!({ "policy": "never", "source": "delegation" }));
    check(
        "hook/invoked",
        json!({
            "turn": 1, "point": "PreToolUse", "dialect": "claude-code", "matcher": "bash",
            "handlerId": "h1",
        }),
    );
    check(
        "hook/result",
        json!({
            "turn": 1, "point": "PreToolUse", "handlerId": "h1", "decision": "block",
            "exitCode": 2, "stderrSummary": "no", "durationMs": 3.25,
        }),
    );
    check("todo/write", json!({ "todos": [{ "content": "tea", "status": "in_progress" }] }));
    check(
        "session/title",
        json!({ "title": "Tea", "messageSeqs": [1], "source": { "kind": "fallback" } }),
    );
    for reason in [
        json!({ "kind": "aborted", "reason": { "kind": "hook", "reason": "no" } }),
        json!({ "kind": "aborted", "reason": { "kind": "legacy" } }),
        json!({ "kind": "error", "error": { "message": "no", "code": "AUTH", "status": 401 } }),
        json!({ "kind": "max-tokens" }),
    ] {
        check("turn/end", json!({ "turn": 1, "reason": reason }));
    }
    for chunk in [
        json!({ "type": "block-start", "index": 0, "blockType": "tool-call" }),
        json!({ "type": "reasoning-delta", "index": 0, "text": "hm" }),
        json!({ "type": "tool-call-delta", "index": 0, "id": "c1", "argumentsDelta": "{" }),
        json!({ "type": "block-end", "index": 0, "block": { "type": "text", "text": "Hi." } }),
        json!({ "type": "usage", "usage": { "inputTokens": 1, "outputTokens": 2 } }),
        json!({ "type": "finish", "reason": { "kind": "tool-calls" }, "replayState": [] }),
        json!({
            "type": "finish",
            "reason": { "kind": "error", "failure": { "message": "no", "code": "AUTH" } },
        }),
    ] {
        check("assistant/chunk", json!({ "turn": 1, "step": 1, "chunk": chunk }));
    }
}

#[test]
fn a_row_may_lack_what_only_a_live_log_knows() {
    #[track_caller]
    fn check(row: &str, expected: &[Value]) {
        let directory = TempDir::new().unwrap();
        let recording = read(&write(&directory, &[HEADER, row])).unwrap();
        let events: Vec<Value> =
            recording.events.iter().map(|it| serde_json::to_value(it).unwrap()).collect();
        assert_eq!(events, expected);
    }
    check(
        r#"{"type":"turn/start","data":{"turn":1}}"#,
        &[json!({ "type": "turn/start", "data": { "turn": 1 } })],
    );
    check(
        r#"{"type":"weather/seen","data":[1,{"a":null}],"ignorable":true}"#,
        &[json!({ "type": "weather/seen", "data": [1, { "a": null }], "ignorable": true })],
    );
    let chunk = |chunk: Value| json!({ "turn": 1, "step": 2, "chunk": chunk });
    check(
        r#"{"type":"text-chunks","data":{"turn":1,"step":2,"index":4,"dt":[3],"texts":["a","b"]}}"#,
        &[
            json!({
                "type": "assistant/chunk",
                "data": chunk(json!({ "type": "text-delta", "index": 4, "text": "a" })),
            }),
            json!({
                "type": "assistant/chunk",
                "data": chunk(json!({ "type": "text-delta", "index": 4, "text": "b" })),
            }),
        ],
    );
    check(
        r#"{"type":"reasoning-chunks","seq0":7,"time0":20,
            "data":{"turn":1,"step":2,"index":0,"dt":[3],"texts":["a","b"]}}"#
            .replace('\n', "")
            .as_str(),
        &[
            json!({
                "type": "assistant/chunk", "seq": 7, "time": 20,
                "data": chunk(json!({ "type": "reasoning-delta", "index": 0, "text": "a" })),
            }),
            json!({
                "type": "assistant/chunk", "seq": 8, "time": 23,
                "data": chunk(json!({ "type": "reasoning-delta", "index": 0, "text": "b" })),
            }),
        ],
    );
    check(
        r#"{"type":"tool-call-chunks","data":{"turn":1,"step":2,"index":0,"id":"c","name":"t","args":["","{}"]}}"#,
        &[
            json!({
                "type": "assistant/chunk",
                "data": chunk(json!({
                    "type": "tool-call-delta", "index": 0, "id": "c", "name": "t",
                    "argumentsDelta": "",
                })),
            }),
            json!({
                "type": "assistant/chunk",
                "data": chunk(json!({
                    "type": "tool-call-delta", "index": 0, "id": "c", "name": "t",
                    "argumentsDelta": "{}",
                })),
            }),
        ],
    );
}

#[test]
fn a_line_that_does_not_fit_is_named() {
    #[track_caller]
    fn check(lines: &[&str], line: usize, expected: &str) {
        let directory = TempDir::new().unwrap();
        let error = read(&write(&directory, lines)).unwrap_err();
        let ReadError::Line { line: found, cause, .. } = error else { panic!("{error}") };
        assert_eq!((found, chain(&cause)), (line, expected.to_owned()));
    }
    let turn = r#"{"type":"turn/start","data":{"turn":1}}"#;
    check(&[], 1, "the log has no header, a line of type `session`");
    check(&[turn], 1, "the log has no header, a line of type `session`");
    check(
        &[r#"{"type":"session","version":3,"id":"s1","createdAt":5}"#],
        1,
        "the log has version 3, and only 0 is known",
    );
    check(
        &[HEADER, turn, r#"{"type":"turn/start","data":{"turn":"one"}}"#],
        3,
        "it is not a line of a session log: \
         invalid type: string \"one\", expected u32",
    );
    check(
        &[HEADER, r#"{"type":"turn/start","data":{"turn":1},"colour":"red"}"#],
        2,
        "it is not a line of a session log: unknown field `colour`, expected one of `seq`, `time`, \
         `type`, `data`, `surfaceOp`, `sourceEventSeqs`, `ignorable` at line 1 column 47",
    );
}

fn write(directory: &TempDir, lines: &[&str]) -> PathBuf {
    let path = directory.path().join("session.jsonl");
    fs::write(&path, lines.iter().map(|it| format!("{it}\n")).collect::<String>())
        .expect("the directory is ours");
    path
}

fn chain(error: &dyn Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {}", chain(cause)),
        None => error.to_string(),
    }
}
