//! An agent with one real plugin, and what is seen of both.

use std::fs;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use lockgate::model::{self, Model, ModelSpec};
use lockgate::session::{Event, Fact, Header, SessionLog};
use lockgate::{
    Agent, AgentOptions, Deadlines, Dispatch, Host, HostOptions, MAX_PARALLEL_TOOL_CALLS,
    PluginSettings, TrailEntry, TrailSink,
};
use lockgate_plugin_api::{Message, Source};
use lockgate_tests::{lines, plugin_dir};
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::watch;

/// Longer than any test takes: *session-start* is waited for.
pub(crate) const LONG: Duration = Duration::from_secs(600);

/// The line after which the first answer comes, of a model that says a script.
pub(crate) const ASKED: &str = "request/context script/model";

/// How a turn ends that was cancelled by the person.
pub(crate) const ABORTED: &str = r#"turn/end 1 {"kind":"aborted","reason":{"kind":"user"}}"#;

/// How a turn ends that has nothing more to do.
pub(crate) const COMPLETED: &str = r#"turn/end 1 {"kind":"completed"}"#;

pub(crate) struct Stage {
    pub(crate) agent: Agent,
    pub(crate) host: Host,
    pub(crate) seen: Seen,
    pub(crate) hold: Hold,
}

/// What a puppet waits for that is told to wait for the file `go`.
pub(crate) struct Hold {
    files: TempDir,
}

/// The session's events, and who answered what; both as they come.
pub(crate) struct Seen {
    events: watch::Receiver<Vec<Event>>,
    answers: watch::Receiver<Vec<TrailEntry>>,
}

/// What is set for a host and an agent, besides what the puppet is told.
pub(crate) struct Terms {
    pub(crate) grace: Duration,
    pub(crate) deadlines: Deadlines,
    pub(crate) dispatch: Dispatch,
    pub(crate) max_parallel: usize,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            grace: LONG,
            deadlines: Deadlines::default(),
            dispatch: Dispatch::default(),
            max_parallel: MAX_PARALLEL_TOOL_CALLS.get(),
        }
    }
}

impl Stage {
    /// An agent whose model says `script`, with a puppet that is told `orders`, and *session-start*
    /// waited for no longer than `grace`.
    pub(crate) fn open(script: Value, orders: Value, grace: Duration) -> Self {
        Self::with(script, orders, Terms { grace, ..Terms::default() })
    }

    /// As [`open`](Self::open), on these terms.
    pub(crate) fn with(script: Value, orders: Value, terms: Terms) -> Self {
        let Terms { grace, deadlines, dispatch, max_parallel } = terms;
        let host = HostOptions { deadlines, dispatch, ..HostOptions::default() };
        let agent = AgentOptions {
            session_start_grace: grace,
            max_parallel_tool_calls: NonZeroUsize::new(max_parallel).unwrap(),
            ..AgentOptions::default()
        };
        Self::open_with(script, orders, host, agent)
    }

    /// As [`open`](Self::open), with these options for the rest.
    pub(crate) fn open_with(
        script: Value,
        orders: Value,
        host: HostOptions,
        agent: AgentOptions,
    ) -> Self {
        let log = SessionLog::ephemeral(Header::new(None, 5), || 42);
        Self::open_on(script, orders, host, agent, log)
    }

    /// As [`open_with`](Self::open_with), on this log.
    pub(crate) fn open_on(
        script: Value,
        mut orders: Value,
        host: HostOptions,
        agent: AgentOptions,
        mut log: SessionLog,
    ) -> Self {
        let files = plugin_dir(&["puppet"]);
        let path = files.path().join("model.json");
        fs::write(&path, script.to_string()).unwrap();
        let staged = script[0].get("kind").is_some();
        let spec = if staged { ModelSpec::Replay(path) } else { ModelSpec::Script(path) };
        let model: Arc<dyn Model> = model::open(&spec, files.path()).unwrap().into();

        let (tell, answers) = watch::channel(Vec::new());
        orders["files"] = files.path().to_str().unwrap().into();
        let settings = PluginSettings { config: orders, ..Default::default() };
        let host = Host::start(&HostOptions {
            plugin_dirs: vec![files.path().to_owned()],
            plugins: [("puppet".to_owned(), settings)].into(),
            strict: true,
            trail: Some(TrailSink::new(move |it| tell.send_modify(|all| all.push(it)))),
            ..host
        });
        let host = host.unwrap();

        let (show, events) = watch::channel(Vec::new());
        log.observe(move |event| show.send_modify(|it: &mut Vec<_>| it.push(event.clone())));
        let agent = host.agent(model, log, agent).unwrap();
        Self { agent, host, seen: Seen { events, answers }, hold: Hold { files } }
    }

    /// Gives the agent a prompt.
    pub(crate) fn prompt(&self, text: &str) {
        self.agent.follow_up(Message::from_user(text)).unwrap();
    }

    /// Gives the agent something to read at its next step.
    pub(crate) fn inject(&self, text: &str) {
        self.agent.inject(Message::from_user(text)).unwrap();
    }

    /// Gives the agent something to read at its next step, and wakes it.
    pub(crate) fn steer(&self, text: &str) {
        self.agent.steer(Message::from_user(text)).unwrap();
    }

    pub(crate) async fn until_idle(&self) {
        self.agent.when_idle().await.unwrap();
    }
}

impl Hold {
    /// Lets the puppet go on.
    pub(crate) fn go(&self) {
        self.release("go");
    }

    /// Makes the file `name`, which a puppet waits for.
    pub(crate) fn release(&self, name: &str) {
        fs::write(self.files.path().join(name), "").unwrap();
    }
}

impl Seen {
    /// Waits until `line` is in the log.
    pub(crate) async fn until(&self, line: &str) {
        let mut events = self.events.clone();
        events.wait_for(|it| lines(it).iter().any(|it| it == line)).await.unwrap();
    }

    /// Waits until a message that says `text` is in the inbox.
    pub(crate) async fn until_said(&self, text: &str) {
        self.until_fact(|fact| match fact {
            Fact::InboxSpliced { inserted, .. } => inserted.iter().any(|it| it.text() == text),
            _ => false,
        })
        .await;
    }

    /// Waits until it is in the log that a call is made.
    pub(crate) async fn until_call(&self, id: &str) {
        self.until_fact(|it| matches!(it, Fact::ToolCall { call_id, .. } if call_id == id)).await;
    }

    /// Waits until the result of a call is in the log.
    pub(crate) async fn until_result(&self, id: &str) {
        self.until_fact(|fact| match fact {
            Fact::ToolResult { message, .. } => {
                matches!(&message.source, Source::Tool { call_id } if call_id == id)
            }
            _ => false,
        })
        .await;
    }

    async fn until_fact(&self, is_it: impl Fn(&Fact) -> bool) {
        let mut events = self.events.clone();
        events.wait_for(|it| it.iter().any(|it| is_it(&it.fact))).await.unwrap();
    }

    /// Waits until a listener has answered.
    pub(crate) async fn until_answered(&self, answer: &str) {
        let mut answers = self.answers.clone();
        answers.wait_for(|it| it.iter().any(|it| short(it) == answer)).await.unwrap();
    }

    /// Waits until the body of this call has ended.
    pub(crate) async fn until_over(&self, call_id: &str) {
        let mut answers = self.answers.clone();
        let is_over = |it: &TrailEntry| it.seam == "body" && it.call.as_deref() == Some(call_id);
        answers.wait_for(|it| it.iter().any(is_over)).await.unwrap();
    }

    /// The events of the log.
    pub(crate) fn events(&self) -> Vec<Event> {
        self.events.borrow().clone()
    }

    /// The log in short.
    pub(crate) fn lines(&self) -> Vec<String> {
        lines(&self.events.borrow())
    }

    /// What the listeners at `seam` have answered.
    pub(crate) fn answers(&self, seam: &str) -> Vec<String> {
        let answers = self.answers.borrow();
        answers.iter().filter(|it| it.seam.starts_with(seam)).map(short).collect()
    }

    /// The calls about which a listener, or the body of a tool, has answered.
    pub(crate) fn asked(&self, listener: &str) -> Vec<String> {
        let answers = self.answers.borrow();
        let by = answers.iter().filter(|it| &*it.listener == listener);
        by.filter_map(|it| it.call.clone()).collect()
    }

    /// Checks what came after the first `line`.
    #[track_caller]
    pub(crate) fn check_from(&self, line: &str, expected: &[&str]) {
        let lines = self.lines();
        let start = lines.iter().position(|it| it == line);
        let start = start.unwrap_or_else(|| panic!("no line `{line}` in {lines:#?}"));
        assert_eq!(lines[start + 1..], *expected);
    }

    /// As [`check_from`](Self::check_from), up to the first `end` after that, if there is one.
    #[track_caller]
    pub(crate) fn check_until(&self, line: &str, end: &str, expected: &[&str]) {
        let lines = self.lines();
        let after = lines.iter().skip_while(|it| *it != line).skip(1);
        let between: Vec<&String> = after.take_while(|it| *it != end).collect();
        assert_eq!(between, expected);
    }
}

fn short(entry: &TrailEntry) -> String {
    format!("{} {} {}", entry.seam, entry.listener, entry.verdict)
}

/// How a turn ends in which a listener failed.
pub(crate) fn failed(seam: &str, listener: &str, why: &str) -> String {
    let message = format!("the {seam} listener `{listener}` of the plugin `puppet` failed: {why}");
    let error = format!(r#"{{"message":"{message}","code":"LISTENER_FAULT"}}"#);
    format!(r#"turn/end 1 {{"kind":"error","error":{error}}}"#)
}
