//! What a listener may answer: one opaque Decision per seam, the same for plugins and the host.
//!
//! All are the same shape underneath, a verdict with a text and a JSON object, so that they grow
//! by a key or a flag and never by a field. No opinion is not a Decision: a listener without one
//! returns `None`.

mod agent;
mod tool;

use std::{error, fmt};

use abi_stable::type_layout::Tag;
use abi_stable::{StableAbi, tag};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::abi::future::Out;
use crate::abi::listener::CRITICAL_FLAGS;
use crate::abi::value::Buf;
use crate::message::{Block, Message};

pub use agent::{PreStep, Prompt};
pub use tool::{Guard, PostTool, PreTool};

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
        let data = self.data.as_bytes();
        // A list of the values of the keys would be read as well.
        if data.trim_ascii_start().first() == Some(&b'[') {
            return Err(BadDecision::List);
        }
        serde_json::from_slice(data).map_err(BadDecision::Data)
    }

    /// Verdict, text and data, where the Decision knows the critical flags `known`. All of it has to
    /// be readable, also what the verdict has no use for: one who writes nonsense may mean another
    /// verdict.
    fn read(&self, known: u32) -> Result<(u32, &str, Data), BadDecision> {
        match self.flags & CRITICAL_FLAGS & !known {
            0 => Ok((self.verdict, self.text()?, self.data()?)),
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
    /// The data is a list and not an object.
    List,
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
            Self::List => f.write_str("its data is a list and not an object"),
            Self::Missing(key) => write!(f, "its data lacks the key `{key}`"),
        }
    }
}

impl error::Error for BadDecision {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Data(cause) => Some(cause),
            Self::Verdict(_) | Self::Flags(_) | Self::Text | Self::List | Self::Missing(_) => None,
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
