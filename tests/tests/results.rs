//! What a call comes to, as its tool, its listeners and its observers make it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use lockgate::session::ApprovalOutcome;
use lockgate::{AnyApprover, ApprovalRequest, Approver, HostOptions};
use lockgate_plugin_api::ToolOutcome;
use lockgate_tests::puppets::{Stage, request, seen, stage, stage_with};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

fn called(orders: &[(&str, Value)], tool: &str, arguments: &Value) -> (Arc<ToolOutcome>, Stage) {
    Runtime::new().unwrap().block_on(async {
        let stage = stage(orders);
        (stage.host.execute(request(tool, arguments)).await, stage)
    })
}

/// What a call of the puppet's `tool` comes to.
#[track_caller]
fn check(mut orders: Value, tool: &str, arguments: Value, expected: Value) {
    orders["tools"] = true.into();
    assert_eq!(seen(&called(&[("puppet", orders)], tool, &arguments).0), expected);
}

/// What an observer that writes it into `file` was told.
fn told(stage: &Stage, file: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(stage.files().join(file)).unwrap()).unwrap()
}

#[test]
fn a_model_is_told_a_name_a_description_and_parameters_alone() {
    let orders = json!({"tools": true, "budget_ms": 5000});
    let (_, stage) = called(&[("puppet", orders)], "echo", &json!({}));
    let tools = serde_json::to_value(stage.host.tools()).unwrap();
    let object = json!({"type": "object"});
    let tool = |name: &str, description: &str| json!({"name": name, "description": description, "parameters": object});
    assert_eq!(
        tools,
        json!([
            tool("echo", "Returns its argument"),
            tool("lane", "Runs beside others"),
            tool("relay", "Calls another tool"),
            tool("stamp", "Returns its argument, stamped"),
            tool("wait", "Waits until it is cancelled"),
        ])
    );
}

#[test]
fn an_observer_is_told_what_the_caller_gets() {
    let orders = json!({"tools": true, "seen": "write:told"});
    let (outcome, stage) = called(&[("puppet", orders)], "echo", &json!({"value": "hi"}));
    assert_eq!(outcome.value_json(), "\"hi\"");
    assert_eq!(
        told(&stage, "told"),
        json!({
            "call": "c1", "tool": "echo", "arguments": "{\"value\":\"hi\"}", "isError": false,
            "value": outcome.value_json(), "content": outcome.content_json(),
        })
    );
}

#[test]
fn arguments_that_are_no_json_are_told_to_observers_alone() {
    let (outcome, stage) = Runtime::new().unwrap().block_on(async {
        let stage =
            stage(&[("puppet", json!({"tools": true, "gate": "deny:no", "seen": "write:told"}))]);
        let mut request = request("echo", &json!({}));
        request.arguments = "{".into();
        (stage.host.execute(request).await, stage)
    });
    let text = "tool execution arguments must be losslessly JSON-serializable";
    assert_eq!(seen(&outcome), json!({"isError": true, "text": format!("Error: {text}")}));
    assert_eq!(told(&stage, "told")["isError"], true);
    assert_eq!(stage.answers(), ["tool-result puppet seen noted"]);
}

#[test]
fn every_observer_is_told_the_failure_that_took_the_place_of_a_success() {
    let orders = [
        ("puppet", json!({"tools": true, "around": "fail-with-meta:1", "seen": "panic:boom"})),
        ("puppet-b", json!({"seen": "write:told"})),
    ];
    let (outcome, stage) = called(&orders, "echo", &json!({"value": "hi"}));
    assert_eq!(seen(&outcome), json!({"isError": true, "text": "Error: no"}));
    assert_eq!(outcome.extras().unwrap().meta.unwrap().get(), "\"1\"");
    assert_eq!(told(&stage, "told")["isError"], true);
}

#[test]
fn a_tool_that_cannot_show_its_value_fails_and_has_its_last_word() {
    let why = |to: &str| format!("output.{to} failed: panicked: told to fail to ");
    for (to, what) in [("render", "render"), ("present", "presentationMeta")] {
        let arguments = json!({"value": 1, "meta": 2, "panic_to": to});
        let orders = json!({"tools": true});
        let (outcome, _) = called(&[("puppet", orders)], "stamp", &arguments);
        let seen = seen(&outcome);
        assert_eq!(seen["code"], "INVALID_TOOL_OUTPUT", "{seen}");
        let text = seen["text"].as_str().unwrap();
        assert!(text.contains(&(why(what) + to)), "{text}");
        assert!(text.ends_with("|stamped"), "{text}");
        assert_eq!(outcome.value_json(), "");
    }
}

#[test]
fn a_value_that_is_no_json_is_no_value() {
    let text = "Error: tool \"echo\" returned invalid output: value is not lossless JSON";
    let expected = json!({"isError": true, "text": text, "code": "INVALID_TOOL_OUTPUT"});
    check(json!({"around": "raw:{"}), "echo", json!({}), expected);
}

#[test]
fn a_last_word_may_be_none() {
    let expected = json!({"isError": false, "text": "rendered 1"});
    check(json!({}), "stamp", json!({"value": 1, "is_quiet": true}), expected);
}

#[test]
fn a_policy_that_failed_leaves_the_tool_its_last_word() {
    let text =
        "Error: the pre-execute listener `gate` of the plugin `puppet` failed: no disk|stamped";
    let expected = json!({"isError": true, "text": text, "code": "LISTENER_FAULT"});
    check(json!({"gate": "fail:no disk"}), "stamp", json!({"value": 1}), expected);
}

#[test]
fn a_reviewer_replaces_what_is_shown_or_the_value_with_all_that_follows() {
    let arguments = json!({"value": 1, "meta": "shown"});
    let reviewed = |order: &str| {
        let orders = json!({"tools": true, "review": order});
        let (outcome, _) = called(&[("puppet", orders)], "stamp", &arguments);
        let meta = outcome.extras().unwrap().meta.unwrap();
        (seen(&outcome), outcome.value_json().into_owned(), meta.get().to_owned())
    };
    let shown = json!({"isError": false, "text": "policy content|stamped"});
    assert_eq!(reviewed("content:policy content"), (shown, "1".into(), "\"shown\"".into()));
    let shown = json!({"isError": false, "text": "rendered \"policy value\"|stamped"});
    let value = "\"policy value\"".to_owned();
    assert_eq!(reviewed("value:policy value"), (shown, value, "\"shown\"".into()));
}

#[test]
fn a_block_says_something_whatever_its_feedback_is() {
    let blocked = |order: &str, message: &str, contexts: Option<&str>| {
        let orders = json!({"tools": true, "review": order});
        let arguments = json!({"value": 1, "context": "from the body"});
        let (outcome, _) = called(&[("puppet", orders)], "echo", &arguments);
        assert_eq!((outcome.message().as_ref(), outcome.value_json().as_ref()), (message, ""));
        assert_eq!(seen(&outcome)["contexts"], contexts.map_or(Value::Null, |it| json!([it])));
    };
    blocked("block-nothing:", "tool result blocked by post-execute policy", None);
    blocked("block-thought:hm", "[reasoning content]", None);
    blocked("block-with:only this", "no", Some("only this"));
}

#[test]
fn a_wrapper_sees_a_failed_body_as_an_outcome_and_so_does_a_reviewer() {
    let failed = json!({"fail": "kaboom"});
    let told = json!({
        "isError": true, "text": "Error: kaboom", "code": "ECHO_FAILED", "contexts": ["saw kaboom"],
    });
    check(json!({"around": "tell:"}), "echo", failed.clone(), told);
    let reviewed = json!({
        "isError": true, "code": "ECHO_FAILED",
        "text": "reviewed [{\"type\":\"text\",\"text\":\"Error: kaboom\"}]",
    });
    check(json!({"review": "tell:"}), "echo", failed, reviewed);
}

#[test]
fn what_a_wrapper_answers_itself_is_rendered_by_the_tool_and_keeps_its_contexts() {
    let expected = json!({"isError": false, "text": "rendered \"short\"|stamped"});
    check(json!({"around": "short:short"}), "stamp", json!({"value": 1}), expected);
    let expected = json!({"isError": false, "text": "own", "contexts": ["its own"]});
    check(json!({"around": "own-context:its own"}), "echo", json!({"value": 1}), expected);
}

#[test]
fn a_conclusion_is_for_the_outer_call_to_pass_on_and_a_blocked_one_is_none() {
    let relay = json!({"name": "echo", "arguments": {"value": 1, "conclude": true}});
    let (outcome, _) = called(&[("puppet", json!({"tools": true}))], "relay", &relay);
    assert!(outcome.concludes_turn());
    let orders = json!({"tools": true, "review": "block-tool:echo"});
    let (outcome, _) = called(&[("puppet", orders)], "relay", &relay);
    assert!(!outcome.is_error() && !outcome.concludes_turn());
}

#[test]
fn an_unknown_tool_has_a_name_and_a_code() {
    let (outcome, _) = called(&[("puppet", json!({}))], "ghost", &json!({}));
    let error = outcome.extras().unwrap().error.unwrap();
    assert_eq!((&*error.name, &*error.code), ("ToolNotFoundError", "UNKNOWN_TOOL"));
    assert_eq!(outcome.message(), "unknown tool \"ghost\"");
}

#[test]
fn of_two_plugins_with_one_tool_the_first_keeps_it() {
    let orders = [("puppet", json!({"tools": true})), ("puppet-b", json!({"tools": true}))];
    let (_, stage) = called(&orders, "echo", &json!({"value": 1}));
    assert!(stage.answers().contains(&"body puppet echo success".to_owned()));
}

/// Says yes to everything.
struct Yes;

impl Approver for Yes {
    fn ask<'a>(
        &'a self,
        _: &'a ApprovalRequest,
    ) -> Pin<Box<dyn Future<Output = ApprovalOutcome> + Send + 'a>> {
        Box::pin(async { ApprovalOutcome::AllowedOnce })
    }
}

#[test]
fn a_call_for_no_agent_has_nobody_to_ask() {
    let outcome = Runtime::new().unwrap().block_on(async {
        let approver = Some(AnyApprover(Arc::new(Yes)));
        let options = HostOptions { approver, ..HostOptions::default() };
        let stage = stage_with(&[("puppet", json!({"tools": true, "gate": "ask:sure?"}))], options);
        stage.host.execute(request("echo", &json!({}))).await
    });
    let text =
        "Error: tool \"echo\" requires approval, but the call has no agent to route it through";
    let expected = json!({"isError": true, "text": text, "code": "APPROVAL_UNAVAILABLE"});
    assert_eq!(seen(&outcome), expected);
}
