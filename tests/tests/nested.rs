//! Calls that a tool's body makes, through every phase, with real plugins.

use lockgate_tests::puppets::{Stage, request, seen, stage};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

fn relayed(orders: Value, name: &str, arguments: Value) -> (Value, Stage) {
    let runtime = Runtime::new().expect("a runtime can be made");
    let (outcome, stage) = runtime.block_on(async {
        let stage = stage(&[("puppet", orders)]);
        let relay = request("relay", &json!({"name": name, "arguments": arguments}));
        (stage.host.execute(relay).await, stage)
    });
    (seen(&outcome), stage)
}

#[track_caller]
fn check(orders: Value, name: &str, arguments: Value, expected: Value, contexts: &[&str]) {
    let (mut outcome, _) = relayed(orders, name, arguments);
    let said = outcome["contexts"].take();
    let shown: Value = serde_json::from_str(outcome["text"].as_str().expect("it is a text"))
        .expect("the relay shows JSON");
    assert_eq!(
        (shown, said),
        (expected, if contexts.is_empty() { Value::Null } else { json!(contexts) })
    );
}

#[test]
fn an_inner_call_returns_its_outcome() {
    check(
        json!({"tools": true}),
        "echo",
        json!({"value": "hi"}),
        json!({"isError": false, "shown": ["hi"], "presented": false}),
        &[],
    );
    check(
        json!({"tools": true}),
        "nobody",
        json!({}),
        json!({"isError": true, "shown": ["Error: unknown tool \"nobody\""], "presented": false}),
        &[],
    );
}

#[test]
fn an_inner_call_is_asked_about_like_any_other() {
    let (_, stage) = relayed(json!({"tools": true}), "echo", json!({"value": "hi"}));
    let gates = stage.answers().iter().filter(|it| it.contains(" gate ")).count();
    assert_eq!(gates, 2, "once for each call: {:#?}", stage.answers());
    let orders = json!({"tools": true, "gate": "deny-tool:echo"});
    check(
        orders,
        "echo",
        json!({"value": "hi"}),
        json!({"isError": true, "shown": ["Error: echo is denied"], "presented": false}),
        &[],
    );
}

#[test]
fn what_is_said_about_an_inner_call_is_said_with_the_outer_one() {
    check(
        json!({"tools": true, "review": "context:reviewed"}),
        "echo",
        json!({"value": "hi", "context": "from inside"}),
        json!({"isError": false, "shown": ["hi"], "presented": false}),
        &["from inside", "reviewed", "reviewed"],
    );
}

#[test]
fn nobody_presents_what_an_inner_call_came_to() {
    check(
        json!({"tools": true}),
        "stamp",
        json!({"value": 1, "meta": {"rows": 2}}),
        json!({"isError": false, "shown": ["rendered 1", "stamped"], "presented": false}),
        &[],
    );
}

#[test]
fn an_inner_call_ends_with_the_outer_one() {
    let runtime = Runtime::new().expect("a runtime can be made");
    let outcome = runtime.block_on(async {
        let stage = stage(&[("puppet", json!({"tools": true, "around": "deadline-tool:relay"}))]);
        let relay = request("relay", &json!({"name": "wait", "arguments": {}}));
        stage.host.execute(relay).await
    });
    assert_eq!(seen(&outcome), json!({"isError": true, "text": "Error: too late"}));
}
