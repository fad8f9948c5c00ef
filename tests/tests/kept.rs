//! Sessions that outlive the program: gone on with, listed and shown.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs::{self, OpenOptions};
use std::io::Write;

use lockgate::session::{read, validate};
use lockgate_tests::lines;
use lockgate_tests::stage::{DONE, FAILED, Stage, USAGE};
use serde_json::{Value, json};

const RUN: [&str; 7] =
    ["run", "--model", "script:s.json", "--plugins", "p", "--session", "log.jsonl"];

/// `RUN` with more arguments.
fn run_with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [RUN.as_slice(), more].concat()
}

/// A stage on which a session has been, in which a tool was called.
fn stage() -> Stage {
    let stage = Stage::new(&["tool-shell"]);
    let answers = json!([
        {"text": "let me see", "calls": [{"name": "bash", "arguments": {"command": "echo hi"}}]},
        "done",
    ]);
    stage.write("s.json", answers.to_string());
    let ran = stage.run(&run_with(&["hello"]));
    assert_eq!(ran.code, Some(DONE), "{ran:?}");
    stage.write("s.json", json!(["and on"]).to_string());
    stage
}

/// Adds to the end of the log, as a program that was killed did.
fn leave(stage: &Stage, text: &str) {
    let log = OpenOptions::new().append(true).open(stage.path("log.jsonl"));
    log.unwrap().write_all(text.as_bytes()).unwrap();
}

#[test]
fn run_goes_on_with_a_session() {
    let stage = stage();
    leave(&stage, r#"{"seq":"#);
    let ran = stage.run(&run_with(&["--resume", "more"]));
    assert_eq!((&*ran.out, ran.code), ("and on\n", Some(DONE)), "{}", ran.err);
    let said = "the log ended in part of a line, which is now in log.jsonl.torn\n";
    assert!(ran.err.starts_with(said), "{}", ran.err);
    assert_eq!(fs::read_to_string(stage.path("log.jsonl.torn")).unwrap(), "{\"seq\":\n");
    let recording = read(&stage.path("log.jsonl")).unwrap();
    validate(&recording).unwrap();
    let lines = lines(&recording.events);
    let again = lines.iter().position(|it| it == r#"{"type":"session/end-seed","data":{}}"#);
    let again: Vec<&str> = lines[again.unwrap() + 1..].iter().map(String::as_str).collect();
    assert_eq!(
        again[..6],
        [
            "spliced next-turn 0 +more",
            "turn/start 2",
            "spliced next-turn 0 -1",
            "step/start 2.1",
            "user/message more",
            "request/header Resume",
        ]
    );
}

#[test]
fn run_says_what_a_session_was_left_with() {
    let stage = stage();
    let events = read(&stage.path("log.jsonl")).unwrap().events.len();
    let message = |id: &str| {
        json!({
            "id": id, "role": "user", "content": [{"type": "text", "text": "waits"}],
            "source": {"kind": "user"},
        })
    };
    let spliced = json!({
        "seq": events, "time": 5, "type": "agent/inbox/spliced",
        "data": {"target": "next-turn", "start": 0, "inserted": [message("a"), message("b")]},
    });
    let turn = json!({"seq": events + 1, "time": 5, "type": "turn/start", "data": {"turn": 2}});
    leave(&stage, &format!("{spliced}\n{turn}\n"));
    stage.write("s.json", json!(["one", "two", "three"]).to_string());
    let ran = stage.run(&run_with(&["--resume", "more"]));
    // What waited is read first, each prompt in a turn of its own.
    assert_eq!((&*ran.out, ran.code), ("one\ntwo\nthree\n", Some(DONE)), "{}", ran.err);
    let said = "turn 2 was interrupted, and has ended so\n\
                2 messages of before wait for the next prompt\n";
    assert!(ran.err.starts_with(said), "{}", ran.err);
}

#[test]
fn a_session_that_cannot_be_gone_on_with_is_told_in_a_sentence() {
    let stage = stage();
    let check = |args: &[&str], expected: &str| {
        stage.check(&run_with(args), FAILED, "", &format!("error: {expected}\n"));
    };
    check(&["more"], "there is a file `log.jsonl` already: --resume goes on with it");
    let other = fs::canonicalize(stage.path("p")).unwrap();
    let cwd = lockgate::session::read(&stage.path("log.jsonl")).unwrap().header.cwd.unwrap();
    check(
        &["more", "--resume", "--cwd", other.to_str().unwrap()],
        &format!("the session works in `{}`, and not in `{}`", cwd.display(), other.display()),
    );
    let held = OpenOptions::new().append(true).open(stage.path("log.jsonl")).unwrap();
    held.lock().unwrap();
    check(
        &["more", "--resume"],
        "the session log `log.jsonl` is in use by another agent or program",
    );
    drop(held);
    fs::remove_file(stage.path("log.jsonl")).unwrap();
    check(
        &["more", "--resume"],
        "cannot open the session log `log.jsonl`: No such file or directory (os error 2)",
    );
    let ran = stage.run(&["run", "more", "--model", "script:s.json", "--resume"]);
    assert_eq!(ran.code, Some(USAGE), "{ran:?}");
    assert!(ran.err.contains("--session <FILE>"), "{}", ran.err);
}

#[test]
fn sessions_are_listed_with_how_they_were_left() {
    let stage = Stage::new(&[]);
    fs::create_dir(stage.path("logs")).unwrap();
    stage.check(&["sessions", "list", "logs"], DONE, "", "no sessions in logs\n");
    let header = |id: &str, at: u64| {
        format!("{{\"type\":\"session\",\"version\":0,\"id\":\"{id}\",\"createdAt\":{at}}}\n")
    };
    let turn = r#"{"seq":0,"time":5,"type":"turn/start","data":{"turn":1}}"#;
    let end =
        r#"{"seq":1,"time":9,"type":"turn/end","data":{"turn":1,"reason":{"kind":"blocked"}}}"#;
    stage.write("logs/empty.jsonl", header("e", 1_798_761_599_000));
    stage.write("logs/left.jsonl", header("l", 0) + turn + "\n{\"torn");
    stage.write("logs/over.jsonl", header("o", 60_000) + turn + "\n" + end + "\n");
    stage.write("logs/none.jsonl", "gone");
    stage.write("logs/other.txt", "");
    let held = OpenOptions::new().append(true).open(stage.path("logs/empty.jsonl")).unwrap();
    held.lock().unwrap();
    stage.check(
        &["sessions", "list", "logs"],
        DONE,
        " begun             turns  events  state       prompt  file        \n \
         -                 0      0       unreadable          none.jsonl  \n \
         1970-01-01 00:00  1      1       broken off          left.jsonl  \n \
         1970-01-01 00:01  1      2       blocked             over.jsonl  \n \
         2026-12-31 23:59  0      0       live                empty.jsonl \n",
        "",
    );
    let row =
        |name: &str, id: Option<&str>, at: Option<u64>, turns: u32, events: u32, state: &str| {
            json!({
                "path": format!("logs/{name}.jsonl"), "id": id, "createdAt": at, "turns": turns,
                "events": events, "state": state, "prompt": null, "error": null,
            })
        };
    let mut none = row("none", None, None, 0, 0, "unreadable");
    none["error"] = "cannot read line 1 of the session log `logs/none.jsonl`: it is not a line of \
                     a session log: expected value at line 1 column 1"
        .into();
    stage.check_json(
        &["sessions", "list", "logs", "--json"],
        DONE,
        &json!([
            none,
            row("left", Some("l"), Some(0), 1, 1, "broken off"),
            row("over", Some("o"), Some(60_000), 1, 2, "blocked"),
            row("empty", Some("e"), Some(1_798_761_599_000), 0, 0, "live"),
        ]),
    );
}

#[test]
fn the_sessions_of_the_user_are_found_without_being_named() {
    let stage = Stage::new(&[]);
    stage.write("s.json", json!(["hi"]).to_string());
    assert_eq!(stage.run(&["run", "hello", "--model", "script:s.json"]).code, Some(DONE));
    let rows = stage.run(&["sessions", "list", "--json"]).json();
    let row = &rows.as_array().unwrap()[0];
    assert_eq!((&row["prompt"], &row["state"]), (&json!("hello"), &json!("completed")));
}

#[test]
fn a_session_is_shown_turn_by_turn() {
    let stage = stage();
    let ran = stage.run(&["sessions", "show", "log.jsonl"]);
    // Without what differs from run to run: ids, moments, places and times.
    let told: Vec<&str> =
        ran.out.lines().skip(3).map(|it| it.split("  [").next().unwrap()).collect();
    assert_eq!(
        told,
        [
            "model   script/s",
            "",
            "turn 1  completed",
            "> hello",
            "  let me see",
            "  bash {\"command\":\"echo hi\"}",
            "  = hi",
            "  done",
        ]
    );
    assert_eq!((&*ran.err, ran.code), ("", Some(DONE)));

    let mut shown = stage.run(&["sessions", "show", "log.jsonl", "--json"]).json();
    let turn = &mut shown["turns"][0];
    forget_times(turn);
    assert_eq!(
        *turn,
        json!({
            "turn": 1, "began": null, "ms": null, "end": {"kind": "completed"},
            "entries": [
                {"kind": "prompt", "from": null, "text": "hello"},
                {"kind": "answer", "text": "let me see", "ms": null},
                {
                    "kind": "call", "callId": turn["entries"][2]["callId"], "name": "bash",
                    "arguments": "{\"command\":\"echo hi\"}", "ms": null, "failed": false,
                    "code": null, "text": "hi\n",
                },
                {"kind": "answer", "text": "done", "ms": null},
            ],
        })
    );
}

/// Takes out what differs from run to run, where it is there.
fn forget_times(turn: &mut Value) {
    assert!(turn["began"].is_u64() && turn["ms"].is_u64());
    (turn["began"], turn["ms"]) = (Value::Null, Value::Null);
    for entry in turn["entries"].as_array_mut().unwrap() {
        if entry["kind"] != "prompt" {
            assert!(entry["ms"].is_u64(), "{entry}");
            entry["ms"] = Value::Null;
        }
    }
}

#[test]
fn what_is_wrong_with_a_session_is_told_with_it() {
    let stage = stage();
    let events = read(&stage.path("log.jsonl")).unwrap().events.len();
    let turn = json!({"seq": events, "time": 5, "type": "turn/start", "data": {"turn": 9}});
    leave(&stage, &format!("{turn}\n"));
    let ran = stage.run(&["sessions", "show", "log.jsonl"]);
    let expected =
        format!("event {events} has no place in the session log: the next turn is 2, and not 9\n");
    assert_eq!((ran.err, ran.code), (expected, Some(DONE)));
}
