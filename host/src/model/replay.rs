//! A model that says again what one said in a recorded session.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use lockgate_plugin_api::{Message, Source};
use thiserror::Error;

use super::answers::{Answer, Answers, End, chunks, finish};
use super::staged::{self, StagedError};
use super::{Chunks, Model, ModelName, Request, stem};
use crate::session::{self, Chunk, Event, Fact, FinishReason, ReadError, TurnEndReason, Usage};

/// A model that serves the answers of a recording in order, whatever it is asked.
#[derive(Debug)]
pub struct Replay {
    model: String,
    prompts: Vec<Message>,
    answers: Answers,
}

/// A recording that cannot be replayed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenReplayError {
    /// The file cannot be read.
    #[error("cannot read the recording `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// It is no session log.
    #[error(transparent)]
    Log(#[from] ReadError),
    /// It holds staged answers, and they are wrong.
    #[error(transparent)]
    Staged(#[from] StagedError),
}

impl Replay {
    /// The model of the recording in `path`, for a session that works in `cwd`.
    ///
    /// A JSON array instead of a session log holds staged answers, one an entry: `chunks` to
    /// stream; a `hang` that says `partial`, creates `readyFile` in `cwd` and waits to be
    /// cancelled; a `throw` of `chunks` and then a failure of `code` and `message`.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or is neither.
    pub fn open(path: &Path, cwd: &Path) -> Result<Self, OpenReplayError> {
        let failed = |cause| OpenReplayError::Read { path: path.to_owned(), cause };
        if is_array(path).map_err(failed)? {
            let answers = Answers::new(path, staged::read(path, cwd)?);
            return Ok(Self { model: stem(path), prompts: Vec::new(), answers });
        }
        let recording = session::read(path)?;
        let model = recorded_model(&recording.events).unwrap_or_else(|| stem(path));
        let prompts = session::prompts(&recording);
        let answers = Answers::new(path, answers(recording.events));
        Ok(Self { model, prompts, answers })
    }
}

impl Model for Replay {
    /// The provider `replay`; the model first asked in the recording, or the file's name.
    fn name(&self) -> ModelName {
        ModelName { provider: "replay".to_owned(), model: self.model.clone() }
    }

    fn request(&self, request: Request) -> Chunks {
        self.answers.next(request.signal)
    }

    fn prompts(&self) -> &[Message] {
        &self.prompts
    }
}

fn is_array(path: &Path) -> io::Result<bool> {
    let mut file = BufReader::new(File::open(path)?);
    let start = file.fill_buf()?;
    Ok(start.trim_ascii_start().first() == Some(&b'['))
}

fn recorded_model(events: &[Event]) -> Option<String> {
    events.iter().find_map(|it| {
        let Fact::RequestHeader { header, .. } = &it.fact else { return None };
        Some(header.config.model.clone())
    })
}

/// The answers of a recording, one for each request that the model was sent.
///
/// A request that failed is one of them, and ends as it did. So is one that was cancelled, with
/// what was kept of it: the rest may be half a tool call, which nobody should run.
fn answers(events: Vec<Event>) -> Vec<Answer> {
    let mut answers: Vec<Vec<Chunk>> = Vec::new();
    let mut run = Vec::new();
    let mut streamed = true;
    for event in events {
        if let Fact::AssistantChunk { chunk, .. } = event.fact {
            if run.last().is_some_and(is_failure) {
                answers.push(std::mem::take(&mut run));
            }
            run.push(chunk);
        } else if let Fact::AssistantMessage { message, usage, interrupted, .. } = event.fact {
            let run = std::mem::take(&mut run);
            streamed = !run.is_empty() && !interrupted;
            answers.push(if streamed { run } else { said(message, usage) });
        } else if let Fact::StepEnd { .. } = event.fact {
            let run = std::mem::take(&mut run);
            if let Some(last) = run.last() {
                answers.push(if is_failure(last) { run } else { Vec::new() });
            }
        } else if let Fact::TurnEnd { reason: TurnEndReason::MaxTokens, .. } = event.fact
            && !streamed
            && let Some(Chunk::Finish { reason, .. }) =
                answers.last_mut().and_then(|it| it.last_mut())
        {
            *reason = FinishReason::MaxTokens;
        }
    }
    answers.into_iter().map(|chunks| Answer { chunks, end: End::Over }).collect()
}

fn is_failure(chunk: &Chunk) -> bool {
    let Chunk::Finish { reason, .. } = chunk else { return false };
    match reason {
        FinishReason::Error { .. } | FinishReason::Aborted { .. } => true,
        FinishReason::Stop | FinishReason::ToolCalls | FinishReason::MaxTokens => false,
    }
}

fn said(message: Message, usage: Option<Usage>) -> Vec<Chunk> {
    let Message { content, source, .. } = message;
    let replay_state = match source {
        Source::Model { replay_state, .. } => replay_state,
        Source::User | Source::Plugin { .. } | Source::Tool { .. } | Source::Other(_) => None,
    };
    chunks(&content, usage, finish(&content), replay_state)
}
