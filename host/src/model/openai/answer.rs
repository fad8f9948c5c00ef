//! The pieces of an answer as the provider streams them, made into chunks of ours.

use std::collections::BTreeMap;

use lockgate_plugin_api::Block;
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use super::failure;
use crate::session::{BlockKind, Chunk, FinishReason, LlmFailure, Usage};

/// What says that no piece follows.
const DONE: &str = "[DONE]";

/// An answer, as far as it has been streamed.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// The blocks that are open, by their numbers here.
    open: BTreeMap<u32, Block>,
    /// The number of the next block.
    next: u32,
    /// Which block each of the provider's tool calls is.
    calls: BTreeMap<u32, u32>,
    usage: Option<Usage>,
    finish: Option<Finish>,
}

/// Why the model stopped, in the words of the provider that we know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Finish {
    /// It has said everything, or waits for tools: providers mix these up, so the calls decide.
    Stop,
    Length,
}

/// What comes after a piece.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Another piece.
    Piece,
    /// Nothing.
    Nothing,
}

#[derive(Deserialize)]
struct Piece {
    #[serde(default)]
    choices: Vec<Choice>,
    usage: Option<Tokens>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    index: u32,
    delta: Option<Delta>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Delta {
    content: Option<String>,
    /// What it says instead where it will not answer.
    refusal: Option<String>,
    reasoning_content: Option<String>,
    /// The same with other providers; some say both.
    reasoning: Option<String>,
    tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Deserialize)]
struct CallDelta {
    #[serde(default)]
    index: u32,
    id: Option<String>,
    function: Option<FunctionDelta>,
}

#[derive(Deserialize)]
struct FunctionDelta {
    name: Option<String>,
    arguments: Option<String>,
}

#[derive(Deserialize)]
struct Tokens {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
    prompt_tokens_details: Option<PromptTokens>,
    completion_tokens_details: Option<CompletionTokens>,
    /// DeepSeek's word for the cached ones.
    prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct PromptTokens {
    cached_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct CompletionTokens {
    reasoning_tokens: Option<u64>,
}

impl Answer {
    /// Reads the data of one event, and appends what it means to `chunks`.
    pub(super) fn read(&mut self, data: &str, chunks: &mut Vec<Chunk>) -> Result<Next, LlmFailure> {
        if data.trim() == DONE {
            return Ok(Next::Nothing);
        }
        let piece: Piece = serde_json::from_str(data).map_err(|error| {
            failure::malformed(format!("a piece of the answer is not what it should be: {error}"))
        })?;
        if let Some(error) = piece.error {
            return Err(failure::streamed(&error));
        }
        // The tokens may come with a piece of their own, after the one that ends the answer.
        if let Some(tokens) = piece.usage {
            self.usage = Some(usage(tokens));
        }
        for choice in piece.choices.into_iter().filter(|it| it.index == 0) {
            if let Some(delta) = choice.delta {
                self.add(delta, chunks)?;
            }
            if let Some(reason) = choice.finish_reason.filter(|it| !it.is_empty()) {
                self.finish = Some(finish(&reason)?);
            }
        }
        Ok(Next::Piece)
    }

    /// Whether the provider has said why the model stopped.
    pub(super) fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    /// Appends to `chunks` what the end of the answer means. `closed` says whether the provider
    /// marked the end; an answer whose end is not marked and that says no reason was cut off.
    pub(super) fn end(mut self, closed: bool, chunks: &mut Vec<Chunk>) -> Result<(), LlmFailure> {
        if !closed && self.finish.is_none() {
            return Err(failure::cut_off("the stream ended before the answer did"));
        }
        let finish = self.finish.unwrap_or(Finish::Stop);
        for block in self.open.keys().copied().collect::<Vec<_>>() {
            self.close(block, chunks);
        }
        let reason = match finish {
            Finish::Length => FinishReason::MaxTokens,
            Finish::Stop if self.calls.is_empty() => FinishReason::Stop,
            Finish::Stop => FinishReason::ToolCalls,
        };
        if reason == FinishReason::Stop && self.next == 0 {
            return Err(failure::empty());
        }
        chunks.extend(self.usage.map(|usage| Chunk::Usage { usage }));
        chunks.push(Chunk::Finish { reason, replay_state: None });
        Ok(())
    }

    fn add(&mut self, delta: Delta, chunks: &mut Vec<Chunk>) -> Result<(), LlmFailure> {
        let said = |it: Option<String>| it.filter(|it| !it.is_empty());
        if let Some(text) = said(delta.reasoning_content).or(said(delta.reasoning)) {
            let index = self.text(BlockKind::Reasoning, &text, chunks);
            chunks.push(Chunk::ReasoningDelta { index, text });
        }
        for text in [said(delta.content), said(delta.refusal)].into_iter().flatten() {
            let index = self.text(BlockKind::Text, &text, chunks);
            chunks.push(Chunk::TextDelta { index, text });
        }
        for call in delta.tool_calls.unwrap_or_default() {
            self.call(call, chunks)?;
        }
        Ok(())
    }

    /// Adds to the block of text that is open, and opens one of this kind where none is.
    fn text(&mut self, kind: BlockKind, text: &str, chunks: &mut Vec<Chunk>) -> u32 {
        let is_same = |it: &Block| match it {
            Block::Text { .. } => kind == BlockKind::Text,
            Block::Reasoning { .. } => kind == BlockKind::Reasoning,
            Block::Image { .. } | Block::ToolCall { .. } | Block::ToolResult { .. } => false,
        };
        let open = self.open.iter().find(|(_, it)| is_same(it)).map(|(index, _)| *index);
        let index = open.unwrap_or_else(|| {
            self.close_texts(chunks);
            let block = match kind {
                BlockKind::Reasoning => Block::Reasoning { text: String::new() },
                BlockKind::Text | BlockKind::ToolCall => Block::text(""),
            };
            self.open(kind, block, chunks)
        });
        if let Some(Block::Text { text: said } | Block::Reasoning { text: said }) =
            self.open.get_mut(&index)
        {
            said.push_str(text);
        }
        index
    }

    fn call(&mut self, delta: CallDelta, chunks: &mut Vec<Chunk>) -> Result<(), LlmFailure> {
        let CallDelta { index: theirs, id, function } = delta;
        let FunctionDelta { name, arguments } =
            function.unwrap_or(FunctionDelta { name: None, arguments: None });
        let id = id.filter(|it| !it.is_empty());
        let name = name.filter(|it| !it.is_empty());
        // Some providers number every call 0: then it is the id that tells them apart.
        let known = self.calls.get(&theirs).copied().filter(|index| {
            let open = self.open.get(index);
            id.as_ref().is_none_or(
                |id| matches!(open, Some(Block::ToolCall { id: known, .. }) if known == id),
            )
        });
        let (index, named) = match known {
            Some(index) => (index, None),
            None => {
                let Some(name) = name else {
                    return Err(failure::malformed("a tool call of the answer has no name"));
                };
                self.close_texts(chunks);
                let id = id.unwrap_or_else(|| format!("call_{}", Uuid::new_v4().simple()));
                let block = Block::ToolCall { id, name: name.clone(), arguments: String::new() };
                let index = self.open(BlockKind::ToolCall, block, chunks);
                self.calls.insert(theirs, index);
                (index, Some(name))
            }
        };
        let arguments_delta = arguments.unwrap_or_default();
        if let Some(Block::ToolCall { id, arguments, .. }) = self.open.get_mut(&index)
            && (named.is_some() || !arguments_delta.is_empty())
        {
            arguments.push_str(&arguments_delta);
            let id = id.clone();
            chunks.push(Chunk::ToolCallDelta { index, id, name: named, arguments_delta });
        }
        Ok(())
    }

    fn open(&mut self, block_type: BlockKind, block: Block, chunks: &mut Vec<Chunk>) -> u32 {
        let index = self.next;
        self.next += 1;
        self.open.insert(index, block);
        chunks.push(Chunk::BlockStart { index, block_type });
        index
    }

    fn close(&mut self, index: u32, chunks: &mut Vec<Chunk>) {
        chunks.extend(self.open.remove(&index).map(|block| Chunk::BlockEnd { index, block }));
    }

    /// Closes what is no tool call: the pieces of calls may come in any order, those of texts not.
    fn close_texts(&mut self, chunks: &mut Vec<Chunk>) {
        let is_text = |it: &Block| match it {
            Block::Text { .. } | Block::Reasoning { .. } => true,
            Block::Image { .. } | Block::ToolCall { .. } | Block::ToolResult { .. } => false,
        };
        let texts: Vec<u32> =
            self.open.iter().filter(|(_, it)| is_text(it)).map(|(index, _)| *index).collect();
        for index in texts {
            self.close(index, chunks);
        }
    }
}

fn finish(reason: &str) -> Result<Finish, LlmFailure> {
    match reason {
        "stop" | "tool_calls" | "function_call" => Ok(Finish::Stop),
        "length" => Ok(Finish::Length),
        "content_filter" => Err(failure::filtered()),
        // DeepSeek's word for a server that cannot go on.
        "insufficient_system_resource" => Err(failure::overloaded()),
        // Whatever it means, the answer may be half of one: its tool calls are not to be run.
        other => Err(failure::malformed(format!(
            "the model stopped for a reason that is not known: `{other}`"
        ))),
    }
}

/// The tokens in our terms: those from the cache do not count among those read.
fn usage(tokens: Tokens) -> Usage {
    let cached = tokens
        .prompt_tokens_details
        .and_then(|it| it.cached_tokens)
        .or(tokens.prompt_cache_hit_tokens);
    Usage {
        input_tokens: tokens.prompt_tokens.saturating_sub(cached.unwrap_or(0)),
        output_tokens: tokens.completion_tokens,
        cache_read_tokens: cached,
        cache_write_tokens: None,
        reasoning_tokens: tokens.completion_tokens_details.and_then(|it| it.reasoning_tokens),
    }
}
