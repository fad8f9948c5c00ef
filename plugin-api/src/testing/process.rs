//! Subprocesses in a test: what the plugin wanted to run, and how the test says it ended.

use std::time::Duration;

use crate::abi::process::{CUT, ProcessExit, TIMED_OUT};
use crate::abi::value::Buf;

/// What a plugin asked the host to run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Process {
    /// The program: a path, or a name to look for on `PATH`.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The directory it was to run in, where it is not the host's.
    pub cwd: Option<String>,
    /// Variables set on top of the host's environment, in order.
    pub environment: Vec<(String, String)>,
    /// What it was to read.
    pub stdin: String,
    /// When it was to be killed.
    pub timeout: Option<Duration>,
    /// The bytes to be kept of each stream, where there is a bound.
    pub keep: Option<u64>,
    /// Whether standard error was to go where standard output goes.
    pub merges_stderr: bool,
}

/// How the test says that a process ended.
#[derive(Debug)]
pub struct Ended {
    pub(crate) exit: Result<ProcessExit, String>,
}

impl Ended {
    /// It exited with `code`.
    pub fn exited(code: i32) -> Self {
        Self::new(1, code)
    }

    /// The signal of this number ended it.
    pub fn killed(signal: i32) -> Self {
        Self::new(2, signal)
    }

    /// It was killed because its time was over.
    pub fn timed_out() -> Self {
        Self::killed(9).flagged(TIMED_OUT)
    }

    /// It could not be started.
    pub fn not_started(why: impl Into<String>) -> Self {
        Self { exit: Err(why.into()) }
    }

    /// And it wrote this to standard output.
    pub fn printing(self, output: impl Into<Vec<u8>>) -> Self {
        Self { exit: self.exit.map(|it| ProcessExit { stdout: output.into().into(), ..it }) }
    }

    /// And it wrote this to standard error.
    pub fn complaining(self, output: impl Into<Vec<u8>>) -> Self {
        Self { exit: self.exit.map(|it| ProcessExit { stderr: output.into().into(), ..it }) }
    }

    /// And it wrote more than was kept.
    pub fn cut(self) -> Self {
        self.flagged(CUT)
    }

    fn new(how: u32, code: i32) -> Self {
        let (stdout, stderr) = (Buf::EMPTY, Buf::EMPTY);
        Self { exit: Ok(ProcessExit { how, code, flags: 0, stdout, stderr }) }
    }

    fn flagged(self, flag: u32) -> Self {
        Self { exit: self.exit.map(|it| ProcessExit { flags: it.flags | flag, ..it }) }
    }
}
