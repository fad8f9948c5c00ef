//! The tool `write`: a file with exactly this content.

use std::sync::{Arc, Mutex, PoisonError};

use lockgate_plugin_api::{Run, Tool, ToolError, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Config;
use crate::failure;
use crate::path;
use crate::replace::{Before, replace};

/// The tool.
pub(crate) struct Write {
    pub(crate) config: Arc<Config>,
    pub(crate) changing: Arc<Mutex<()>>,
}

#[derive(Deserialize)]
struct Args {
    file_path: String,
    content: String,
}

impl Tool for Write {
    fn spec(&self) -> ToolSpec {
        let description = "Writes a text file: creates it and the directories above it, or \
                           replaces everything that is in it.";
        ToolSpec::new("write", description)
            .parameters(json!({
                "type": "object",
                "properties": {
                    "file_path": {"type": "string", "description": "The file, absolute or from the working directory."},
                    "content": {"type": "string", "description": "All that will be in the file."},
                },
                "required": ["file_path", "content"],
            }))
            .output(json!({"type": "string"}))
    }

    async fn execute(&self, run: &Run) -> Result<Value, ToolError> {
        let call = run.call();
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        write(&self.config, call.cwd(), call.arguments()).map(Value::String)
    }
}

fn write(config: &Config, cwd: Option<&str>, arguments: &str) -> Result<String, ToolError> {
    let args: Args = failure::arguments(arguments)?;
    let place = path::resolve(&config.roots, cwd, &args.file_path)?;
    let done = match replace(&place, &args.content, config.max_file_size)? {
        Before::Nothing => "created",
        Before::File => "overwritten",
    };
    Ok(format!("{done}: `{}`, bytes: {}", place.given, args.content.len()))
}

#[cfg(test)]
mod tests;
