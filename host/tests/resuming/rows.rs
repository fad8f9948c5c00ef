//! Logs for tests, row by row.

use std::fs;
use std::path::{Path, PathBuf};

use lockgate::session::{Repair, ResumeError, SessionLog};
use lockgate_plugin_api::Message;
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) const HEADER: &str = r#"{"type":"session","version":0,"id":"s1","createdAt":5}"#;
pub(crate) const UNKNOWN: &str =
    "Error: the outcome of the tool call is not known; it may have taken effect";
pub(crate) const NOT_STARTED: &str = "Error: the tool call was not started";

/// A directory with a log in it.
pub(crate) struct Place {
    directory: TempDir,
}

impl Place {
    pub(crate) fn with(log: impl AsRef<[u8]>) -> Self {
        let place = Self { directory: TempDir::new().unwrap() };
        fs::write(place.path("log"), log).unwrap();
        place
    }

    /// The log of these rows, numbered.
    pub(crate) fn of(rows: &[Value]) -> Self {
        let lines = (0..).zip(rows).map(|(seq, row)| format!("{}\n", numbered(row, seq)));
        Self::with(format!("{HEADER}\n{}", lines.collect::<String>()))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn resume(&self) -> Result<(SessionLog, Repair), ResumeError> {
        SessionLog::resume(&self.path("log"), || 99)
    }

    pub(crate) fn rows(&self) -> Vec<Value> {
        rows(&self.path("log"))
    }
}

pub(crate) fn rows(log: &Path) -> Vec<Value> {
    let text = fs::read_to_string(log).unwrap();
    text.lines().skip(1).map(|it| serde_json::from_str(it).unwrap()).collect()
}

pub(crate) fn numbered(row: &Value, seq: u64) -> Value {
    let mut row = row.clone();
    row["seq"] = seq.into();
    row["time"] = (10 + seq).into();
    row
}

pub(crate) fn row(kind: &str, data: Value) -> Value {
    json!({ "type": kind, "data": data })
}

pub(crate) fn turn(turn: u32) -> Value {
    row("turn/start", json!({ "turn": turn }))
}

pub(crate) fn step(step: u32) -> Value {
    row("step/start", json!({ "turn": 1, "step": step }))
}

/// An answer that asks for these calls.
pub(crate) fn answer(calls: &[&str]) -> Value {
    let call = |id: &&str| json!({ "type": "tool-call", "id": id, "name": "t", "arguments": "{}" });
    let content: Vec<Value> = calls.iter().map(call).collect();
    let source = json!({ "kind": "model", "provider": "p", "model": "m" });
    let message = json!({ "id": "a", "role": "assistant", "content": content, "source": source });
    let data = json!({ "turn": 1, "step": 1, "message": message });
    json!({ "type": "assistant/message", "data": data, "surfaceOp": "append" })
}

pub(crate) fn call(id: &str) -> Value {
    let data = json!({ "turn": 1, "step": 1, "callId": id, "name": "t", "arguments": "{}" });
    row("tool/call", data)
}

pub(crate) fn result(id: &str, message: &str, text: &str, failed: bool) -> Value {
    let content = [json!({ "type": "text", "text": text })];
    let block =
        json!({ "type": "tool-result", "toolCallId": id, "content": content, "isError": failed });
    let source = json!({ "kind": "tool", "callId": id });
    let message = json!({ "id": message, "role": "user", "content": [block], "source": source });
    let data = json!({ "turn": 1, "step": 1, "message": message });
    json!({ "type": "tool/result", "data": data, "surfaceOp": "append" })
}

pub(crate) fn repaired(id: &str, seq: u64, call: Option<u64>) -> Value {
    let (text, name, code) = match call {
        None => (NOT_STARTED, "ToolNotStartedError", "TOOL_NOT_STARTED"),
        Some(_) => (UNKNOWN, "ToolOutcomeUnknownError", "TOOL_OUTCOME_UNKNOWN"),
    };
    let mut row = result(id, &format!("interrupted-tool-result-{id}-{seq}"), text, true);
    row["data"]["error"] = json!({ "name": name, "code": code });
    if let Some(call) = call {
        row["sourceEventSeqs"] = json!([call]);
    }
    row
}

pub(crate) fn step_end() -> Value {
    row("step/end", json!({ "turn": 1, "step": 1 }))
}

pub(crate) fn turn_end(kind: &str) -> Value {
    row("turn/end", json!({ "turn": 1, "reason": { "kind": kind } }))
}

pub(crate) fn end_seed() -> Value {
    row("session/end-seed", json!({}))
}

pub(crate) fn inserted(id: &str) -> Value {
    let message = Message { id: id.to_owned(), ..Message::from_user("Hi.") };
    let data = json!({ "target": "next-turn", "start": 0, "inserted": [message] });
    row("agent/inbox/spliced", data)
}
