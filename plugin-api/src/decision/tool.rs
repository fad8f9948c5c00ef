//! The Decisions about tool calls, made and read.

use serde_json::Value;
use serde_json::value::RawValue;

use super::{Answer, BadDecision, Data, GuardDecision, PostToolDecision, PreToolDecision};
use crate::abi::listener::REPLACES_CONTEXTS;
use crate::message::{Block, Message};

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
        let (verdict, text, _) = self.0.read(0)?;
        match verdict {
            Self::ALLOW => Ok(PreTool::Allow),
            Self::DENY => Ok(PreTool::Deny { reason: text }),
            Self::ASK => Ok(PreTool::Ask { reason: Some(text).filter(|it| !it.is_empty()) }),
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
        let (verdict, text, _) = self.0.read(0)?;
        match verdict {
            Self::DENY => Ok(Guard::Deny { reason: text }),
            unknown => Err(BadDecision::Verdict(unknown)),
        }
    }
}

/// A [`PostToolDecision`], read.
#[derive(Debug)]
pub enum PostTool {
    /// The outcome stands.
    Accept {
        /// Messages for the model, after the outcome's own unless they
        /// [replace](PostToolDecision::replaces_contexts) those.
        contexts: Vec<Message>,
    },
    /// The model is shown other content; a success keeps its value.
    ReplaceContent {
        /// The content.
        content: Vec<Block>,
        /// Messages for the model, after the outcome's own unless they
        /// [replace](PostToolDecision::replaces_contexts) those.
        contexts: Vec<Message>,
    },
    /// A success gets another value and the content that follows from it.
    ReplaceValue {
        /// The value as JSON.
        value: Box<RawValue>,
        /// Messages for the model, after the outcome's own unless they
        /// [replace](PostToolDecision::replaces_contexts) those.
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

    /// A success gets `value`, and the content that follows from it. On a failed outcome this is
    /// itself a failure.
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

    /// The same with exactly these messages for the model: none of those it has, and none of the
    /// outcome's own. For policies that must not let any of them through as they are.
    pub fn replacing_contexts(self, contexts: Vec<Message>) -> Self {
        let mut data = self.0.data().expect("the host hands out readable Decisions only");
        data.contexts = contexts;
        let answer = self.0.with_data(&data);
        Self(Answer { flags: answer.flags | REPLACES_CONTEXTS, ..answer })
    }

    /// Whether its messages take the place of the outcome's own, rather than following them.
    pub fn replaces_contexts(&self) -> bool {
        self.0.flags & REPLACES_CONTEXTS != 0
    }

    /// The Decision, read.
    ///
    /// # Errors
    /// When it cannot be: see [`BadDecision`].
    pub fn verdict(&self) -> Result<PostTool, BadDecision> {
        let (verdict, _, data) = self.0.read(REPLACES_CONTEXTS)?;
        let Data { content, value, contexts, .. } = data;
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
