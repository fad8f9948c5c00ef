//! Calls that their caller gives up, at every point: what stands then, and what still runs.

use lockgate::{Dispatch, HostOptions};
use lockgate_tests::puppets::{Stage, request, seen, stage_with};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

/// The outcome of a call of `tool` that is given up once everybody waits, and whether its body ran.
fn given_up(orders: Value, tool: &str, arguments: &Value) -> (Value, bool) {
    let runtime = Runtime::new().expect("a runtime can be made");
    let (outcome, stage) = runtime.block_on(async {
        // Inline, so that everybody waits once the call was polled, before the caller gives up.
        let options = HostOptions { dispatch: Dispatch::Inline, ..HostOptions::default() };
        let stage = stage_with(&[("puppet", orders)], options);
        let request = request(tool, arguments);
        let signal = request.signal.clone();
        let outcome = tokio::join!(stage.host.execute(request), async { signal.fire() }).0;
        (outcome, stage)
    });
    (seen(&outcome), ran(&stage))
}

fn ran(stage: &Stage) -> bool {
    stage.answers().iter().any(|it| it.starts_with("body"))
}

#[track_caller]
fn check(orders: Value, tool: &str, arguments: Value, expected: (Value, bool)) {
    let mut orders = orders;
    orders["tools"] = true.into();
    assert_eq!(given_up(orders, tool, &arguments), expected);
}

fn before(contexts: &[&str]) -> (Value, bool) {
    (aborted("tool call aborted before dispatch", "ABORTED_BEFORE_DISPATCH", contexts), false)
}

fn after(contexts: &[&str]) -> (Value, bool) {
    (aborted("tool call aborted", "ABORTED", contexts), true)
}

fn aborted(text: &str, code: &str, contexts: &[&str]) -> Value {
    let mut aborted = json!({"isError": true, "text": format!("Error: {text}"), "code": code});
    if !contexts.is_empty() {
        aborted["contexts"] = json!(contexts);
    }
    aborted
}

fn failed(text: &str, code: &str) -> Value {
    json!({"isError": true, "text": format!("Error: {text}"), "code": code})
}

#[test]
fn while_a_policy_thinks_it_is_heard_and_nothing_runs() {
    let check = |order: &str, expected| {
        check(json!({"late_gate": order}), "echo", json!({"value": 1}), expected);
    };
    check("until-cancelled", before(&[]));
    check("until-cancelled then deny:no", (failed("no", "DENIED"), false));
    let why = "the pre-execute listener `late_gate` of the plugin `puppet` failed: no disk";
    check("until-cancelled then fail:no disk", (failed(why, "LISTENER_FAULT"), false));
}

#[test]
fn while_a_wrapper_waits_before_the_body_nothing_runs() {
    let check = |order: &str, expected| {
        check(json!({"around": order}), "echo", json!({"value": 1}), expected);
    };
    check("until-cancelled:next", before(&[]));
    check("until-cancelled:own words", before(&["own words"]));
}

#[test]
fn once_the_body_is_done_its_success_is_gone_and_its_contexts_stay() {
    let arguments = json!({"value": 1, "context": "from the body"});
    let orders = json!({"around": "next-until-cancelled:"});
    check(orders, "echo", arguments.clone(), after(&["from the body"]));
    let orders = json!({"review": "until-cancelled:reviewed"});
    check(orders, "echo", arguments, after(&["from the body", "reviewed"]));
}

#[test]
fn a_failure_stands_as_it_is() {
    let orders = json!({"around": "next-until-cancelled:WRAPPER_FAILURE"});
    let wrapped = (failed("wrapped", "WRAPPER_FAILURE"), true);
    check(orders, "echo", json!({"value": 1}), wrapped);
    let body = (failed("gave up", "WAIT_FAILED"), true);
    check(json!({}), "wait", json!({"fail": "gave up"}), body);
    let why = "the post-execute listener `review` of the plugin `puppet` failed: panicked: reviewed too late";
    let orders = json!({"review": "until-cancelled:"});
    check(orders, "echo", json!({"value": 1}), (failed(why, "LISTENER_FAULT"), true));
}

#[test]
fn arguments_that_are_no_json_are_told_first() {
    let outcome = Runtime::new().expect("a runtime can be made").block_on(async {
        let stage = stage_with(&[("puppet", json!({"tools": true}))], HostOptions::default());
        let mut request = request("nobody", &json!({}));
        request.arguments = "{".into();
        request.signal.fire();
        stage.host.execute(request).await
    });
    let text = "Error: tool execution arguments must be losslessly JSON-serializable";
    assert_eq!(seen(&outcome), json!({"isError": true, "text": text}));
}

#[test]
fn a_deadline_around_the_body_is_not_what_reviewers_see() {
    let outcome = Runtime::new().expect("a runtime can be made").block_on(async {
        let orders = json!({"tools": true, "around": "deadline:5", "review": "tell-signal:"});
        let stage = stage_with(&[("puppet", orders)], HostOptions::default());
        stage.host.execute(request("wait", &json!({}))).await
    });
    assert_eq!(seen(&outcome), json!({"isError": true, "text": "fired: false"}));
}
