//! `lockgate run`: what is printed where, what ends it, and what is left.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::io::{BufRead, BufReader, pipe};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use lockgate_tests::stage::{DONE, FAILED, INTERRUPTED, REFUSED, Stage, USAGE};
use serde_json::{Value, json};

/// A stage with a shell, and a policy that denies `rm -rf`.
fn stage() -> Stage {
    Stage::new(&["tool-shell", "native-guard"])
}

/// A model that runs one command, and a prompt for it.
fn script(command: &str) -> String {
    json!({
        "prompts": ["hello"],
        "answers": [
            {"text": "let me see", "calls": [{"name": "bash", "arguments": {"command": command}}]},
            "done",
        ],
    })
    .to_string()
}

const RUN: [&str; 5] = ["run", "--model", "script:s.json", "--plugins", "p"];

/// `RUN` with more arguments.
fn run_with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [RUN.as_slice(), more].concat()
}

#[test]
fn run_prints_what_the_model_says_and_nothing_else_on_standard_output() {
    let stage = stage();
    stage.write("s.json", script("echo from the tool"));
    let ran = stage.run(&RUN);
    assert_eq!((&*ran.out, ran.code), ("let me see\ndone\n", Some(DONE)));
    assert!(ran.err.contains("  bash {\"command\":\"echo from the tool\"}\n"), "{}", ran.err);
    // The log is where the user's state is kept.
    let sessions = fs::read_dir(stage.path("home/state/lockgate/sessions")).unwrap();
    assert_eq!(sessions.count(), 1);
}

#[test]
fn run_prints_every_event_of_the_log_as_json() {
    let stage = Stage::new(&["tool-shell"]);
    stage.write("s.json", script("echo from the tool"));
    let ran = stage.run(&run_with(&["--json", "--session", "log.jsonl"]));
    assert_eq!((&*ran.err, ran.code), ("", Some(DONE)));
    let log = fs::read_to_string(stage.path("log.jsonl")).unwrap();
    let (header, events) = log.split_once('\n').unwrap();
    assert_eq!(serde_json::from_str::<Value>(header).unwrap()["type"], "session");
    assert_eq!(ran.out, events);
    let types: Vec<String> = events.lines().map(|it| event(it).0).collect();
    let types: Vec<&str> =
        types.iter().map(String::as_str).filter(|it| *it != "assistant/chunk").collect();
    assert_eq!(
        types,
        [
            "agent/inbox/spliced",
            "turn/start",
            "agent/inbox/spliced",
            "step/start",
            "user/message",
            "request/header",
            "request/context",
            "assistant/message",
            "tool/call",
            "tool/result",
            "step/end",
            "step/start",
            "assistant/message",
            "step/end",
            "turn/end",
        ]
    );
}

/// The type and the data of an event.
fn event(line: &str) -> (String, Value) {
    let mut event: Value = serde_json::from_str(line).unwrap();
    (event["type"].as_str().unwrap().to_owned(), event["data"].take())
}

#[test]
fn a_session_is_never_written_over_a_file_that_is_there() {
    let stage = stage();
    stage.write("s.json", script("touch made"));
    stage.write("log.jsonl", "precious");
    stage.check(
        &run_with(&["--session", "log.jsonl"]),
        FAILED,
        "",
        "error: there is a file `log.jsonl` already: --resume goes on with it\n",
    );
    assert_eq!(fs::read_to_string(stage.path("log.jsonl")).unwrap(), "precious");
    assert!(!stage.path("made").exists());
}

#[test]
fn a_prompt_that_a_policy_blocks_is_a_refusal() {
    let stage = stage();
    stage.write("s.json", script("touch made"));
    let ran = stage.run(&run_with(&["please rm -rf it"]));
    assert_eq!((&*ran.out, ran.code), ("", Some(REFUSED)), "{}", ran.err);
    assert!(ran.err.contains("\nthe turn was blocked by a policy\n"), "{}", ran.err);
    assert!(!stage.path("made").exists());
}

#[test]
fn a_model_that_cannot_be_had_is_told() {
    let stage = stage();
    stage.check(
        &RUN,
        FAILED,
        "",
        "error: cannot read the script `s.json`: No such file or directory (os error 2)\n",
    );
    stage.check(
        &["run", "hello", "--plugins", "p"],
        FAILED,
        "",
        "error: no model is set: use --model openai:MODEL, deepseek:MODEL, replay:FILE or \
         script:FILE, or set `model` in lockgate.toml\n",
    );
    let ran = stage.run(&["run", "hello", "--model", "gpt"]);
    assert_eq!((ran.code, &*ran.out), (Some(USAGE), ""));
    assert!(ran.err.starts_with("error: invalid value 'gpt' for '--model <SPEC>'"), "{}", ran.err);
}

/// Runs the program with nobody at the other end of standard output.
#[track_caller]
fn check_unread(stage: &Stage, args: &[&str], code: i32, expected: &str) {
    let (reader, writer) = pipe().unwrap();
    drop(reader);
    let child = stage.program(args).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
    let Output { status, stderr, .. } = child.wait_with_output().unwrap();
    assert_eq!((&*String::from_utf8(stderr).unwrap(), status.code()), (expected, Some(code)));
}

#[test]
fn when_nobody_reads_what_is_printed_the_program_ends_in_good_order() {
    let stage = stage();
    stage.write("s.json", script("touch made"));
    check_unread(&stage, &run_with(&["--json"]), DONE, "");
    assert!(stage.path("made").exists());
    let echo = r#"{"command":"echo hi"}"#;
    check_unread(&stage, &["call", "bash", echo, "--plugins", "p"], FAILED, "");
    check_unread(&stage, &["plugins", "inspect", "p/libtool_shell.so"], FAILED, "");
}

#[test]
fn ctrl_c_ends_the_call_that_runs_and_all_that_it_started() {
    let stage = stage();
    let id = std::process::id();
    // A number of seconds that nobody else sleeps, and a pipe that tells when it begins.
    let sleep = format!("59.{id}");
    assert!(Command::new("mkfifo").arg(stage.path("begun")).status().unwrap().success());
    stage.write("s.json", script(&format!("echo > begun; sleep {sleep}; echo over")));
    let mut run = stage.program(&run_with(&["--json", "--session", "log.jsonl"]));
    let mut run =
        run.process_group(0).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(run.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|it| event(&it).0 == "tool/call"));
    fs::read(stage.path("begun")).unwrap();

    let interrupt = format!("kill -INT -- -{}", run.id());
    assert!(Command::new("bash").args(["-c", &interrupt]).status().unwrap().success());
    let rest: Vec<(String, Value)> = lines.map(|it| event(&it)).collect();
    assert_eq!(run.wait().unwrap().code(), Some(INTERRUPTED));
    let (last, data) = rest.last().unwrap();
    assert_eq!(
        (&**last, data),
        (
            "turn/end",
            &json!({"turn": 1, "reason": {"kind": "aborted", "reason": {"kind": "user"}}})
        )
    );
    assert_eq!(running(&sleep), Vec::<PathBuf>::new());
}

/// The processes with `word` among their arguments.
fn running(word: &str) -> Vec<PathBuf> {
    let has_word = |process: &PathBuf| {
        let arguments = fs::read(process.join("cmdline")).unwrap_or_default();
        arguments.split(|it| *it == 0).any(|it| it == word.as_bytes())
    };
    let processes = fs::read_dir(Path::new("/proc")).unwrap();
    processes.map(|it| it.unwrap().path()).filter(has_word).collect()
}
