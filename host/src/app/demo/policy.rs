//! The policy that the demo changes while it runs: a copy of its crate, out of the checkout.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::super::cargo::{self, Profile};
use super::super::{Failure, screen};
use crate::journal::{JournalSink, Phase, Transition};

/// The crate.
const CRATE: &str = "native-guard";

/// What its author changes in the source, and to what: from now on the notes are private.
const BEFORE: &str = r#"denied_arguments: vec!["rm -rf".into()],"#;
const AFTER: &str = r#"denied_arguments: vec!["rm -rf".into(), "notes.txt".into()],"#;

/// How long the swap may take once the file is there.
const PATIENCE: Duration = Duration::from_secs(10);

/// A copy of the crate, in a workspace of its own.
pub(super) struct Policy {
    root: PathBuf,
}

impl Policy {
    /// Copies the crate of the checkout at `workspace` to `root`, a new directory.
    ///
    /// # Errors
    /// When something cannot be copied, or the checkout is not as expected.
    pub(super) fn copy(workspace: &Path, root: PathBuf) -> Result<Self, Failure> {
        let (from, to) = (workspace.join("plugins").join(CRATE), root.join(CRATE));
        fs::create_dir_all(to.join("src"))?;
        for entry in fs::read_dir(from.join("src"))? {
            let entry = entry?;
            fs::copy(entry.path(), to.join("src").join(entry.file_name()))?;
        }
        // Under another file name, so that the checkout's own library stays what it is.
        let manifest = fs::read_to_string(from.join("Cargo.toml"))?;
        let library = r#"crate-type = ["cdylib", "rlib"]"#;
        let renamed = "name = \"native_guard_changed\"\ncrate-type = [\"cdylib\"]";
        fs::write(to.join("Cargo.toml"), replaced(&manifest, library, renamed)?)?;
        let manifest = fs::read_to_string(workspace.join("Cargo.toml"))?;
        let members =
            r#"members = ["host", "plugin-api", "plugins/*", "tests", "tests/fixtures/*"]"#;
        let manifest = replaced(&manifest, members, &format!("members = [\"{CRATE}\"]"))?;
        let manifest = replaced(&manifest, "default-members = [\"host\"]\n", "")?;
        let mut absolute = manifest;
        for member in ["plugin-api", "host"] {
            let path = workspace.join(member);
            let path = path.to_str().ok_or("the checkout's path is not UTF-8")?;
            let relative = format!("path = \"{member}\"");
            absolute = replaced(&absolute, &relative, &format!("path = {path:?}"))?;
        }
        fs::write(root.join("Cargo.toml"), absolute)?;
        fs::copy(workspace.join("Cargo.lock"), root.join("Cargo.lock"))?;
        Ok(Self { root })
    }

    /// Changes one line of the source, and shows it.
    ///
    /// # Errors
    /// When the line is not there, or the file cannot be written.
    pub(super) fn change(&self) -> Result<(), Failure> {
        let source = self.root.join(CRATE).join("src/lib.rs");
        let text = fs::read_to_string(&source)?;
        fs::write(&source, replaced(&text, BEFORE, AFTER)?)?;
        screen::line(&format!("  - {BEFORE}"));
        screen::line(&format!("  + {AFTER}"));
        Ok(())
    }

    /// Builds it, with what `target` has of its dependencies already.
    ///
    /// # Errors
    /// When it does not build.
    pub(super) async fn build(&self, target: &Path) -> Result<PathBuf, Failure> {
        let target = target.to_str().ok_or("the path of the target directory is not UTF-8")?;
        let built =
            cargo::build(&self.root, &["--offline", "--target-dir", target], Profile::Own).await?;
        let library = built.into_iter().find(|it| it.package == CRATE).map(|it| it.library);
        Ok(library.ok_or("cargo named no library for the policy")?)
    }
}

fn replaced(text: &str, from: &str, to: &str) -> Result<String, Failure> {
    if !text.contains(from) {
        return Err(format!("the checkout does not say `{from}` where the demo changes it").into());
    }
    Ok(text.replace(from, to))
}

/// Hears of the generations that go live.
pub(super) struct Lives {
    lives: mpsc::UnboundedReceiver<u64>,
}

impl Lives {
    /// What hears, and the sink for it.
    pub(super) fn new() -> (Self, JournalSink) {
        let (tell, lives) = mpsc::unbounded_channel();
        let sink = JournalSink::new(move |step: Transition| {
            if let (Phase::Live, Some(generation)) = (step.to, step.generation) {
                // Nobody waits any more once the demo is over.
                let _ = tell.send(generation);
            }
        });
        (Self { lives }, sink)
    }

    /// Puts `library` in the place of `file`, as careful tools do, and waits until a generation
    /// after those of the start is live. Returns how long that took.
    ///
    /// # Errors
    /// When it cannot be put there, or nothing goes live.
    pub(super) async fn swap(&mut self, library: &Path, file: &Path) -> Result<Duration, Failure> {
        while self.lives.try_recv().is_ok() {}
        let beside = file.with_extension("new");
        fs::copy(library, &beside)?;
        let begun = Instant::now();
        fs::rename(&beside, file)?;
        let live = tokio::time::timeout(PATIENCE, self.lives.recv()).await;
        match live {
            Ok(Some(_)) => Ok(begun.elapsed()),
            Ok(None) | Err(_) => Err("the changed policy did not go live".into()),
        }
    }
}
