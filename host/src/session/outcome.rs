//! The parts that facts are made of: reasons, outcomes, policies.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{CallConfig, LlmFailure};

/// Why a turn ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum TurnEndReason {
    /// The model has nothing more to do.
    Completed,
    /// It was cancelled.
    Aborted {
        /// Who wanted that, and was the first to.
        reason: AbortCause,
    },
    /// What came in was rejected.
    Blocked,
    /// Something failed.
    Error {
        /// What.
        error: LlmFailure,
    },
    /// An answer of the turn reached the token limit.
    MaxTokens,
    /// The process ended within the turn; found out afterwards.
    Interrupted,
}

/// Who cancelled a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum AbortCause {
    /// The person at the keyboard.
    User,
    /// The agent above.
    Parent,
    /// A hook.
    Hook {
        /// What it said.
        reason: String,
    },
    /// Nobody: the agent was taken down.
    Disposed,
    /// Nobody knows: the log was imported from an older form.
    Legacy,
}

/// What stays the same from one request to the next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestHeader {
    /// The model and its settings.
    pub config: CallConfig,
    /// The settings that the provider filled in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapter_defaults: Option<Value>,
    /// The system prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The tools' schemas; in a published recording perhaps a placeholder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Value>,
}

/// Why a request header was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeaderReason {
    /// It is the session's first.
    Initial,
    /// It is the first since the session was resumed.
    Resume,
    /// It differs from the last.
    Change,
}

/// One of the inbox's two lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InboxTarget {
    /// Each message opens a turn of its own.
    NextTurn,
    /// All messages enter at the next step.
    NextStep,
}

/// What became of messages that left the inbox without entering a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SpliceOutcome {
    /// They were withdrawn.
    Canceled,
}

/// The answer to an approval question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalOutcome {
    /// Yes, this time.
    AllowedOnce,
    /// No.
    Rejected,
    /// The call was cancelled before anybody answered.
    Cancelled,
    /// There is nobody to ask.
    Unavailable,
}

impl ApprovalOutcome {
    /// The word for it, as logs and trails write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AllowedOnce => "allowed-once",
            Self::Rejected => "rejected",
            Self::Cancelled => "cancelled",
            Self::Unavailable => "unavailable",
        }
    }
}

/// Whether approval questions are put to somebody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalPolicy {
    /// They are.
    Ask,
    /// Each is answered [`ApprovalOutcome::Rejected`] unseen.
    Never,
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Todo {
    /// What.
    pub content: String,
    /// How far it is.
    pub status: TodoStatus,
}

/// How far a thing to do is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Not begun.
    Pending,
    /// Begun.
    InProgress,
    /// Done.
    Completed,
}
