//! Everything that can happen in a session.

use lockgate_plugin_api::{ErrorInfo, Message};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

use super::outcome::{
    ApprovalOutcome, ApprovalPolicy, HeaderReason, InboxTarget, RequestHeader, SpliceOutcome, Todo,
    TurnEndReason,
};
use super::{Chunk, Usage};

/// One thing that happened: an event's `type` and its `data`.
///
/// Turns are numbered from 1 in a session, steps from 1 in a turn.
// Derived for itself as if for a stranger: the impls below wrap the derived functions and see to
// `Other`, which as an untagged variant would swallow every broken fact of a known type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", tag = "type", content = "data", rename_all_fields = "camelCase")]
pub enum Fact {
    /// A turn began.
    #[serde(rename = "turn/start")]
    TurnStart {
        /// Which turn.
        turn: u32,
    },
    /// A turn is over.
    #[serde(rename = "turn/end")]
    TurnEnd {
        /// Which turn.
        turn: u32,
        /// Why.
        reason: TurnEndReason,
    },
    /// A step began.
    #[serde(rename = "step/start")]
    StepStart {
        /// Which turn.
        turn: u32,
        /// Which step of it.
        step: u32,
    },
    /// A step is over.
    #[serde(rename = "step/end")]
    StepEnd {
        /// Which turn.
        turn: u32,
        /// Which step of it.
        step: u32,
    },
    /// The user's side said something to the model.
    #[serde(rename = "user/message")]
    UserMessage(Message),
    /// A piece of an answer arrived.
    #[serde(rename = "assistant/chunk")]
    AssistantChunk {
        /// Which turn.
        turn: u32,
        /// Which step of it.
        step: u32,
        /// The piece.
        chunk: Chunk,
    },
    /// The model answered.
    #[serde(rename = "assistant/message")]
    AssistantMessage {
        /// Which turn.
        turn: u32,
        /// Which step of it.
        step: u32,
        /// What was said.
        message: Message,
        /// What it cost.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// Whether the answer was cut off by a cancellation.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        interrupted: bool,
    },
    /// The model called a tool; nobody has been asked yet whether it may.
    #[serde(rename = "tool/call")]
    ToolCall {
        /// Which turn.
        turn: u32,
        /// Which step of it.
        step: u32,
        /// The model's id for the call.
        call_id: String,
        /// The tool's name.
        name: String,
        /// As the model wrote them, valid JSON or not.
        arguments: String,
    },
    /// A tool call came to something.
    #[serde(rename = "tool/result")]
    ToolResult {
        /// Which turn.
        turn: u32,
        /// Which step of it.
        step: u32,
        /// What was said.
        message: Message,
        /// Which error it was, where it has a code.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<ErrorInfo>,
        /// What a screen may show of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        meta: Option<Value>,
    },
    /// The model will be asked with this from now on.
    #[serde(rename = "request/header")]
    RequestHeader {
        /// What it is.
        header: RequestHeader,
        /// Why it is written.
        reason: HeaderReason,
    },
    /// This model will be asked from now on.
    #[serde(rename = "request/context")]
    RequestContext {
        /// Who serves it.
        provider: String,
        /// Which one.
        model: String,
        /// How many tokens it can read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context_window: Option<u64>,
    },
    /// Messages entered or left the inbox.
    #[serde(rename = "agent/inbox/spliced")]
    InboxSpliced {
        /// The list.
        target: InboxTarget,
        /// The place in the list where it happened.
        start: u32,
        /// How many messages left there.
        #[serde(default, skip_serializing_if = "is_zero")]
        removed_count: u32,
        /// The messages that entered there.
        inserted: Vec<Message>,
        /// Absent where the removed messages entered a turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outcome: Option<SpliceOutcome>,
    },
    /// What was taken over from another session ends here.
    #[serde(rename = "session/end-seed")]
    EndSeed {},
    /// Someone is asked whether a tool may run.
    #[serde(rename = "approval/asked")]
    ApprovalAsked {
        /// The question's id.
        id: String,
        /// The tool.
        tool_name: String,
        /// The call it is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call_id: Option<String>,
        /// Why it is asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The question of that id was answered.
    #[serde(rename = "approval/decided")]
    ApprovalDecided {
        /// The question's id.
        id: String,
        /// The answer.
        outcome: ApprovalOutcome,
    },
    /// From now on it is asked like this.
    #[serde(rename = "approval/policy")]
    ApprovalPolicy {
        /// How.
        policy: ApprovalPolicy,
        /// `delegation`, where a parent agent set it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<String>,
    },
    /// A hook of a foreign dialect was started.
    #[serde(rename = "hook/invoked")]
    HookInvoked {
        /// Which turn.
        turn: u32,
        /// The dialect's name for the moment.
        point: String,
        /// The dialect.
        dialect: String,
        /// The configuration's word for the tools it is for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        matcher: Option<String>,
        /// The hook, by its place in the configuration.
        handler_id: String,
    },
    /// A hook of a foreign dialect answered.
    #[serde(rename = "hook/result")]
    HookResult {
        /// Which turn.
        turn: u32,
        /// The dialect's name for the moment.
        point: String,
        /// The hook, by its place in the configuration.
        handler_id: String,
        /// The hook's own word, else `stop` or `pass`.
        decision: String,
        /// How its process ended, if it did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// The beginning of what it complained of.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stderr_summary: Option<String>,
        /// In milliseconds.
        duration_ms: f64,
    },
    /// The model wrote its list of things to do.
    #[serde(rename = "todo/write")]
    TodoWrite {
        /// The whole list.
        todos: Vec<Todo>,
    },
    /// The session got a title.
    #[serde(rename = "session/title")]
    SessionTitle {
        /// The title.
        title: String,
        /// The numbers of the events it was made from.
        #[serde(default)]
        message_seqs: Vec<u64>,
        /// Who made it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<Value>,
    },
    /// Anything else, kept as it was.
    #[serde(skip)]
    Other {
        /// The event's type.
        kind: String,
        /// The event's data.
        data: Value,
    },
}

impl Fact {
    /// The types that have a variant of their own.
    const TYPES: [&str; 20] = [
        "turn/start",
        "turn/end",
        "step/start",
        "step/end",
        "user/message",
        "assistant/chunk",
        "assistant/message",
        "tool/call",
        "tool/result",
        "request/header",
        "request/context",
        "agent/inbox/spliced",
        "session/end-seed",
        "approval/asked",
        "approval/decided",
        "approval/policy",
        "hook/invoked",
        "hook/result",
        "todo/write",
        "session/title",
    ];

    /// The message that stands in the conversation, if this is one that does.
    pub fn surface(&self) -> Option<&Message> {
        match self {
            Self::UserMessage(message)
            | Self::AssistantMessage { message, .. }
            | Self::ToolResult { message, .. } => Some(message),
            Self::TurnStart { .. }
            | Self::TurnEnd { .. }
            | Self::StepStart { .. }
            | Self::StepEnd { .. }
            | Self::AssistantChunk { .. }
            | Self::ToolCall { .. }
            | Self::RequestHeader { .. }
            | Self::RequestContext { .. }
            | Self::InboxSpliced { .. }
            | Self::EndSeed {}
            | Self::ApprovalAsked { .. }
            | Self::ApprovalDecided { .. }
            | Self::ApprovalPolicy { .. }
            | Self::HookInvoked { .. }
            | Self::HookResult { .. }
            | Self::TodoWrite { .. }
            | Self::SessionTitle { .. }
            | Self::Other { .. } => None,
        }
    }
}

/// Any fact, before its type is looked at.
#[derive(Serialize, Deserialize)]
struct Untyped<K, D> {
    #[serde(rename = "type")]
    kind: K,
    data: D,
}

impl Serialize for Fact {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Self::Other { kind, data } = self {
            return Untyped { kind, data }.serialize(serializer);
        }
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Fact {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Untyped::<String, Value> { kind, data } = Untyped::deserialize(deserializer)?;
        if !Self::TYPES.contains(&kind.as_str()) {
            return Ok(Self::Other { kind, data });
        }
        Self::deserialize(json!({ "type": kind, "data": data })).map_err(D::Error::custom)
    }
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}
