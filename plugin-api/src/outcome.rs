//! What a tool call came to, the same for plugins and the host.

use std::borrow::Cow;
use std::str::Utf8Error;
use std::sync::Arc;

use abi_stable::type_layout::Tag;
use abi_stable::{StableAbi, tag};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::abi::future::Out;
use crate::abi::listener::CRITICAL_FLAGS;
use crate::abi::value::Buf;
use crate::decision::{BadDecision, present};
use crate::message::{Block, Message};

/// The outcome of a tool call: a success with a value, or a failure with a message; either with
/// what the model is shown.
///
/// One that came from [`Next::run`](crate::Next::run) and goes back untouched costs nothing,
/// whatever its size. A new one is put in order by the host: a success is rendered by the tool
/// itself.
#[repr(C)]
#[derive(StableAbi, Debug)]
#[sabi(tag = Self::VERDICTS)]
pub struct ToolOutcome {
    token: u64,
    verdict: u32,
    flags: u32,
    text: Buf,
    value: Buf,
    content: Buf,
    data: Buf,
}

/// The name and code of a failure, for programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorInfo {
    /// The kind of error, `ToolTimeoutError`.
    pub name: String,
    /// The stable code, `TOOL_TIMEOUT`.
    pub code: String,
}

/// What rides along with an outcome.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Extras {
    /// A failure's name and code, where it has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorInfo>,
    /// The host's own code, where a policy refused or failed: `DENIED`, `LISTENER_FAULT`, …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// For whoever presents the outcome; `null` is a meta too.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub meta: Option<Box<RawValue>>,
    /// Messages for the model, entering at the next step.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contexts: Vec<Message>,
}

impl ToolOutcome {
    const SUCCESS: u32 = 1;
    const FAILURE: u32 = 2;
    const VERDICTS: Tag = tag! {{
        "SUCCESS" => Tag::uint(Self::SUCCESS as u64),
        "FAILURE" => Tag::uint(Self::FAILURE as u64),
        "CONCLUDES_TURN" => Tag::uint(Self::CONCLUDES_TURN as u64),
    }};
    const CONCLUDES_TURN: u32 = 1;

    /// A success with `value`, which may be any JSON.
    pub fn success(value: &Value) -> Self {
        Self::success_json(value.to_string())
    }

    /// As [`success`](Self::success), with the value as JSON text. The host checks it.
    pub fn success_json(value: String) -> Self {
        Self { verdict: Self::SUCCESS, value: value.into(), ..Self::EMPTY }
    }

    /// A failure; the model is shown `Error: <message>`.
    pub fn failure(message: impl Into<String>) -> Self {
        let message = message.into();
        let content = [Block::text(format!("Error: {message}"))];
        Self { verdict: Self::FAILURE, text: message.into(), ..Self::EMPTY }.with_content(&content)
    }

    /// A failure with a name and a code.
    pub fn coded_failure(
        message: impl Into<String>,
        name: impl Into<String>,
        code: impl Into<String>,
    ) -> Self {
        let error = Some(ErrorInfo { name: name.into(), code: code.into() });
        Self::failure(message).with_extras(&Extras { error, ..Extras::default() })
    }

    /// The same outcome, new, showing `content`. On a success the host renders the value anew.
    pub fn with_content(self, content: &[Block]) -> Self {
        let content = serde_json::to_vec(content).expect("blocks always serialise");
        Self { token: 0, content: content.into(), ..self }
    }

    /// The same outcome with one more message for the model. One that came from the host stays
    /// what it was in everything else.
    pub fn with_context(self, context: Message) -> Self {
        let mut extras = self.extras().unwrap_or_default();
        extras.contexts.push(context);
        Self { token: self.token, ..self.with_extras(&extras) }
    }

    /// The same outcome, new, with other extras.
    pub fn with_extras(self, extras: &Extras) -> Self {
        let Extras { error, code, meta, contexts } = extras;
        let rest = meta.is_some() || !contexts.is_empty();
        let data = if error.is_none() && code.is_none() && !rest {
            Buf::EMPTY
        } else {
            serde_json::to_vec(extras).expect("messages and JSON always serialise").into()
        };
        Self { token: 0, data, ..self }
    }

    /// A success with the same value and nothing else.
    pub fn bare_success(self) -> Self {
        Self { verdict: Self::SUCCESS, value: self.value, ..Self::EMPTY }
    }

    /// The same outcome with the mark that it ends the turn, or without it. Only the host's word
    /// counts.
    pub fn concluding(self, concludes: bool) -> Self {
        let flags = if concludes { Self::CONCLUDES_TURN } else { 0 };
        Self { flags, ..self }
    }

    /// Whether the call failed or was refused.
    pub fn is_error(&self) -> bool {
        self.verdict != Self::SUCCESS
    }

    /// Whether the outcome says that the turn is over.
    pub fn concludes_turn(&self) -> bool {
        !self.is_error() && self.flags & Self::CONCLUDES_TURN != 0
    }

    /// A failure's message; empty on a success.
    pub fn message(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.text.as_bytes())
    }

    /// A success's value as JSON text; empty on a failure.
    pub fn value_json(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.value.as_bytes())
    }

    /// A success's value.
    ///
    /// # Errors
    /// When there is none, or it is not a `T`.
    pub fn value<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::from_slice(self.value.as_bytes())
    }

    /// A success's value as JSON text, not repaired.
    ///
    /// # Errors
    /// When it is not UTF-8.
    pub fn value_str(&self) -> Result<&str, Utf8Error> {
        self.value.as_str()
    }

    /// What the model is shown, as the JSON text of a list of blocks.
    pub fn content_json(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.content.as_bytes())
    }

    /// What the model is shown.
    ///
    /// # Errors
    /// When it is no list of blocks, which cannot be in an outcome from the host.
    pub fn content(&self) -> serde_json::Result<Vec<Block>> {
        if self.content.is_empty() {
            return Ok(Vec::new());
        }
        serde_json::from_slice(self.content.as_bytes())
    }

    /// What rides along.
    ///
    /// # Errors
    /// When it cannot be read, which cannot be in an outcome from the host.
    pub fn extras(&self) -> serde_json::Result<Extras> {
        if self.data.is_empty() {
            return Ok(Extras::default());
        }
        serde_json::from_slice(self.data.as_bytes())
    }

    /// The code of a failure: its own, or the host's where a policy refused or failed.
    pub fn code(&self) -> Option<String> {
        let extras = self.extras().ok()?;
        extras.error.map(|it| it.code).or(extras.code)
    }

    /// Whether nothing rides along, which costs no reading.
    pub fn is_plain(&self) -> bool {
        self.data.is_empty()
    }

    /// The host's mark of an outcome it made; zero on one that is new.
    pub fn token(&self) -> u64 {
        self.token
    }

    /// Whether what rides along are the very bytes of `other`.
    pub fn shares_extras_with(&self, other: &Self) -> bool {
        let (ours, others) = (self.data.as_bytes(), other.data.as_bytes());
        std::ptr::eq(ours, others) || ours.is_empty() && others.is_empty()
    }

    /// Hands out `outcome` under `token` without copying it.
    pub fn lend(outcome: &Arc<Self>, token: u64) -> Self {
        Self {
            token,
            verdict: outcome.verdict,
            flags: outcome.flags,
            text: Buf::shared(outcome, |it| it.text.as_bytes()),
            value: Buf::shared(outcome, |it| it.value.as_bytes()),
            content: Buf::shared(outcome, |it| it.content.as_bytes()),
            data: Buf::shared(outcome, |it| it.data.as_bytes()),
        }
    }
}

impl Out for ToolOutcome {
    const EMPTY: Self = Self {
        token: 0,
        verdict: 0,
        flags: 0,
        text: Buf::EMPTY,
        value: Buf::EMPTY,
        content: Buf::EMPTY,
        data: Buf::EMPTY,
    };

    fn is_empty(&self) -> bool {
        self.verdict == 0
    }

    fn known(&self) -> Result<(), BadDecision> {
        match (self.verdict, self.flags & CRITICAL_FLAGS) {
            (Self::SUCCESS | Self::FAILURE, 0) => {
                self.text.as_str().map(drop).map_err(|_| BadDecision::Text)
            }
            (Self::SUCCESS | Self::FAILURE, unknown) => Err(BadDecision::Flags(unknown)),
            (unknown, _) => Err(BadDecision::Verdict(unknown)),
        }
    }
}
