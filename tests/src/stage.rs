//! The program `lockgate` in a directory and a home of its own: what it prints where, and how it
//! ends.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::{lockgate, plugin_dir};

/// The exit code of a command that did what it was asked to.
pub const DONE: i32 = 0;
/// The exit code of a command that did not.
pub const FAILED: i32 = 1;
/// The exit code for wrong usage.
pub const USAGE: i32 = 2;
/// The exit code of what a policy refused.
pub const REFUSED: i32 = 3;
/// The exit code of plugins that do not fit.
pub const INCOMPATIBLE: i32 = 4;
/// The exit code of a command that the person stopped.
pub const INTERRUPTED: i32 = 130;

/// A directory to run the program in, with plugins in `p`, and a home of its own.
#[derive(Debug)]
pub struct Stage {
    dir: TempDir,
}

/// What the program printed, and how it ended.
#[derive(Debug)]
pub struct Ran {
    /// Its exit code; `None` where a signal ended it.
    pub code: Option<i32>,
    /// Its standard output.
    pub out: String,
    /// Its standard error.
    pub err: String,
}

impl Stage {
    /// A stage with the libraries of these packages.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn new(packages: &[&str]) -> Self {
        Self::with(plugin_dir(packages))
    }

    /// A stage with this directory of plugins.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn with(plugins: TempDir) -> Self {
        let dir = TempDir::new().expect("a temporary directory can be made");
        fs::rename(plugins.keep(), dir.path().join("p")).expect("a directory can be moved");
        Self { dir }
    }

    /// What is called `name` here.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Makes the file `name`.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).expect("a file can be written");
    }

    /// The program, with nothing of the environment but where programs are.
    ///
    /// # Panics
    /// When the workspace does not build, or nobody says where programs are.
    pub fn program(&self, args: &[&str]) -> Command {
        let mut program = Command::new(lockgate());
        program.args(args).current_dir(self.dir.path()).stdin(Stdio::null()).env_clear();
        program.env("PATH", std::env::var_os("PATH").expect("there is a PATH"));
        for (name, dir) in [
            ("HOME", "home"),
            ("XDG_STATE_HOME", "home/state"),
            ("XDG_CONFIG_HOME", "home/config"),
            ("XDG_CACHE_HOME", "home/cache"),
        ] {
            program.env(name, self.path(dir));
        }
        program
    }

    /// Runs the program to its end.
    ///
    /// # Panics
    /// When it does not run, or prints what is not UTF-8.
    pub fn run(&self, args: &[&str]) -> Ran {
        let output = self.program(args).output().expect("the program runs");
        let Output { status, stdout, stderr } = output;
        let text = |it| String::from_utf8(it).expect("the program prints UTF-8");
        Ran { code: status.code(), out: text(stdout), err: text(stderr) }
    }

    /// Runs the program and compares all that comes of it.
    ///
    /// # Panics
    /// When it ends or prints otherwise.
    #[track_caller]
    pub fn check(&self, args: &[&str], code: i32, out: &str, err: &str) {
        let ran = self.run(args);
        assert_eq!((&*ran.out, &*ran.err, ran.code), (out, err, Some(code)), "{args:?}");
    }

    /// As [`check`](Self::check), for JSON on standard output and nothing else.
    ///
    /// # Panics
    /// When it ends or prints otherwise.
    #[track_caller]
    pub fn check_json(&self, args: &[&str], code: i32, expected: &Value) {
        let ran = self.run(args);
        assert_eq!((&ran.json(), &*ran.err, ran.code), (expected, "", Some(code)), "{args:?}");
    }
}

impl Ran {
    /// The JSON on standard output.
    ///
    /// # Panics
    /// When it is not one JSON text.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}
