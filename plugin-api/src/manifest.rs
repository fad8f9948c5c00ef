//! What a plugin says of itself before a line of it has run.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The manifest: written at compile time by [`export_plugin!`](crate::export_plugin), read by the
/// host from the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The plugin's name: its package's.
    pub name: String,
    /// The plugin's version, by semver.
    pub version: String,
    /// The version of the plugin API it was built with, by semver.
    pub api: String,
    /// The oldest host it works with, by the version of that host's plugin API.
    pub min_host: String,
    /// Extensions the host must have.
    #[serde(default)]
    pub needs: Vec<String>,
    /// The exported symbol.
    pub symbol: String,
    /// What it listens to.
    #[serde(default)]
    pub listeners: Vec<ListenerExport>,
    /// Whether it offers tools.
    #[serde(default)]
    pub tools: bool,
    /// Whether what an instance [saves](crate::Plugin::save_state) matters: the next one takes its
    /// place with that, or not at all.
    #[serde(default)]
    pub state: bool,
    /// Whether an instance must have given back what it acquired before the next one starts.
    #[serde(default)]
    pub exclusive: bool,
    /// The types of the events that it may append to the log of a session.
    #[serde(default)]
    pub events: Vec<String>,
    /// How long one entry of its listeners may take, in milliseconds, where it needs more than the
    /// host gives by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry_deadline_ms: Option<u64>,
    /// As `entry_deadline_ms`, for an answer that comes later: its listener's own time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_deadline_ms: Option<u64>,
    /// The JSON Schema of its configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_schema: Option<Value>,
    /// What happens to a panic: `unwind` or `abort`, or `none` in a language without panics.
    pub panic: String,
    /// The compiler that built it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rustc: Option<String>,
    /// The target it was built for.
    pub target: String,
    /// One sentence on what it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Who makes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// Its licence, as an SPDX expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub license: Option<String>,
}

/// One listener a plugin exports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListenerExport {
    /// The seam.
    pub seam: SeamName,
    /// What the author calls the listener.
    pub name: String,
    /// Higher stands further out.
    pub priority: i32,
    /// Whether its place answers that it is unavailable while the plugin is not there.
    pub required: bool,
}

/// A seam, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SeamName {
    /// A session starts.
    SessionStart,
    /// A prompt is about to be submitted.
    PromptSubmit,
    /// A step is proposed.
    PreStep,
    /// A turn is about to end.
    TurnStopping,
    /// A tool call is about to run.
    PreExecute,
    /// A tool call was allowed.
    Guard,
    /// Around a tool's body.
    Execute,
    /// A tool call came to an outcome.
    PostExecute,
    /// A tool call's outcome is final.
    ToolResult,
}

impl SeamName {
    /// Every seam, in the order in which they come up.
    pub const ALL: [Self; 9] = [
        Self::SessionStart,
        Self::PromptSubmit,
        Self::PreStep,
        Self::TurnStopping,
        Self::PreExecute,
        Self::Guard,
        Self::Execute,
        Self::PostExecute,
        Self::ToolResult,
    ];

    /// The name, as manifests and trails write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SessionStart => "session-start",
            Self::PromptSubmit => "prompt-submit",
            Self::PreStep => "pre-step",
            Self::TurnStopping => "turn-stopping",
            Self::PreExecute => "pre-execute",
            Self::Guard => "guard",
            Self::Execute => "execute",
            Self::PostExecute => "post-execute",
            Self::ToolResult => "tool-result",
        }
    }

    /// Whether a listener here is required unless it says otherwise: on the seams that decide.
    pub const fn is_required(self) -> bool {
        match self {
            Self::PromptSubmit
            | Self::PreStep
            | Self::PreExecute
            | Self::Guard
            | Self::PostExecute => true,
            Self::SessionStart | Self::TurnStopping | Self::Execute | Self::ToolResult => false,
        }
    }
}

/// A part of a JSON text that is put together at compile time.
#[derive(Debug, Clone, Copy)]
pub enum Part {
    /// JSON as it is.
    Raw(&'static str),
    /// A string, to be quoted.
    Text(&'static str),
    /// A number.
    Number(i64),
    /// The parts of a list, a comma after each but the last.
    List(&'static [&'static [Part]]),
}

/// The length in bytes of the JSON that `parts` make.
pub const fn json_len(parts: &[Part]) -> usize {
    write(parts, Sink { bytes: &mut [], len: 0 }).len
}

/// The JSON that `parts` make; `N` is its length.
pub const fn json<const N: usize>(parts: &[Part]) -> [u8; N] {
    let mut bytes = [0; N];
    let written = write(parts, Sink { bytes: &mut bytes, len: 0 }).len;
    assert!(written == N, "the length was counted by `json_len`");
    bytes
}

/// Bytes written, and counted where there is no more room.
struct Sink<'a> {
    bytes: &'a mut [u8],
    len: usize,
}

const fn put(mut sink: Sink<'_>, byte: u8) -> Sink<'_> {
    if sink.len < sink.bytes.len() {
        sink.bytes[sink.len] = byte;
    }
    sink.len += 1;
    sink
}

const fn put_all<'a>(mut sink: Sink<'a>, text: &str) -> Sink<'a> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        sink = put(sink, bytes[at]);
        at += 1;
    }
    sink
}

const fn write<'a>(parts: &[Part], mut sink: Sink<'a>) -> Sink<'a> {
    let mut at = 0;
    while at < parts.len() {
        sink = match parts[at] {
            Part::Raw(text) => put_all(sink, text),
            Part::Text(text) => put(quoted(put(sink, b'"'), text), b'"'),
            Part::Number(number) => digits(sink, number),
            Part::List(items) => list(put(sink, b'['), items),
        };
        at += 1;
    }
    sink
}

const fn list<'a>(mut sink: Sink<'a>, items: &[&[Part]]) -> Sink<'a> {
    let mut at = 0;
    while at < items.len() {
        if at > 0 {
            sink = put(sink, b',');
        }
        sink = write(items[at], sink);
        at += 1;
    }
    put(sink, b']')
}

const fn quoted<'a>(mut sink: Sink<'a>, text: &str) -> Sink<'a> {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        sink = match byte {
            b'"' | b'\\' => put(put(sink, b'\\'), byte),
            0..0x20 => {
                let escape = put_all(sink, "\\u00");
                put(put(escape, HEX[(byte >> 4) as usize]), HEX[(byte & 15) as usize])
            }
            _ => put(sink, byte),
        };
        at += 1;
    }
    sink
}

const fn digits(sink: Sink<'_>, number: i64) -> Sink<'_> {
    let mut sink = if number < 0 { put(sink, b'-') } else { sink };
    let mut rest = number.unsigned_abs();
    let mut reversed = [0; 20];
    let mut count = 0;
    loop {
        reversed[count] = b'0' + (rest % 10) as u8;
        rest /= 10;
        count += 1;
        if rest == 0 {
            break;
        }
    }
    while count > 0 {
        count -= 1;
        sink = put(sink, reversed[count]);
    }
    sink
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_make_json() {
        const PARTS: &[Part] = &[
            Part::Raw("{\"say\":"),
            Part::Text("a \"quote\", a \\ and a\ttab"),
            Part::Raw(",\"numbers\":"),
            Part::List(&[&[Part::Number(-7)], &[Part::Number(0)], &[Part::Number(i64::MIN)]]),
            Part::Raw("}"),
        ];
        const JSON: [u8; json_len(PARTS)] = json(PARTS);
        assert_eq!(
            serde_json::from_slice::<Value>(&JSON).unwrap(),
            serde_json::json!({
                "say": "a \"quote\", a \\ and a\ttab",
                "numbers": [-7, 0, i64::MIN],
            })
        );
    }

    #[test]
    fn a_seam_is_written_by_its_name() {
        for seam in SeamName::ALL {
            assert_eq!(serde_json::to_value(seam).unwrap(), seam.as_str());
        }
    }
}
