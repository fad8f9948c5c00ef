//! Shows a session's events as they come.

use super::screen;
use crate::session::{Chunk, Event, Fact, TurnEndReason};

/// What has been seen of the session so far.
#[derive(Debug, Default)]
pub(super) struct Watched {
    end: Option<TurnEndReason>,
    /// Whether the model's text stands on an unfinished line.
    in_line: bool,
}

impl Watched {
    /// How the last turn ended, once.
    pub(super) fn take_end(&mut self) -> Option<TurnEndReason> {
        self.end.take()
    }
}

/// Shows one event: as JSON on standard output, or the model's text there and the rest on
/// standard error.
pub(super) fn show(watched: &mut Watched, event: &Event, json: bool) {
    if let Fact::TurnEnd { reason, .. } = &event.fact {
        watched.end = Some(reason.clone());
    }
    let shown = if json { screen::json(event) } else { show_to_person(watched, &event.fact) };
    if let Err(error) = shown {
        // Nobody reads what is printed any more; the log goes on.
        tracing::debug!(%error, "standard output is gone");
    }
}

fn show_to_person(watched: &mut Watched, fact: &Fact) -> std::io::Result<()> {
    if let Fact::AssistantChunk { chunk: Chunk::TextDelta { text, .. }, .. } = fact {
        watched.in_line = !text.ends_with('\n');
        return screen::out(text);
    }
    let line = match fact {
        Fact::TurnStart { turn } => Some(format!("turn {turn}")),
        Fact::UserMessage(message) => Some(format!("> {}", screen::first_line(&message.text()))),
        Fact::ToolCall { name, arguments, .. } => Some(format!("  {name} {arguments}")),
        Fact::ToolResult { message, .. } => Some(screen::result(message)),
        Fact::TurnEnd { reason, .. } => ending(reason),
        _ => None,
    };
    let Some(line) = line else { return Ok(()) };
    // Standard output may be closed; what happens is told on standard error all the same.
    let ended = if std::mem::take(&mut watched.in_line) { screen::out("\n") } else { Ok(()) };
    match fact {
        Fact::TurnStart { .. } => screen::heading(&line),
        _ => screen::line(&line),
    }
    ended
}

/// What is worth saying about how a turn ended.
fn ending(reason: &TurnEndReason) -> Option<String> {
    match reason {
        TurnEndReason::Completed => Some(String::new()),
        TurnEndReason::Blocked => Some("the turn was blocked by a policy\n".into()),
        TurnEndReason::MaxTokens => Some("the model's answer was cut at its limit\n".into()),
        TurnEndReason::Interrupted => Some("the turn was interrupted\n".into()),
        TurnEndReason::Aborted { .. } => Some("the turn was cancelled\n".into()),
        TurnEndReason::Error { error } => {
            Some(format!("the turn failed: {} ({})\n", error.message, error.code))
        }
    }
}

/// How a turn ended, in a word or two.
pub(super) fn ending_word(reason: &TurnEndReason) -> &'static str {
    match reason {
        TurnEndReason::Completed => "completed",
        TurnEndReason::Blocked => "blocked",
        TurnEndReason::MaxTokens => "cut off",
        TurnEndReason::Interrupted => "interrupted",
        TurnEndReason::Aborted { .. } => "cancelled",
        TurnEndReason::Error { .. } => "failed",
    }
}
