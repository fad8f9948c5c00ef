//! The seam to a language model: a request goes in, a stream of chunks comes out.

mod answers;
#[cfg(feature = "app")]
mod openai;
mod replay;
mod script;
mod staged;

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::str::FromStr;

use futures_util::Stream;
use lockgate_plugin_api::Message;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use crate::session::{CallConfig, Chunk, LlmFailure};

#[cfg(feature = "app")]
pub use openai::{Endpoint, IDLE_TIMEOUT, OpenAi, OpenEndpointError, RouteError};
pub use replay::{OpenReplayError, Replay};
pub use script::{OpenScriptError, Script};
pub use staged::StagedError;

/// Something that answers requests.
pub trait Model: Send + Sync {
    /// Who serves it, and which one it is.
    fn name(&self) -> ModelName;

    /// Asks for one answer.
    ///
    /// Nothing is asked before the stream is polled; an error ends it. Once `request.signal` fires
    /// the answer is worth nothing and the stream may end anyhow or not at all: whoever polls it
    /// watches the signal too.
    fn request(&self, request: Request) -> Chunks;

    /// The prompts that its answers were made for, in order; none for a model that takes any.
    fn prompts(&self) -> &[Message] {
        &[]
    }
}

/// A streamed answer, over with a [`Chunk::Finish`] or without one.
pub type Chunks = Pin<Box<dyn Stream<Item = Result<Chunk, LlmFailure>> + Send>>;

/// A model's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelName {
    /// Who serves it.
    pub provider: String,
    /// Which one it is.
    pub model: String,
}

/// One request for an answer.
#[derive(Debug, Clone)]
pub struct Request {
    /// The model and its settings.
    pub config: CallConfig,
    /// The system prompt.
    pub system: Option<String>,
    /// The conversation.
    pub messages: Vec<Message>,
    /// The tools it may call.
    pub tools: Vec<ToolSchema>,
    /// Fires when nobody wants the answer any more.
    pub signal: CancellationToken,
}

/// A tool as the model is told of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSchema {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
}

/// Which model to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelSpec {
    /// A recorded session, or answers staged for one request each.
    Replay(PathBuf),
    /// Answers written by hand.
    Script(PathBuf),
    /// A model that is asked over HTTP.
    #[cfg(feature = "app")]
    Endpoint(Endpoint),
}

/// A text that names no model.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{given}` is not a model: expected {SCHEMES}")]
pub struct ModelSpecError {
    given: String,
}

/// How models are named.
#[cfg(not(feature = "app"))]
const SCHEMES: &str = "replay:FILE (a recorded session) or script:FILE (answers written by hand)";
/// How models are named.
#[cfg(feature = "app")]
const SCHEMES: &str = "replay:FILE (a recorded session), script:FILE (answers written by hand), openai:MODEL (any OpenAI-compatible endpoint) or deepseek:MODEL";

impl FromStr for ModelSpec {
    type Err = ModelSpecError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            Some(("replay", file)) if !file.is_empty() => Ok(Self::Replay(file.into())),
            Some(("script", file)) if !file.is_empty() => Ok(Self::Script(file.into())),
            #[cfg(feature = "app")]
            Some(("openai", model)) if !model.is_empty() => {
                Ok(Self::Endpoint(Endpoint::openai(model)))
            }
            #[cfg(feature = "app")]
            Some(("deepseek", model)) if !model.is_empty() => {
                Ok(Self::Endpoint(Endpoint::deepseek(model)))
            }
            _ => Err(ModelSpecError { given: text.to_owned() }),
        }
    }
}

/// A model that cannot be opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenModelError {
    /// A replay.
    #[error(transparent)]
    Replay(#[from] OpenReplayError),
    /// A script.
    #[error(transparent)]
    Script(#[from] OpenScriptError),
    /// An endpoint.
    #[cfg(feature = "app")]
    #[error(transparent)]
    Endpoint(#[from] OpenEndpointError),
}

/// Opens the model that `spec` names, for a session that works in `cwd`.
///
/// # Errors
///
/// If its file cannot be read, or does not hold what it should; or if its endpoint cannot be asked.
pub fn open(spec: &ModelSpec, cwd: &Path) -> Result<Box<dyn Model>, OpenModelError> {
    Ok(match spec {
        ModelSpec::Replay(file) => Box::new(Replay::open(file, cwd)?),
        ModelSpec::Script(file) => Box::new(Script::open(file)?),
        #[cfg(feature = "app")]
        ModelSpec::Endpoint(endpoint) => Box::new(OpenAi::open(endpoint)?),
    })
}

/// The name of a file without its extension, to call a model by.
fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(all(test, feature = "app"))]
mod tests {
    use super::*;

    #[test]
    fn a_spec_names_a_kind_and_a_file_or_a_model() {
        #[track_caller]
        fn check(text: &str, expected: Option<ModelSpec>) {
            let expected = expected.ok_or_else(|| {
                format!(
                    "`{text}` is not a model: expected replay:FILE (a recorded session), script:FILE \
                     (answers written by hand), openai:MODEL (any OpenAI-compatible endpoint) or \
                     deepseek:MODEL"
                )
            });
            assert_eq!(text.parse::<ModelSpec>().map_err(|it| it.to_string()), expected);
        }
        check("replay:a:b.jsonl", Some(ModelSpec::Replay("a:b.jsonl".into())));
        check("script:./a.json", Some(ModelSpec::Script("./a.json".into())));
        check("openai:a:b/c", Some(ModelSpec::Endpoint(Endpoint::openai("a:b/c"))));
        check(
            "deepseek:deepseek-chat",
            Some(ModelSpec::Endpoint(Endpoint::deepseek("deepseek-chat"))),
        );
        check("script:", None);
        check("openai:", None);
        check("a.jsonl", None);
        check("oracle:a", None);
    }
}
