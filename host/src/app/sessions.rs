//! `lockgate sessions`: recorded sessions, for a person.

mod told;

use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Subcommand;
use lockgate_plugin_api::error_chain;
use serde::Serialize;
use serde_json::json;

use super::{Ending, Failure, moment, screen, session_file, watch_session};
use crate::session::{self, Fact, Recording};
use told::{Entry, Turn};

#[derive(Debug, Subcommand)]
pub(super) enum SessionsCommand {
    /// Lists the sessions of a directory, the latest last.
    List {
        /// The directory, instead of the one in the user's state directory.
        dir: Option<PathBuf>,
        /// Prints JSON.
        #[arg(long)]
        json: bool,
    },
    /// Shows what happened in a session: turns, prompts, answers, tool calls and decisions.
    Show {
        /// The session's log.
        file: PathBuf,
        /// Prints JSON.
        #[arg(long)]
        json: bool,
    },
}

/// What is told of one session in a list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    path: PathBuf,
    id: Option<String>,
    created_at: Option<u64>,
    turns: usize,
    events: usize,
    state: String,
    prompt: Option<String>,
    error: Option<String>,
}

pub(super) fn sessions(command: SessionsCommand) -> Result<Ending, Failure> {
    match command {
        SessionsCommand::List { dir, json } => list(dir, json),
        SessionsCommand::Show { file, json } => show(&file, json),
    }
}

fn list(dir: Option<PathBuf>, json: bool) -> Result<Ending, Failure> {
    let dir = match dir {
        Some(dir) => dir,
        // Made by the first session in it.
        None => session_file::directory().inspect(|it| drop(fs::create_dir_all(it)))?,
    };
    let cannot = |error| format!("cannot look for sessions in `{}`: {error}", dir.display());
    let mut paths = Vec::new();
    for entry in fs::read_dir(&dir).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        if path.extension() == Some(OsStr::new("jsonl")) {
            paths.push(path);
        }
    }
    let mut rows: Vec<Row> = paths.into_iter().map(row).collect();
    rows.sort_by(|a, b| (a.created_at, &a.path).cmp(&(b.created_at, &b.path)));
    if json {
        screen::json(&rows)?;
        return Ok(Ending::Done);
    }
    if rows.is_empty() {
        screen::line(&format!("no sessions in {}", dir.display()));
        return Ok(Ending::Done);
    }
    let mut table = screen::table();
    table.set_header(["begun", "turns", "events", "state", "prompt", "file"]);
    for row in &rows {
        table.add_row([
            row.created_at.map_or_else(|| "-".into(), moment::minute),
            row.turns.to_string(),
            row.events.to_string(),
            row.state.clone(),
            row.prompt.as_deref().map(beginning).unwrap_or_default(),
            row.path.file_name().unwrap_or_default().display().to_string(),
        ]);
    }
    screen::out(&format!("{table}\n"))?;
    Ok(Ending::Done)
}

fn row(path: PathBuf) -> Row {
    match session::read_whole_lines(&path) {
        Ok(recording) => {
            let turns = told::turns(&recording);
            let prompts = session::prompts(&recording);
            Row {
                id: Some(recording.header.id),
                created_at: Some(recording.header.created_at),
                turns: turns.len(),
                events: recording.events.len(),
                state: if is_in_use(&path) { "live".into() } else { state(&turns).into() },
                prompt: prompts.first().map(lockgate_plugin_api::Message::text),
                error: None,
                path,
            }
        }
        Err(error) => Row {
            path,
            id: None,
            created_at: None,
            turns: 0,
            events: 0,
            state: "unreadable".into(),
            prompt: None,
            error: Some(error_chain(&error)),
        },
    }
}

/// How a session that nobody goes on with was left.
fn state(turns: &[Turn]) -> &'static str {
    match turns.last() {
        None => "empty",
        Some(Turn { end: None, .. }) => "broken off",
        Some(Turn { end: Some(end), .. }) => watch_session::ending_word(end),
    }
}

/// Whether somebody appends to the log.
fn is_in_use(path: &Path) -> bool {
    // Held for no longer than it takes to ask.
    File::open(path).is_ok_and(|it| matches!(it.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

fn show(file: &Path, json: bool) -> Result<Ending, Failure> {
    let recording = session::read_whole_lines(file)?;
    let turns = told::turns(&recording);
    if json {
        let Recording { header, events } = &recording;
        screen::json(&json!({ "header": header, "events": events.len(), "turns": turns }))?;
        return Ok(Ending::Done);
    }
    let header = &recording.header;
    screen::out(&format!("session {}\n", header.id))?;
    screen::out(&format!("begun   {}\n", moment::minute(header.created_at)))?;
    if let Some(cwd) = &header.cwd {
        screen::out(&format!("in      {}\n", cwd.display()))?;
    }
    if let Some(parent) = &header.parent_session {
        screen::out(&format!("from    {parent}\n"))?;
    }
    if let Some(model) = model(&recording) {
        screen::out(&format!("model   {model}\n"))?;
    }
    turns.iter().try_for_each(show_turn)?;
    if let Err(violation) = session::validate(&recording) {
        screen::line(&error_chain(&violation));
    }
    Ok(Ending::Done)
}

fn model(recording: &Recording) -> Option<String> {
    recording.events.iter().rev().find_map(|it| {
        let Fact::RequestHeader { header, .. } = &it.fact else { return None };
        Some(format!("{}/{}", header.config.provider, header.config.model))
    })
}

fn show_turn(turn: &Turn) -> std::io::Result<()> {
    let end = turn.end.as_ref().map_or("not ended", watch_session::ending_word);
    screen::out(&format!("\nturn {}  {end}{}\n", turn.turn, took(turn.ms)))?;
    for entry in &turn.entries {
        screen::out(&match entry {
            Entry::Prompt { from: None, text } => format!("> {}\n", indented(text)),
            Entry::Prompt { from: Some(from), text } => format!("> [{from}] {}\n", indented(text)),
            Entry::Answer { text, ms } if text.is_empty() => {
                format!("  (nothing said){}\n", took(*ms))
            }
            Entry::Answer { text, ms } => format!("  {}{}\n", indented(text), took(*ms)),
            Entry::Call { name, arguments, ms, failed, code, text, .. } => {
                let code = code.as_ref().map_or(String::new(), |it| format!(" {it}"));
                let result = match failed {
                    None => "no result".to_owned(),
                    Some(_) => screen::first_line(text),
                };
                let call = format!("{} {}", screen::printable(name), screen::printable(arguments));
                let result = screen::printable(&result);
                format!("  {call}\n  = {result}{code}{}\n", took(*ms))
            }
            Entry::Approval { tool, reason, outcome } => {
                let reason = reason.as_ref().map_or(String::new(), |it| format!(" ({it})"));
                let outcome = outcome.map_or("no answer", |it| it.as_str());
                format!("    approval of {tool}{reason}: {outcome}\n")
            }
        })?;
    }
    Ok(())
}

/// As much of a text as a table has room for.
fn beginning(text: &str) -> String {
    let first = screen::printable(&screen::first_line(text));
    if first.chars().count() <= 60 {
        return first;
    }
    first.chars().take(59).chain(['…']).collect()
}

/// A text of which each line but the first is set in.
fn indented(text: &str) -> String {
    text.trim_end().lines().map(screen::printable).collect::<Vec<_>>().join("\n  ")
}

fn took(ms: Option<u64>) -> String {
    ms.map_or(String::new(), |it| format!("  [{}]", screen::time(Duration::from_millis(it))))
}
