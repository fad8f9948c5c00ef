//! `lockgate plugins dev`, as the author of a plugin uses it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};

use lockgate_tests::{library, lockgate};
use tempfile::TempDir;

const MANIFEST: &str = r#"
[package]
name = "dev-policy"
version = "0.1.0"
edition = "2024"

[lib]
crate-type = ["cdylib"]

[dependencies]
lockgate-plugin-api = { path = "PLUGIN_API" }

[workspace]

# As in the workspace, so that what is built there serves here too.
[profile.dev.package."*"]
debug = false
"#;

const SOURCE: &str = r#"
use lockgate_plugin_api::{Create, Plugin, PluginError, PreToolDecision, ToolCall, export_plugin};

struct Policy;
impl Plugin for Policy {
    fn create(_: &Create) -> Result<Self, PluginError> {
        Ok(Self)
    }
}
impl Policy {
    fn gate(&self, _: &ToolCall) -> Option<PreToolDecision> {
        Some(PreToolDecision::deny("REASON"))
    }
}
export_plugin!(Policy { pre_execute: gate });
"#;

struct Dev {
    child: Child,
    said: BufReader<ChildStderr>,
    dir: TempDir,
}

impl Dev {
    fn start() -> Self {
        let dir = TempDir::new().unwrap();
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap();
        let api = workspace.join("plugin-api");
        fs::create_dir(dir.path().join("src")).unwrap();
        let manifest = MANIFEST.replace("PLUGIN_API", api.to_str().unwrap());
        fs::write(dir.path().join("Cargo.toml"), manifest).unwrap();
        fs::copy(workspace.join("Cargo.lock"), dir.path().join("Cargo.lock")).unwrap();
        fs::write(dir.path().join("src/lib.rs"), SOURCE).unwrap();
        // Where the dependencies are built already.
        let target = library("puppet").ancestors().nth(2).unwrap();
        let mut dev = Command::new(lockgate());
        dev.args(["plugins", "dev"]).arg(dir.path()).args(["rm", "{}"]);
        dev.env("CARGO", env!("CARGO")).env("CARGO_TARGET_DIR", target).env("NO_COLOR", "1");
        dev.env("CARGO_NET_OFFLINE", "true").env("HOME", dir.path());
        // Open, and silent.
        let mut child =
            dev.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(child.stderr.take().unwrap());
        Self { child, said, dir }
    }

    fn save(&self, reason: &str) {
        let source = SOURCE.replace("REASON", reason);
        fs::write(self.dir.path().join("src/lib.rs"), source).unwrap();
    }

    /// Waits until a line says `what`. Returns what was said before.
    fn until(&mut self, what: &str) -> Vec<String> {
        let mut before = Vec::new();
        loop {
            let mut line = String::new();
            let read = self.said.read_line(&mut line).unwrap();
            assert!(read > 0, "it ended before it said `{what}`: {before:#?}");
            if line.contains(what) {
                return before;
            }
            before.push(line);
        }
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn each_save_is_built_swapped_and_asked_again() {
    let mut dev = Dev::start();
    dev.until("REASON");
    dev.until("save a source");
    dev.save("nobody deletes files");
    dev.until("nobody deletes files");
    dev.save("broken\" build");
    dev.until("what was there before stays");
    dev.save("somebody may ask");
    let before = dev.until("somebody may ask");
    assert!(before.iter().any(|it| it.starts_with("live dev-policy (load 3)")), "{before:#?}");
}

#[test]
fn what_is_no_crate_is_refused_at_once() {
    let dir = TempDir::new().unwrap();
    let mut dev = Command::new(lockgate());
    let output = dev.args(["plugins", "dev"]).arg(dir.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("has no Cargo.toml"), "{said}");
}
