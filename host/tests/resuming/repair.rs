//! What is repaired before a log is gone on with, and what is refused.

use std::error::Error;
use std::fs;

use lockgate::session::{LogError, Repair, ResumeError, read, validate};
use serde_json::{Value, json};

use crate::rows::*;

#[test]
fn a_turn_that_was_open_ends_as_interrupted() {
    #[track_caller]
    fn check(rows: &[Value], added: &[Value]) {
        let place = Place::of(rows);
        let (log, repair) = place.resume().unwrap();
        assert_eq!(repair, Repair { torn: None, interrupted: Some(1) });
        drop(log);
        let before = u64::try_from(rows.len()).unwrap();
        let mut expected: Vec<Value> =
            (0..).zip(rows).map(|(seq, row)| numbered(row, seq)).collect();
        for (seq, row) in (before..).zip(added) {
            let mut row = numbered(row, seq);
            // As old as the last event, but for the mark of the new run.
            let is_mark = row["type"] == "session/end-seed";
            row["time"] = if is_mark { 99 } else { 10 + before - 1 }.into();
            expected.push(row);
        }
        assert_eq!(place.rows(), expected);
        validate(&read(&place.path("log")).unwrap()).unwrap();
    }
    let end = [turn_end("interrupted"), end_seed()];
    let step_end = [step_end()];
    check(&[turn(1)], &end);
    check(&[turn(1), step(1)], &[&step_end[..], &end].concat());
    check(&[turn(1), step(1), answer(&[])], &[&step_end[..], &end].concat());
    check(
        &[turn(1), step(1), answer(&["a", "b"])],
        &[&[repaired("a", 3, None), repaired("b", 4, None)], &step_end[..], &end].concat(),
    );
    check(
        &[
            turn(1),
            step(1),
            answer(&["a", "b", "c"]),
            call("a"),
            result("a", "r", "ok", false),
            call("b"),
        ],
        &[&[repaired("b", 6, Some(5)), repaired("c", 7, None)], &step_end[..], &end].concat(),
    );
    // Two calls of one id, and a call that no model asked for.
    check(
        &[turn(1), step(1), answer(&["a", "a"]), call("a"), call("x")],
        &[
            &[repaired("a", 5, Some(3)), repaired("a", 6, None), repaired("x", 7, Some(4))],
            &step_end[..],
            &end,
        ]
        .concat(),
    );
    // A crash within the repair.
    check(
        &[turn(1), step(1), answer(&["a", "b"]), call("a"), repaired("a", 4, Some(3))],
        &[&[repaired("b", 5, None)], &step_end[..], &end].concat(),
    );
}

#[test]
fn a_log_without_an_open_turn_is_marked_once() {
    #[track_caller]
    fn check(rows: &[Value], added: usize) {
        let place = Place::of(rows);
        for _ in 0..2 {
            let (log, repair) = place.resume().unwrap();
            assert_eq!((log.events().len(), repair), (rows.len() + added, Repair::default()));
        }
    }
    check(&[], 0);
    check(&[turn(1), turn_end("completed")], 1);
    check(&[turn(1), turn_end("completed"), end_seed()], 0);
}

#[test]
fn what_waits_in_the_inbox_goes_on_waiting() {
    let taken = row(
        "agent/inbox/spliced",
        json!({ "target": "next-turn", "start": 1, "removedCount": 1, "inserted": [] }),
    );
    let place = Place::of(&[inserted("a"), inserted("b"), turn(1), taken]);
    let (log, _) = place.resume().unwrap();
    let ids: Vec<&str> = log.waiting().next_turn.iter().map(|it| &*it.id).collect();
    assert_eq!((ids, log.waiting().next_step.len()), (vec!["b"], 0));
}

#[test]
fn part_of_a_line_is_cut_off_and_kept() {
    #[track_caller]
    fn check(end: &[u8], kept: Option<&[u8]>, events: usize) {
        let whole = format!("{HEADER}\n{}\n", numbered(&inserted("a"), 0));
        let place = Place::with([whole.as_bytes(), end].concat());
        let (log, repair) = place.resume().unwrap();
        let torn = kept.map(|_| place.path("log.torn"));
        assert_eq!(repair, Repair { torn: torn.clone(), interrupted: None });
        if let (Some(torn), Some(kept)) = (torn, kept) {
            assert_eq!(fs::read(torn).unwrap(), [kept, b"\n"].concat());
        }
        drop(log);
        let text = fs::read_to_string(place.path("log")).unwrap();
        assert!(text.starts_with(&whole), "{text}");
        assert_eq!(read(&place.path("log")).unwrap().events.len(), events);
    }
    check(b"", None, 2);
    check(br#"{"seq":1,"#, Some(br#"{"seq":1,"#), 2);
    check(b"\0\0\0", Some(b"\0\0\0"), 2);
    check("{\"ä".as_bytes()[..3].as_ref(), Some(b"{\"\xc3"), 2);
    // All of it but the line break.
    let line = numbered(&turn(1), 1).to_string();
    let place = Place::with(format!("{HEADER}\n{}\n{line}", numbered(&inserted("a"), 0)));
    let (log, repair) = place.resume().unwrap();
    assert_eq!(repair, Repair { torn: None, interrupted: Some(1) });
    assert_eq!(log.events().len(), 4);
    assert_eq!(place.rows()[1], numbered(&turn(1), 1));
    // Two crashes in a row keep both ends.
    drop(log);
    fs::write(place.path("log.torn"), "one\n").unwrap();
    let mut text = fs::read(place.path("log")).unwrap();
    text.extend(b"two");
    fs::write(place.path("log"), text).unwrap();
    place.resume().unwrap();
    assert_eq!(fs::read_to_string(place.path("log.torn")).unwrap(), "one\ntwo\n");
}

#[test]
fn what_cannot_be_gone_on_with_is_refused_and_stays_as_it_is() {
    #[track_caller]
    fn check(log: &str, expected: &str) {
        let place = Place::with(log);
        let error = place.resume().err().unwrap();
        let mut said = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            said = format!("{said}: {error}");
            cause = error.source();
        }
        let said = said.replace(&place.path("log").display().to_string(), "LOG");
        assert_eq!(said, expected);
        assert_eq!(fs::read_to_string(place.path("log")).unwrap(), log);
        assert!(!place.path("log.torn").exists());
    }
    check(
        "",
        "cannot read line 1 of the session log `LOG`: the log has no header, a line of type `session`",
    );
    check(
        &HEADER.replace("\"version\":0", "\"version\":1"),
        "cannot read line 1 of the session log `LOG`: the log has version 1, and only 0 is known",
    );
    let of = |rows: &[Value]| {
        let rows = (0..).zip(rows).map(|(seq, row)| format!("{}\n", numbered(row, seq)));
        format!("{HEADER}\n{}", rows.collect::<String>())
    };
    check(
        &(of(&[row("weather/seen", json!({}))]) + "{\"torn"),
        "cannot resume the session log `LOG`: event 0 has no place in the session log: its type \
         `weather/seen` is not known, and it is not one that may be passed over",
    );
    check(
        &of(&[turn(2)]),
        "cannot resume the session log `LOG`: event 0 has no place in the session log: the next \
         turn is 1, and not 2",
    );
    check(
        &of(&[turn(1)]).replace("\"createdAt\":5", "\"createdAt\":5,\"seedLength\":2"),
        "cannot resume the session log `LOG`: event 1 has no place in the session log: the log \
         ends before the 2 events that it was forked with",
    );
    let ignorable = of(&[row("weather/seen", json!({}))]).replace("}\n", ",\"ignorable\":true}\n");
    let ignorable = ignorable.replacen("\"createdAt\":5,\"ignorable\":true", "\"createdAt\":5", 1);
    Place::with(ignorable).resume().unwrap();
}

#[test]
fn a_session_is_not_resumed_while_it_is_live() {
    let place = Place::of(&[turn(1)]);
    let (live, _) = place.resume().unwrap();
    let error = place.resume().err().unwrap();
    assert!(matches!(error, ResumeError::Log(LogError::Locked { .. })), "{error}");
    drop(live);
    place.resume().unwrap();
}
