//! Runs a subprocess for a plugin, and ends it with all that it started.
//!
//! Process groups are Unix's. Elsewhere the process alone is killed, and that is untested.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use futures_util::future::{self, Either};
use thiserror::Error;
use tokio::process::{Child, ChildStdin, Command};
use tokio::{fs, time};
use tokio_util::sync::CancellationToken;

use self::group::Group;
use self::pipe::{Kept, Pipe, asynchronous, feed};

mod group;
mod pipe;
#[cfg(test)]
#[cfg(unix)]
mod tests;

/// The time between asking a group to end and killing it.
const GRACE: Duration = Duration::from_millis(500);

/// The time that what is left in the pipes gets after the process itself is gone.
const DRAIN: Duration = Duration::from_millis(250);

/// What to run, and how long.
#[derive(Debug, Default)]
pub(crate) struct Spec {
    /// A path, or a name to look for on `PATH`.
    pub(crate) program: String,
    /// Its arguments, without its name.
    pub(crate) arguments: Vec<String>,
    /// The directory it runs in; `None` for the host's.
    pub(crate) cwd: Option<PathBuf>,
    /// Names and values, set on top of the host's environment.
    pub(crate) environment: Vec<(String, String)>,
    /// What it may read; nothing where this is empty.
    pub(crate) stdin: String,
    /// Ends it after this time.
    pub(crate) timeout: Option<Duration>,
    /// The bytes kept of each stream; the rest is read and dropped. `None` for no bound.
    pub(crate) keep: Option<u64>,
    /// Whether standard error goes where standard output goes, in the order of writing.
    pub(crate) merged: bool,
    /// Ends it when it fires.
    pub(crate) signal: Option<CancellationToken>,
}

/// How a process ended, and what it wrote until then.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Exit {
    /// How it ended.
    pub(crate) how: Ended,
    /// What it wrote to standard output.
    pub(crate) stdout: Vec<u8>,
    /// What it wrote to standard error; nothing if that was merged.
    pub(crate) stderr: Vec<u8>,
    /// Whether it wrote more than is here.
    pub(crate) cut: bool,
    /// Whether it was ended because its time was over.
    pub(crate) timed_out: bool,
}

/// The end of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// It exited with this code.
    Exited(i32),
    /// The signal of this number ended it.
    Signalled(i32),
}

/// A process that could not be run.
#[derive(Debug, Error)]
#[error("cannot run `{program}`{}: {failure}", within(directory.as_ref()))]
pub(crate) struct SpawnError {
    /// The program, as it was asked for.
    pub(crate) program: String,
    /// The directory it was to run in; `None` for the host's.
    pub(crate) directory: Option<PathBuf>,
    /// What went wrong.
    pub(crate) failure: SpawnFailure,
    /// What the system said.
    #[source]
    pub(crate) cause: io::Error,
}

/// Why a process could not be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum SpawnFailure {
    /// There is no such program, or the interpreter that it names is missing.
    NoProgram,
    /// The directory is missing, is no directory, or cannot be entered.
    NoDirectory,
    /// The program is there, and may not be executed.
    NotExecutable,
    /// The system has no process or no pipe left, or a text cannot be passed to a program.
    Start,
    /// It was started, and how it ended cannot be known.
    Lost,
}

impl fmt::Display for SpawnFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoProgram => "the program does not exist",
            Self::NoDirectory => "the directory cannot be entered",
            Self::NotExecutable => "the program is not executable",
            Self::Start => "it cannot be started",
            Self::Lost => "its end was lost",
        })
    }
}

/// Runs `spec` to its end, in a process group of its own.
///
/// When the time is over or the signal fires, the group is asked to end, and killed if any of it
/// is there 500 ms later. After the process is gone, its output is awaited for at most 250 ms: what
/// it left in the background may hold the pipes, and is left alone if the process ended by itself.
/// Dropping the future kills the group. A signal that has fired before starts nothing, and is
/// answered as if it had ended the process.
///
/// It needs a tokio runtime of any flavour, with I/O and time.
///
/// # Errors
///
/// If the process cannot be started, or if somebody else in the host took its exit status.
pub(crate) async fn run(spec: Spec) -> Result<Exit, SpawnError> {
    let Spec { program, arguments, cwd, environment, stdin, timeout, keep, merged, signal } = spec;
    let (mut stdout, mut stderr) = (Kept::new(keep), Kept::new(keep));
    if signal.as_ref().is_some_and(CancellationToken::is_cancelled) {
        return Ok(exit(Ended::Signalled(group::TERMINATE), false, stdout, stderr));
    }
    let mut command = Command::new(&program);
    command.args(arguments).envs(environment).kill_on_drop(true);
    if let Some(cwd) = &cwd {
        command.current_dir(cwd);
    }
    let error = |failure, cause| SpawnError {
        program: program.clone(),
        directory: cwd.clone(),
        failure,
        cause,
    };
    // The group is dropped before the child, whose zombie keeps the number from being given away.
    let Running { mut child, mut group, input, output, errors } =
        match start(command, !stdin.is_empty(), merged) {
            Ok(running) => running,
            Err(cause) => {
                let (failure, cause) = explain(cause, cwd.as_ref()).await;
                return Err(error(failure, cause));
            }
        };
    let ended = end(&mut child, &mut group, timeout, signal);
    let transfer = async {
        tokio::join!(feed(input, stdin), stdout.fill(output), stderr.fill(errors));
    };
    let ended = match future::select(pin!(ended), pin!(transfer)).await {
        Either::Left((ended, transfer)) => {
            // What has not come by now is somebody else's.
            let _late = time::timeout(DRAIN, transfer).await;
            ended
        }
        Either::Right(((), ended)) => ended.await,
    };
    let (status, timed_out) = ended.map_err(|cause| error(SpawnFailure::Lost, cause))?;
    Ok(exit(how(status), timed_out, stdout, stderr))
}

/// A process with its group and our ends of its pipes.
struct Running {
    child: Child,
    group: Group,
    input: Option<ChildStdin>,
    output: Option<Pipe>,
    errors: Option<Pipe>,
}

/// Takes the command, because it holds the other end of a merged pipe.
fn start(mut command: Command, fed: bool, merged: bool) -> io::Result<Running> {
    group::lead(&mut command);
    command.stdin(if fed { Stdio::piped() } else { Stdio::null() });
    let mut both = None;
    if merged {
        let (reader, writer) = io::pipe()?;
        command.stdout(writer.try_clone()?).stderr(writer);
        both = Some(asynchronous(reader)?);
    } else {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
    }
    let mut child = command.spawn()?;
    let group = Group::of(&child);
    let input = child.stdin.take();
    let output = both.or_else(|| child.stdout.take().map(|it| Box::new(it) as Pipe));
    let errors = child.stderr.take().map(|it| Box::new(it) as Pipe);
    Ok(Running { group, child, input, output, errors })
}

/// What a failed start means, and its cause.
async fn explain(cause: io::Error, cwd: Option<&PathBuf>) -> (SpawnFailure, io::Error) {
    // The system answers for a directory as it does for a program; its `.` must be reached.
    if let Some(cwd) = cwd
        && let Err(cause) = fs::metadata(cwd.join(".")).await
    {
        return (SpawnFailure::NoDirectory, cause);
    }
    let failure = match cause.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => SpawnFailure::NoProgram,
        io::ErrorKind::PermissionDenied => SpawnFailure::NotExecutable,
        _ => SpawnFailure::Start,
    };
    (failure, cause)
}

/// Waits for the end of `child`, or brings it about; whether time did.
async fn end(
    child: &mut Child,
    group: &mut Group,
    timeout: Option<Duration>,
    signal: Option<CancellationToken>,
) -> io::Result<(ExitStatus, bool)> {
    let timed_out = tokio::select! {
        biased;
        status = child.wait() => {
            group.release();
            return Ok((status?, false));
        }
        () = fired(signal) => false,
        () = elapsed(timeout) => true,
    };
    group.terminate();
    let gone = async {
        let status = child.wait().await;
        group.gone().await;
        status
    };
    let status = match time::timeout(GRACE, gone).await {
        Ok(status) => status,
        Err(_elapsed) => {
            group.kill();
            // Where there are groups, it is dying already.
            let _dying = child.start_kill();
            child.wait().await
        }
    };
    group.release();
    Ok((status?, timed_out))
}

async fn fired(signal: Option<CancellationToken>) {
    match signal {
        Some(signal) => signal.cancelled().await,
        None => future::pending().await,
    }
}

async fn elapsed(timeout: Option<Duration>) {
    match timeout {
        Some(timeout) => time::sleep(timeout).await,
        None => future::pending().await,
    }
}

fn exit(how: Ended, timed_out: bool, stdout: Kept, stderr: Kept) -> Exit {
    let cut = stdout.cut || stderr.cut;
    Exit { how, stdout: stdout.bytes, stderr: stderr.bytes, cut, timed_out }
}

fn how(status: ExitStatus) -> Ended {
    match (status.code(), group::signal_of(status)) {
        (Some(code), _) => Ended::Exited(code),
        (None, signal) => Ended::Signalled(signal),
    }
}

fn within(directory: Option<&PathBuf>) -> String {
    directory.map_or_else(String::new, |it| format!(" in `{}`", it.display()))
}
