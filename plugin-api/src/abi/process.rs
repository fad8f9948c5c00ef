//! Subprocesses that the host runs for a plugin: what to run, and how it ended.

use std::time::Duration;

use abi_stable::StableAbi;
use abi_stable::prefix_type::WithMetadata;

use super::future::Out;
use super::host::Cancelled;
use super::value::{Buf, Slice, Str};

/// What to run. Lent for the call that takes it.
#[repr(C)]
#[derive(StableAbi)]
#[sabi(kind(Prefix(prefix_ref = ProcessSpecRef, prefix_fields = ProcessSpecPrefix)))]
pub struct ProcessSpec {
    /// The program: a path, or a name to look for on `PATH`.
    pub program: Str,
    /// Its arguments.
    pub arguments: Slice<Str>,
    /// The directory it runs in; empty for the host's.
    pub cwd: Str,
    /// Names and values in turn, set on top of the host's environment.
    pub environment: Slice<Str>,
    /// What it reads from its standard input.
    pub stdin: Str,
    /// The signal that kills it; 0 for none.
    pub signal: u64,
    /// Kills it after this many milliseconds; 0 for no limit.
    pub timeout_ms: u64,
    /// The bytes kept of each stream; what follows is read and dropped. 0 for no bound.
    pub keep: u64,
    /// [`MERGED`].
    #[sabi(last_prefix_field)]
    pub flags: u32,
}

/// A flag of [`ProcessSpec`]: standard error goes where standard output goes, in the order in
/// which the process wrote.
pub const MERGED: u32 = 1;

/// How a process ended.
#[repr(C)]
#[derive(StableAbi, Debug)]
pub struct ProcessExit {
    /// 1: it exited with `code`. 2: the signal `code` ended it.
    pub how: u32,
    /// The exit code or the signal's number.
    pub code: i32,
    /// [`CUT`], [`TIMED_OUT`].
    pub flags: u32,
    /// What it wrote to standard output.
    pub stdout: Buf,
    /// What it wrote to standard error, unless merged.
    pub stderr: Buf,
}

/// A flag of [`ProcessExit`]: it wrote more than was kept.
pub const CUT: u32 = 1;
/// A flag of [`ProcessExit`]: it was killed because its time was over.
pub const TIMED_OUT: u32 = 2;

impl Out for ProcessExit {
    const EMPTY: Self = Self { how: 0, code: 0, flags: 0, stdout: Buf::EMPTY, stderr: Buf::EMPTY };

    fn is_empty(&self) -> bool {
        self.how == 0
    }
}

/// A command for [`Host::process`](super::host::Host::process).
#[derive(Debug, Clone)]
pub struct Command {
    program: String,
    arguments: Vec<String>,
    cwd: String,
    environment: Vec<String>,
    stdin: String,
    signal: u64,
    timeout_ms: u64,
    keep: u64,
    flags: u32,
}

impl Command {
    /// Runs `program`: a path, or a name to look for on `PATH`.
    pub fn new(program: impl Into<String>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            cwd: String::new(),
            environment: Vec::new(),
            stdin: String::new(),
            signal: 0,
            timeout_ms: 0,
            keep: 0,
            flags: 0,
        }
    }

    /// Adds one argument.
    pub fn arg(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Runs in `directory` instead of the host's.
    pub fn current_dir(mut self, directory: impl Into<String>) -> Self {
        self.cwd = directory.into();
        self
    }

    /// Sets a variable on top of the host's environment.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.environment.extend([name.into(), value.into()]);
        self
    }

    /// Gives it `text` to read; without, it reads nothing.
    pub fn stdin(mut self, text: impl Into<String>) -> Self {
        self.stdin = text.into();
        self
    }

    /// Sends standard error where standard output goes, in the order in which it was written.
    pub fn merge_stderr(mut self) -> Self {
        self.flags |= MERGED;
        self
    }

    /// Keeps at most `bytes` of each stream and drops what follows.
    pub fn keep_at_most(mut self, bytes: u64) -> Self {
        self.keep = bytes;
        self
    }

    /// Kills it after `time`, in whole milliseconds, at least one. What it wrote is kept.
    pub fn timeout(mut self, time: Duration) -> Self {
        self.timeout_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1);
        self
    }

    /// Kills it when `signal` fires. What it wrote until then is kept.
    pub fn killed_by(mut self, signal: Cancelled) -> Self {
        self.signal = signal.number();
        self
    }

    pub(super) fn with_spec<R>(&self, f: impl FnOnce(ProcessSpecRef) -> R) -> R {
        let lend = |texts: &[String]| texts.iter().map(|it| Str::lend(it)).collect::<Vec<_>>();
        let (arguments, environment) = (lend(&self.arguments), lend(&self.environment));
        let spec = WithMetadata::new(ProcessSpec {
            program: Str::lend(&self.program),
            arguments: Slice::lend(&arguments),
            cwd: Str::lend(&self.cwd),
            environment: Slice::lend(&environment),
            stdin: Str::lend(&self.stdin),
            signal: self.signal,
            timeout_ms: self.timeout_ms,
            keep: self.keep,
            flags: self.flags,
        });
        // SAFETY: `spec` and what it lends live until `f` returns, as the table promises.
        f(ProcessSpecRef(unsafe { spec.as_prefix() }))
    }
}

/// How a command ended, and what it wrote.
#[derive(Debug)]
pub struct ProcessOutput {
    exit: ProcessExit,
}

impl From<ProcessExit> for ProcessOutput {
    fn from(exit: ProcessExit) -> Self {
        Self { exit }
    }
}

impl ProcessOutput {
    /// The exit code; `None` where a signal ended it.
    pub fn code(&self) -> Option<i32> {
        (self.exit.how == 1).then_some(self.exit.code)
    }

    /// The signal that ended it, if one did.
    pub fn signal(&self) -> Option<i32> {
        (self.exit.how == 2).then_some(self.exit.code)
    }

    /// What it wrote to standard output.
    pub fn stdout(&self) -> &[u8] {
        self.exit.stdout.as_bytes()
    }

    /// What it wrote to standard error, unless that was merged into standard output.
    pub fn stderr(&self) -> &[u8] {
        self.exit.stderr.as_bytes()
    }

    /// Whether it was killed because its time was over.
    pub fn is_timed_out(&self) -> bool {
        self.exit.flags & TIMED_OUT != 0
    }

    /// Whether it wrote more than was kept.
    pub fn is_cut(&self) -> bool {
        self.exit.flags & CUT != 0
    }
}
