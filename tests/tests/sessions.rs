//! Recorded sessions, run again by the program itself: the model is replayed, the tools are real.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use lockgate::session::{self, Recording};
use lockgate_tests::{lockgate, plugin_dir, reduced};
use tempfile::TempDir;

/// A session run again, and the directory it worked in.
struct Rerun {
    recording: Recording,
    cwd: PathBuf,
    _home: TempDir,
}

fn rerun(recording: &Path) -> Rerun {
    let plugins = plugin_dir(&["tool-shell", "call-timeout"]);
    let home = TempDir::new().unwrap();
    // What a shell says of where it is has no links in it.
    let base = home.path().canonicalize().unwrap();
    let (cwd, log) = (base.join("work"), base.join("session.jsonl"));
    fs::create_dir(&cwd).unwrap();
    let mut run = Command::new(lockgate());
    run.arg("run").arg("--model").arg(format!("replay:{}", recording.display()));
    run.arg("--session").arg(&log).arg("--plugins").arg(plugins.path());
    run.arg("--cwd").arg(&cwd).arg("--strict");
    run.current_dir(&base).env_clear().env("PATH", env::var_os("PATH").unwrap());
    run.env("HOME", &base).env("XDG_STATE_HOME", base.join("state"));
    let ended = run.output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    Rerun { recording: session::read(&log).unwrap(), cwd, _home: home }
}

/// Checks that the session in `folder` is what happens again. Returns the directory it leaves.
#[track_caller]
fn check(folder: &Path) -> Rerun {
    let path = folder.join("session.jsonl");
    let again = rerun(&path);
    session::validate(&again.recording).unwrap();
    assert_eq!(reduced(&again.recording), reduced(&session::read(&path).unwrap()), "{path:?}");
    again
}

fn ours(case: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions").join(case)
}

#[test]
fn a_turn_with_a_tool_call_happens_again() {
    check(&ours("one-bash-call"));
}

#[test]
fn a_turn_with_two_calls_in_one_answer_happens_again_in_its_own_directory() {
    let again = check(&ours("two-bash-calls"));
    assert_eq!(fs::read_to_string(again.cwd.join("river.txt")).unwrap(), "Aare\n");
}

#[test]
fn a_session_of_the_reference_happens_again() {
    let Some(folder) = env::var_os("LOCKGATE_CONFORMANCE") else {
        println!("left out: LOCKGATE_CONFORMANCE names no folder with sessions of the reference");
        return;
    };
    check(&Path::new(&folder).join("tool-call-turn"));
}
