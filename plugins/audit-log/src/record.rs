//! What is kept of one call: a line of JSON.

use std::time::SystemTime;

use lockgate_plugin_api::{ToolCall, ToolOutcome};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::time::rfc3339;

/// What is kept of the arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Arguments {
    /// All of them, or as much as the limit allows.
    Full,
    /// Their BLAKE3 hash.
    Hash,
    /// Nothing.
    None,
}

/// The keys of a line, in their order.
#[derive(Serialize)]
struct Record<'a> {
    time: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<u64>,
    call: u64,
    call_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<u64>,
    tool: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<Box<RawValue>>,
    /// The beginning of arguments that are too long, which is no JSON any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments_head: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments_blake3: Option<String>,
    /// The length of all of them, where they were cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments_bytes: Option<usize>,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    content_bytes: usize,
}

/// The line for a call that came to `outcome` at `now`. It ends with the only line break in it.
pub(crate) fn line(
    now: SystemTime,
    call: &ToolCall,
    outcome: &ToolOutcome,
    kept: Arguments,
    limit: usize,
) -> serde_json::Result<Vec<u8>> {
    let mut record = Record {
        time: rfc3339(now),
        agent: call.agent().map(|it| it.id()),
        call: call.id(),
        call_id: call.call_id(),
        parent: call.parent(),
        tool: call.name(),
        arguments: None,
        arguments_head: None,
        arguments_blake3: None,
        arguments_bytes: None,
        outcome: if outcome.is_error() { "failure" } else { "success" },
        code: outcome.code(),
        content_bytes: outcome.content_json().len(),
    };
    let arguments = call.arguments();
    match kept {
        Arguments::Full if arguments.len() <= limit => {
            record.arguments = Some(RawValue::from_string(in_one_line(arguments))?);
        }
        Arguments::Full => {
            record.arguments_head = Some(&arguments[..arguments.floor_char_boundary(limit)]);
            record.arguments_bytes = Some(arguments.len());
        }
        Arguments::Hash => {
            let hash = blake3::hash(arguments.as_bytes());
            record.arguments_blake3 = Some(hash.to_hex().to_string());
        }
        Arguments::None => {}
    }
    let mut line = serde_json::to_vec(&record)?;
    line.push(b'\n');
    Ok(line)
}

/// The same JSON without line breaks: in valid JSON they stand between tokens only.
fn in_one_line(json: &str) -> String {
    json.replace(['\n', '\r'], " ")
}
