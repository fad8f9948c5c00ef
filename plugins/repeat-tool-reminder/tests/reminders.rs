//! When a model is reminded, of what, and what begins anew.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use lockgate_plugin_api::testing::{Bench, Call, call};
use lockgate_plugin_api::{Block, Message, PostTool, PostToolDecision, Source, ToolOutcome};
use repeat_tool_reminder::RepeatToolReminder;
use serde_json::{Value, json};

const GENTLE: &str = "`read` has now been called 3 times in a row with the same arguments. If that \
                      is not getting anywhere, another way may be better.";

fn bench(config: Value) -> Bench<RepeatToolReminder> {
    Bench::new(config).unwrap()
}

fn read(path: &str) -> Call {
    call("read").arguments(&json!({"path": path}))
}

/// The messages that come with the decision on a call.
#[track_caller]
fn contexts(bench: &Bench<RepeatToolReminder>, call: &Call) -> Vec<Message> {
    let outcome = ToolOutcome::success(&json!("same"));
    let decision = bench.post_execute(call, &outcome).unwrap().unwrap();
    let PostTool::Accept { contexts } = decision.verdict().unwrap() else { panic!("{decision:?}") };
    contexts
}

/// The numbers of the calls, from 1, of which the model is reminded.
#[track_caller]
fn reminded(bench: &Bench<RepeatToolReminder>, calls: &[Call]) -> Vec<usize> {
    (1..).zip(calls).filter(|(_, it)| !contexts(bench, it).is_empty()).map(|it| it.0).collect()
}

#[test]
fn a_model_is_reminded_at_each_threshold_and_not_in_between() {
    check(json!({}), [3, 5, 8]);
    check(json!({"thresholds": [2, 3, 10]}), [2, 3, 10]);

    #[track_caller]
    fn check(config: Value, expected: [usize; 3]) {
        let calls: Vec<Call> = (0..20).map(|_| read("a")).collect();
        assert_eq!(reminded(&bench(config), &calls), expected);
    }
}

#[test]
fn the_first_notice_is_gentle_and_the_later_ones_show_the_arguments() {
    let bench = bench(json!({"thresholds": [3, 4]}));
    let long = "ä".repeat(600);
    let told: Vec<Message> = (0..4).flat_map(|_| contexts(&bench, &read(&long))).collect();
    let shown = format!("{{\"path\":\"{}…", &"ä".repeat(490));
    let detailed = format!(
        "`read` has now been called 4 times in a row with the same arguments, and with no other \
         call in between:\n{shown}\nThe next call like it will hardly end differently. Look at \
         what it returned, then change the arguments, use another tool, or say what is in the way."
    );
    assert_eq!(shown.chars().count(), 500);
    assert_eq!(
        told,
        [notice(GENTLE, "3 calls of read in a row"), notice(&detailed, "4 calls of read in a row")]
    );

    fn notice(text: &str, summary: &str) -> Message {
        let form = json!({"form": "notice", "summary": summary}).as_object().unwrap().clone();
        let source = Source::Plugin { plugin: "repeat-tool-reminder".into(), form };
        Message { source, ..Message::from_plugin("", text) }
    }
}

#[test]
fn another_call_begins_anew() {
    check(&[read("a"), read("a"), read("b"), read("a"), read("a"), read("a")], &[6]);
    let write = || call("write").arguments(&json!({"path": "a"}));
    check(&[read("a"), read("a"), write(), read("a"), read("a")], &[]);
    let other_order = |json: &str| call("read").arguments_json(json);
    let orders = [r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#, r#"{ "a": 1, "b": 2 }"#];
    check(&orders.map(other_order), &[3]);

    #[track_caller]
    fn check(calls: &[Call], expected: &[usize]) {
        assert_eq!(reminded(&bench(json!({})), calls), expected);
    }
}

#[test]
fn what_the_person_says_begins_anew_and_nothing_else() {
    check(&[Message::from_user("again, please")], false);
    check(&[Message::from_plugin("other", "a note"), Message::from_user("again")], false);
    check(&[Message::from_plugin("other", "a note")], true);
    check(&[], true);

    #[track_caller]
    fn check(messages: &[Message], is_reminded: bool) {
        let bench = bench(json!({}));
        assert_eq!(reminded(&bench, &[read("a"), read("a")]), [0; 0]);
        assert!(bench.pre_step(1, 2, messages).unwrap().is_none());
        assert_eq!(!contexts(&bench, &read("a")).is_empty(), is_reminded);
    }
}

#[test]
fn only_calls_that_the_model_makes_of_watched_tools_count() {
    check(json!({"include": ["wr*"]}), &read("a"), &[]);
    check(json!({"include": ["re?d", "wr*"]}), &read("a"), &[3]);
    check(json!({"exclude": ["re*"]}), &read("a"), &[]);
    check(json!({"include": ["read"], "exclude": ["*"]}), &read("a"), &[]);
    check(json!({}), &read("a").without_agent(), &[]);
    check(json!({}), &read("a").inside(&call("program")), &[]);

    #[track_caller]
    fn check(config: Value, call: &Call, expected: &[usize]) {
        let calls: Vec<Call> = (0..3).map(|_| call.clone()).collect();
        assert_eq!(reminded(&bench(config), &calls), expected);
    }
}

#[test]
fn calls_that_do_not_count_leave_the_chain_as_it_is() {
    let calls = [read("a"), call("wait"), read("a"), read("b").inside(&call("program")), read("a")];
    assert_eq!(reminded(&bench(json!({"exclude": ["wait"]})), &calls), [5]);
}

#[test]
fn a_refused_call_counts_and_what_was_decided_stays() {
    let bench = bench(json!({}));
    let denied = ToolOutcome::failure("the tool `read` is not allowed here");
    let note = || Message::from_plugin("other", "a note");
    let feedback = || vec![Block::text("not this")];
    let further_in = || PostToolDecision::block(feedback()).with_context(note());
    let decide = || {
        let decision = bench.post_execute_before(&read("a"), &denied, further_in).unwrap();
        let PostTool::Block { feedback: told, contexts } = decision.verdict().unwrap() else {
            panic!("{decision:?}")
        };
        assert_eq!(told, feedback());
        contexts.iter().map(Message::text).collect::<Vec<_>>()
    };
    assert_eq!(
        [decide(), decide(), decide()],
        [vec!["a note"], vec!["a note"], vec![GENTLE, "a note"]]
    );
}

#[test]
fn a_configuration_that_makes_no_sense_is_refused() {
    check(json!({"thresholds": []}), "`thresholds` is empty; name at least one number of calls");
    check(
        json!({"thresholds": [1, 2]}),
        "`thresholds` has a 1; a call is repeated from the second time on",
    );
    check(json!({"thresholds": [3, 3]}), "`thresholds` has 3 after 3; let them ascend");
    check(json!({"thresholds": [3, 8, 5]}), "`thresholds` has 5 after 8; let them ascend");
    check(
        json!({"exclude": ["[a"]}),
        "the entry of `exclude` cannot be read: error parsing glob '[a': unclosed character \
         class; missing ']'",
    );

    #[track_caller]
    fn check(config: Value, expected: &str) {
        assert_eq!(Bench::<RepeatToolReminder>::probe(config).unwrap_err().message(), expected);
    }
}

#[test]
fn its_config_schema_says_what_it_accepts() {
    assert_eq!(Bench::<RepeatToolReminder>::check_config_schema(), Ok(()));
}
