//! The command line.

mod approve;
mod call;
mod cargo;
mod demo;
mod dev;
mod host_setup;
mod moment;
mod plugins;
mod run;
mod screen;
mod session_file;
mod sessions;
mod typed;
mod watch_plugins;
mod watch_session;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgAction, Args, Parser, Subcommand};
use lockgate_plugin_api::error_chain;
use tracing_subscriber::EnvFilter;

use crate::model::ModelSpec;

/// Native plugins that decide what an AI agent may do.
#[derive(Debug, Parser)]
#[command(name = "lockgate", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Says more on standard error; twice for all.
    #[arg(short, long, global = true, action = ArgAction::Count)]
    verbose: u8,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Builds the bundled plugins and runs a recorded session with them deciding.
    Demo,
    /// Runs one agent session.
    Run(run::RunArgs),
    /// Makes one tool call through every phase.
    Call(call::CallArgs),
    /// Loads one plugin and says what came of it: how the program probes in a child process.
    #[command(name = crate::probe::COMMAND, hide = true)]
    Probe {
        /// The plugin's file.
        file: PathBuf,
        /// The plugin's configuration, as JSON.
        config: String,
    },
    /// Looks at plugins.
    #[command(subcommand)]
    Plugins(plugins::PluginsCommand),
    /// Looks at recorded sessions.
    #[command(subcommand)]
    Sessions(sessions::SessionsCommand),
}

/// Where plugins and their configuration come from.
#[derive(Debug, Clone, Args)]
struct PluginArgs {
    /// A directory with plugins; may be given several times. Instead of the configuration's.
    #[arg(long, value_name = "DIR", env = "LOCKGATE_PLUGINS", value_delimiter = ':')]
    plugins: Vec<PathBuf>,
    /// The configuration file, instead of the `lockgate.toml` that is found.
    #[arg(long, value_name = "FILE", env = "LOCKGATE_CONFIG")]
    config: Option<PathBuf>,
    /// The directory to work in, instead of this one.
    #[arg(long, value_name = "DIR", env = "LOCKGATE_CWD")]
    cwd: Option<PathBuf>,
    /// Does not start if any plugin file is refused.
    #[arg(long, env = "LOCKGATE_STRICT")]
    strict: bool,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// It did what it was asked to.
    Done,
    /// It did not.
    Failed,
    /// A policy refused it.
    Refused,
    /// A plugin does not fit.
    Incompatible,
    /// The person stopped it.
    Interrupted,
}

impl From<Ending> for ExitCode {
    fn from(ending: Ending) -> Self {
        // 2, for wrong usage, is given by the parser.
        Self::from(match ending {
            Ending::Done => 0,
            Ending::Failed => 1,
            Ending::Refused => 3,
            Ending::Incompatible => 4,
            Ending::Interrupted => 130,
        })
    }
}

/// Any error of a command, on its way to the person.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Runs the program: parses the command line, does what it says, and returns the exit code.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    log_to_stderr(cli.verbose);
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error),
    };
    let ended = runtime.block_on(async {
        match cli.command {
            Command::Demo => demo::demo().await,
            Command::Run(args) => run::run(args).await,
            Command::Call(args) => call::call(args).await,
            Command::Plugins(command) => plugins::plugins(command).await,
            Command::Sessions(command) => sessions::sessions(command),
            Command::Probe { file, config } => plugins::probe(&file, &config),
        }
    });
    // A plugin's blocking work must not keep the program from ending.
    runtime.shutdown_background();
    match ended {
        Ok(ending) => ending.into(),
        Err(error) => failed(&*error),
    }
}

fn failed(error: &(dyn std::error::Error + 'static)) -> ExitCode {
    let io = error.downcast_ref::<io::Error>();
    // Whoever stopped reading what is printed knows.
    if io.is_none_or(|it| it.kind() != io::ErrorKind::BrokenPipe) {
        screen::error(&error_chain(error));
    }
    Ending::Failed.into()
}

fn log_to_stderr(verbose: u8) {
    // What the host logs about refused files, the program says itself.
    let level = match verbose {
        0 => "warn,lockgate::host=error",
        1 => "info,lockgate::host=error",
        _ => "trace",
    };
    let filter = EnvFilter::try_from_env("LOCKGATE_LOG").unwrap_or_else(|_| level.into());
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(anstream::stderr)
        .without_time()
        .compact()
        .init();
}

/// Parses `--model`.
fn model_spec(text: &str) -> Result<ModelSpec, crate::model::ModelSpecError> {
    text.parse()
}
