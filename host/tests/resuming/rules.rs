//! What the order of a session's events keeps to.

use lockgate::session::{Rule, read, validate};
use lockgate_plugin_api::Message;
use serde_json::{Value, json};

use crate::rows::*;

#[test]
fn an_event_stands_in_its_place_or_nowhere() {
    #[track_caller]
    fn check(rows: &[Value], expected: Result<(), Rule>) {
        let place = Place::of(rows);
        let last = u64::try_from(rows.len()).unwrap() - 1;
        let found = validate(&read(&place.path("log")).unwrap());
        let found = found.map_err(|it| (it.seq, it.rule));
        assert_eq!(found, expected.map_err(|rule| (last, rule)), "{rows:#?}");
    }
    let open = [turn(1), step(1)];
    let with = |more: &[Value]| [&open[..], more].concat();
    let asked = |id| row("approval/asked", json!({ "id": id, "toolName": "t" }));
    let decided = |id| row("approval/decided", json!({ "id": id, "outcome": "rejected" }));
    let spliced = |start: u32, removed: u32, ids: &[&str]| {
        let message = |id: &&str| Message { id: (*id).to_owned(), ..Message::from_user("Hi.") };
        let inserted: Vec<Message> = ids.iter().map(message).collect();
        let data = json!({
            "target": "next-step", "start": start, "removedCount": removed, "inserted": inserted,
        });
        row("agent/inbox/spliced", data)
    };
    let replaced = |start: u64, end: u64, sources: &[u64]| {
        let mut row = row("user/message", json!(Message::from_user("All of it.")));
        row["surfaceOp"] = json!({ "op": "replace", "start": start, "end": end });
        row["sourceEventSeqs"] = json!(sources);
        row
    };
    let not_started = || repaired("a", 3, None);

    check(&[turn(1), turn(2)], Err(Rule::TurnOpen { open: 1 }));
    check(&[turn(1), turn_end("completed"), turn(2)], Ok(()));
    check(
        &[turn(1), turn_end("completed"), turn(3)],
        Err(Rule::TurnNumber { found: 3, expected: 2 }),
    );
    check(&[turn_end("completed")], Err(Rule::TurnNotOpen { turn: 1 }));
    check(&[step(1)], Err(Rule::TurnNotOpen { turn: 1 }));
    check(&[turn(1), step(2)], Err(Rule::StepNumber { found: 2, expected: 1 }));
    check(&with(&[step(2)]), Err(Rule::StepOpen { turn: 1, step: 1 }));
    check(&with(&[step_end(), step(2)]), Ok(()));
    check(&with(&[step_end(), step_end()]), Err(Rule::StepNotOpen { turn: 1, step: 1 }));
    check(&with(&[turn_end("completed")]), Err(Rule::StepOpen { turn: 1, step: 1 }));
    check(&[turn(1), answer(&[])], Err(Rule::StepNotOpen { turn: 1, step: 1 }));
    check(&[turn(1), call("a")], Err(Rule::StepNotOpen { turn: 1, step: 1 }));

    let done = || result("a", "r", "ok", false);
    let unanswered = || Err(Rule::Unanswered { call_id: "a".into() });
    let not_called = || Err(Rule::NotCalled { call_id: "a".into() });
    check(&with(&[call("a"), done(), step_end()]), Ok(()));
    check(&with(&[call("a"), step_end()]), unanswered());
    check(&with(&[answer(&["a"]), step_end()]), unanswered());
    check(&with(&[answer(&["a"]), not_started(), step_end()]), Ok(()));
    check(&with(&[answer(&["a"]), done()]), not_called());
    check(&with(&[done()]), not_called());
    check(&with(&[not_started()]), not_called());
    check(&with(&[call("a"), done(), done()]), not_called());
    let mut other = done();
    other["data"]["message"]["source"]["callId"] = "b".into();
    check(&with(&[call("a"), other]), Err(Rule::NoResult));

    let todo = || row("todo/write", json!({ "todos": [] }));
    check(&[todo()], Err(Rule::NoTurn));
    check(&[turn(1), todo()], Ok(()));
    let context = row("request/context", json!({ "provider": "p", "model": "m" }));
    check(&[context], Err(Rule::NoTurn));
    check(&[asked("q")], Err(Rule::NoTurn));
    check(&[turn(1), asked("q"), asked("q")], Err(Rule::AskedTwice { id: "q".into() }));
    check(&[turn(1), asked("q"), decided("q"), asked("q")], Ok(()));
    check(&[turn(1), decided("q")], Err(Rule::NotAsked { id: "q".into() }));
    check(
        &[turn(1), asked("q"), turn_end("interrupted"), turn(2), decided("q")],
        Err(Rule::NotAsked { id: "q".into() }),
    );

    check(&[spliced(0, 0, &["a", "b"]), spliced(1, 1, &["b"])], Ok(()));
    check(&[spliced(0, 1, &[])], Err(Rule::Splice));
    check(&[spliced(1, 0, &["a"])], Err(Rule::Splice));
    check(&[spliced(0, 0, &["a", "a"])], Err(Rule::Waiting { id: "a".into() }));
    check(&[inserted("a"), spliced(0, 0, &["a"])], Err(Rule::Waiting { id: "a".into() }));

    check(&with(&[answer(&[]), replaced(2, 2, &[2])]), Ok(()));
    check(&with(&[answer(&[]), replaced(2, 2, &[])]), Err(Rule::Uncited { hidden: 2 }));
    check(&with(&[replaced(0, 1, &[0, 1])]), Err(Rule::NotShown { start: 0, end: 1 }));
    let mut log_only = turn(1);
    log_only["surfaceOp"] = "append".into();
    check(&[log_only], Err(Rule::NotSurface));
    let mut twice = turn(1);
    twice["seq"] = 1.into();
    let place = Place::with(format!("{HEADER}\n{twice}\n"));
    let found = validate(&read(&place.path("log")).unwrap()).unwrap_err();
    assert_eq!((found.seq, found.rule), (0, Rule::Number { found: 1, expected: 0 }));
}
