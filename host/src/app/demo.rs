//! `lockgate demo`: the main job on a fresh machine, with no key and no network.

mod policy;

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};
use tempfile::TempDir;

use self::policy::{Lives, Policy};
use super::cargo::{self, Built, Profile};
use super::host_setup::Setup;
use super::run::Session;
use super::{Ending, Failure, screen};
use crate::approval::Approvals;
use crate::config::Config;
use crate::journal::JournalSink;
use crate::model::{Model, Replay};
use crate::options::HostOptions;
use crate::probe::Probe;
use crate::session::{Header, SessionLog, unix_millis};
use crate::settings::PluginSettings;
use crate::trail::TrailSink;
use crate::watch::WatchOptions;

/// The plugins that decide in the demo.
const PLUGINS: [&str; 3] = ["native-guard", "tool-shell", "call-timeout"];

/// The prompt, counted from 0, before which the policy is changed.
const CHANGE_BEFORE: usize = 3;

/// A recorded session of a model that looks around, oversteps, dawdles, reads, is not allowed to
/// read any more, and is asked for worse.
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
    let libraries = build(&workspace).await?;
    for Built { library, .. } in &libraries {
        let name = library.file_name().ok_or("cargo named a library without a name")?;
        fs::copy(library, plugins.join(name))?;
    }
    let (mut lives, journal) = Lives::new();

    let model: Arc<dyn Model> = Arc::new(Replay::open(&recording, &cwd)?);
    let setup = Setup { config: Config::default(), options: options(&plugins, journal), cwd };
    let log = stage.path().join("log.jsonl");
    let header = Header::new(Some(setup.cwd.clone()), unix_millis());
    let log = SessionLog::create(&log, header, unix_millis)?;
    screen::heading("Running a recorded session against real tools");
    screen::aside("    seam          plugin/listener              verdict              time  why");
    let prompts = model.prompts().to_vec();
    let session = Session::start(&setup, model, log, Approvals::Never, false)?;
    let _watching = session.host().watch(WatchOptions::default())?;
    let mut ending = Ending::Done;
    for (number, prompt) in prompts.into_iter().enumerate() {
        if number == CHANGE_BEFORE {
            change_policy(&workspace, stage.path(), &libraries, &plugins, &mut lives).await?;
        }
        ending = session.ask(prompt).await?;
        if ending == Ending::Interrupted {
            return Ok(ending);
        }
    }
    drop(session);
    closing(&setup.cwd)?;
    Ok(match ending {
        // The last prompt is there to be refused.
        Ending::Refused => Ending::Done,
        other => other,
    })
}

/// Changes the source of a policy in the middle of the session, builds it, and has it go live.
async fn change_policy(
    workspace: &Path,
    stage: &Path,
    libraries: &[Built],
    plugins: &Path,
    lives: &mut Lives,
) -> Result<(), Failure> {
    screen::heading(
        "Changing the policy's source while the session goes on: the notes are private",
    );
    let policy = Policy::copy(workspace, stage.join("policy"))?;
    policy.change()?;
    let guard = libraries.iter().find(|it| it.package == PLUGINS[0]);
    let guard = &guard.ok_or("cargo named no library for the policy")?.library;
    let target = guard.ancestors().nth(2).ok_or("the target directory has no parent")?;
    let begun = Instant::now();
    let library = policy.build(target).await?;
    screen::aside(&format!("    built in {}", screen::time(begun.elapsed())));
    let name = guard.file_name().ok_or("cargo named a library without a name")?;
    let took = lives.swap(&library, &plugins.join(name)).await?;
    screen::aside(&format!(
        "    live {} after the file was replaced; the agent was not restarted",
        screen::time(took)
    ));
    Ok(())
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

fn options(plugins: &Path, journal: JournalSink) -> HostOptions {
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
        journal: Some(journal),
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

/// Builds the bundled plugins, and returns their libraries.
async fn build(workspace: &Path) -> Result<Vec<Built>, Failure> {
    let begun = Instant::now();
    let packages: Vec<&str> = PLUGINS.iter().flat_map(|it| ["--package", it]).collect();
    let mut libraries = cargo::build(workspace, &packages, Profile::Own).await?;
    libraries.retain(|it| PLUGINS.contains(&it.package.as_str()));
    if libraries.len() != PLUGINS.len() {
        let (found, expected) = (libraries.len(), PLUGINS.len());
        return Err(format!("cargo named {found} libraries for {expected} plugins").into());
    }
    screen::aside(&format!("    built in {}", screen::time(begun.elapsed())));
    Ok(libraries)
}
