//! Plugins that fail come out as faults, and never as a panic of the test.

use std::panic::{AssertUnwindSafe, catch_unwind};

use lockgate_plugin_api::ToolOutcome;
use lockgate_plugin_api::testing::{Bench, Fault, call};
use serde_json::json;

use super::probe::Probe;

fn failed<T>(place: &str, message: &str) -> Result<T, Fault> {
    Err(Fault::Failed { place: place.into(), message: message.into() })
}

#[test]
fn a_listener_that_fails_fails_the_question_whoever_waits_for_it() {
    check("fail", failed("pre-execute/inner", "the policy cannot be read"));
    check("panic", failed("pre-execute/inner", "panicked: a slip"));

    #[track_caller]
    fn check(name: &str, expected: Result<(), Fault>) {
        let bench = Bench::<Probe>::new(json!({})).unwrap();
        assert_eq!(bench.pre_execute(&call(name)).map(drop), expected);
        // It is still there.
        assert!(bench.pre_execute(&call("other")).unwrap().is_none());
    }
}

#[test]
fn a_listener_that_nobody_wakes_is_stuck() {
    check("stuck");
    check("tick");

    #[track_caller]
    fn check(name: &str) {
        let bench = Bench::<Probe>::new(json!({})).unwrap();
        let expected = Fault::Stuck { place: "pre-execute/outer".into() };
        assert_eq!(bench.pre_execute(&call(name)).unwrap_err(), expected);
    }
}

#[test]
fn an_instance_that_cannot_be_had_says_why() {
    check("refuse", failed("create", "it was told to refuse"));
    check("panic", failed("create", "panicked: it was told to panic"));
    check("no-start", failed("start", "nothing to have"));

    #[track_caller]
    fn check(name: &str, expected: Result<(), Fault>) {
        assert_eq!(Bench::<Probe>::new(json!({"name": name})).map(drop), expected);
    }
}

#[test]
fn a_plugin_that_does_not_end_well_says_why() {
    let bench = Bench::<Probe>::new(json!({"name": "no-end"})).unwrap();
    assert_eq!(bench.end(), failed("quiesce", "panicked: it does not end"));
    drop(Bench::<Probe>::new(json!({"name": "no-end"})).unwrap());
}

#[test]
fn a_body_that_panics_in_the_plugin_is_a_fault() {
    let bench = Bench::<Probe>::new(json!({})).unwrap();
    let outcome = bench.tool("work").unwrap().run(&json!({"do": "panic"})).map(drop);
    assert_eq!(outcome, failed("tool/work", "panicked: a slip"));
}

#[test]
fn a_body_that_panics_in_the_test_ends_the_test() {
    let bench = Bench::<Probe>::new(json!({})).unwrap();
    let run = || bench.execute(&call("any"), |_| panic!("an assertion of the test"));
    let panic = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"an assertion of the test"));
    // Nothing of it stays behind.
    let outcome = bench.execute(&call("any"), |_| ToolOutcome::success(&json!(1)));
    assert_eq!(outcome.unwrap().value_json(), "1");
}

#[test]
fn an_observer_that_fails_says_so() {
    let bench = Bench::<Probe>::new(json!({})).unwrap();
    let outcome = ToolOutcome::failure("the outcome");
    let expected = failed("tool-result/seen", "the outcome");
    assert_eq!(bench.tool_result(&call("fail"), &outcome), expected);
    assert_eq!(bench.tool_result(&call("other"), &outcome), Ok(()));
}

#[test]
fn an_outcome_that_is_no_json_is_a_fault() {
    let bench = Bench::<Probe>::new(json!({})).unwrap();
    let outcome = bench.execute(&call("any"), |_| ToolOutcome::success_json("{".into()));
    let message = "the value is not JSON: EOF while parsing an object at line 1 column 1";
    let expected = Fault::Protocol { place: "execute".into(), message: message.into() };
    assert_eq!(outcome.unwrap_err(), expected);
}
