//! One JSON text as an answer.

use abi_stable::StableAbi;
use serde::Serialize;

use super::future::{Out, Reply};
use super::listener::CRITICAL_FLAGS;
use super::value::Buf;
use crate::decision::BadDecision;

/// One JSON text, answered.
#[repr(C)]
#[derive(StableAbi, Debug)]
pub struct Json {
    /// 1 where there is a text.
    pub given: u32,
    /// None yet.
    pub flags: u32,
    /// The text.
    pub text: Buf,
}

impl Json {
    /// The answer that says `value`, or nothing.
    pub(crate) fn reply<T: Serialize>(value: Option<&T>) -> Reply<Self> {
        let Some(value) = value else { return Reply::Next };
        let text = serde_json::to_string(value).expect("blocks and JSON always serialise");
        Reply::Ready(Self::new(text))
    }

    /// The answer that is this JSON text.
    pub fn new(text: String) -> Self {
        Self { given: 1, flags: 0, text: text.into() }
    }
}

impl Out for Json {
    const EMPTY: Self = Self { given: 0, flags: 0, text: Buf::EMPTY };

    fn is_empty(&self) -> bool {
        self.given == 0
    }

    fn known(&self) -> Result<(), BadDecision> {
        match (self.given, self.flags & CRITICAL_FLAGS) {
            (1, 0) => Ok(()),
            (1, unknown) => Err(BadDecision::Flags(unknown)),
            (unknown, _) => Err(BadDecision::Verdict(unknown)),
        }
    }
}
