//! Answers that break a rule of the boundary, at every place where one is given: none is a yes.

use serde_json::{Value, json};

use crate::stage::{called, plugin, turn};

/// What can be wrong with a status, whatever it is about.
const OF_STATUS: [(&str, &str); 5] = [
    ("status-unknown", "it answered with the unknown status 9"),
    ("status-zero", "it answered with the unknown status 0"),
    ("number-zero", "it answered `ready` and wrote no answer"),
    ("late-status-unknown", "it answered with the unknown status 9"),
    ("late-number-zero", "it answered `ready` and wrote no answer"),
];

/// What can be wrong with a future.
const OF_FUTURE: (&str, &str) = ("pending-nothing", "it said `pending` and left no future");

/// What can be wrong with an answer that says nothing.
const OF_NOTED: [(&str, &str); 2] = [
    ("number-unknown", "the verdict 77 is unknown"),
    ("late-number-unknown", "the verdict 77 is unknown"),
];

/// What can be wrong with a decision. Each but the guard's would be a yes if it could be read.
const OF_DECISION: [(&str, &str); 9] = [
    ("number-unknown", "the verdict 77 is unknown"),
    ("flag-critical", "the critical flags 0x80000000 are unknown"),
    ("text-not-utf8", "its text is not UTF-8"),
    ("data-not-utf8", "its data cannot be read: invalid unicode code point at line 1 column 3"),
    ("data-not-json", "its data cannot be read: EOF while parsing a value at line 1 column 12"),
    (
        "data-not-messages",
        "its data cannot be read: invalid type: integer `1`, expected struct Message at line 1 \
         column 14",
    ),
    ("data-a-list", "its data is a list and not an object"),
    ("late-number-unknown", "the verdict 77 is unknown"),
    (
        "late-data-not-json",
        "its data cannot be read: EOF while parsing a value at line 1 column 12",
    ),
];

fn of_decisions() -> impl Iterator<Item = (&'static str, &'static str)> {
    OF_STATUS.into_iter().chain([OF_FUTURE]).chain(OF_DECISION)
}

fn of_noted() -> impl Iterator<Item = (&'static str, &'static str)> {
    OF_STATUS.into_iter().chain([OF_FUTURE]).chain(OF_NOTED)
}

/// What an operator reads of a listener that broke the rule `what`.
fn broke(seam: &str, listener: &str, what: &str) -> String {
    format!("the {seam} listener `{listener}` of the plugin `c-seams` broke the protocol: {what}")
}

/// Checks that a call ends where its listener breaks a rule; `before` is answered before that.
#[track_caller]
fn check_call(seam: &str, listener: &str, before: &[&str]) {
    let Some(dir) = plugin() else { return };
    for (breach, what) in of_decisions() {
        let (outcome, answers) = called(&dir, (seam, breach), "echo", &json!(1));
        let text = format!("Error: {}|finalized", broke(seam, listener, what));
        let expected = json!({"isError": true, "text": text, "code": "LISTENER_PROTOCOL"});
        assert_eq!(outcome, expected, "{breach}");
        let own = format!("{seam} {listener} protocol");
        assert_eq!(answers, [before, &[&own, "tool-result observe noted"]].concat(), "{breach}");
    }
}

#[test]
fn a_gate_that_breaks_a_rule_lets_nothing_run() {
    check_call("pre-execute", "gate", &[]);
}

#[test]
fn a_guard_that_breaks_a_rule_lets_nothing_run() {
    check_call("guard", "guard", &["pre-execute gate allow"]);
}

#[test]
fn a_reviewer_that_breaks_a_rule_fails_the_call() {
    let before = [
        "pre-execute gate allow",
        "guard guard next",
        "body echo success",
        "execute around success",
    ];
    check_call("post-execute", "review", &before);
}

/// Checks how a turn ends where its listener breaks a rule; `before` is answered before that.
#[track_caller]
fn check_turn(
    seam: &str,
    listener: &str,
    breaches: impl Iterator<Item = (&'static str, &'static str)>,
    before: &[&str],
) {
    let Some(dir) = plugin() else { return };
    for (breach, what) in breaches {
        let (lines, answers) = turn(&dir, (seam, breach), &json!(["Hi."]));
        let message = broke(seam, listener, what);
        let error = format!(r#"{{"message":"{message}","code":"LISTENER_PROTOCOL"}}"#);
        let end = format!(r#"turn/end 1 {{"kind":"error","error":{error}}}"#);
        assert_eq!(lines.last(), Some(&end), "{breach}");
        let own = format!("{seam} {listener} protocol");
        assert_eq!(answers, [before, &[&own]].concat(), "{breach}");
        let has_begun = lines.iter().any(|it| it.starts_with("step/start"));
        assert_eq!(has_begun, seam == "turn-stopping", "{breach}");
    }
}

#[test]
fn a_listener_of_prompts_that_breaks_a_rule_ends_the_turn() {
    let before = ["session-start greet noted"];
    check_turn("prompt-submit", "admit", of_decisions(), &before);
}

#[test]
fn a_listener_of_steps_that_breaks_a_rule_ends_the_turn() {
    let before = ["session-start greet noted", "prompt-submit admit allow"];
    check_turn("pre-step", "propose", of_decisions(), &before);
}

#[test]
fn a_listener_of_a_turns_end_that_breaks_a_rule_ends_the_turn_with_an_error() {
    let before =
        ["session-start greet noted", "prompt-submit admit allow", "pre-step propose enter"];
    check_turn("turn-stopping", "stop", of_noted(), &before);
}

#[test]
fn one_who_is_told_of_a_session_and_breaks_a_rule_changes_nothing() {
    let Some(dir) = plugin() else { return };
    for (breach, _) in of_noted() {
        let (lines, answers) = turn(&dir, ("session-start", breach), &json!(["Hi."]));
        assert_eq!(lines.last().unwrap(), r#"turn/end 1 {"kind":"completed"}"#, "{breach}");
        let expected = [
            "session-start greet protocol",
            "prompt-submit admit allow",
            "pre-step propose enter",
            "turn-stopping stop noted",
        ];
        assert_eq!(answers, expected, "{breach}");
    }
}

#[test]
fn one_who_is_told_of_a_result_and_breaks_a_rule_changes_nothing() {
    let Some(dir) = plugin() else { return };
    for (breach, _) in of_noted() {
        let (outcome, answers) = called(&dir, ("tool-result", breach), "echo", &json!(1));
        let contexts = ["body", "post-execute"];
        let expected =
            json!({"isError": false, "text": "rendered|finalized", "contexts": contexts});
        assert_eq!(outcome, expected, "{breach}");
        assert_eq!(answers.last().unwrap(), "tool-result observe protocol", "{breach}");
    }
}

/// What can be wrong with an outcome. Each would be a success if it could be read.
const OF_OUTCOME: [(&str, &str); 9] = [
    ("number-unknown", "the verdict 77 is unknown"),
    ("flag-critical", "the critical flags 0x80000000 are unknown"),
    ("text-not-utf8", "its text is not UTF-8"),
    ("data-not-utf8", "its data cannot be read: invalid unicode code point at line 1 column 3"),
    ("data-not-json", "its data cannot be read: EOF while parsing a value at line 1 column 12"),
    (
        "data-not-messages",
        "its data cannot be read: invalid type: integer `1`, expected struct Message at line 1 \
         column 14",
    ),
    ("late-number-unknown", "the verdict 77 is unknown"),
    ("late-flag-critical", "the critical flags 0x80000000 are unknown"),
    OF_FUTURE,
];

#[test]
fn a_wrapper_that_breaks_a_rule_fails_the_call_and_nobody_reviews_it() {
    let Some(dir) = plugin() else { return };
    for (breach, what) in OF_STATUS.into_iter().chain(OF_OUTCOME) {
        let (outcome, answers) = called(&dir, ("execute", breach), "echo", &json!(1));
        let text = format!("Error: {}|finalized", broke("execute", "around", what));
        let expected = json!({"isError": true, "text": text, "code": "LISTENER_PROTOCOL"});
        assert_eq!(outcome, expected, "{breach}");
        let expected = [
            "pre-execute gate allow",
            "guard guard next",
            "execute around protocol",
            "tool-result observe noted",
        ];
        assert_eq!(answers, expected, "{breach}");
    }
}

/// Checks what a call comes to whose tool breaks these rules in its function at the place `at`;
/// everything behind that is asked and told as for any failure.
#[track_caller]
fn check_tool(
    (at, function): (&str, &str),
    breaches: impl Iterator<Item = (&'static str, &'static str)>,
    shown: &str,
    contexts: &[&str],
) {
    let Some(dir) = plugin() else { return };
    for (breach, what) in breaches {
        let (outcome, answers) = called(&dir, (at, breach), "echo", &json!(1));
        let text = format!(
            "Error: the `{function}` of the tool `echo` of the plugin `c-seams` broke the \
             protocol: {what}{shown}"
        );
        let mut expected = json!({"isError": true, "text": text, "code": "LISTENER_PROTOCOL"});
        if !contexts.is_empty() {
            expected["contexts"] = json!(contexts);
        }
        assert_eq!(outcome, expected, "{breach}");
        assert_eq!(answers.last().unwrap(), "tool-result observe noted", "{breach}");
    }
}

#[test]
fn a_body_that_breaks_a_rule_fails_the_call() {
    let next = ("status-next", "it gave no answer");
    let breaches = OF_STATUS.into_iter().chain(OF_OUTCOME).chain([next]);
    check_tool(("body", "execute"), breaches, "|finalized", &["body", "post-execute"]);
}

/// What can be wrong with a JSON text that a tool answers with at once.
const OF_JSON: [(&str, &str); 6] = [
    ("status-unknown", "it answered with the unknown status 9"),
    ("status-zero", "it answered with the unknown status 0"),
    ("pending-nothing", "it answered with the unknown status 3"),
    ("number-zero", "it answered `ready` and wrote no answer"),
    ("number-unknown", "the verdict 77 is unknown"),
    ("flag-critical", "the critical flags 0x80000000 are unknown"),
];

#[test]
fn a_tool_that_breaks_a_rule_when_it_shows_its_value_fails_the_call() {
    for function in ["render", "present"] {
        let contexts = ["body", "post-execute"];
        check_tool((function, function), OF_JSON.into_iter(), "|finalized", &contexts);
    }
}

#[test]
fn a_last_word_that_breaks_a_rule_is_the_whole_outcome() {
    check_tool(("finalize", "finalize"), OF_JSON.into_iter(), "", &[]);
}

/// What a tool shows that is no JSON is told as a tool's bad output, whatever language it is in.
#[test]
fn what_is_shown_has_to_be_json() {
    let Some(dir) = plugin() else { return };
    let invalid = |what: &str| format!("Error: tool \"echo\" returned invalid output: {what}");
    let check = |at: &str, breach: &str, text: String, code: Option<&str>| {
        let (outcome, _): (Value, _) = called(&dir, (at, breach), "echo", &json!(1));
        assert_eq!(outcome["text"], text, "{at} {breach}");
        assert_eq!(outcome["code"].as_str(), code, "{at} {breach}");
    };
    let code = Some("INVALID_TOOL_OUTPUT");
    for breach in ["text-not-json", "text-not-utf8"] {
        let why = match breach {
            "text-not-json" => "EOF while parsing an object at line 1 column 2",
            _ => "expected value at line 1 column 1",
        };
        let why = format!("output.render returned no list of blocks: {why}");
        check("render", breach, invalid(&why) + "|finalized", code);
        let why = "output.presentationMeta returned non-lossless JSON";
        check("present", breach, invalid(why) + "|finalized", code);
        let why = "tool result must be losslessly JSON-serializable";
        check("finalize", breach, format!("Error: {why}"), None);
    }
}

#[test]
fn two_runs_of_the_rest_of_a_chain_at_once_are_a_fault() {
    let Some(dir) = plugin() else { return };
    let failed = |seam: &str, listener: &str| {
        format!(
            "the {seam} listener `{listener}` of the plugin `c-seams` failed: the rest of the \
             chain was asked again while its last future was there"
        )
    };
    for (seam, listener) in
        [("pre-execute", "gate"), ("execute", "around"), ("post-execute", "review")]
    {
        let (outcome, _) = called(&dir, (seam, "next-twice"), "echo", &json!(1));
        let text = format!("Error: {}|finalized", failed(seam, listener));
        let expected = json!({"isError": true, "text": text, "code": "LISTENER_FAULT"});
        assert_eq!(outcome, expected, "{seam}");
    }
    for (seam, listener) in [("prompt-submit", "admit"), ("pre-step", "propose")] {
        let (lines, _) = turn(&dir, (seam, "next-twice"), &json!(["Hi."]));
        let message = failed(seam, listener);
        let error = format!(r#"{{"message":"{message}","code":"LISTENER_FAULT"}}"#);
        let end = format!(r#"turn/end 1 {{"kind":"error","error":{error}}}"#);
        assert_eq!(lines.last(), Some(&end));
    }
}
