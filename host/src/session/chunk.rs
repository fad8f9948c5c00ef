//! What a model sends while it answers, and what it was asked with.

use lockgate_plugin_api::Block;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

/// One piece of a streamed answer.
///
/// The blocks of an answer are numbered by `index`, from 0, and may be streamed interleaved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Chunk {
    /// A block begins.
    BlockStart {
        /// Which block.
        index: u32,
        /// What it will hold.
        block_type: BlockKind,
    },
    /// More of a text block.
    TextDelta {
        /// Which block.
        index: u32,
        /// What comes next in it.
        text: String,
    },
    /// More of a reasoning block.
    ReasoningDelta {
        /// Which block.
        index: u32,
        /// What comes next in it.
        text: String,
    },
    /// More of a tool call.
    ToolCallDelta {
        /// Which block.
        index: u32,
        /// The call's id, the same in each delta.
        id: String,
        /// The tool's whole name, in the first delta at least.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// What comes next of the arguments' text.
        arguments_delta: String,
    },
    /// A block is complete.
    BlockEnd {
        /// Which block.
        index: u32,
        /// The block, whole; it prevails over its deltas.
        block: Block,
    },
    /// What the answer cost.
    Usage {
        /// The tokens.
        usage: Usage,
    },
    /// The answer is over. A stream without this one ends in [`FinishReason::Stop`].
    Finish {
        /// Why.
        reason: FinishReason,
        /// What the provider wants back in the next request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replay_state: Option<Value>,
    },
}

/// What a streamed block will hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BlockKind {
    /// Text.
    Text,
    /// Reasoning.
    Reasoning,
    /// A tool call.
    ToolCall,
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum FinishReason {
    /// It has said everything.
    Stop,
    /// It waits for the tools it called.
    ToolCalls,
    /// It may say no more; a tool call may be cut in half.
    MaxTokens,
    /// The request was called off.
    Aborted {
        /// How that showed.
        failure: LlmFailure,
    },
    /// The request failed.
    Error {
        /// How.
        failure: LlmFailure,
    },
}

/// What one answer cost, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Read.
    pub input_tokens: u64,
    /// Written.
    pub output_tokens: u64,
    /// Read from the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read_tokens: Option<u64>,
    /// Put into the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u64>,
    /// Thought, out of those written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
}

/// How a request to a model failed.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[error("{message} ({code})")]
#[serde(rename_all = "camelCase")]
pub struct LlmFailure {
    /// What a person is told.
    pub message: String,
    /// What a program decides by: `AUTH`, `NO_ADAPTER`, `UNKNOWN`, a provider's own, …
    pub code: String,
    /// The HTTP status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// How long the provider wants to be left alone, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_retry_after_ms: Option<u64>,
    /// The provider's id of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

impl LlmFailure {
    /// A failure of which only the code and the message are known.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            code: code.into(),
            status: None,
            provider_retry_after_ms: None,
            request_id: None,
        }
    }
}

/// Which model is asked, and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallConfig {
    /// Who serves the model.
    pub provider: String,
    /// Which one.
    pub model: String,
    /// How hard it should think, in the provider's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<String>,
    /// The sampling temperature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The most tokens one answer may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// The texts that end an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Vec<String>>,
}
