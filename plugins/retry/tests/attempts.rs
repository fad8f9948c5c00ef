//! What is tried again, how often and when, and what never is.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::cell::RefCell;

use lockgate_plugin_api::testing::{Bench, Body, Call, call};
use lockgate_plugin_api::{Extras, Message, ToolOutcome};
use retry::Retry;
use serde_json::{Value, json};

fn coded(code: &str) -> ToolOutcome {
    ToolOutcome::coded_failure("no", "AnError", code)
}

fn failure(_: &Body<'_>) -> ToolOutcome {
    ToolOutcome::failure("no")
}

/// A configuration for the tool `fetch`, with `more` in it.
fn fetch(more: &Value) -> Value {
    let mut config = json!({"tools": ["fetch"]});
    config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    config
}

#[test]
fn a_failed_tool_is_run_again_after_growing_pauses() {
    check(fetch(&json!({})), call("fetch"), failure, &[0, 200, 600]);
    check(
        fetch(&json!({"attempts": 6, "initial_ms": 100, "factor": 3, "max_ms": 1000})),
        call("fetch"),
        failure,
        &[0, 100, 400, 1300, 2300, 3300],
    );
    check(fetch(&json!({"attempts": 2, "initial_ms": 0})), call("fetch"), failure, &[0, 0]);
    let ages = json!({"initial_ms": u64::MAX, "factor": 10, "max_ms": u64::MAX});
    let age = u128::from(u64::MAX);
    check(fetch(&ages), call("fetch"), failure, &[0, age, 2 * age]);
    let no_growth = json!({"attempts": 10, "initial_ms": 1, "factor": 1});
    check(fetch(&no_growth), call("fetch"), failure, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
}

#[test]
fn the_first_success_is_the_outcome() {
    let third = |body: &Body<'_>| match body.attempt() {
        1 | 2 => failure(body).with_context(Message::from_plugin("other", "an attempt's own")),
        attempt => ToolOutcome::success(&json!(attempt)),
    };
    let config = fetch(&json!({"attempts": 5}));
    let outcome = check(config.clone(), call("fetch"), third, &[0, 200, 600]);
    assert_eq!((&*outcome.value_json(), outcome.is_plain()), ("3", true));
    check(config, call("fetch"), |_| ToolOutcome::success(&json!(1)), &[0]);
}

#[test]
fn the_last_failure_is_the_outcome() {
    let numbered = |body: &Body<'_>| ToolOutcome::failure(format!("no {}", body.attempt()));
    let outcome = check(fetch(&json!({})), call("fetch"), numbered, &[0, 200, 600]);
    assert_eq!(outcome.message(), "no 3");
}

#[test]
fn only_the_tools_on_the_list_are_run_again() {
    let twice = |tools: Value| json!({"tools": tools, "attempts": 2});
    check(json!({}), call("fetch"), failure, &[0]);
    check(twice(json!(["fetch_*", "ping?"])), call("fetch_page"), failure, &[0, 200]);
    check(twice(json!(["fetch_*", "ping?"])), call("ping6"), failure, &[0, 200]);
    check(twice(json!(["fetch_*", "ping?"])), call("prefetch_page"), failure, &[0]);
    check(twice(json!(["*"])), call("mcp/fetch"), failure, &[0, 200]);
}

#[test]
fn only_the_codes_on_the_list_are_tried_again() {
    let codes = |codes: Value| fetch(&json!({"codes": codes, "attempts": 2}));
    let timeouts = codes(json!(["TOOL_TIMEOUT", "HTTP_5*"]));
    check(timeouts.clone(), call("fetch"), |_| coded("TOOL_TIMEOUT"), &[0, 200]);
    check(timeouts.clone(), call("fetch"), |_| coded("HTTP_503"), &[0, 200]);
    check(timeouts.clone(), call("fetch"), |_| coded("HTTP_404"), &[0]);
    check(timeouts, call("fetch"), failure, &[0]);
    check(codes(json!([""])), call("fetch"), failure, &[0, 200]);
    check(codes(json!([])), call("fetch"), failure, &[0]);
}

#[test]
fn what_is_an_answer_is_never_asked_for_again() {
    for code in ["ABORTED", "ABORTED_BEFORE_DISPATCH", "INVALID_ARGS", "UNKNOWN_TOOL"] {
        check(fetch(&json!({})), call("fetch"), |_| coded(code), &[0]);
    }
    let denied = |_: &Body<'_>| {
        let extras = Extras { code: Some("DENIED".into()), ..Extras::default() };
        ToolOutcome::failure("no").with_extras(&extras)
    };
    check(fetch(&json!({})), call("fetch"), denied, &[0]);
    check(fetch(&json!({})), call("fetch").cancelled(), failure, &[0]);
    let given_up = |body: &Body<'_>| {
        body.cancel_call();
        failure(body)
    };
    check(fetch(&json!({})), call("fetch"), given_up, &[0]);
    // No pause, so that it is not the pause that notices.
    check(fetch(&json!({"initial_ms": 0})), call("fetch"), given_up, &[0]);
}

#[test]
fn every_further_attempt_is_told_to_the_log() {
    let bench = Bench::<Retry>::new(fetch(&json!({"attempts": 2}))).unwrap();
    bench.execute(&call("fetch"), |_| coded("HTTP_503")).unwrap();
    let lines: Vec<_> = bench.lines().into_iter().map(|it| (it.level, it.message)).collect();
    let line = "a tool that failed is run again tool=\"fetch\" call=\"call-1\" attempt=1 \
                code=\"HTTP_503\"";
    assert_eq!(lines, [(3, line.to_owned())]);
}

#[test]
fn a_configuration_that_makes_no_sense_is_refused() {
    check(
        json!({"attempts": 1}),
        "`attempts` is 1; it must be from 2 to 10, the first attempt included",
    );
    check(
        json!({"attempts": 11}),
        "`attempts` is 11; it must be from 2 to 10, the first attempt included",
    );
    check(json!({"factor": 0.5}), "`factor` is 0.5; it must be from 1 to 10");
    check(json!({"factor": 11}), "`factor` is 11; it must be from 1 to 10");
    check(
        json!({"initial_ms": 20, "max_ms": 10}),
        "`initial_ms` is 20 and `max_ms` is 10; the first pause is at most the longest",
    );
    check(
        json!({"tools": ["[a"]}),
        "the entry of `tools` cannot be read: error parsing glob '[a': unclosed character class; \
         missing ']'",
    );

    #[track_caller]
    fn check(config: Value, expected: &str) {
        assert_eq!(Bench::<Retry>::probe(config).unwrap_err().message(), expected);
    }
}

#[test]
fn its_config_schema_says_what_it_accepts() {
    assert_eq!(Bench::<Retry>::check_config_schema(), Ok(()));
}

/// Makes a call and compares when its attempts began, in milliseconds.
#[track_caller]
fn check(
    config: Value,
    call: Call,
    body: impl Fn(&Body<'_>) -> ToolOutcome,
    expected: &[u128],
) -> ToolOutcome {
    let bench = Bench::<Retry>::new(config).unwrap();
    let begun = RefCell::new(Vec::new());
    let outcome = bench.execute(&call, |it| {
        begun.borrow_mut().push(bench.time().as_millis());
        body(it)
    });
    assert_eq!(begun.into_inner(), expected);
    outcome.unwrap()
}
