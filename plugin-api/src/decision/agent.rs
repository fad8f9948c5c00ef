//! The Decisions of an agent's turns, made and read.

use super::{Answer, BadDecision, Data, PreStepDecision, PromptDecision};
use crate::message::{Block, Message};

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

    /// The same with one more message, which follows the prompt, before those it has: as for
    /// [`PostToolDecision::with_context`](crate::PostToolDecision::with_context). A block has none.
    pub fn with_context(self, context: Message) -> Self {
        let mut data = self.0.data().expect("the host hands out readable Decisions only");
        data.contexts.insert(0, context);
        Self(self.0.with_data(&data))
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
        let (verdict, text, Data { content, contexts, .. }) = self.0.read(0)?;
        match verdict {
            Self::ALLOW => Ok(Prompt::Allow { content, contexts }),
            Self::BLOCK => Ok(Prompt::Block { reason: text }),
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
        let (verdict, text, Data { messages, .. }) = self.0.read(0)?;
        match verdict {
            Self::ENTER => {
                let messages = messages.ok_or(BadDecision::Missing("messages"))?;
                Ok(PreStep::Enter { messages })
            }
            Self::REJECT => Ok(PreStep::Reject { reason: text }),
            unknown => Err(BadDecision::Verdict(unknown)),
        }
    }
}
