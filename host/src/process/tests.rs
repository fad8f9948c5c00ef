//! What real processes come to.

use std::error::Error;
use std::fs::{self, File};
use std::future::Future;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;
use tokio::runtime::Builder;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time;
use tokio_util::sync::CancellationToken;

use super::{Ended, Exit, Spec, run};

#[test]
fn merged_output_keeps_the_order_of_writing() {
    let script = "for i in $(seq 300); do echo out $i; echo err $i >&2; done";
    let both: String = (1..=300).map(|it| format!("out {it}\nerr {it}\n")).collect();
    check(|| Spec { merged: true, ..sh(script) }, exited(0, &both, ""));
}

#[test]
fn streams_that_are_not_merged_are_apart() {
    check(|| sh("echo out; echo err >&2; exit 3"), exited(3, "out\n", "err\n"));
}

#[test]
fn a_process_that_a_signal_ended_has_no_code() {
    let how = Ended::Signalled(9);
    check(|| sh("echo out; kill -9 $$"), Exit { how, ..exited(0, "out\n", "") });
}

#[test]
fn arguments_directory_and_environment_are_passed_on() {
    let directory = fs::canonicalize("/").unwrap();
    let spec = || Spec {
        arguments: ["-c", r#"pwd; echo "$1|$LOCKGATE_TEST""#, "sh", "a  b"].map(Into::into).into(),
        cwd: Some(directory.clone()),
        environment: vec![("LOCKGATE_TEST".into(), "set".into())],
        ..sh("")
    };
    check(spec, exited(0, "/\na  b|set\n", ""));
}

#[test]
fn a_stream_is_read_whole_and_kept_in_part() {
    let much = || sh("head -c 10000000 /dev/zero; echo err >&2");
    let part = Exit { cut: true, ..exited(0, &"\0".repeat(1000), "err\n") };
    check(|| Spec { keep: Some(1000), ..much() }, part);
    let none = Exit { cut: true, ..exited(0, "", "") };
    check(|| Spec { keep: Some(0), ..much() }, none);
}

#[test]
fn a_stream_as_long_as_what_is_kept_is_not_cut() {
    check(|| Spec { keep: Some(4), ..sh("printf 1234") }, exited(0, "1234", ""));
}

#[test]
fn what_is_written_and_what_is_read_do_not_wait_for_each_other() {
    let text = "0123456789".repeat(100_000);
    check(|| Spec { stdin: text.clone(), ..sh("cat") }, exited(0, &text, ""));
}

#[test]
fn a_process_need_not_read() {
    let stdin = "x".repeat(1_000_000);
    check(|| Spec { stdin: stdin.clone(), ..sh("echo out; exit 4") }, exited(4, "out\n", ""));
}

#[test]
fn without_input_there_is_nothing_to_read() {
    check(|| sh("cat; echo over"), exited(0, "over\n", ""));
}

#[test]
fn a_signal_that_has_fired_starts_nothing() {
    let signal = CancellationToken::new();
    signal.cancel();
    let program = || "lockgate-no-such-program".to_owned();
    let spec = || Spec { program: program(), signal: Some(signal.clone()), ..Spec::default() };
    check(spec, Exit { how: Ended::Signalled(15), ..exited(0, "", "") });
}

#[test]
fn time_over_kills_what_ignores_the_request_to_end() {
    on_both(|| async {
        let mut witness = Witness::new();
        let script = format!("{}; echo out; wait", witness.deaf_child());
        let timeout = Some(Duration::from_secs(1));
        let exit = run(Spec { timeout, ..sh(&script) }).await.unwrap();
        let how = Ended::Signalled(15);
        assert_eq!(exit, Exit { how, timed_out: true, ..exited(0, "out\n", "") });
        assert_eq!(witness.rest().await, ["deaf"]);
    });
}

#[test]
fn endless_output_does_not_hold_up_the_end() {
    let timeout = Some(Duration::from_millis(500));
    let end =
        Exit { how: Ended::Signalled(15), cut: true, timed_out: true, ..exited(0, "y\n", "") };
    check(|| Spec { keep: Some(2), timeout, ..sh("exec yes") }, end);
}

#[test]
fn a_leader_that_ignores_the_request_is_killed() {
    on_both(|| async {
        let mut witness = Witness::new();
        let script = format!("trap '' TERM; {}; echo out; wait", witness.deaf_child());
        let signal = CancellationToken::new();
        let spec = Spec { signal: Some(signal.clone()), merged: true, ..sh(&script) };
        let running = tokio::spawn(run(spec));
        assert_eq!(witness.line().await.as_deref(), Some("deaf"));
        signal.cancel();
        let exit = running.await.unwrap().unwrap();
        assert_eq!((exit.how, exit.timed_out), (Ended::Signalled(9), false));
        assert_eq!(witness.line().await, None);
    });
}

#[test]
fn a_signal_that_fires_lets_a_process_end_in_its_own_way() {
    on_both(|| async {
        let mut witness = Witness::new();
        let script = format!(
            "exec 9>{}
            trap 'for i in $(seq 20); do sh -c :; done; echo bye; exit 7' TERM
            sleep 100 & echo out; echo ready >&9; wait",
            witness.fifo().display()
        );
        let signal = CancellationToken::new();
        let running = tokio::spawn(run(Spec { signal: Some(signal.clone()), ..sh(&script) }));
        assert_eq!(witness.line().await.as_deref(), Some("ready"));
        signal.cancel();
        assert_eq!(running.await.unwrap().unwrap(), exited(7, "out\nbye\n", ""));
        assert_eq!(witness.line().await, None);
    });
}

#[test]
fn dropping_the_run_kills_the_group_and_waits_for_the_process() {
    on_both(|| async {
        let mut witness = Witness::new();
        let script = format!("{}; echo $$ >&9; wait", witness.deaf_child());
        let running = tokio::spawn(run(sh(&script)));
        let mut lines = [witness.line().await.unwrap(), witness.line().await.unwrap()];
        lines.sort();
        let [leader, deaf] = lines;
        assert_eq!(deaf, "deaf");
        running.abort();
        assert_eq!(witness.line().await, None);
        // Nothing tells when the runtime has waited for a process that was dropped.
        let mut looks = time::interval(Duration::from_millis(5));
        while Path::new("/proc").join(&leader).exists() {
            looks.tick().await;
        }
    });
}

#[test]
fn what_a_process_left_in_the_background_is_left_alone() {
    on_both(|| async {
        let mut witness = Witness::new();
        let script = format!(
            "exec 9>{}
            (trap 'echo alive >&9; exit' USR1; echo ready >&9; sleep 100 & wait) &
            echo $$; exit 0",
            witness.fifo().display()
        );
        let exit = run(sh(&script)).await.unwrap();
        let printed = String::from_utf8(exit.stdout.clone()).unwrap();
        assert_eq!(exit, exited(0, &printed, ""));
        assert_eq!(witness.line().await.as_deref(), Some("ready"));
        let group = Pid::from_raw(printed.trim().parse().unwrap()).unwrap();
        kill_process_group(group, Signal::USR1).unwrap();
        assert_eq!(witness.rest().await, ["alive"]);
    });
}

#[test]
fn a_process_that_cannot_run_says_why() {
    let directory = tempfile::tempdir().unwrap();
    let text = directory.path().join("text");
    fs::write(&text, "").unwrap();
    let program = |it: &str| Spec { program: it.to_owned(), ..Spec::default() };
    let within = |it: PathBuf| Spec { cwd: Some(it), ..sh("true") };

    check_error(
        program("lockgate-no-such-program"),
        &directory,
        [
            "cannot run `lockgate-no-such-program`: the program does not exist",
            "No such file or directory (os error 2)",
        ],
    );
    check_error(
        Spec { cwd: Some(directory.path().to_owned()), ..program("./missing") },
        &directory,
        [
            "cannot run `./missing` in `DIR`: the program does not exist",
            "No such file or directory (os error 2)",
        ],
    );
    check_error(
        program(text.to_str().unwrap()),
        &directory,
        ["cannot run `DIR/text`: the program is not executable", "Permission denied (os error 13)"],
    );
    check_error(
        within(directory.path().join("missing")),
        &directory,
        [
            "cannot run `sh` in `DIR/missing`: the directory cannot be entered",
            "No such file or directory (os error 2)",
        ],
    );
    check_error(
        within(text),
        &directory,
        [
            "cannot run `sh` in `DIR/text`: the directory cannot be entered",
            "Not a directory (os error 20)",
        ],
    );
    check_error(
        program("a\0b"),
        &directory,
        ["cannot run `a\0b`: it cannot be started", "nul byte found in provided data"],
    );
}

fn sh(script: &str) -> Spec {
    let arguments = vec!["-c".to_owned(), script.to_owned()];
    Spec { program: "sh".to_owned(), arguments, ..Spec::default() }
}

fn exited(code: i32, stdout: &str, stderr: &str) -> Exit {
    Exit {
        how: Ended::Exited(code),
        stdout: stdout.into(),
        stderr: stderr.into(),
        cut: false,
        timed_out: false,
    }
}

#[track_caller]
fn check(spec: impl Fn() -> Spec, expected: Exit) {
    on_both(|| async {
        let exit = run(spec()).await.unwrap();
        assert!(exit == expected, "{}\nis not\n{}", shown(&exit), shown(&expected));
    });
}

#[track_caller]
fn check_error(spec: Spec, directory: &TempDir, expected: [&str; 2]) {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let error = runtime.block_on(run(spec)).unwrap_err();
    let message = error.to_string().replace(directory.path().to_str().unwrap(), "DIR");
    assert_eq!([message, error.source().unwrap().to_string()], expected);
}

/// Runs `test` on both flavours of runtime; it fails if it is not over in 30 seconds.
#[track_caller]
fn on_both<F: Future<Output = ()>>(test: impl Fn() -> F) {
    for mut flavour in [Builder::new_current_thread(), Builder::new_multi_thread()] {
        let runtime = flavour.enable_all().build().unwrap();
        let over = runtime.block_on(async { time::timeout(Duration::from_secs(30), test()).await });
        runtime.shutdown_background();
        assert!(over.is_ok(), "it takes too long");
    }
}

fn shown(exit: &Exit) -> String {
    let text = |bytes: &[u8]| {
        let start = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).into_owned();
        format!("{} bytes, {start:?}", bytes.len())
    };
    let (stdout, stderr) = (text(&exit.stdout), text(&exit.stderr));
    let Exit { how, cut, timed_out, .. } = exit;
    format!("{how:?}, cut {cut}, timed out {timed_out}, out {stdout}, err {stderr}")
}

/// A FIFO: what processes write to it, and, at its end, that none is left that holds it open.
struct Witness {
    directory: TempDir,
    lines: UnboundedReceiver<String>,
}

impl Witness {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let fifo = directory.path().join("fifo");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let (sender, lines) = unbounded_channel();
        thread::spawn(move || {
            for line in BufReader::new(File::open(fifo).unwrap()).lines() {
                let _ended = sender.send(line.unwrap());
            }
        });
        Self { directory, lines }
    }

    fn fifo(&self) -> PathBuf {
        self.directory.path().join("fifo")
    }

    /// The start of a script: a child that ignores SIGTERM, says so, and stays.
    fn deaf_child(&self) -> String {
        let fifo = self.fifo();
        format!("exec 9>{}; (trap '' TERM; echo deaf >&9; sleep 100) & :", fifo.display())
    }

    async fn line(&mut self) -> Option<String> {
        self.lines.recv().await
    }

    async fn rest(&mut self) -> Vec<String> {
        let mut rest = Vec::new();
        while let Some(line) = self.line().await {
            rest.push(line);
        }
        rest
    }
}
