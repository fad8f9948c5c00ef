//! What a listener may answer: one opaque Decision per seam, the same for plugins and the host.
//!
//! All are the same shape underneath, a verdict with a text and a JSON object, so that they grow
//! by a key or a flag and never by a field. No opinion is not a Decision: a listener without one
//! returns `None`.

use std::{error, fmt};

use abi_stable::type_layout::Tag;
use abi_stable::{StableAbi, tag};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::abi::future::Out;
use crate::abi::value::Buf;
use crate::message::{Block, Message};

/// Flags a reader must know: an unknown one of these makes the whole Decision unreadable, so
/// that a restriction is never overlooked. The lower half may be ignored.
const CRITICAL_FLAGS: u32 = 0xFFFF_0000;

/// The shape of every Decision: public for the layout check alone. Zero is nothing said.
#[repr(C)]
#[derive(StableAbi, Debug)]
pub struct Answer {
    verdict: u32,
    flags: u32,
    text: Buf,
    data: Buf,
}

impl Answer {
    const EMPTY: Self = Self { verdict: 0, flags: 0, text: Buf::EMPTY, data: Buf::EMPTY };

    fn new(verdict: u32) -> Self {
        Self { verdict, ..Self::EMPTY }
    }

    fn with_text(verdict: u32, text: String) -> Self {
        Self { text: text.into(), ..Self::new(verdict) }
    }

    fn with_data(self, data: &Data) -> Self {
        let data = serde_json::to_vec(data).expect("messages, blocks and JSON always serialise");
        Self { data: data.into(), ..self }
    }

    /// The text; an empty one counts.
    fn text(&self) -> Result<&str, BadDecision> {
        self.text.as_str().map_err(|_| BadDecision::Text)
    }

    fn data(&self) -> Result<Data, BadDecision> {
        if self.data.is_empty() {
            return Ok(Data::default());
        }
        serde_json::from_slice(self.data.as_bytes()).map_err(BadDecision::Data)
    }

    /// The verdict, unless a flag says that there is more to it than we know.
    fn verdict(&self) -> Result<u32, BadDecision> {
        match self.flags & CRITICAL_FLAGS {
            0 => Ok(self.verdict),
            unknown => Err(BadDecision::Flags(unknown)),
        }
    }
}

/// What `data` may hold; each Decision reads its own keys and ignores the rest.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Data {
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<Vec<Message>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<Vec<Block>>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    value: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    contexts: Vec<Message>,
}

/// A key that is there counts, even with `null` in it.
pub(crate) fn present<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: Deserialize<'de>,
    D: serde::Deserializer<'de>,
{
    T::deserialize(deserializer).map(Some)
}

/// A Decision that cannot be read. The host fails closed on it.
#[derive(Debug)]
#[non_exhaustive]
pub enum BadDecision {
    /// A verdict this side does not know.
    Verdict(u32),
    /// Critical flags this side does not know.
    Flags(u32),
    /// The text is not UTF-8.
    Text,
    /// The data is not the JSON it has to be.
    Data(serde_json::Error),
    /// The verdict needs a key that the data lacks.
    Missing(&'static str),
}

impl fmt::Display for BadDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Verdict(verdict) => write!(f, "the verdict {verdict} is unknown"),
            Self::Flags(flags) => write!(f, "the critical flags {flags:#x} are unknown"),
            Self::Text => f.write_str("its text is not UTF-8"),
            Self::Data(_) => f.write_str("its data cannot be read"),
            Self::Missing(key) => write!(f, "its data lacks the key `{key}`"),
        }
    }
}

impl error::Error for BadDecision {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Data(cause) => Some(cause),
            Self::Verdict(_) | Self::Flags(_) | Self::Text | Self::Missing(_) => None,
        }
    }
}

/// Defines a Decision and puts its verdicts into the layout that is compared at load, so that a
/// renumbered verdict is refused and an appended one is not.
macro_rules! decisions {
    ($(
        $(#[$doc:meta])*
        pub struct $name:ident { $($verdict:ident = $number:literal),+ $(,)? }
    )+) => { $(
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(StableAbi, Debug)]
        #[sabi(tag = Self::VERDICTS)]
        pub struct $name(Answer);

        impl $name {
            const VERDICTS: Tag = tag! {{ $( stringify!($verdict) => Tag::uint($number) ),+ }};
            $( const $verdict: u32 = $number; )+
        }

        impl Out for $name {
            const EMPTY: Self = Self(Answer::EMPTY);

            fn is_empty(&self) -> bool {
                self.0.verdict == 0
            }
        }
    )+ };
}

decisions! {
    /// May this prompt be submitted? Answers *prompt-submit*.
    pub struct PromptDecision { ALLOW = 1, BLOCK = 2 }

    /// Which messages enter this step? Answers *pre-step*.
    pub struct PreStepDecision { ENTER = 1, REJECT = 2 }

    /// May this tool call run? Answers *pre-execute*.
    pub struct PreToolDecision { ALLOW = 1, DENY = 2, ASK = 3 }

    /// Must this tool call not run? Answers a *guard*, which cannot allow: it denies or returns
    /// `None`.
    pub struct GuardDecision { DENY = 1 }

    /// What becomes of this outcome? Answers *post-execute*.
    pub struct PostToolDecision { ACCEPT = 1, REPLACE_CONTENT = 2, REPLACE_VALUE = 3, BLOCK = 4 }
}

/// A [`PromptDecision`], read.
#[derive(Debug)]
pub enum Prompt<'a> {
    /// Submit it.
    Allow {
        /// Instead of the prompt's own content.
        content: Option<Vec<Block>>,
        /// Messages that follow it.
        contexts: Vec<Message>,
    },
    /// Drop it.
    Block {
        /// Why, for the person.
        reason: &'a str,
    },
}

impl PromptDecision {
    /// The prompt may be submitted as it is.
    pub fn allow() -> Self {
        Self(Answer::new(Self::ALLOW))
    }

    /// The prompt may be submitted with this content instead of its own.
    pub fn rewrite(content: Vec<Block>) -> Self {
        let data = Data { content: Some(content), ..Data::default() };
        Self(Answer::new(Self::ALLOW).with_data(&data))
    }

    /// The prompt is dropped.
    pub fn block(reason: impl Into<String>) -> Self {
        Self(Answer::with_text(Self::BLOCK, reason.into()))
    }

    /// The Decision, read.
    ///
    /// # Errors
    /// When it cannot be: see [`BadDecision`].
    pub fn verdict(&self) -> Result<Prompt<'_>, BadDecision> {
        let answer = &self.0;
        match answer.verdict()? {
            Self::ALLOW => {
                let Data { content, contexts, .. } = answer.data()?;
                Ok(Prompt::Allow { content, contexts })
            }
            Self::BLOCK => Ok(Prompt::Block { reason: answer.text()? }),
            unknown => Err(BadDecision::Verdict(unknown)),
        }
    }
}

/// A [`PreStepDecision`], read.
#[derive(Debug)]
pub enum PreStep<'a> {
    /// These messages, and no others, enter the step.
    Enter {
        /// In the order in which they enter.
        messages: Vec<Message>,
    },
    /// Nothing enters and the turn ends as blocked.
    Reject {
        /// Why, for the operator; the session keeps no reason.
        reason: &'a str,
    },
}

impl PreStepDecision {
    /// Exactly `messages` enter the step.
    pub fn enter(messages: Vec<Message>) -> Self {
        let data = Data { messages: Some(messages), ..Data::default() };
        Self(Answer::new(Self::ENTER).with_data(&data))
    }

    /// The step is refused and the turn ends as blocked.
    pub fn reject(reason: impl Into<String>) -> Self {
        Self(Answer::with_text(Self::REJECT, reason.into()))
    }

    /// The Decision, read.
    ///
    /// # Errors
    /// When it cannot be: see [`BadDecision`].
    pub fn verdict(&self) -> Result<PreStep<'_>, BadDecision> {
        let answer = &self.0;
        match answer.verdict()? {
            Self::ENTER => {
                let messages = answer.data()?.messages.ok_or(BadDecision::Missing("messages"))?;
                Ok(PreStep::Enter { messages })
            }
            Self::REJECT => Ok(PreStep::Reject { reason: answer.text()? }),
            unknown => Err(BadDecision::Verdict(unknown)),
        }
    }
}

/// A [`PreToolDecision`], read.
#[derive(Debug, PartialEq, Eq)]
pub enum PreTool<'a> {
    /// As far as pre-execute goes, it may run. Guards are still asked.
    Allow,
    /// It does not run.
    Deny {
        /// What the model is told, after `Error: `.
        reason: &'a str,
    },
    /// A person decides.
    Ask {
        /// What the person is told.
        reason: Option<&'a str>,
    },
}

impl PreToolDecision {
    /// The call may run, whatever the listeners further in would say. Guards are still asked.
    pub fn allow() -> Self {
        Self(Answer::new(Self::ALLOW))
    }

    /// The call does not run; the model is told `Error: <reason>`.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self(Answer::with_text(Self::DENY, reason.into()))
    }

    /// A person decides, and is told why they are asked.
    pub fn ask(reason: impl Into<String>) -> Self {
        Self(Answer::with_text(Self::ASK, reason.into()))
    }

    /// The Decision, read.
    ///
    /// # Errors
    /// When it cannot be: see [`BadDecision`].
    pub fn verdict(&self) -> Result<PreTool<'_>, BadDecision> {
        let answer = &self.0;
        match answer.verdict()? {
            Self::ALLOW => Ok(PreTool::Allow),
            Self::DENY => Ok(PreTool::Deny { reason: answer.text()? }),
            Self::ASK => {
                Ok(PreTool::Ask { reason: Some(answer.text()?).filter(|it| !it.is_empty()) })
            }
            unknown => Err(BadDecision::Verdict(unknown)),
        }
    }
}

/// A [`GuardDecision`], read.
#[derive(Debug, PartialEq, Eq)]
pub enum Guard<'a> {
    /// It does not run, and nothing can overrule that.
    Deny {
        /// What the model is told, after `Error: `; an empty reason denies too.
        reason: &'a str,
    },
}

impl GuardDecision {
    /// The call does not run; the model is told `Error: <reason>`.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self(Answer::with_text(Self::DENY, reason.into()))
    }

    /// The Decision, read.
    ///
    /// # Errors
    /// When it cannot be: see [`BadDecision`].
    pub fn verdict(&self) -> Result<Guard<'_>, BadDecision> {
        match self.0.verdict()? {
            Self::DENY => Ok(Guard::Deny { reason: self.0.text()? }),
            unknown => Err(BadDecision::Verdict(unknown)),
        }
    }
}

/// A [`PostToolDecision`], read.
#[derive(Debug)]
pub enum PostTool {
    /// The outcome stands.
    Accept {
        /// Messages for the model, after the outcome's own.
        contexts: Vec<Message>,
    },
    /// The model is shown other content; a success keeps its value.
    ReplaceContent {
        /// The content.
        content: Vec<Block>,
        /// Messages for the model, after the outcome's own.
        contexts: Vec<Message>,
    },
    /// A success gets another value and the content that follows from it.
    ReplaceValue {
        /// The value as JSON.
        value: Box<RawValue>,
        /// Messages for the model, after the outcome's own.
        contexts: Vec<Message>,
    },
    /// The outcome becomes a failure that shows the feedback; all its own contexts are dropped.
    Block {
        /// What the model is shown, word for word.
        feedback: Vec<Block>,
        /// Messages for the model.
        contexts: Vec<Message>,
    },
}

impl PostToolDecision {
    /// The outcome stands.
    pub fn accept() -> Self {
        Self(Answer::new(Self::ACCEPT))
    }

    /// The model is shown `content`; a success keeps its value.
    pub fn replace_content(content: Vec<Block>) -> Self {
        let data = Data { content: Some(content), ..Data::default() };
        Self(Answer::new(Self::REPLACE_CONTENT).with_data(&data))
    }

    /// A success gets `value`, checked against the tool's output schema, and the content that
    /// follows from it. On a failed outcome this is itself a failure.
    pub fn replace_value(value: &Value) -> Self {
        let value = serde_json::value::to_raw_value(value).expect("a JSON value serialises");
        let data = Data { value: Some(value), ..Data::default() };
        Self(Answer::new(Self::REPLACE_VALUE).with_data(&data))
    }

    /// The outcome becomes a failure that shows `feedback`, word for word.
    pub fn block(feedback: Vec<Block>) -> Self {
        let data = Data { content: Some(feedback), ..Data::default() };
        Self(Answer::new(Self::BLOCK).with_data(&data))
    }

    /// The same with one more message for the model, before those it has; all enter at the next
    /// step. Before, because a listener adds to what the listeners further in decided, and the
    /// outermost listener's message comes first.
    pub fn with_context(self, context: Message) -> Self {
        let mut data = self.0.data().expect("the host hands out readable Decisions only");
        data.contexts.insert(0, context);
        Self(self.0.with_data(&data))
    }

    /// The Decision, read.
    ///
    /// # Errors
    /// When it cannot be: see [`BadDecision`].
    pub fn verdict(&self) -> Result<PostTool, BadDecision> {
        let verdict = self.0.verdict()?;
        let Data { content, value, contexts, .. } = self.0.data()?;
        let content = content.ok_or(BadDecision::Missing("content"));
        match verdict {
            Self::ACCEPT => Ok(PostTool::Accept { contexts }),
            Self::REPLACE_CONTENT => Ok(PostTool::ReplaceContent { content: content?, contexts }),
            Self::REPLACE_VALUE => {
                let value = value.ok_or(BadDecision::Missing("value"))?;
                Ok(PostTool::ReplaceValue { value, contexts })
            }
            Self::BLOCK => Ok(PostTool::Block { feedback: content?, contexts }),
            unknown => Err(BadDecision::Verdict(unknown)),
        }
    }
}
