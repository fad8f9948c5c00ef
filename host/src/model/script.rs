//! A model that says what a person wrote down for it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use lockgate_plugin_api::{Block, Message, Role, Source};
use serde::Deserialize;
use serde_json::{Map, Value};
use thiserror::Error;
use uuid::Uuid;

use super::answers::{Answer, Answers, End, chunks, finish};
use super::{Chunks, Model, ModelName, Request, stem};
use crate::session::LlmFailure;

/// A model that serves the answers of a script in order, whatever it is asked.
#[derive(Debug)]
pub struct Script {
    model: String,
    prompts: Vec<Message>,
    answers: Answers,
}

/// A script that cannot be read.
#[derive(Debug, Error)]
pub enum OpenScriptError {
    /// The file cannot be read.
    #[error("cannot read the script `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// The file is not JSON.
    #[error("the script `{}` is not JSON", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: serde_json::Error,
    },
    /// The file holds something else than answers.
    #[error("the script `{}` is neither an array of answers nor {{prompts, answers}}", path.display())]
    Shape {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: serde_json::Error,
    },
    /// An answer is not what it should be.
    #[error(
        "answer {entry} of the script `{}` is neither a text, nor {{text, calls: [{{name, arguments}}]}}, \
         nor {{fail: {{message, code}}}}",
        path.display()
    )]
    Entry {
        /// The file.
        path: PathBuf,
        /// The answer, from 1.
        entry: usize,
        /// Why.
        #[source]
        cause: serde_json::Error,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Play {
    #[serde(default)]
    prompts: Vec<String>,
    answers: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Says {
    #[serde(default)]
    text: String,
    #[serde(default)]
    calls: Vec<Call>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    name: String,
    #[serde(default)]
    arguments: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fails {
    fail: LlmFailure,
}

impl Script {
    /// The model of the script in `path`.
    ///
    /// The script is a JSON array with one answer a request, or an object of such `answers` and
    /// the `prompts` to give, which are texts. An answer is a text; or `text` and `calls`, each
    /// of a `name` and `arguments`; or what the request `fail`s with, a `message` and a `code`.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or for the first answer that is none of these.
    pub fn open(path: &Path) -> Result<Self, OpenScriptError> {
        let text = fs::read(path)
            .map_err(|cause| OpenScriptError::Read { path: path.to_owned(), cause })?;
        let value: Value = serde_json::from_slice(&text)
            .map_err(|cause| OpenScriptError::Json { path: path.to_owned(), cause })?;
        let Play { prompts, answers } = match value {
            Value::Array(answers) => Play { prompts: Vec::new(), answers },
            value => serde_json::from_value(value)
                .map_err(|cause| OpenScriptError::Shape { path: path.to_owned(), cause })?,
        };
        let mut calls = 0;
        let answers = (1..).zip(answers).map(|(number, value)| {
            answer(value, &mut calls).map_err(|cause| OpenScriptError::Entry {
                path: path.to_owned(),
                entry: number,
                cause,
            })
        });
        let answers = answers.collect::<Result<_, OpenScriptError>>()?;
        Ok(Self {
            model: stem(path),
            prompts: prompts.into_iter().map(prompt).collect(),
            answers: Answers::new(path, answers),
        })
    }
}

impl Model for Script {
    /// The provider `script`; as the model, the file's name.
    fn name(&self) -> ModelName {
        ModelName { provider: "script".to_owned(), model: self.model.clone() }
    }

    fn request(&self, request: Request) -> Chunks {
        self.answers.next(request.signal)
    }

    fn prompts(&self) -> &[Message] {
        &self.prompts
    }
}

/// The answer that `value` describes, after `calls` tool calls, to which it adds its own.
fn answer(value: Value, calls: &mut usize) -> Result<Answer, serde_json::Error> {
    let says = match value {
        Value::String(text) => Says { text, calls: Vec::new() },
        Value::Object(object) if object.contains_key("fail") => {
            let Fails { fail } = serde_json::from_value(Value::Object(object))?;
            return Ok(Answer { chunks: Vec::new(), end: End::Fail(fail) });
        }
        value => serde_json::from_value(value)?,
    };
    let mut content = Vec::new();
    if !says.text.is_empty() {
        content.push(Block::Text { text: says.text });
    }
    for Call { name, arguments } in says.calls {
        *calls += 1;
        let arguments = Value::Object(arguments).to_string();
        content.push(Block::ToolCall { id: format!("call_{calls}"), name, arguments });
    }
    Ok(Answer { chunks: chunks(&content, None, finish(&content), None), end: End::Over })
}

fn prompt(text: String) -> Message {
    Message {
        id: Uuid::new_v4().to_string(),
        role: Role::User,
        content: vec![Block::Text { text }],
        source: Source::User,
    }
}
