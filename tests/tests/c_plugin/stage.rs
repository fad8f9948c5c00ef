//! The plugin that stands at every seam, told where to break which rule, and what comes of that.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lockgate::model::{self, Model, ModelSpec};
use lockgate::session::{Event, Header, SessionLog};
use lockgate::{AgentOptions, Deadlines, Host, HostOptions, PluginSettings, TrailEntry, TrailSink};
use lockgate_plugin_api::Message;
use lockgate_tests::lines;
use lockgate_tests::puppets::{request, seen};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use lockgate_tests::c_library;

/// A host with the plugin, and what the plugin answers there.
pub(crate) struct Stage {
    pub(crate) host: Host,
    answers: Arc<Mutex<Vec<String>>>,
}

/// How long a listener may take whose future is to be given up.
pub(crate) const PATIENCE: Duration = Duration::from_millis(150);

/// The rule that a future answers at all.
pub(crate) const NEVER: &str = "late-pending-nothing";

/// The deadlines for a plugin that breaks the rule `breach`: short where it is waited for them.
fn deadlines(breach: &str) -> Deadlines {
    match breach {
        NEVER => Deadlines { answer: PATIENCE, ..Deadlines::default() },
        _ => Deadlines::default(),
    }
}

/// A directory with the plugin; `None` without a compiler.
#[track_caller]
pub(crate) fn plugin() -> Option<TempDir> {
    c_library(&Path::new(env!("CARGO_MANIFEST_DIR")).join("c-seams/seams.c"), &[])
}

impl Stage {
    /// A host with the plugin in `dir`, which breaks the rule `breach` at the place `at`.
    pub(crate) fn new(dir: &TempDir, at: &str, breach: &str) -> Self {
        Self::with(dir, at, breach, Deadlines::default())
    }

    fn with(dir: &TempDir, at: &str, breach: &str, deadlines: Deadlines) -> Self {
        let answers: Arc<Mutex<Vec<String>>> = Arc::default();
        let sink = Arc::clone(&answers);
        let short = |it: TrailEntry| format!("{} {} {}", it.seam, it.listener, it.verdict);
        let trail = TrailSink::new(move |it| sink.lock().unwrap().push(short(it)));
        let config = json!({"at": at, "breach": breach});
        let settings = PluginSettings { config, ..PluginSettings::default() };
        let host = Host::start(&HostOptions {
            plugin_dirs: vec![dir.path().to_owned()],
            plugins: [("c-seams".to_owned(), settings)].into(),
            strict: true,
            trail: Some(trail),
            deadlines,
            ..HostOptions::default()
        });
        Self { host: host.unwrap(), answers }
    }

    /// The answers so far: seam, listener, verdict.
    pub(crate) fn answers(&self) -> Vec<String> {
        self.answers.lock().unwrap().clone()
    }
}

/// What a call of `tool` comes to, and who answers what on the way.
pub(crate) fn called(
    dir: &TempDir,
    (at, breach): (&str, &str),
    tool: &str,
    arguments: &Value,
) -> (Value, Vec<String>) {
    Runtime::new().unwrap().block_on(async {
        let stage = Stage::with(dir, at, breach, deadlines(breach));
        let outcome = stage.host.execute(request(tool, arguments)).await;
        (seen(&outcome), stage.answers())
    })
}

/// The session of a turn in which the model says `script`, and who answers what meanwhile.
pub(crate) fn turn(
    dir: &TempDir,
    (at, breach): (&str, &str),
    script: &Value,
) -> (Vec<String>, Vec<String>) {
    Runtime::new().unwrap().block_on(async {
        let stage = Stage::with(dir, at, breach, deadlines(breach));
        let path = dir.path().join("model.json");
        fs::write(&path, script.to_string()).unwrap();
        let model: Arc<dyn Model> =
            model::open(&ModelSpec::Script(path), dir.path()).unwrap().into();
        let events: Arc<Mutex<Vec<Event>>> = Arc::default();
        let sink = Arc::clone(&events);
        let mut log = SessionLog::ephemeral(Header::new(None, 5), || 42);
        log.observe(move |it| sink.lock().unwrap().push(it.clone()));
        // Longer than any test takes: *session-start* is waited for.
        let session_start_grace = Duration::from_secs(600);
        let options = AgentOptions { session_start_grace, ..AgentOptions::default() };
        let agent = stage.host.agent(model, log, options).unwrap();
        agent.follow_up(Message::from_user("Go.")).unwrap();
        agent.when_idle().await.unwrap();
        let events = events.lock().unwrap();
        (lines(&events), stage.answers())
    })
}
