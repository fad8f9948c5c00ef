//! What an author writes to offer a tool.

use std::error::Error;
use std::future::Future;
use std::time::Duration;

use serde_json::{Value, json};

use crate::abi::call::ToolCall;
use crate::abi::tool::Run;
use crate::message::Block;
use crate::outcome::ToolOutcome;

/// A tool that models can call.
///
/// Offered in [`Plugin::tools`](crate::Plugin::tools). Its methods may run on any thread, several
/// at once.
pub trait Tool: Send + Sync + 'static {
    /// What the tool is. Called once, when it is offered.
    fn spec(&self) -> ToolSpec;

    /// Runs the tool and returns its value.
    ///
    /// The host never abandons a body: one that can take long watches
    /// [`run.cancelled()`](Run::cancelled) and returns early.
    ///
    /// # Errors
    /// What the model is told as `Error: <message>`.
    fn execute(&self, run: &Run) -> impl Future<Output = Result<Value, ToolError>> + Send;

    /// What the model is shown of a value (JSON text). `None`, the default, leaves it to the
    /// host: a text as it is, anything else as JSON.
    fn render(&self, _call: &ToolCall, _value: &str) -> Option<Vec<Block>> {
        None
    }

    /// What whoever presents the outcome gets of a value (JSON text). `None`, the default, is
    /// nothing. Not asked for calls from inside another call.
    fn present(&self, _call: &ToolCall, _value: &str) -> Option<Value> {
        None
    }

    /// The last word on what the model is shown: once a call, whatever became of it. `None`, the
    /// default, leaves it. Only asked if [`ToolSpec::has_last_word`] is set.
    fn finalize_content(&self, _call: &ToolCall, _outcome: &ToolOutcome) -> Option<Vec<Block>> {
        None
    }

    /// Whether a call with these arguments (JSON text) may run beside others of its step. By
    /// default none may.
    fn is_parallel_safe(&self, _arguments: &str) -> bool {
        false
    }
}

/// What a tool is.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// The name models call it by.
    pub name: String,
    /// What models are told of it.
    pub description: String,
    /// The JSON Schema of its arguments: see [`parameters`](Self::parameters()).
    pub parameters: Value,
    /// The JSON Schema of its value: see [`output`](Self::output()).
    pub output: Value,
    /// The time it gives itself; a policy around it keeps it.
    pub budget: Option<Duration>,
    /// Whether [`Tool::finalize_content`] is to be asked.
    pub has_last_word: bool,
}

impl ToolSpec {
    /// A tool of this name that takes an object and returns any value.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            parameters: json!({"type": "object"}),
            output: json!({}),
            budget: None,
            has_last_word: false,
        }
    }

    /// Takes arguments of this JSON Schema. The host checks them before the body runs, and a call
    /// with others fails with `INVALID_ARGS`. Keys that the schema does not name are let through
    /// unless it says `"additionalProperties": false`; a `default` is for the model and is not
    /// filled in.
    ///
    /// A schema has `"type"` (one of `string`, `number`, `integer`, `boolean`, `null`, `array`,
    /// `object`), or `"oneOf"` with two schemas at least, or neither, for any value. Objects may
    /// have `properties`, `required` and a boolean `additionalProperties`; arrays `items`; the
    /// other types `enum` and `const`; all of them `title`, `description`, `default` and
    /// `examples`. A plugin with any other keyword is refused, since nobody would check it: say it
    /// in the description and check it in the body.
    pub fn parameters(self, schema: Value) -> Self {
        Self { parameters: schema, ..self }
    }

    /// Returns values of this JSON Schema, of the same dialect. The host checks each value that
    /// the call could return, and one that does not fit fails it with `INVALID_TOOL_OUTPUT`.
    pub fn output(self, schema: Value) -> Self {
        Self { output: schema, ..self }
    }

    /// Has the last word on what the model is shown: see [`Tool::finalize_content`].
    pub fn last_word(self) -> Self {
        Self { has_last_word: true, ..self }
    }

    /// Gives itself `time`, in whole milliseconds.
    pub fn budget(self, time: Duration) -> Self {
        Self { budget: Some(time), ..self }
    }
}

/// Why a tool failed: a message for the model, and a name and a code for programs if it has them.
///
/// Any error becomes one, with the messages of its causes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolError {
    message: String,
    code: Option<(String, String)>,
}

impl ToolError {
    /// A failure with a message.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: None }
    }

    /// A failure with a name and a code too, `("ToolArgsError", "INVALID_ARGS")`.
    pub fn coded(
        message: impl Into<String>,
        name: impl Into<String>,
        code: impl Into<String>,
    ) -> Self {
        Self { message: message.into(), code: Some((name.into(), code.into())) }
    }

    pub(crate) fn into_outcome(self) -> ToolOutcome {
        match self.code {
            None => ToolOutcome::failure(self.message),
            Some((name, code)) => ToolOutcome::coded_failure(self.message, name, code),
        }
    }
}

impl<E: Error> From<E> for ToolError {
    fn from(error: E) -> Self {
        Self::new(crate::plugin::error_chain(&error))
    }
}
