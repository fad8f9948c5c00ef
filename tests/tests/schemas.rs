//! The schemas of tools in a call: arguments before the body, values wherever they come from.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::Arc;

use lockgate::{CallRequest, Host, HostOptions, PluginSettings, PluginState};
use lockgate_plugin_api::ToolOutcome;
use lockgate_tests::plugin_dir;
use lockgate_tests::puppets::{Stage, request, seen, stage};
use lockgate_tests::stage::{DONE, FAILED, Stage as Screen};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

/// Orders for a tool `typed` with these schemas that returns `value`.
fn typed(parameters: Value, output: Value, value: Value) -> Value {
    json!({"tools": true, "typed": {"parameters": parameters, "output": output, "returns": value}})
}

/// The same orders with one more.
fn with(mut orders: Value, seam: &str, order: &str) -> Value {
    orders[seam] = order.into();
    orders
}

/// Calls of `typed` with these arguments, one after the other: the last outcome.
fn called(orders: Value, arguments: &[&str]) -> (Arc<ToolOutcome>, Stage) {
    let runtime = Runtime::new().unwrap();
    runtime.block_on(async {
        let stage = stage(&[("puppet", orders)]);
        let mut last = None;
        for text in arguments {
            let request = request("typed", &Value::Null);
            let request = CallRequest { arguments: (*text).to_owned(), ..request };
            last = Some(stage.host.execute(request).await);
        }
        (last.unwrap(), stage)
    })
}

#[track_caller]
fn check(orders: Value, arguments: &str, expected: Value) {
    let (outcome, _) = called(orders, &[arguments]);
    assert_eq!(seen(&outcome), expected);
    assert_eq!(outcome.is_error(), outcome.value_json().is_empty(), "a failure has no value");
}

fn path_and_size() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "size": {"type": "integer", "default": 7},
        },
        "required": ["path"],
    })
}

fn refused(why: &str) -> Value {
    let text = format!("Error: invalid arguments: {why}");
    json!({"isError": true, "text": text, "code": "INVALID_ARGS"})
}

fn invalid(why: &str) -> Value {
    let text = format!("Error: tool \"typed\" returned invalid output: {why}");
    json!({"isError": true, "text": text, "code": "INVALID_TOOL_OUTPUT"})
}

#[test]
fn arguments_are_what_the_tool_takes() {
    let orders = || typed(path_and_size(), json!({}), json!("ran"));
    let ran = || json!({"isError": false, "text": "ran"});
    check(orders(), r#"{"path":"a"}"#, ran());
    check(orders(), r#"{"path":"a","size":2.0,"more":[]}"#, ran());
    check(orders(), "{}", refused("missing required property \"path\""));
    check(
        orders(),
        r#"{"path":1,"size":"2"}"#,
        refused("\"path\" must be a string; \"size\" must be an integer"),
    );
    // What a model wrote that is no JSON comes as one text.
    check(orders(), r#""{path:""#, refused("\"arguments\" must be an object"));
    let mut closed = path_and_size();
    closed["additionalProperties"] = false.into();
    check(
        typed(closed, json!({}), json!("ran")),
        r#"{"path":"a","sise":1}"#,
        refused("\"sise\" is not a declared property (additionalProperties: false)"),
    );
}

#[test]
fn a_tool_that_wants_anything_gets_it() {
    let orders = || typed(json!({}), json!({}), json!("ran"));
    for arguments in ["{}", "[1]", "null", "\"text\"", "-0"] {
        check(orders(), arguments, json!({"isError": false, "text": "ran"}));
    }
}

#[test]
fn a_default_is_for_the_model_and_not_filled_in() {
    let orders = with(typed(path_and_size(), json!({}), json!("ran")), "around", "arguments");
    check(orders, r#"{"path":"a"}"#, json!({"isError": false, "text": "{\"path\":\"a\"}"}));
}

#[test]
fn arguments_that_do_not_fit_are_a_failure_inside_the_listeners_and_run_nothing() {
    let orders = typed(path_and_size(), json!({}), json!("ran"));
    let orders = with(with(orders, "around", "tell:"), "review", "tell:");
    let (outcome, stage) = called(orders, &["{}"]);
    let why = "invalid arguments: missing required property \\\"path\\\"";
    assert_eq!(
        seen(&outcome),
        json!({
            "isError": true,
            "text": format!("reviewed [{{\"type\":\"text\",\"text\":\"Error: {why}\"}}]"),
            "code": "INVALID_ARGS",
            "contexts": ["saw invalid arguments: missing required property \"path\""],
        })
    );
    let error = outcome.extras().unwrap().error.unwrap();
    assert_eq!((&*error.name, &*error.code), ("ToolArgsError", "INVALID_ARGS"));
    assert_eq!(
        stage.answers(),
        [
            "pre-execute puppet gate next",
            "pre-execute puppet late_gate next",
            "guard puppet guard next",
            "execute puppet around failure",
            "post-execute puppet review replace-content",
            "tool-result puppet seen noted",
        ]
    );
}

#[test]
fn who_comes_first_refuses_first() {
    let orders = || typed(path_and_size(), json!({}), json!("ran"));
    let denied = json!({"isError": true, "text": "Error: no", "code": "DENIED"});
    check(with(orders(), "gate", "deny:no"), "{}", denied);
    // Whoever answers instead of the body answers whatever the arguments are.
    let short = with(orders(), "around", "short:cached");
    check(short, "{}", json!({"isError": false, "text": "cached"}));
}

#[test]
fn nothing_would_run_with_arguments_that_do_not_fit() {
    let runtime = Runtime::new().unwrap();
    let outcome = runtime.block_on(async {
        let stage = stage(&[("puppet", typed(path_and_size(), json!({}), json!("ran")))]);
        stage.host.rehearse(request("typed", &json!({"path": 1}))).await
    });
    assert_eq!(seen(&outcome.unwrap()), refused("\"path\" must be a string"));
}

#[test]
fn a_value_is_what_the_tool_returns_wherever_it_comes_from() {
    let number = |value: Value| typed(json!({}), json!({"type": "integer"}), value);
    let no_number = || invalid("\"value\" must be an integer");
    check(number(json!(1)), "{}", json!({"isError": false, "text": "1"}));
    check(number(json!("1")), "{}", no_number());
    check(with(number(json!(1)), "around", "short:cached"), "{}", no_number());
    check(with(number(json!(1)), "review", "value:other"), "{}", no_number());
    // What a body did is not undone by what its value is not.
    let noted = with(number(json!([1])), "around", "context:around");
    let mut expected = no_number();
    expected["contexts"] = json!(["around"]);
    check(noted, "{}", expected);
}

#[test]
fn the_outcome_of_another_tool_is_held_against_the_schema_of_this_one() {
    let runtime = Runtime::new().unwrap();
    runtime.block_on(async {
        let typed = typed(json!({}), json!({"type": "integer"}), json!(1));
        let stage = stage(&[("puppet", with(typed, "around", "cache"))]);
        let echo = stage.host.execute(request("echo", &json!({"value": "kept"}))).await;
        assert_eq!(seen(&echo), json!({"isError": false, "text": "kept"}));
        let cached = stage.host.execute(request("typed", &json!({}))).await;
        assert_eq!(seen(&cached), invalid("\"value\" must be an integer"));
        let bodies = stage.answers().into_iter().filter(|it| it.starts_with("body"));
        assert_eq!(bodies.collect::<Vec<_>>(), ["body puppet echo success"]);
    });
}

/// Checks that arguments arrive as they were sent, and a value of the same text as it was given,
/// both looked at by a schema for their key `n`.
#[track_caller]
fn check_kept(text: &str) {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let orders = with(typed(schema.clone(), schema, json!({})), "around", "arguments");
    let (outcome, _) = called(orders, &[text]);
    let start: String = text.chars().take(60).collect();
    assert!(!outcome.is_error(), "{start}: {}", outcome.message());
    assert!(outcome.value_json() == text, "{start}");
}

#[test]
fn texts_that_trees_lose_are_kept() {
    check_kept(r#" { "n" : -0 , "n" : 1.0e0 , "more" : "\u0000\ud800" , "\udfff" : 1 } "#);
    check_kept(r#"{"n":1e400,"x":1e-400}"#);
    check_kept(&format!("{{\"n\":{}}}", "9".repeat(100)));
}

#[test]
fn deep_and_large_texts_are_checked_on_a_common_stack() {
    for levels in [200, 5_000, 1_000_000] {
        let deep = "[".repeat(levels) + &"]".repeat(levels);
        check_kept(&format!("{{\"x\":{deep},\"n\":1}}"));
        let orders = typed(path_and_size(), json!({}), json!("ran"));
        let arguments = format!("{{\"path\":{deep}}}");
        check(orders, &arguments, refused("\"path\" must be a string"));
    }
    check_kept(&format!("{{\"x\":\"{}\",\"n\":1}}", "x".repeat(16 << 20)));
}

const FAULTS: &str = "the tool `typed` has schemas that are not supported: \
    parameters.properties.n.minimum is not a supported keyword; \
    output.type must be one of string, number, integer, boolean, null, array, object";

fn unsupported() -> Value {
    let parameters =
        json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}});
    typed(parameters, json!({"type": "text"}), json!(1))
}

#[test]
fn a_plugin_with_a_schema_that_cannot_be_checked_is_refused() {
    let runtime = Runtime::new().unwrap();
    let _entered = runtime.enter();
    let dir = plugin_dir(&["puppet"]);
    let settings = PluginSettings { config: unsupported(), ..PluginSettings::default() };
    let options = HostOptions {
        plugin_dirs: vec![dir.path().to_owned()],
        plugins: [("puppet".to_owned(), settings)].into(),
        ..HostOptions::default()
    };
    let host = Host::start(&options).unwrap();
    let PluginState::Refused(refusal) = &host.plugins()[0].state else {
        panic!("{:?}", host.plugins());
    };
    assert_eq!(refusal.to_string(), format!("E-SCHEMA: {FAULTS}"));
}

#[test]
fn the_program_says_what_is_wrong_with_a_schema() {
    let screen = Screen::new(&["puppet"]);
    screen.write(
        "lockgate.toml",
        r#"[plugins.puppet.config.typed]
           parameters = {type = "object", properties = {n = {type = "integer", minimum = 1}}}
           output = {type = "text"}
           returns = 1"#,
    );
    let remedy = "Describe the tool with the supported keywords, and check the rest in its body.";
    let listed = screen.run(&["plugins", "list", "--json", "--plugins", "p"]);
    let told = &listed.json()[0];
    assert_eq!(
        (&told["state"], &told["code"], &told["message"], &told["remedy"]),
        (&json!("refused E-SCHEMA"), &json!("E-SCHEMA"), &json!(FAULTS), &json!(remedy))
    );
    assert_eq!(listed.code, Some(DONE));
    let called = screen.run(&["call", "typed", "--plugins", "p"]);
    assert_eq!(called.code, Some(FAILED), "{called:?}");
    assert!(called.err.contains(FAULTS), "{called:?}");
}
