//! The session log: what happened in a session, one JSON object a line, and what can be told from it.

mod chunk;
mod course;
mod event;
mod fact;
mod file;
mod fork;
mod history;
mod log;
mod outcome;
mod packed;
mod plugins_own;
mod read;
mod repair;
mod resume;
mod rule;
mod surface;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub use lockgate_plugin_api::ErrorInfo;

pub use chunk::{BlockKind, CallConfig, Chunk, FinishReason, LlmFailure, Usage};
pub use event::{Event, SurfaceChange, SurfaceOp};
pub use fact::Fact;
pub use file::SyncPolicy;
pub(crate) use file::Unsynced;
pub use fork::ForkError;
pub use history::{messages, prompts};
pub use log::{LogError, SessionLog, unix_millis};
pub use outcome::{
    AbortCause, ApprovalOutcome, ApprovalPolicy, HeaderReason, InboxTarget, RequestHeader,
    SpliceOutcome, Todo, TodoStatus, TurnEndReason,
};
pub use read::{LineError, ReadError, read, read_whole_lines};
pub use resume::{Repair, ResumeError};
pub use rule::{Rule, Violation};

/// The only version of the log there is.
pub const VERSION: u32 = 0;

/// The first line of a log: which session it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "session", rename_all = "camelCase")]
pub struct Header {
    /// The log's version, [`VERSION`].
    pub version: u32,
    /// The session's id, which is its agent's too.
    pub id: String,
    /// When the session began, in Unix milliseconds.
    pub created_at: u64,
    /// The absolute directory it works in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// The session it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<String>,
    /// How many events it began with, being a fork.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed_length: Option<u64>,
    /// `subagent`, where another agent made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// How many agents stand above it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delegation_depth: Option<u32>,
    /// The preset its agent was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_preset: Option<String>,
}

impl Header {
    /// The header of a new session under a random id, begun at `created_at` (Unix milliseconds).
    pub fn new(cwd: Option<PathBuf>, created_at: u64) -> Self {
        Self {
            version: VERSION,
            id: Uuid::new_v4().to_string(),
            created_at,
            cwd,
            parent_session: None,
            seed_length: None,
            origin: None,
            delegation_depth: None,
            agent_preset: None,
        }
    }
}

/// Whether the events of `recording` are the course of a session: each in its place, and nothing
/// left out. An open turn at the end is one.
///
/// # Errors
///
/// For the first event that has no place where it stands.
pub fn validate(recording: &Recording) -> Result<(), Violation> {
    resume::validate(&recording.header, &recording.events).map(drop)
}

/// A whole log, read.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// Which session it is.
    pub header: Header,
    /// What happened, in order.
    pub events: Vec<Event>,
}
