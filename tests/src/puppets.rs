//! A host with puppets that were told what to do, and one call to it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use lockgate::{CallRequest, Host, HostOptions, PluginSettings, Signal, TrailEntry, TrailSink};
use lockgate_plugin_api::{Block, ToolOutcome};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::plugin_dir;

/// A host, what its plugins answer, and the directory they are in.
pub struct Stage {
    /// The host.
    pub host: Host,
    /// Every answer so far.
    pub trail: Arc<Mutex<Vec<TrailEntry>>>,
    /// Where the plugins are, and the files that they wait for.
    pub dir: TempDir,
}

impl Stage {
    /// Where plugins wait for files, if they were told to.
    pub fn files(&self) -> &Path {
        self.dir.path()
    }

    /// The answers so far, in short: seam, plugin, listener, verdict.
    pub fn answers(&self) -> Vec<String> {
        let trail = self.trail.lock().unwrap();
        let short =
            |it: &TrailEntry| format!("{} {} {} {}", it.seam, it.plugin, it.listener, it.verdict);
        trail.iter().map(short).collect()
    }
}

/// A host with these plugins, each with its orders.
///
/// # Panics
/// When it does not start.
pub fn stage(orders: &[(&str, Value)]) -> Stage {
    stage_with(orders, HostOptions::default())
}

/// As [`stage`], with these options for the rest.
///
/// # Panics
/// When it does not start.
pub fn stage_with(orders: &[(&str, Value)], options: HostOptions) -> Stage {
    let packages: Vec<&str> = orders.iter().map(|it| it.0).collect();
    let dir = plugin_dir(&packages);
    let settings = |config: &Value| {
        let mut config = config.clone();
        config["files"] = dir.path().to_str().unwrap().into();
        PluginSettings { config, ..PluginSettings::default() }
    };
    let plugins: BTreeMap<_, _> =
        orders.iter().map(|(name, config)| ((*name).to_owned(), settings(config))).collect();
    let trail = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&trail);
    let trail_sink = TrailSink::new(move |entry| sink.lock().unwrap().push(entry));
    let options = HostOptions {
        plugin_dirs: vec![dir.path().to_owned()],
        plugins,
        strict: true,
        trail: Some(trail_sink),
        ..options
    };
    Stage { host: Host::start(&options).unwrap(), trail, dir }
}

/// A call from nobody in particular.
pub fn request(tool: &str, arguments: &Value) -> CallRequest {
    CallRequest {
        call_id: "c1".into(),
        name: tool.into(),
        arguments: arguments.to_string(),
        agent: None,
        cwd: None,
        signal: Signal::new(),
    }
}

/// An outcome as a test compares it.
///
/// # Panics
/// When it cannot be read.
pub fn seen(outcome: &ToolOutcome) -> Value {
    let shown = outcome.content().unwrap().into_iter().map(|it| match it {
        Block::Text { text } => text,
        other => format!("{other:?}"),
    });
    let mut seen = json!({
        "isError": outcome.is_error(),
        "text": shown.collect::<Vec<_>>().join("|"),
    });
    if let Some(code) = outcome.code() {
        seen["code"] = code.into();
    }
    if outcome.concludes_turn() {
        seen["concludes"] = true.into();
    }
    let contexts: Vec<String> =
        outcome.extras().unwrap().contexts.iter().map(|it| it.text()).collect();
    if !contexts.is_empty() {
        seen["contexts"] = json!(contexts);
    }
    seen
}
