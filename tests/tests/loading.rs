//! Which files become live plugins, what is said of those that do not, and what they leave behind.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use lockgate::{
    CallRequest, Host, HostOptions, PluginReport, PluginSettings, PluginState, Required, Signal,
    StartError, TrailEntry, TrailSink,
};
use lockgate_plugin_api::{Block, SeamName, ToolOutcome};
use lockgate_tests::{library, mixed_dir, plugin_dir, without_sizes, write_with_note_changed};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Runs `f` where a host can be started.
fn in_runtime<T>(f: impl Future<Output = T>) -> T {
    tokio::runtime::Runtime::new().unwrap().block_on(f)
}

fn options(dirs: &[&Path], plugins: &[(&str, PluginSettings)]) -> HostOptions {
    HostOptions {
        plugin_dirs: dirs.iter().map(PathBuf::from).collect(),
        plugins: plugins.iter().map(|(name, it)| ((*name).to_owned(), it.clone())).collect(),
        ..HostOptions::default()
    }
}

fn config(config: Value) -> PluginSettings {
    PluginSettings { config, ..PluginSettings::default() }
}

/// What the host says of each file: one line each, without what no test can know.
fn told(host: &Host) -> Vec<String> {
    let line = |report: &PluginReport| {
        let file = report.path.file_name().unwrap().to_str().unwrap();
        let state = match &report.state {
            PluginState::Live { .. } => "live".into(),
            PluginState::PerAgent { .. } => "per agent".into(),
            PluginState::Refused(refusal) => format!("{refusal} | {}", refusal.remedy()),
            PluginState::Kept { refusal, .. } => format!("kept, {refusal}"),
            PluginState::Disabled => "disabled".into(),
            PluginState::Superseded => "superseded".into(),
        };
        format!("{file}: {}", without_sizes(&state))
    };
    host.plugins().iter().map(line).collect()
}

/// What a call to `echo` comes to.
async fn call(host: &Host) -> Value {
    let outcome = host
        .execute(CallRequest {
            call_id: "c1".into(),
            name: "echo".into(),
            arguments: json!({"value": "hi"}).to_string(),
            agent: None,
            cwd: None,
            signal: Signal::new(),
        })
        .await;
    json!([outcome.code(), text(&outcome)])
}

fn text(outcome: &ToolOutcome) -> String {
    match outcome.content().unwrap().as_slice() {
        [Block::Text { text }] => text.clone(),
        other => panic!("one text was expected: {other:?}"),
    }
}

/// Who answers what about a call to `echo`.
fn trail(options: &HostOptions) -> Vec<TrailEntry> {
    let trail = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&trail);
    let sink = TrailSink::new(move |it| sink.lock().unwrap().push(it));
    let options = HostOptions { trail: Some(sink), ..options.clone() };
    in_runtime(async { call(&Host::start(&options).unwrap()).await });
    std::mem::take(&mut *trail.lock().unwrap())
}

/// A host with the plugins of `dir`, of which `expected` is said, and what `echo` comes to there.
#[track_caller]
fn check(dir: &Path, plugins: &[(&str, PluginSettings)], expected: &[&str], outcome: Value) {
    in_runtime(async {
        let host = Host::start(&options(&[dir], plugins)).unwrap();
        assert_eq!(told(&host), expected);
        assert_eq!(call(&host).await, outcome);
    });
}

#[test]
fn files_that_are_no_plugins_are_refused_and_keep_nobody_else_from_loading() {
    check(
        mixed_dir().path(),
        &[("puppet", config(json!({"tools": true})))],
        &[
            "a_text.so: E-FORMAT: the file is text, not an ELF library | \
                Build the plugin with `crate-type = [\"cdylib\"]` and use that file.",
            "b_empty.so: E-FORMAT: the file is empty | \
                Build the plugin with `crate-type = [\"cdylib\"]` and use that file.",
            "c_cut.so: E-TRUNCATED: the file ends after # bytes, and its segments reach to byte # | \
                Wait until the file is written, or copy it again whole.",
            "d_foreign.so: E-NOTE: the library has no note `LOCKGATE`, so it is not a plugin | \
                Export the plugin with `export_plugin!`, or take the file out of the directory.",
            "e_good.so: live",
        ],
        json!([null, "hi"]),
    );
}

#[test]
fn a_strict_host_does_not_start_with_a_file_refused() {
    in_runtime(async {
        let dir = mixed_dir();
        let options = HostOptions { strict: true, ..options(&[dir.path()], &[]) };
        let error = Host::start(&options).err().unwrap();
        let file = dir.path().join("a_text.so");
        assert_eq!(
            error.to_string(),
            format!("the plugin file `{}` was refused, and `strict` is set", file.display()),
        );
        let StartError::Strict { path, cause } = error else { panic!("{error:?}") };
        assert_eq!(path, file);
        assert_eq!(cause.to_string(), "E-FORMAT: the file is text, not an ELF library");
    });
}

/// `puppet` told to fail as `order` says, next to `puppet-b`, which offers the tools: what is said
/// of `puppet`, which is also what every call is refused with.
#[track_caller]
fn check_lost(order: Value, said: &str, remedy: &str) {
    let dir = plugin_dir(&["puppet", "puppet-b"]);
    let refused = format!("libpuppet.so: {said} | {remedy}");
    let live = "libpuppet_b.so: live";
    let innocent = ("puppet-b", config(json!({"tools": true})));
    check(
        dir.path(),
        &[("puppet", config(order.clone())), innocent.clone()],
        &[&refused, live],
        json!([
            "LISTENER_UNAVAILABLE",
            format!(
                "Error: the pre-execute listener `gate` of the plugin `puppet` is not there: \
                 {said}; {remedy}"
            ),
        ]),
    );
    let given_up = PluginSettings { required: Required::All(false), ..config(order) };
    check(dir.path(), &[("puppet", given_up), innocent], &[&refused, live], json!([null, "hi"]));
}

const CORRECT: &str = "Correct the plugin's configuration as the message says.";

#[test]
fn a_plugin_that_cannot_be_created_keeps_its_required_places_unless_it_is_not_required() {
    check_lost(json!({"create": "fail:why"}), "E-CREATE: its `create` failed: why", CORRECT);
    check_lost(
        json!({"create": "panic:why"}),
        "E-CREATE: its `create` failed: panicked: why",
        CORRECT,
    );
    check_lost(
        json!({"tools": 1}),
        "E-CREATE: its `create` failed: invalid type: integer `1`, expected a boolean at line 1 \
         column 10",
        CORRECT,
    );
}

#[test]
fn a_plugin_that_cannot_be_started_keeps_its_required_places_unless_it_is_not_required() {
    let remedy = "Make available what the plugin acquires at its start.";
    check_lost(json!({"start": "fail:why"}), "E-START: its `start` failed: why", remedy);
    check_lost(json!({"start": "panic:why"}), "E-START: its `start` failed: panicked: why", remedy);
}

#[test]
fn settings_can_require_what_the_plugin_does_not() {
    let dir = plugin_dir(&["puppet", "puppet-b"]);
    let required = PluginSettings {
        required: Required::All(true),
        priority: BTreeMap::from([(SeamName::PreExecute, -1)]),
        ..config(json!({"create": "fail:why"}))
    };
    let tools = ("puppet-b", config(json!({"tools": true})));
    let trail = trail(&options(&[dir.path()], &[("puppet", required), tools]));
    let told: Vec<_> =
        trail.iter().map(|it| format!("{} {} {}", it.seam, it.plugin, it.verdict)).collect();
    // The priority counts for places that are kept, and an observer's place is kept too.
    assert_eq!(
        told,
        [
            "pre-execute puppet-b next",
            "pre-execute puppet-b next",
            "pre-execute puppet unavailable",
            "tool-result puppet unavailable",
            "tool-result puppet-b noted",
        ]
    );
}

#[test]
fn of_one_name_in_one_directory_the_highest_version_that_loads_is_live() {
    let dir = plugin_dir(&[]);
    let file = |name: &str| dir.path().join(name);
    fs::copy(library("puppet"), file("a.so")).unwrap();
    let lower = (r#""version":"0.1.0""#, r#""version":"0.0.1""#);
    write_with_note_changed(&file("b.so"), "puppet", lower.0, lower.1);
    let higher = (r#""version":"0.1.0""#, r#""version":"0.1.1""#);
    write_with_note_changed(&file("c.so"), "puppet", higher.0, higher.1);
    check(
        dir.path(),
        &[("puppet", config(json!({"tools": true})))],
        &[
            "a.so: live",
            "b.so: superseded",
            // It would be superseded if it had not been tried first.
            "c.so: E-MANIFEST: its note and its root table give different names or versions | \
                Build the plugin again with a released version of the plugin API.",
        ],
        json!([null, "hi"]),
    );
}

#[test]
fn of_one_name_and_version_in_one_directory_the_first_file_is_live() {
    let dir = plugin_dir(&[]);
    for name in ["b.so", "a.so"] {
        fs::copy(library("puppet"), dir.path().join(name)).unwrap();
    }
    check(
        dir.path(),
        &[("puppet", config(json!({"tools": true})))],
        &["a.so: live", "b.so: superseded"],
        json!([null, "hi"]),
    );
}

#[test]
fn one_name_in_two_directories_is_a_duplicate() {
    let (one, two) = (plugin_dir(&["puppet"]), plugin_dir(&["puppet"]));
    in_runtime(async {
        let tools = ("puppet", config(json!({"tools": true})));
        let host = Host::start(&options(&[two.path(), one.path()], &[tools])).unwrap();
        let state = |dir: &TempDir| {
            let report = host.plugins().into_iter().find(|it| it.path.starts_with(dir.path()));
            report.unwrap().state.clone()
        };
        assert!(matches!(state(&two), PluginState::Live { generation: 1, .. }));
        let PluginState::Refused(refusal) = state(&one) else { panic!("{:?}", state(&one)) };
        assert_eq!(
            refusal.to_string(),
            format!(
                "E-DUPLICATE: the plugin `puppet` is live from `{}` already",
                two.path().join("libpuppet.so").display()
            )
        );
        assert_eq!(refusal.remedy(), "Remove one of the two files, or rename one of the plugins.");
        // The plugin is there, so no place answers that it is not.
        assert_eq!(call(&host).await, json!([null, "hi"]));
    });
}

#[test]
fn a_disabled_plugin_is_not_loaded_and_has_no_places() {
    let dir = plugin_dir(&["puppet", "puppet-b"]);
    let disabled = PluginSettings {
        enabled: false,
        required: Required::All(true),
        ..config(json!({"create": "panic:it was loaded"}))
    };
    check(
        dir.path(),
        &[("puppet", disabled), ("puppet-b", config(json!({"tools": true})))],
        &["libpuppet.so: disabled", "libpuppet_b.so: live"],
        json!([null, "hi"]),
    );
}

#[test]
fn a_required_plugin_without_a_readable_file_stops_the_start() {
    let dir = plugin_dir(&["puppet"]);
    fs::write(dir.path().join("libgate.so"), "not a plugin").unwrap();
    let start = |settings: PluginSettings| {
        in_runtime(async { Host::start(&options(&[dir.path()], &[("gate", settings)])).err() })
    };
    let required = PluginSettings { required: Required::All(true), ..PluginSettings::default() };
    assert_eq!(
        start(required.clone()).unwrap().to_string(),
        "the plugin `gate` is required by the configuration, and no file in the plugin \
         directories is it"
    );
    assert!(start(PluginSettings { enabled: false, ..required }).is_none());
    assert!(start(PluginSettings::default()).is_none());
}

#[test]
fn priorities_from_settings_reorder_the_chain() {
    let dir = plugin_dir(&["puppet", "puppet-b"]);
    let gates = |settings: PluginSettings| {
        let trail = trail(&options(&[dir.path()], &[("puppet-b", settings)]));
        let gates = trail.iter().filter(|it| it.seam == "pre-execute");
        gates.map(|it| format!("{} {}", it.plugin, it.listener)).collect::<Vec<_>>()
    };
    assert_eq!(
        gates(PluginSettings::default()),
        ["puppet gate", "puppet-b gate", "puppet late_gate", "puppet-b late_gate"]
    );
    let set = |priority| PluginSettings {
        priority: BTreeMap::from([(SeamName::PreExecute, priority)]),
        ..PluginSettings::default()
    };
    assert_eq!(
        gates(set(11)),
        ["puppet-b gate", "puppet-b late_gate", "puppet gate", "puppet late_gate"]
    );
    assert_eq!(
        gates(set(-1)),
        ["puppet gate", "puppet late_gate", "puppet-b gate", "puppet-b late_gate"]
    );
}

/// `puppet` with `from` changed to `to` in its note: what is said of it.
#[track_caller]
fn check_note(from: &str, to: &str, expected: &str) {
    let dir = plugin_dir(&["puppet-b"]);
    write_with_note_changed(&dir.path().join("libpuppet.so"), "puppet", from, to);
    let innocent = ("puppet-b", config(json!({"tools": true})));
    let (said, remedy) = expected.split_once(" | ").unwrap();
    check(
        dir.path(),
        &[innocent],
        &[&format!("libpuppet.so: {expected}"), "libpuppet_b.so: live"],
        json!([
            "LISTENER_UNAVAILABLE",
            format!(
                "Error: the pre-execute listener `gate` of the plugin `puppet` is not there: \
                 {said}; {remedy}"
            ),
        ]),
    );
}

#[test]
fn a_note_that_says_something_else_than_the_library_does_is_refused() {
    check_note(
        r#""version":"0.1.0""#,
        r#""version":"0.1.1""#,
        "E-MANIFEST: its note and its root table give different names or versions | \
         Build the plugin again with a released version of the plugin API.",
    );
    check_note(
        r#""name":"late_gate""#,
        r#""name":"fate_gate""#,
        "E-MANIFEST: its note and its tables name different listeners | \
         Build the plugin again with a released version of the plugin API.",
    );
}

#[test]
fn a_note_that_names_a_symbol_that_is_not_there_is_refused() {
    check_note(
        "LOCKGATE_PLUGIN_V1__puppet",
        "LOCKGATE_PLUGIN_V1__muppet",
        "E-ENTRY: it does not export the symbol `LOCKGATE_PLUGIN_V1__muppet` that its note names | \
         Build the plugin again from clean with `export_plugin!`.",
    );
}

#[test]
fn a_note_of_what_does_not_fit_this_host_is_refused_before_anything_runs() {
    check_note(
        r#""api":"0.1.0""#,
        r#""api":"0.9.0""#,
        "E-API: the plugin has the plugin API 0.9.0, and this host 0.1.0, so the host has to be \
         updated | Use a plugin and a host of the same line of the plugin API.",
    );
    check_note(
        r#""panic":"unwind""#,
        r#""panic": "abort""#,
        "E-PANIC: the plugin is built with the panic strategy `abort`, so a panic in it would end \
         the host | Build the plugin with `panic = \"unwind\"` in its profile.",
    );
}
