//! Answers that are known beforehand, served one a request.

use std::future::ready;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::{StreamExt, stream};
use lockgate_plugin_api::Block;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::Chunks;
use crate::session::{BlockKind, Chunk, FinishReason, LlmFailure, Usage};

/// One answer: what is streamed, and what comes after it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Answer {
    pub(super) chunks: Vec<Chunk>,
    pub(super) end: End,
}

/// What comes after the last chunk of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum End {
    /// Nothing.
    Over,
    /// The stream fails.
    Fail(LlmFailure),
    /// This file is created, and then nothing happens until the request is cancelled.
    Hang(PathBuf),
}

/// Answers in a row.
#[derive(Debug)]
pub(super) struct Answers {
    file: PathBuf,
    answers: Vec<Answer>,
    served: AtomicUsize,
}

impl Answers {
    /// The answers that `file` holds.
    pub(super) fn new(file: &Path, answers: Vec<Answer>) -> Self {
        Self { file: file.to_owned(), answers, served: AtomicUsize::new(0) }
    }

    /// The next answer; past the last one, a failure with the code `REPLAY_EXHAUSTED`.
    pub(super) fn next(&self, signal: CancellationToken) -> Chunks {
        let place = self.served.fetch_add(1, Ordering::Relaxed);
        let Some(Answer { chunks, end }) = self.answers.get(place).cloned() else {
            let failure = LlmFailure::new("REPLAY_EXHAUSTED", self.exhausted(place + 1));
            return Box::pin(stream::once(ready(Err(failure))));
        };
        let chunks = stream::iter(chunks).map(Ok);
        match end {
            End::Over => Box::pin(chunks),
            End::Fail(failure) => Box::pin(chunks.chain(stream::once(ready(Err(failure))))),
            End::Hang(file) => Box::pin(chunks.chain(stream::once(hang(file, signal)))),
        }
    }

    fn exhausted(&self, request: usize) -> String {
        let held = match self.answers.len() {
            1 => "1 answer".to_owned(),
            count => format!("{count} answers"),
        };
        format!("`{}` holds {held}, and request {request} wants another", self.file.display())
    }
}

async fn hang(file: PathBuf, signal: CancellationToken) -> Result<Chunk, LlmFailure> {
    if let Err(error) = std::fs::write(&file, "") {
        let message = format!("cannot create `{}`: {error}", file.display());
        return Err(LlmFailure::new("READY_FILE", message));
    }
    signal.cancelled().await;
    Err(LlmFailure::new("ABORTED", "the request was cancelled"))
}

/// The chunks of an answer of which only the outcome is known, each block in one piece.
pub(super) fn chunks(
    content: &[Block],
    usage: Option<Usage>,
    reason: FinishReason,
    replay_state: Option<Value>,
) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    for (index, block) in (0..).zip(content) {
        let (block_type, delta) = match block.clone() {
            Block::Text { text } => (BlockKind::Text, Chunk::TextDelta { index, text }),
            Block::Reasoning { text } => {
                (BlockKind::Reasoning, Chunk::ReasoningDelta { index, text })
            }
            Block::ToolCall { id, name, arguments } => {
                let name = Some(name);
                let delta = Chunk::ToolCallDelta { index, id, name, arguments_delta: arguments };
                (BlockKind::ToolCall, delta)
            }
            // A model does not say these.
            Block::Image { .. } | Block::ToolResult { .. } => continue,
        };
        let end = Chunk::BlockEnd { index, block: block.clone() };
        chunks.extend([Chunk::BlockStart { index, block_type }, delta, end]);
    }
    chunks.extend(usage.map(|usage| Chunk::Usage { usage }));
    chunks.push(Chunk::Finish { reason, replay_state });
    chunks
}

/// Why a model that said `content` stopped.
pub(super) fn finish(content: &[Block]) -> FinishReason {
    if content.iter().any(|it| matches!(it, Block::ToolCall { .. })) {
        return FinishReason::ToolCalls;
    }
    FinishReason::Stop
}
