//! `lockgate plugins dev`: a plugin crate that is built, swapped and asked again on every save.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use serde_json::value::RawValue;
use tempfile::TempDir;
use tokio::sync::mpsc::{self, Receiver, UnboundedReceiver};

use super::approve;
use super::call::{ephemeral, show};
use super::cargo::{self, Profile};
use super::host_setup::Setup;
use super::typed::Typed;
use super::{Ending, Failure, PluginArgs, screen};
use crate::approval::Approvals;
use crate::host::Host;
use crate::journal::{JournalSink, Phase, Transition};
use crate::trail::TrailSink;
use crate::watch::WatchOptions;

/// How long sources must not have changed before they are built: editors write a file in steps.
const QUIET: Duration = Duration::from_millis(50);

/// How long a library that was put there may take to be taken or refused.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug, Args)]
pub(super) struct DevArgs {
    /// The directory of the plugin's crate.
    dir: PathBuf,
    /// A tool to call after every swap.
    tool: Option<String>,
    /// Its arguments, as JSON.
    #[arg(value_name = "JSON", default_value = "{}")]
    arguments: String,
    #[command(flatten)]
    plugins: PluginArgs,
}

/// A call to make after every swap.
struct Call {
    tool: String,
    arguments: String,
}

/// What is there while the author writes.
struct Dev {
    /// The crate.
    dir: PathBuf,
    /// The plugin directory that the crate's library goes to.
    live: TempDir,
    host: Host,
    setup: Setup,
    approvals: Approvals,
    /// Where files get to.
    steps: UnboundedReceiver<Transition>,
    call: Option<Call>,
}

pub(super) async fn dev(args: DevArgs) -> Result<Ending, Failure> {
    let dir = args.dir.canonicalize().map_err(|error| {
        format!("there is no plugin crate at `{}`: {error}", args.dir.display())
    })?;
    if !dir.join("Cargo.toml").is_file() {
        return Err(format!("`{}` has no Cargo.toml", dir.display()).into());
    }
    let call = args.tool.map(|tool| call_of(&format!("{tool} {}", args.arguments))).transpose()?;
    let live = TempDir::with_prefix("lockgate-dev-")?;
    let trail = TrailSink::new(|entry| {
        // Not what the agent's own seams answer: it is there for the call only.
        if entry.call.is_some() {
            screen::decision(&entry);
        }
    });
    let mut setup = args.plugins.setup(Some(trail))?;
    let typed = Arc::new(Typed::new());
    setup.options.approver = Some(approve::person(Arc::clone(&typed)));
    setup.options.plugin_dirs.insert(0, live.path().to_owned());
    let (tell, steps) = mpsc::unbounded_channel();
    setup.options.journal = Some(JournalSink::new(move |step| {
        screen::step(&step);
        // Nobody waits any more once the program ends.
        let _ = tell.send(step);
    }));
    // Before the first build, so that a save meanwhile is not missed.
    let (_watcher, mut saved) = watch_sources(&dir)?;
    let approvals = setup.approvals(None);
    let host = setup.start()?;
    let _watching = host.watch(WatchOptions { quiet: QUIET / 2, ..WatchOptions::default() })?;
    let mut dev = Dev { dir, live, host, setup, approvals, steps, call };
    let mut types = true;
    dev.build_and_swap().await?;
    screen::aside("save a source to build again; type `TOOL JSON` to make a call; Ctrl-C to leave");
    loop {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => return Ok(Ending::Interrupted),
            Some(()) = saved.recv() => {
                settle(&mut saved).await;
                dev.build_and_swap().await?;
            }
            line = typed.line(), if types => match line? {
                Some(line) if line.trim().is_empty() => {}
                Some(line) => match call_of(&line) {
                    Ok(call) => {
                        dev.call = Some(call);
                        dev.call_again().await?;
                    }
                    Err(error) => screen::error(&error.to_string()),
                },
                // No more calls will be typed; sources may still be saved.
                None => types = false,
            },
        }
    }
}

impl Dev {
    /// Builds the crate, puts its library into the plugin directory, waits for what becomes of it,
    /// and makes the call again. What does not build leaves everything as it is.
    async fn build_and_swap(&mut self) -> Result<(), Failure> {
        let begun = Instant::now();
        let built = match cargo::build(&self.dir, &[], Profile::Debug).await {
            Ok(built) => built,
            Err(error) => {
                screen::error(&error.to_string());
                screen::aside("what was there before stays");
                return Ok(());
            }
        };
        let library = built
            .into_iter()
            .map(|it| it.library)
            .find(|it| self.is_of_crate(it))
            .ok_or("the crate makes no shared library: set `crate-type = [\"cdylib\"]`")?;
        while self.steps.try_recv().is_ok() {}
        let name = library.file_name().ok_or("cargo named a library without a name")?;
        let (file, beside) = (self.live.path().join(name), self.live.path().join("beside.new"));
        if is_same(&library, &file) {
            screen::aside("the build is what it was");
            return self.call_again().await;
        }
        fs::copy(&library, &beside)?;
        fs::rename(&beside, &file)?;
        let built = begun.elapsed();
        let swapped = Instant::now();
        if tokio::time::timeout(PATIENCE, self.settled(&file)).await.is_err() {
            return Err("nothing became of the library that was built".into());
        }
        screen::aside(&format!(
            "    built in {}, taken in {}",
            screen::time(built),
            screen::time(swapped.elapsed())
        ));
        self.call_again().await
    }

    /// Whether cargo made the library from the crate itself and not from one that it depends on.
    fn is_of_crate(&self, library: &Path) -> bool {
        let manifest = fs::read_to_string(self.dir.join("Cargo.toml")).unwrap_or_default();
        let manifest: toml::Table = manifest.parse().unwrap_or_default();
        let name = |table: &str| manifest.get(table)?.get("name")?.as_str().map(str::to_owned);
        let name = name("lib").or_else(|| name("package")).unwrap_or_default().replace('-', "_");
        let file = library.file_stem().and_then(|it| it.to_str()).unwrap_or_default();
        file.strip_prefix(env::consts::DLL_PREFIX) == Some(&name)
    }

    /// Waits until `file` is live, or is not to be.
    async fn settled(&mut self, file: &Path) {
        while let Some(step) = self.steps.recv().await {
            let is_over = match step.to {
                Phase::Live | Phase::Refused | Phase::Quarantined => true,
                Phase::Disabled | Phase::Superseded | Phase::Removed => true,
                Phase::Discovered | Phase::Settling | Phase::Inspected | Phase::Loading => false,
                Phase::Draining | Phase::Retired => false,
            };
            if is_over && step.path == file {
                return;
            }
        }
    }

    async fn call_again(&self) -> Result<(), Failure> {
        let Some(Call { tool, arguments }) = &self.call else { return Ok(()) };
        screen::line(&format!("  {tool} {arguments}"));
        let agent = ephemeral(&self.host, &self.setup, self.approvals)?;
        let outcome = agent.call_tool(tool, arguments).await?;
        show(Some(&outcome), Vec::new(), false)
    }
}

/// The call that a line says.
fn call_of(line: &str) -> Result<Call, Failure> {
    let (tool, arguments) =
        line.trim().split_once(char::is_whitespace).unwrap_or((line.trim(), "{}"));
    if let Err(error) = serde_json::from_str::<&RawValue>(arguments) {
        return Err(format!("the arguments of `{tool}` are not JSON: {error}").into());
    }
    Ok(Call { tool: tool.to_owned(), arguments: arguments.to_owned() })
}

fn is_same(a: &Path, b: &Path) -> bool {
    matches!((fs::read(a), fs::read(b)), (Ok(a), Ok(b)) if a == b)
}

/// Tells of every save below `dir`, until what is returned first is dropped.
fn watch_sources(dir: &Path) -> Result<(RecommendedWatcher, Receiver<()>), Failure> {
    let (tell, saved) = mpsc::channel(1);
    let root = dir.to_owned();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        let is_save = event.map_or(true, |event| {
            !matches!(event.kind, EventKind::Access(_))
                && event.paths.iter().any(|it| is_source(&root, it))
        });
        if is_save {
            // Full: it is going to be built already.
            let _ = tell.try_send(());
        }
    })?;
    watcher.watch(dir, RecursiveMode::Recursive)?;
    Ok((watcher, saved))
}

/// Whether a file below `root` is one that its author writes.
fn is_source(root: &Path, path: &Path) -> bool {
    let below = path.strip_prefix(root).unwrap_or(path);
    let names = below.iter().map(|it| it.to_string_lossy());
    let mut odd = names.filter(|it| it.starts_with('.') || it == "target" || it == "Cargo.lock");
    odd.next().is_none() && !below.to_string_lossy().ends_with('~')
}

/// Waits until nothing was saved for a while.
async fn settle(saved: &mut Receiver<()>) {
    while tokio::time::timeout(QUIET, saved.recv()).await.is_ok_and(|it| it.is_some()) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_its_author_writes_is_a_source() {
        #[track_caller]
        fn check(path: &str, expected: bool) {
            assert_eq!(is_source(Path::new("/p"), &Path::new("/p").join(path)), expected, "{path}");
        }
        check("src/lib.rs", true);
        check("Cargo.toml", true);
        check("config_schema.json", true);
        check("target/debug/lib.rs", false);
        check("Cargo.lock", false);
        check("src/.lib.rs.swp", false);
        check(".git/index", false);
        check("src/lib.rs~", false);
    }

    #[test]
    fn a_line_is_a_tool_and_its_arguments() {
        let of = |line| call_of(line).map(|it| (it.tool, it.arguments)).ok();
        let pair = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
        assert_eq!(of("bash {\"command\": \"ls\"} \n"), pair("bash", "{\"command\": \"ls\"}"));
        assert_eq!(of("count"), pair("count", "{}"));
        assert_eq!(of("bash {"), None);
    }
}
