//! The tool `edit`: replaces an exact text in a file.

use std::sync::{Arc, Mutex, PoisonError};

use lockgate_plugin_api::{Run, Tool, ToolError, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Config;
use crate::failure::{self, Code, failed, invalid};
use crate::path::{self, Place};
use crate::replace::replace;
use crate::text;

/// The tool.
pub(crate) struct Edit {
    pub(crate) config: Arc<Config>,
    pub(crate) changing: Arc<Mutex<()>>,
}

#[derive(Deserialize)]
struct Args {
    file_path: String,
    old_string: String,
    new_string: String,
    replace_all: Option<bool>,
}

impl Tool for Edit {
    fn spec(&self) -> ToolSpec {
        let description = "Replaces a text in a file by another. The old text must be in the file \
                           exactly as given, and once only unless all are to be replaced.";
        ToolSpec::new("edit", description)
            .parameters(json!({
                "type": "object",
                "properties": {
                    "file_path": {"type": "string", "description": "The file, absolute or from the working directory."},
                    "old_string": {"type": "string", "description": "The text to replace, without line numbers; not empty."},
                    "new_string": {"type": "string", "description": "The text that takes its place."},
                    "replace_all": {"type": "boolean", "description": "Replaces every occurrence."},
                },
                "required": ["file_path", "old_string", "new_string"],
            }))
            .output(json!({"type": "string"}))
    }

    async fn execute(&self, run: &Run) -> Result<Value, ToolError> {
        let call = run.call();
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        edit(&self.config, call.cwd(), call.arguments()).map(Value::String)
    }
}

fn edit(config: &Config, cwd: Option<&str>, arguments: &str) -> Result<String, ToolError> {
    let args: Args = failure::arguments(arguments)?;
    if args.old_string.is_empty() {
        return Err(invalid("`old_string` is empty; create files with `write`"));
    }
    if args.old_string == args.new_string {
        return Err(invalid("`old_string` and `new_string` are the same: nothing would change"));
    }
    let place = path::resolve(&config.roots, cwd, &args.file_path)?;
    let text = text::text(&place, config.max_file_size)?;
    let Found { first, count } = find(&text, &args, &place)?;
    // Before it is made: many small texts replaced by a large one do not fit into memory.
    let size = size_after(text.len(), count, args.old_string.len(), args.new_string.len());
    if !u64::try_from(size).is_ok_and(|it| it <= config.max_file_size) {
        return Err(failure::too_large(&place, "would be", config.max_file_size));
    }
    replace(&place, &text.replace(&args.old_string, &args.new_string), config.max_file_size)?;
    let line = text[..first].matches('\n').count() + 1;
    Ok(format!("edited: `{}`, replaced: {count}, first at line: {line}", place.given))
}

/// Where a text was found.
struct Found {
    /// The byte where the first occurrence begins.
    first: usize,
    /// How many occurrences there are, none within another.
    count: usize,
}

/// Finds the old text, once or as often as the call allows.
fn find(text: &str, args: &Args, place: &Place) -> Result<Found, ToolError> {
    let (old, given) = (args.old_string.as_str(), place.given);
    let (Some(first), Some(last)) = (text.find(old), text.rfind(old)) else {
        let hint = match old.contains('\n') && text.contains("\r\n") {
            true => "the lines of the file end in \\r\\n, so must those of `old_string`",
            false => "`read` the file and copy the text with its white space",
        };
        let message = format!("`old_string` is not in `{given}`; {hint}");
        return Err(failed(Code::NoMatch, message));
    };
    let count = text.matches(old).count();
    if first == last || args.replace_all == Some(true) {
        return Ok(Found { first, count });
    }
    // Occurrences that overlap count as one above, and are two to choose from.
    let message = format!(
        "`old_string` is in `{given}` {} times; add lines around it until it is unique, or set \
         `replace_all`",
        count.max(2)
    );
    Err(failed(Code::NotUnique, message))
}

/// The bytes of a text in which `count` occurrences of `old` bytes become ones of `new` bytes.
fn size_after(text: usize, count: usize, old: usize, new: usize) -> usize {
    (text - count * old).saturating_add(count.saturating_mul(new))
}

#[cfg(test)]
mod tests;
