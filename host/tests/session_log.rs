//! What a session log writes, and what it tells of a session.

use std::fs;
use std::sync::{Arc, Mutex};

use lockgate::session::{
    Event, Fact, Header, LogError, Recording, Rule, SessionLog, Violation, messages, prompts, read,
};
use lockgate_plugin_api::{Block, Message, Role, Source};
use serde_json::{Value, json};
use tempfile::TempDir;

const HEADER: &str = r#"{"type":"session","version":0,"id":"s1","createdAt":5}"#;

#[test]
fn a_log_is_written_line_by_line_and_seen_once_it_stands() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("session.jsonl");
    let mut log = SessionLog::create(&path, header(), || 42).unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    log.observe({
        let (seen, path) = (Arc::clone(&seen), path.clone());
        move |event| {
            let last = fs::read_to_string(&path).unwrap().lines().last().unwrap().to_owned();
            assert_eq!(last, serde_json::to_string(event).unwrap());
            seen.lock().unwrap().push(event.seq);
        }
    });
    let other = Fact::Other { kind: "weather/seen".to_owned(), data: json!({ "rain": true }) };
    assert_eq!(log.append(Fact::TurnStart { turn: 1 }).unwrap(), 0);
    assert_eq!(log.append(other).unwrap(), 1);
    assert_eq!(log.append(Fact::StepStart { turn: 1, step: 1 }).unwrap(), 2);
    assert_eq!(log.append(Fact::UserMessage(message("m1", "Hi."))).unwrap(), 3);
    assert_eq!(log.append_from(answer("m2", "Ho."), vec![1, 0]).unwrap(), 4);
    log.flush().unwrap();

    let rows: Vec<Value> = fs::read_to_string(&path)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let data = |fact: Fact| serde_json::to_value(fact).unwrap()["data"].clone();
    assert_eq!(
        rows,
        [
            serde_json::from_str::<Value>(HEADER).unwrap(),
            json!({ "seq": 0, "time": 42, "type": "turn/start", "data": { "turn": 1 } }),
            json!({
                "seq": 1, "time": 42, "type": "weather/seen", "data": { "rain": true },
                "ignorable": true,
            }),
            json!({ "seq": 2, "time": 42, "type": "step/start", "data": { "turn": 1, "step": 1 } }),
            json!({
                "seq": 3, "time": 42, "type": "user/message", "surfaceOp": "append",
                "data": data(Fact::UserMessage(message("m1", "Hi."))),
            }),
            json!({
                "seq": 4, "time": 42, "type": "assistant/message", "surfaceOp": "append",
                "sourceEventSeqs": [1, 0], "data": data(answer("m2", "Ho.")),
            }),
        ]
    );
    assert_eq!(*seen.lock().unwrap(), [Some(0), Some(1), Some(2), Some(3), Some(4)]);
    let events = log.events().to_vec();
    assert_eq!(read(&path).unwrap(), Recording { header: header(), events });
}

#[test]
fn a_log_never_takes_the_place_of_a_file() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("session.jsonl");
    fs::write(&path, "precious").unwrap();
    let error = SessionLog::create(&path, header(), || 42).err().unwrap();
    assert!(
        matches!(error, LogError::Create { cause, .. } if cause.kind() == std::io::ErrorKind::AlreadyExists)
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
}

#[test]
fn a_log_has_one_writer_until_that_is_gone() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("session.jsonl");
    let log = SessionLog::create(&path, header(), || 42).unwrap();
    let other = fs::OpenOptions::new().append(true).open(&path).unwrap();
    assert!(matches!(other.try_lock(), Err(fs::TryLockError::WouldBlock)));
    drop(log);
    other.try_lock().unwrap();
}

#[test]
fn a_log_takes_no_event_that_has_no_place_in_it() {
    #[track_caller]
    fn check(fact: Fact, sources: &[u64], rule: Rule) {
        let mut log = SessionLog::ephemeral(header(), || 42);
        log.append(Fact::TurnStart { turn: 1 }).unwrap();
        log.append(Fact::StepStart { turn: 1, step: 1 }).unwrap();
        let error = log.append_from(fact, sources.to_vec()).unwrap_err();
        let LogError::Invalid(violation) = error else { panic!("{error}") };
        assert_eq!((violation, log.events().len()), (Violation { seq: 2, rule }, 2));
        log.append(answer("m1", "Hi.")).unwrap();
    }
    check(Fact::StepStart { turn: 1, step: 2 }, &[0], Rule::NotSurface);
    check(answer("m1", "Hi."), &[0, 0], Rule::Source { cited: 0 });
    check(answer("m1", "Hi."), &[2, 0], Rule::Source { cited: 2 });
}

#[test]
fn the_conversation_is_what_was_appended_and_not_replaced() {
    #[track_caller]
    fn check(rows: &[(Fact, Value)], expected: &[&str]) {
        let events: Vec<Event> = rows
            .iter()
            .map(|(fact, op)| {
                let mut row = serde_json::to_value(fact).unwrap();
                row["surfaceOp"] = op.clone();
                serde_json::from_value(row).unwrap()
            })
            .collect();
        let texts: Vec<String> = messages(&events).iter().map(Message::text).collect();
        assert_eq!(texts, expected);
    }
    let said = |text| Fact::UserMessage(message("m", text));
    let replace = |start, end| json!({ "op": "replace", "start": start, "end": end });
    let append = || json!("append");
    let none = || Value::Null;
    let silent = || Fact::AssistantMessage {
        turn: 1,
        step: 1,
        message: Message {
            id: "m".to_owned(),
            role: Role::Assistant,
            content: Vec::new(),
            source: Source::Model {
                provider: "p".to_owned(),
                model: "m".to_owned(),
                replay_state: None,
            },
        },
        usage: None,
        interrupted: false,
    };
    let turn = || Fact::TurnStart { turn: 1 };
    check(
        &[(turn(), none()), (said("a"), append()), (silent(), append()), (said("b"), append())],
        &["a", "b"],
    );
    check(
        &[
            (said("a"), append()),
            (said("b"), append()),
            (turn(), none()),
            (said("c"), append()),
            (said("b and c"), replace(1, 3)),
            (said("d"), append()),
        ],
        &["a", "b and c", "d"],
    );
    check(
        &[
            (said("a"), append()),
            (silent(), append()),
            (said("b"), append()),
            (said("all of it"), replace(1, 2)),
            (said("more of it"), replace(0, 3)),
        ],
        &["more of it"],
    );
    check(&[(said("a"), append()), (said("b"), replace(7, 9))], &["a", "b"]);
}

#[test]
fn the_prompts_are_what_the_person_put_into_the_inbox() {
    #[track_caller]
    fn check(rows: &[Value], expected: &[&str]) {
        let events = rows.iter().map(|it| serde_json::from_value(it.clone()).unwrap()).collect();
        let recording = Recording { header: header(), events };
        let texts: Vec<String> = prompts(&recording).iter().map(Message::text).collect();
        assert_eq!(texts, expected);
    }
    let spliced = |target: &str, inserted: &[Message]| {
        json!({
            "type": "agent/inbox/spliced",
            "data": { "target": target, "start": 0, "inserted": inserted },
        })
    };
    let entered = |message: &Message| json!({ "type": "user/message", "data": message });
    let person = |text| message("m", text);
    let plugin = Message::from_plugin("clock", "It is noon.");
    check(
        &[
            spliced("next-turn", &[person("a"), plugin.clone()]),
            spliced("next-step", &[person("b")]),
            entered(&person("rewritten")),
            spliced("next-turn", &[person("c")]),
        ],
        &["a", "c"],
    );
    check(&[entered(&person("a")), entered(&plugin), entered(&person("b"))], &["a", "b"]);
}

fn header() -> Header {
    serde_json::from_str(HEADER).expect("the header is one")
}

fn message(id: &str, text: &str) -> Message {
    Message {
        id: id.to_owned(),
        role: Role::User,
        content: vec![Block::text(text)],
        source: Source::User,
    }
}

fn answer(id: &str, text: &str) -> Fact {
    let source =
        Source::Model { provider: "p".to_owned(), model: "m".to_owned(), replay_state: None };
    let message = Message { role: Role::Assistant, source, ..message(id, text) };
    Fact::AssistantMessage { turn: 1, step: 1, message, usage: None, interrupted: false }
}
