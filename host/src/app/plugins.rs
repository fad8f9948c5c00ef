//! `lockgate plugins`: what is there, what it says of itself, and whether it would load here.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use serde::Serialize;
use serde_json::json;

use super::dev::{self, DevArgs};
use super::host_setup::{QUARANTINE, Setup, state_dir};
use super::{Ending, Failure, PluginArgs, screen, watch_plugins};
use crate::artifact::Artifact;
use crate::discover;
use crate::host::{self, Host};
use crate::probe::Verdict;
use crate::quarantine::Quarantine;
use crate::refusal::{Code, Refusal};
use crate::roster::{PluginReport, PluginState};

#[derive(Debug, Subcommand)]
pub(super) enum PluginsCommand {
    /// Lists the plugins of the directories and what became of each.
    List {
        /// Prints JSON.
        #[arg(long)]
        json: bool,
        /// Goes on, and prints each step of a file that changes.
        #[arg(long)]
        watch: bool,
        #[command(flatten)]
        plugins: PluginArgs,
    },
    /// Prints the chain of each seam: who is asked before whom.
    Order {
        /// Prints JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        plugins: PluginArgs,
    },
    /// Prints what a plugin says of itself. Runs nothing of it.
    Inspect {
        /// The plugin's file.
        file: PathBuf,
        /// Prints the manifest as JSON on one line.
        #[arg(long)]
        json: bool,
    },
    /// Says whether plugins would load here, and why not.
    Check {
        /// Plugin files, and directories with plugins.
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,
        /// Prints JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        plugins: PluginArgs,
    },
    /// Builds a plugin crate on every save, swaps it live, and makes a call again.
    Dev(DevArgs),
    /// Builds that misbehaved and are not loaded any more.
    #[command(subcommand)]
    Quarantine(QuarantineCommand),
}

#[derive(Debug, Subcommand)]
pub(super) enum QuarantineCommand {
    /// Lists the builds that misbehaved and are not loaded any more.
    List {
        /// Prints JSON.
        #[arg(long)]
        json: bool,
    },
    /// Lets builds in again.
    Clear {
        /// The beginning of a build's hash; without one, all of them.
        #[arg(default_value = "")]
        hash: String,
    },
}

/// What `check --json` prints for each file.
#[derive(Serialize)]
struct Check {
    path: PathBuf,
    ok: bool,
    code: Option<&'static str>,
    message: Option<String>,
    remedy: Option<&'static str>,
}

pub(super) async fn plugins(command: PluginsCommand) -> Result<Ending, Failure> {
    match command {
        PluginsCommand::List { json, watch: false, plugins } => {
            let setup = plugins.setup(None)?;
            list(&setup, &setup.start()?, json)?;
            Ok(Ending::Done)
        }
        PluginsCommand::List { json, watch: true, plugins } => {
            let list = move |setup: &Setup, host: &Host| list(setup, host, json);
            watch_plugins::until_stopped(&mut plugins.setup(None)?, json, list).await
        }
        PluginsCommand::Order { json, plugins } => order(&plugins.setup(None)?, json),
        PluginsCommand::Inspect { file, json } => inspect(&file, json),
        PluginsCommand::Check { paths, json, plugins } => {
            check(&paths, &plugins.setup(None)?, json)
        }
        PluginsCommand::Dev(args) => dev::dev(args).await,
        PluginsCommand::Quarantine(command) => quarantine(&command),
    }
}

fn list(setup: &Setup, host: &Host, json: bool) -> Result<(), Failure> {
    let reports = host.plugins();
    if json {
        let rows: Vec<_> = reports.iter().map(row).collect();
        screen::json(&rows)?;
        return Ok(());
    }
    if reports.is_empty() {
        let searched = setup.options.plugin_dirs.iter().map(|it| it.display().to_string());
        let searched = searched.collect::<Vec<_>>().join(", ");
        let hint = "name a directory with --plugins DIR, or `plugin_dirs` in lockgate.toml";
        screen::line(&match searched.as_str() {
            "" => format!("no plugin directory is set: {hint}"),
            dirs => format!("no plugins in {dirs}: {hint}"),
        });
        return Ok(());
    }
    let mut table = screen::table();
    table.set_header(["plugin", "version", "state", "listens to", "tools", "file"]);
    for report in &reports {
        let manifest = report.manifest.as_ref();
        table.add_row([
            manifest.map_or_else(|| "-".into(), |it| it.name.clone()),
            manifest.map_or_else(|| "-".into(), |it| it.version.clone()),
            state(&report.state),
            seams(report).join(" "),
            tools(&report.state).join(" "),
            report.path.display().to_string(),
        ]);
    }
    screen::out(&format!("{table}\n"))?;
    Ok(())
}

fn order(setup: &Setup, json: bool) -> Result<Ending, Failure> {
    let chains = setup.start()?.chains();
    if json {
        screen::json(&chains)?;
        return Ok(Ending::Done);
    }
    let mut table = screen::table();
    table.set_header(["seam", "priority", "plugin", "listener", "required", "state"]);
    for place in &chains {
        table.add_row([
            place.seam.as_str(),
            &place.priority.to_string(),
            &place.plugin,
            &place.listener,
            if place.required { "yes" } else { "no" },
            if place.live { "live" } else { "unavailable" },
        ]);
    }
    screen::out(&format!("{table}\n"))?;
    Ok(Ending::Done)
}

fn row(report: &PluginReport) -> serde_json::Value {
    let manifest = report.manifest.as_ref();
    let refusal = report.state.refusal();
    json!({
        "path": report.path,
        "name": manifest.map(|it| &it.name),
        "version": manifest.map(|it| &it.version),
        "state": state(&report.state),
        "listeners": manifest.map(|it| &it.listeners),
        "tools": tools(&report.state),
        "code": refusal.map(|it| it.code().as_str()),
        "message": refusal.map(|it| it.message()),
        "remedy": refusal.map(|it| it.remedy()),
    })
}

fn state(state: &PluginState) -> String {
    match state {
        PluginState::Live { .. } => "live".into(),
        PluginState::PerAgent { .. } => "per agent".into(),
        PluginState::Refused(refusal) => format!("refused {}", refusal.code()),
        PluginState::Kept { refusal, .. } => format!("kept, refused {}", refusal.code()),
        PluginState::Disabled => "disabled".into(),
        PluginState::Superseded => "superseded".into(),
    }
}

fn seams(report: &PluginReport) -> Vec<&'static str> {
    let listeners = report.manifest.iter().flat_map(|it| &it.listeners);
    listeners.map(|it| it.seam).collect::<BTreeSet<_>>().iter().map(|it| it.as_str()).collect()
}

fn tools(state: &PluginState) -> &[String] {
    match state {
        PluginState::Live { tools, .. } => tools,
        PluginState::PerAgent { .. }
        | PluginState::Refused(_)
        | PluginState::Kept { .. }
        | PluginState::Disabled
        | PluginState::Superseded => &[],
    }
}

fn inspect(file: &Path, json: bool) -> Result<Ending, Failure> {
    let artifact = match Artifact::read(file) {
        Ok(artifact) => artifact,
        Err(refusal) => {
            screen::refusal(file, &refusal);
            return Ok(Ending::Incompatible);
        }
    };
    if json {
        screen::json(&artifact.manifest)?;
    } else {
        screen::out(&format!("{}\n", serde_json::to_string_pretty(&artifact.manifest)?))?;
    }
    Ok(Ending::Done)
}

fn check(paths: &[PathBuf], setup: &Setup, json: bool) -> Result<Ending, Failure> {
    let mut checks = Vec::new();
    for path in paths {
        if path.is_dir() {
            let files = discover::scan(std::slice::from_ref(path))?;
            checks.extend(files.iter().map(|it| check_file(it, setup)));
        } else {
            checks.push(check_file(path, setup));
        }
    }
    let all_fit = checks.iter().all(|it| it.ok);
    if json {
        screen::json(&checks)?;
    } else {
        checks.iter().try_for_each(show)?;
    }
    Ok(if all_fit { Ending::Done } else { Ending::Incompatible })
}

fn quarantine(command: &QuarantineCommand) -> Result<Ending, Failure> {
    let file = state_dir().map(|it| it.join(QUARANTINE));
    let file = file.ok_or("there is no quarantine: set HOME or XDG_STATE_HOME")?;
    let mut quarantine = Quarantine::open(Some(&file))?;
    match command {
        QuarantineCommand::List { json: true } => screen::json(quarantine.builds())?,
        QuarantineCommand::List { json: false } if quarantine.builds().is_empty() => {
            screen::line("no build is shut out");
        }
        QuarantineCommand::List { json: false } => {
            let mut table = screen::table();
            table.set_header(["build", "plugin", "why"]);
            for (hash, why) in quarantine.builds() {
                table.add_row([&hash[..hash.len().min(16)], &why.plugin, &why.reason]);
            }
            screen::out(&format!("{table}\n"))?;
        }
        QuarantineCommand::Clear { hash } => {
            let count = quarantine.clear(hash)?;
            screen::line(&format!("{count} builds are let in again"));
            if count == 0 && !hash.is_empty() {
                return Ok(Ending::Failed);
            }
        }
    }
    Ok(Ending::Done)
}

/// Makes the plugin at `file` in this process, and says on standard output what came of it.
pub(super) fn probe(file: &Path, config: &str) -> Result<Ending, Failure> {
    let config = serde_json::from_str(config)?;
    let made = host::create_alone(file, &config);
    screen::json(&Verdict::of(&made))?;
    Ok(Ending::Done)
}

fn check_file(path: &Path, setup: &Setup) -> Check {
    let refusal = host::check(path, &setup.options).err();
    Check {
        path: path.to_owned(),
        ok: refusal.is_none(),
        code: refusal.as_ref().map(Refusal::code).map(Code::as_str),
        message: refusal.as_ref().map(|it| it.message().to_owned()),
        remedy: refusal.as_ref().map(Refusal::remedy),
    }
}

fn show(check: &Check) -> std::io::Result<()> {
    let path = check.path.display();
    match (check.code, &check.message, check.remedy) {
        (Some(code), Some(message), Some(remedy)) => {
            screen::out(&format!("{path}: {code}: {message}\n    {remedy}\n"))
        }
        _ => screen::out(&format!("{path}: ok\n")),
    }
}
