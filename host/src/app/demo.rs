//! `lockgate demo`: the main job on a fresh machine, with no key and no network.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

use super::host_setup::Setup;
use super::run::Session;
use super::{Ending, Failure, screen};
use crate::approval::Approvals;
use crate::config::Config;
use crate::model::{Model, Replay};
use crate::options::HostOptions;
use crate::probe::Probe;
use crate::session::{Header, SessionLog, unix_millis};
use crate::settings::PluginSettings;
use crate::trail::TrailSink;

/// The plugins that decide in the demo.
const PLUGINS: [&str; 3] = ["native-guard", "tool-shell", "call-timeout"];

/// A recorded session of a model that looks around, oversteps, dawdles, and is asked for worse.
const RECORDING: &str = include_str!("../../demo/session.jsonl");

/// What the model finds in its directory.
const NOTES: &str = "water the plants\ncall the printer\nship the release\n";

pub(super) async fn demo() -> Result<Ending, Failure> {
    let workspace = workspace()?;
    let stage = TempDir::with_prefix("lockgate-demo-")?;
    let (plugins, cwd) = (stage.path().join("plugins"), stage.path().join("work"));
    fs::create_dir_all(&plugins)?;
    fs::create_dir_all(&cwd)?;
    fs::write(cwd.join("notes.txt"), NOTES)?;
    let recording = stage.path().join("session.jsonl");
    fs::write(&recording, RECORDING)?;

    screen::heading("Building the bundled plugins");
    for library in build(&workspace).await? {
        let name = library.file_name().ok_or("cargo named a library without a name")?;
        fs::copy(&library, plugins.join(name))?;
    }

    let model: Arc<dyn Model> = Arc::new(Replay::open(&recording, &cwd)?);
    let setup = Setup { config: Config::default(), options: options(&plugins), cwd };
    let log = stage.path().join("log.jsonl");
    let header = Header::new(Some(setup.cwd.clone()), unix_millis());
    let log = SessionLog::create(&log, header, unix_millis)?;
    screen::heading("Running a recorded session against real tools");
    screen::aside("    seam          plugin/listener              verdict              time  why");
    let prompts = model.prompts().to_vec();
    let session = Session::start(&setup, model, log, Approvals::Never, false)?;
    let ending = session.ask_all(prompts).await?;
    drop(session);
    closing(&setup.cwd)?;
    Ok(match ending {
        // The last prompt is there to be refused.
        Ending::Refused => Ending::Done,
        other => other,
    })
}

/// What is left to see once the session is over.
fn closing(cwd: &Path) -> Result<(), Failure> {
    let survived = fs::read_to_string(cwd.join("notes.txt")).is_ok_and(|it| it == NOTES);
    screen::heading("What happened");
    if !survived {
        return Err("notes.txt is gone: a denied command has run".into());
    }
    screen::line("notes.txt is still there: what a policy denied did not run.");
    screen::line("Write a plugin of your own: README.md has one in 15 lines.");
    Ok(())
}

fn options(plugins: &Path) -> HostOptions {
    let settings = |config: Value| PluginSettings { config, ..PluginSettings::default() };
    let plugin_settings = BTreeMap::from([
        ("native-guard".to_owned(), settings(json!({"allowed_tools": ["bash"]}))),
        // A second is enough for what the demo does, and for seeing it pass.
        ("tool-shell".to_owned(), settings(json!({"max_timeout_ms": 1000}))),
    ]);
    HostOptions {
        plugin_dirs: vec![plugins.to_owned()],
        plugins: plugin_settings,
        strict: true,
        // Its own plugins, built a moment ago.
        probe: Probe::Off,
        trail: Some(TrailSink::new(|entry| screen::decision(&entry))),
        ..HostOptions::default()
    }
}

/// The directory of the workspace, from cargo or from where the person stands.
fn workspace() -> Result<PathBuf, Failure> {
    let from_cargo = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let here = env::current_dir()?;
    let starts = from_cargo.iter().map(PathBuf::as_path).chain([here.as_path()]);
    starts
        .flat_map(Path::ancestors)
        .find(|it| it.join("plugins/native-guard/Cargo.toml").is_file())
        .map(Path::to_owned)
        .ok_or_else(|| {
            "the demo builds the bundled plugins from their sources: run it inside a checkout of \
             Lockgate, with `cargo run --release -- demo`"
                .into()
        })
}

/// Builds the bundled plugins in this program's own profile, and returns their libraries.
async fn build(workspace: &Path) -> Result<Vec<PathBuf>, Failure> {
    let begun = Instant::now();
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(&cargo);
    build.arg("build").arg("--message-format=json-render-diagnostics").current_dir(workspace);
    build.args(PLUGINS.iter().flat_map(|it| ["--package", it]));
    if !cfg!(debug_assertions) {
        build.arg("--release");
    }
    // Its progress and its errors are for the person; what it made is for us.
    build.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
    let built = build
        .spawn()
        .map_err(|error| format!("cannot run cargo (`{}`): {error}", cargo.display()))?
        .wait_with_output()
        .await?;
    if !built.status.success() {
        return Err("the bundled plugins do not build: cargo says why above".into());
    }
    let messages = String::from_utf8(built.stdout)?;
    let libraries: Vec<PathBuf> = messages.lines().filter_map(built_plugin).collect();
    if libraries.len() != PLUGINS.len() {
        return Err(format!(
            "cargo named {} libraries for {} plugins",
            libraries.len(),
            PLUGINS.len()
        )
        .into());
    }
    screen::aside(&format!("    built in {}", screen::time(begun.elapsed())));
    Ok(libraries)
}

/// The library of a bundled plugin, if that is what this message of cargo is about.
fn built_plugin(message: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(message).ok()?;
    let target = message["target"]["name"].as_str()?.replace('_', "-");
    if message["reason"] != "compiler-artifact" || !PLUGINS.contains(&target.as_str()) {
        return None;
    }
    let files = message["filenames"].as_array()?.iter().filter_map(Value::as_str);
    files
        .map(PathBuf::from)
        .find(|it| it.extension().is_some_and(|it| it == env::consts::DLL_EXTENSION))
}
