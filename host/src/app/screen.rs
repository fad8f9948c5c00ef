//! What the person sees: lines on standard error, data on standard output.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::time::Duration;

use anstream::eprintln;
use clap::builder::styling::{AnsiColor, Style};
use comfy_table::{ContentArrangement, Table, presets};
use lockgate_plugin_api::{Block, Message};
use serde::Serialize;

use crate::journal::{Phase, Transition};
use crate::progress::Progress;
use crate::refusal::Refusal;
use crate::trail::TrailEntry;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const GREEN: Style = AnsiColor::Green.on_default();
const YELLOW: Style = AnsiColor::Yellow.on_default();
const RED: Style = AnsiColor::Red.on_default();

/// Says that something failed.
pub(super) fn error(message: &str) {
    eprintln!("{RED}error{RED:#}: {message}");
}

/// Says that a file was refused, why, and what to do about it.
pub(super) fn refusal(path: &Path, refusal: &Refusal) {
    eprintln!("{RED}refused{RED:#} {}: {refusal}", path.display());
    aside(&format!("    {}", refusal.remedy()));
}

/// A line for the person.
pub(super) fn line(text: &str) {
    eprintln!("{text}");
}

/// A heading for the person.
pub(super) fn heading(text: &str) {
    line(&format!("{BOLD}{text}{BOLD:#}"));
}

/// A line of lesser weight.
pub(super) fn aside(text: &str) {
    line(&format!("{DIM}{text}{DIM:#}"));
}

/// One answer of the trail: who, where, what, why and in how long.
pub(super) fn decision(entry: &TrailEntry) {
    let style = match entry.verdict {
        "deny" | "reject" | "block" | "fault" | "protocol" | "unavailable" | "failure" => RED,
        "ask" | "replace-content" | "replace-value" => YELLOW,
        "next" | "noted" => DIM,
        _ => GREEN,
    };
    let who = format!("{}/{}", entry.plugin, entry.listener);
    let why = entry.reason.as_deref().map(first_line).unwrap_or_default();
    line(&format!(
        "    {:<13} {who:<28} {style}{:<15}{style:#} {:>9}  {DIM}{why}{DIM:#}",
        entry.seam,
        entry.verdict,
        time(Duration::from_nanos(entry.ns)),
    ));
}

/// A step of a plugin file that is news, and what comes of it.
pub(super) fn step(step: &Transition) {
    if super::watch_plugins::is_news(step) {
        every_step(step);
    }
}

/// Any step of a plugin file, or of what is loaded from it.
pub(super) fn every_step(step: &Transition) {
    let style = match step.to {
        Phase::Live => GREEN,
        Phase::Refused | Phase::Quarantined | Phase::Removed => RED,
        Phase::Disabled | Phase::Superseded => YELLOW,
        Phase::Discovered | Phase::Settling | Phase::Inspected | Phase::Loading => DIM,
        Phase::Draining | Phase::Retired => DIM,
    };
    let who = step.plugin.as_deref().map_or_else(|| step.path.display().to_string(), printable);
    let which = step.generation.map(|it| format!(" (load {it})")).unwrap_or_default();
    let why = step.reason.as_deref().map(|it| format!(": {}", printable(it))).unwrap_or_default();
    line(&format!("{style}{}{style:#} {who}{which}{why}", step.to.as_str()));
}

/// How far the body of a tool is, in its own words.
pub(super) fn progress(progress: &Progress) {
    let count = match (progress.done, progress.total) {
        (0, 0) => String::new(),
        (done, 0) => format!(" ({done})"),
        (done, total) => format!(" ({done} of {total})"),
    };
    aside(&format!("    {}: {}{count}", progress.tool, printable(&progress.text)));
}

/// What the model is told of a tool call.
pub(super) fn result(message: &Message) -> String {
    let told = message.content.iter().map(|block| match block {
        Block::ToolResult { content, is_error, .. } => {
            let style = if *is_error { RED } else { DIM };
            let text = content.iter().map(|it| match it {
                Block::Text { text } => first_line(text),
                Block::Reasoning { .. } | Block::Image { .. } => "(not text)".into(),
                Block::ToolCall { .. } | Block::ToolResult { .. } => "(not text)".into(),
            });
            format!("{style}{}{style:#}", text.collect::<Vec<_>>().join(" "))
        }
        Block::Text { .. } | Block::Reasoning { .. } => String::new(),
        Block::Image { .. } | Block::ToolCall { .. } => String::new(),
    });
    format!("  = {}", told.collect::<Vec<_>>().join(" "))
}

/// Asks for a line on the terminal.
pub(super) fn prompt() {
    anstream::eprint!("{BOLD}> {BOLD:#}");
}

/// Asks whether a tool call may run.
pub(super) fn question(tool: &str, arguments: &str, reason: Option<&str>) {
    if let Some(reason) = reason {
        line(&format!("{YELLOW}approval needed{YELLOW:#}: {}", printable(reason)));
    }
    line(&format!("{BOLD}{}{BOLD:#} {}", printable(tool), printable(arguments)));
    anstream::eprint!("may it run? [y/N] ");
}

/// A text that moves no cursor and hides nothing: what a model wrote is shown to whoever decides.
pub(super) fn printable(text: &str) -> String {
    let shown =
        |it: char| if it.is_control() { it.escape_default().to_string() } else { it.into() };
    text.chars().map(shown).collect()
}

/// A time with three figures at the most.
pub(super) fn time(time: Duration) -> String {
    let micros = time.as_secs_f64() * 1e6;
    match micros {
        it if it < 100.0 => format!("{it:.1} µs"),
        it if it < 1e3 => format!("{it:.0} µs"),
        it if it < 1e5 => format!("{:.1} ms", it / 1e3),
        it if it < 1e6 => format!("{:.0} ms", it / 1e3),
        it => format!("{:.1} s", it / 1e6),
    }
}

/// The first line of a text, with a mark where there are more.
pub(super) fn first_line(text: &str) -> String {
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    if lines.next().is_some() { format!("{first} …") } else { first.to_owned() }
}

/// A table that fits the terminal; without one it is as wide as it needs to be.
pub(super) fn table() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    if io::stdout().is_terminal() {
        table.set_content_arrangement(ContentArrangement::Dynamic);
    }
    table
}

/// One value as JSON on standard output, a line of its own.
pub(super) fn json(value: &impl Serialize) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    serde_json::to_writer(&mut out, value)?;
    out.write_all(b"\n")?;
    out.flush()
}

/// Text on standard output, as it is.
pub(super) fn out(text: &str) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
