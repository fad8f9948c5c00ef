//! The program is killed at any moment of a session, and the session goes on.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread;

use lockgate::session::{Event, Fact, TurnEndReason, read, read_whole_lines, validate};
use lockgate_tests::stage::{DONE, Stage};
use serde_json::{Value, json};

/// How many moments there are unless `LOCKGATE_KILLS` says otherwise.
const MOMENTS: u64 = 25;

/// The model's answers: calls one by one and several in one answer, each of which leaves its mark in
/// the file `marks`.
fn answers(marks: &str) -> Value {
    let call = |mark: u32| {
        let command = format!("echo {mark} >> {marks}");
        json!({"name": "bash", "arguments": {"command": command}})
    };
    json!([
        {"text": "let me see", "calls": [call(1)]},
        {"text": "and more", "calls": [call(2), call(3)]},
        {"text": "and more", "calls": [call(4)]},
        "done",
    ])
}

/// Runs the session and kills the program once its log has `length` bytes. Returns whether it was
/// still at work then.
fn killed_at(stage: &Stage, length: u64) -> bool {
    let log = stage.path("log.jsonl");
    let mut run = stage.program(&RUN);
    let mut run = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let ended = loop {
        if fs::metadata(&log).is_ok_and(|it| it.len() >= length) {
            run.kill().unwrap();
            break run.wait().unwrap();
        }
        if let Some(ended) = run.try_wait().unwrap() {
            break ended;
        }
        thread::yield_now();
    };
    ended.code().is_none()
}

const RUN: [&str; 8] =
    ["run", "hello", "--model", "script:s.json", "--plugins", "p", "--session", "log.jsonl"];

fn lines(log: &Path) -> Vec<String> {
    let text = fs::read(log).unwrap_or_default();
    let whole = text.split_inclusive(|it| *it == b'\n').filter(|it| it.ends_with(b"\n"));
    whole.map(|it| String::from_utf8(it.to_vec()).unwrap()).collect()
}

fn left(stage: &Stage, marks: &str) -> Vec<String> {
    let marks = fs::read_to_string(stage.path(marks)).unwrap_or_default();
    marks.lines().map(str::to_owned).collect()
}

/// The marks of the calls that the log says were made, and of those that it says succeeded.
fn called(events: &[Event]) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut made, mut done) = (BTreeSet::new(), BTreeSet::new());
    let mut last = Vec::new();
    for event in events {
        match &event.fact {
            Fact::ToolCall { call_id, arguments, .. } => {
                let mark = arguments.split(' ').nth(1).unwrap().to_owned();
                made.insert(mark.clone());
                last.push((call_id.clone(), mark));
            }
            Fact::ToolResult { message, error: None, .. } => {
                let id = json!(message.source)["callId"].as_str().unwrap().to_owned();
                let call = last.iter().rev().find(|it| it.0 == id).unwrap();
                done.insert(call.1.clone());
            }
            _ => {}
        }
    }
    (made, done)
}

/// Leaves half of the last line, as a write does that is broken off; not of one that says that a
/// call is made, which is written whole before the call runs.
fn tear(log: &Path) {
    let lines = lines(log);
    let (last, whole) = lines.split_last().unwrap();
    if !whole.is_empty() && !last.contains(r#""tool/call""#) {
        let half = format!("{}{}", whole.concat(), &last[..last.len() / 2]);
        fs::write(log, half).unwrap();
    }
}

/// Kills a session at `length` bytes, goes on with it, and checks what is left.
#[track_caller]
fn check(stage: &Stage, length: u64) -> bool {
    let log = stage.path("log.jsonl");
    for file in ["log.jsonl", "log.jsonl.torn"] {
        fs::remove_file(stage.path(file)).or_else(missing).unwrap();
    }
    // A file of its own: a body may outlive the program, and leave its mark later.
    let marks = format!("marks-{length}");
    stage.write("s.json", answers(&marks).to_string());
    let was_at_work = killed_at(stage, length);
    if was_at_work && length.is_multiple_of(2) {
        tear(&log);
    }
    let before = lines(&log);
    assert!(!before.is_empty(), "killed at {length} bytes, the log had not begun");
    let events = read_whole_lines(&log).unwrap().events;
    let left_before = left(stage, &marks);

    stage.write("s.json", json!(["back", "again"]).to_string());
    let args = [&RUN[..1], &["on"], &RUN[2..], &["--resume"]].concat();
    let ran = stage.run(&args);
    assert_eq!(ran.code, Some(DONE), "killed at {length} bytes: {ran:?}");
    let after = lines(&log);
    assert_eq!(after[..before.len()], before, "killed at {length} bytes");
    let recording = read(&log).unwrap();
    validate(&recording).unwrap();
    let left = left(stage, &marks);
    assert_eq!(left.iter().collect::<BTreeSet<_>>().len(), left.len(), "made twice: {left:?}");
    let (made, done) = called(&recording.events);
    let left: BTreeSet<String> = left.into_iter().collect();
    assert!(left.is_subset(&made), "killed at {length} bytes: {left:?} of {made:?}");
    assert!(done.is_subset(&left), "killed at {length} bytes: {done:?} of {left:?}");
    assert!(left_before.iter().all(|it| left.contains(it)));
    assert_eq!(called(&events).0, made, "a call was made after the program was gone");
    let last = recording.events.last().unwrap();
    let completed = TurnEndReason::Completed;
    assert!(matches!(&last.fact, Fact::TurnEnd { reason, .. } if *reason == completed));
    was_at_work
}

fn missing(error: std::io::Error) -> std::io::Result<()> {
    if error.kind() == std::io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

#[test]
fn a_session_goes_on_wherever_the_program_was_killed() {
    let moments = env::var("LOCKGATE_KILLS").map_or(MOMENTS, |it| it.parse().unwrap());
    let stage = Stage::new(&["tool-shell"]);
    stage.write("s.json", answers("marks").to_string());
    assert_eq!(stage.run(&RUN).code, Some(DONE));
    let begin = u64::try_from(lines(&stage.path("log.jsonl"))[0].len()).unwrap();
    let end = fs::metadata(stage.path("log.jsonl")).unwrap().len();
    // From the first event to the last, evenly.
    let at_work = (0..moments).filter(|it| check(&stage, begin + (end - begin) * it / moments));
    let at_work = at_work.count();
    println!("{at_work} of {moments} were at work when they were killed");
    assert!(at_work > 0, "nothing was ever killed");
}
