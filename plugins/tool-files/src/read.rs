//! The tool `read`: the numbered lines of a file, or the entries of a directory.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::sync::Arc;

use lockgate_plugin_api::{Run, Tool, ToolError, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Config;
use crate::failure::{self, invalid};
use crate::path::{self, Place};
use crate::text;

/// The lines of a page, where the call does not say.
const LIMIT: usize = 2000;

/// The characters of a line that are shown.
const LINE: usize = 2000;

/// The tool.
pub(crate) struct Read {
    pub(crate) config: Arc<Config>,
}

#[derive(Deserialize)]
struct Args {
    file_path: String,
    offset: Option<usize>,
    limit: Option<usize>,
}

impl Tool for Read {
    fn spec(&self) -> ToolSpec {
        let description = "Reads a text file and returns its lines, each with its number. \
                           Of a directory, returns the entries.";
        ToolSpec::new("read", description)
            .parameters(json!({
                "type": "object",
                "properties": {
                    "file_path": {"type": "string", "description": "The file, absolute or from the working directory."},
                    "offset": {"type": "integer", "description": "The first line to return; the file begins with line 1."},
                    "limit": {"type": "integer", "description": format!("How many lines to return at most, from 1 on; {LIMIT} if not given.")},
                },
                "required": ["file_path"],
            }))
            .output(json!({"type": "string"}))
    }

    async fn execute(&self, run: &Run) -> Result<Value, ToolError> {
        let call = run.call();
        read(&self.config, call.cwd(), call.arguments()).map(Value::String)
    }

    fn is_parallel_safe(&self, _: &str) -> bool {
        true
    }
}

fn read(config: &Config, cwd: Option<&str>, arguments: &str) -> Result<String, ToolError> {
    let args: Args = failure::arguments(arguments)?;
    let place = path::resolve(&config.roots, cwd, &args.file_path)?;
    let told = |error: io::Error| failure::io("read", place.given, &error);
    if fs::symlink_metadata(&place.path).map_err(told)?.is_dir() {
        let entries = entries(&place).map_err(told)?;
        let entries: Vec<&str> = entries.iter().map(String::as_str).collect();
        return page(&entries, &args, ["directory", "entries"]);
    }
    let text = text::text(&place, config.max_file_size)?;
    page(&text.lines().collect::<Vec<_>>(), &args, ["file", "lines"])
}

/// The names in a directory, sorted: `/` marks directories and `@` symbolic links.
fn entries(place: &Place) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(&place.path)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let mark = match (kind.is_dir(), kind.is_symlink()) {
            (true, _) => "/",
            (false, true) => "@",
            (false, false) => "",
        };
        names.push(format!("{}{mark}", entry.file_name().to_string_lossy()));
    }
    names.sort();
    Ok(names)
}

/// The lines that the call asks for, and what is left; `whole` and `parts` are what it calls the
/// thing and its lines.
fn page(lines: &[&str], args: &Args, [whole, parts]: [&str; 2]) -> Result<String, ToolError> {
    let (offset, limit) = (args.offset.unwrap_or(1), args.limit.unwrap_or(LIMIT));
    if offset == 0 || limit == 0 {
        return Err(invalid("`offset` and `limit` are at least 1"));
    }
    let total = lines.len();
    if total == 0 {
        return Ok(format!("(the {whole} is empty)"));
    }
    if offset > total {
        let given = &args.file_path;
        let message =
            format!("`offset` is {offset}, behind the end of `{given}`; total {parts}: {total}");
        return Err(invalid(message));
    }
    let end = total.min((offset - 1).saturating_add(limit));
    let mut shown = String::new();
    for (number, line) in (offset..=end).zip(&lines[offset - 1..]) {
        writeln!(shown, "{number}: {}", cut(line)).expect("a string takes everything");
    }
    let ending = match total - end {
        0 => format!("\n(end of {whole}; total {parts}: {total})"),
        _ => format!("\n(more from offset {}; total {parts}: {total})", end + 1),
    };
    Ok(shown + &ending)
}

/// As much of a line as is shown.
fn cut(line: &str) -> String {
    match line.char_indices().nth(LINE) {
        None => line.to_owned(),
        Some((end, _)) => {
            format!("{}… (cut; characters in the line: {})", &line[..end], line.chars().count())
        }
    }
}

#[cfg(test)]
mod tests;
