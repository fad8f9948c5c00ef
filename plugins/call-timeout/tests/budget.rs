//! A tool's budget is kept, and nothing else is taken for a timeout.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::time::Duration;

use call_timeout::CallTimeout;
use lockgate_plugin_api::ToolOutcome;
use lockgate_plugin_api::testing::{Bench, Body, Call, call};
use serde_json::json;

const BUDGET: Duration = Duration::from_millis(250);

/// A body that ends when it is told to.
fn work(body: &Body<'_>, time: Duration) -> ToolOutcome {
    if body.work(time) {
        ToolOutcome::failure("told to end")
    } else {
        ToolOutcome::success(&json!("done"))
    }
}

#[test]
fn a_body_past_its_budget_is_told_to_end_and_timed_out() {
    let timed_out = ("tool call timed out after 250ms", Some("TOOL_TIMEOUT"));
    check(call("slow").budget(BUDGET), BUDGET, timed_out, BUDGET);
    check(call("slow").budget(BUDGET), 4 * BUDGET, timed_out, BUDGET);
}

#[test]
fn a_body_within_its_budget_is_left_alone() {
    let time = BUDGET - Duration::from_millis(1);
    check(call("quick").budget(BUDGET), time, ("", None), time);
}

#[test]
fn a_tool_without_a_budget_has_all_the_time() {
    let day = Duration::from_secs(86_400);
    check(call("slow"), day, ("", None), day);
}

#[test]
fn a_caller_who_gives_up_is_not_a_timeout() {
    let cancelled = call("slow").budget(BUDGET).cancelled();
    check(cancelled, BUDGET, ("told to end", None), Duration::ZERO);
    let bench = Bench::<CallTimeout>::new(json!({})).unwrap();
    let outcome = bench.execute(&call("slow").budget(BUDGET), |body| {
        assert!(!body.work(BUDGET / 2));
        body.cancel_call();
        work(body, BUDGET)
    });
    assert_eq!((&*outcome.unwrap().message(), bench.time()), ("told to end", BUDGET / 2));
}

#[test]
fn a_failure_within_the_budget_stays_what_it_is() {
    let bench = Bench::<CallTimeout>::new(json!({})).unwrap();
    let failure = || ToolOutcome::coded_failure("no", "ToolArgsError", "INVALID_ARGS");
    let outcome = bench.execute(&call("any").budget(BUDGET), |_| failure()).unwrap();
    assert_eq!(outcome.code().as_deref(), Some("INVALID_ARGS"));
}

/// Makes a call whose body wants to work for `time`, and compares the failure's message (empty
/// for a success) and code, and when it was there.
#[track_caller]
fn check(call: Call, time: Duration, expected: (&str, Option<&str>), at: Duration) {
    let bench = Bench::<CallTimeout>::new(json!({})).unwrap();
    let outcome = bench.execute(&call, |body| work(body, time)).unwrap();
    assert_eq!((&*outcome.message(), outcome.code().as_deref()), expected);
    assert_eq!(bench.time(), at);
}
