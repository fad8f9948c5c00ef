//! An agent with a scripted model, and its log in short.

mod cancelled;
mod checkpoints;
mod prompted;
mod resumed;

use std::fs;

use lockgate_plugin_api::Block;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::watch;

use super::*;
use crate::HostOptions;
use crate::model::{self, ModelSpec};
use crate::session::{Event, Fact, Header};

struct Session {
    agent: Agent,
    seen: watch::Receiver<Vec<Event>>,
    directory: TempDir,
}

/// A registry in which nothing is.
fn no_plugins() -> Arc<Registry> {
    Registry::new(HostOptions::default(), Handle::current())
}

impl Session {
    /// A session whose *session-start* is over.
    async fn start(answers: Value) -> Self {
        let session = Self::open(answers, no_plugins(), SESSION_START_GRACE);
        let introduced = session.agent.core.state().introduced();
        introduced.fired().await;
        session
    }

    fn open(answers: Value, registry: Arc<Registry>, session_start_grace: Duration) -> Self {
        let directory = TempDir::new().expect("there is room");
        let path = directory.path().join("model.json");
        fs::write(&path, answers.to_string()).expect("the directory is ours");
        let staged = answers[0].get("kind").is_some();
        let spec = if staged { ModelSpec::Replay(path) } else { ModelSpec::Script(path) };
        let model = model::open(&spec, directory.path()).expect("the answers are answers");
        Self::of(Arc::from(model), registry, session_start_grace, directory)
    }

    fn of(
        model: Arc<dyn Model>,
        registry: Arc<Registry>,
        session_start_grace: Duration,
        directory: TempDir,
    ) -> Self {
        let path = directory.path().join("session.jsonl");
        let log =
            SessionLog::create(&path, Header::new(None, 5), || 42).expect("the directory is ours");
        Self::on(model, registry, session_start_grace, directory, log)
    }

    fn on(
        model: Arc<dyn Model>,
        registry: Arc<Registry>,
        session_start_grace: Duration,
        directory: TempDir,
        mut log: SessionLog,
    ) -> Self {
        let (show, seen) = watch::channel(Vec::new());
        log.observe(move |event| show.send_modify(|it: &mut Vec<_>| it.push(event.clone())));
        let options = AgentOptions {
            cwd: Some("/work".into()),
            session_start_grace,
            ..AgentOptions::default()
        };
        let agent = Agent::start(registry, model, log, options);
        Self { agent, seen, directory }
    }

    /// The path of the log.
    fn log(&self) -> String {
        self.directory.path().join("session.jsonl").display().to_string()
    }

    /// Waits until `line` is in the log.
    async fn until(&self, line: &str) {
        let mut seen = self.seen.clone();
        let shown = |it: &Vec<Event>| lines(it).iter().any(|it| it == line);
        seen.wait_for(shown).await.expect("the agent is alive");
    }

    async fn check(&self, expected: &[&str]) {
        self.agent.when_idle().await.expect("the log can be written");
        assert_eq!(lines(&self.seen.borrow()), expected);
    }

    /// Checks what came after `line`.
    async fn check_from(&self, line: &str, expected: &[&str]) {
        self.agent.when_idle().await.expect("the log can be written");
        let lines = lines(&self.seen.borrow());
        let start = lines.iter().position(|it| it == line).expect("the line is there");
        assert_eq!(lines[start + 1..], *expected);
    }
}

fn user(text: &str) -> Message {
    Message::from_user(text)
}

/// A log in short, a run of chunks in one line.
fn lines(events: &[Event]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut run = 0;
    for event in events {
        if matches!(event.fact, Fact::AssistantChunk { .. }) {
            if run > 0 {
                lines.pop();
            }
            run += 1;
            lines.push(format!("assistant/chunk x{run}"));
        } else {
            run = 0;
            lines.push(line(event));
        }
    }
    lines
}

fn line(event: &Event) -> String {
    let whole = serde_json::to_value(event).expect("an event is JSON");
    let kind = whole["type"].as_str().expect("a type is a text");
    let sources = event.source_event_seqs.clone().unwrap_or_default();
    match &event.fact {
        Fact::TurnStart { turn } => format!("{kind} {turn}"),
        Fact::TurnEnd { turn, .. } => format!("{kind} {turn} {}", whole["data"]["reason"]),
        Fact::StepStart { turn, step } | Fact::StepEnd { turn, step } => {
            format!("{kind} {turn}.{step}")
        }
        Fact::UserMessage(message) => format!("{kind} {}", message.text()),
        Fact::AssistantMessage { message, interrupted, .. } => {
            let said: Vec<String> = message.content.iter().map(block).collect();
            let mark = if *interrupted { " interrupted" } else { "" };
            let from = format!("{}..={}", sources[0], sources[sources.len() - 1]);
            format!("{kind}{mark} {} <- {from}", said.join(", "))
        }
        Fact::ToolCall { call_id, name, arguments, .. } => {
            format!("{kind} {call_id} {name} {arguments}")
        }
        Fact::ToolResult { message, error, meta, .. } => {
            let code = error.as_ref().map_or(String::new(), |it| format!(" {}", it.code));
            let meta = meta.as_ref().map_or(String::new(), |it| format!(" {it}"));
            format!("{kind} {}{code}{meta} <- {sources:?}", block(&message.content[0]))
        }
        Fact::RequestHeader { reason, .. } => format!("{kind} {reason:?}"),
        Fact::RequestContext { provider, model, .. } => format!("{kind} {provider}/{model}"),
        Fact::InboxSpliced { start, removed_count, inserted, outcome, .. } => {
            let target = whole["data"]["target"].as_str().expect("a target is a text");
            let added = inserted.iter().map(|it| format!(" +{}", it.text()));
            let removed = (*removed_count > 0).then(|| format!(" -{removed_count}"));
            let outcome = outcome.map(|_| " canceled".to_owned());
            let rest: String = added.chain(removed).chain(outcome).collect();
            format!("spliced {target} {start}{rest}")
        }
        other => panic!("{other:?}"),
    }
}

fn block(block: &Block) -> String {
    match block {
        Block::Text { text } | Block::Reasoning { text } => text.clone(),
        Block::ToolCall { id, .. } => id.clone(),
        Block::ToolResult { tool_call_id, content, is_error } => {
            let shown: Vec<String> = content.iter().map(self::block).collect();
            let mark = if *is_error { "failed" } else { "ok" };
            format!("{tool_call_id} {mark}: {}", shown.join(", "))
        }
        Block::Image { .. } => panic!("nobody shows an image"),
    }
}
