//! Tool calls side by side when something goes wrong: a cancellation, a wedge, a log that fails.

use lockgate::session::AbortCause;
use serde_json::json;

use crate::lanes::{at_most, begin, held, hurried, ids, lane, wedged};
use crate::stage::{ABORTED, Terms};

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_step_waits_for_what_runs_and_starts_nothing_more() {
    let noted =
        |name: &str| lane(name, json!({"wait_for": name, "context": format!("note {name}")}));
    let calls = [noted("1"), noted("2"), noted("3"), lane("4", json!({"beside": ""}))];
    let stage = begin(&calls, json!({}), at_most(2));
    stage.until_in("1").await;
    stage.until_in("2").await;
    stage.agent.cancel(AbortCause::User).unwrap();
    stage.hold.release("2");
    stage.seen.until_over("call_2").await;
    stage.hold.release("1");
    stage.until_idle().await;
    assert_eq!(
        stage.told(),
        [
            "call 1",
            "call 2",
            "result 1 ABORTED",
            "note 1",
            "result 2 ABORTED",
            "note 2",
            "call 3",
            "result 3 ABORTED_BEFORE_DISPATCH",
            "call 4",
            "result 4 ABORTED_BEFORE_DISPATCH",
        ]
    );
    for listener in ["gate", "seen"] {
        assert_eq!(stage.seen.asked(listener), ids(&[1, 2]), "{listener}");
    }
    stage.seen.check_from("step/end 1.1", &[ABORTED]);
    // What was said with the results waits for the next turn.
    stage.prompt("On.");
    stage.until_idle().await;
    let mut entered = stage.seen.lines();
    entered.drain(..entered.iter().position(|it| it == "step/start 2.1").unwrap());
    entered.retain(|it| it.starts_with("user/message") && !it.contains(" out "));
    assert_eq!(entered, ["user/message note 1", "user/message note 2", "user/message On."]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_cancelled_while_it_is_decided_on_does_not_run() {
    let calls = [lane("stuck", json!({})), lane("2", json!({}))];
    let stage = begin(&calls, json!({"gate": "hang-on:stuck"}), Terms::default());
    stage.seen.until_call("call_1").await;
    stage.agent.cancel(AbortCause::User).unwrap();
    stage.hold.go();
    stage.until_idle().await;
    assert_eq!(
        stage.told(),
        [
            "call 1",
            "result 1 ABORTED_BEFORE_DISPATCH",
            "call 2",
            "result 2 ABORTED_BEFORE_DISPATCH",
        ]
    );
    assert_eq!(stage.inside(), [""; 0]);
}

#[test]
fn a_tool_that_never_says_whether_a_call_may_run_beside_others_has_said_no() {
    let stage = wedged(async {
        let calls = [held("1"), lane("2", json!({"beside": "hang:go"})), lane("3", json!({}))];
        let stage = begin(&calls, json!({}), hurried());
        stage.seen.until_answered("is-parallel-safe lane timeout").await;
        stage.hold.release("1");
        stage.until_idle().await;
        stage
    });
    let told = ["call 1", "result 1", "call 2", "result 2", "call 3", "result 3"];
    assert_eq!(stage.told(), told);
    // Nobody asks again: that would cost another thread.
    assert_eq!(stage.seen.answers("is-parallel-safe"), ["is-parallel-safe lane timeout"]);
}

#[test]
fn a_wedge_in_a_body_costs_no_other_call_anything() {
    let stage = wedged(async {
        let calls = [lane("1", json!({"hang": "go"})), held("2")];
        let stage = begin(&calls, json!({"budget_ms": 100}), Terms::default());
        stage.seen.until_result("call_1").await;
        stage.hold.release("2");
        stage.until_idle().await;
        stage
    });
    assert_eq!(stage.told(), ["call 1", "call 2", "result 1 TOOL_TIMEOUT", "result 2"]);
}

#[test]
fn a_wedge_in_a_gate_is_told_when_the_call_has_its_turn() {
    let stage = wedged(async {
        let calls = [held("1"), lane("stuck", json!({})), held("3")];
        let stage = begin(&calls, json!({"gate": "hang-on:stuck"}), hurried());
        stage.until_in("3").await;
        stage.hold.release("3");
        stage.seen.until_over("call_3").await;
        stage.hold.release("1");
        stage.until_idle().await;
        stage
    });
    let told = ["call 1", "call 2", "call 3", "result 1", "result 2 late", "result 3"];
    assert_eq!(stage.told(), told);
    // The plugin that is wedged is not asked about that call any more.
    assert_eq!(stage.seen.asked("seen"), ids(&[1, 3]));
}

#[test]
fn a_wedge_in_a_reviewer_lets_the_next_call_be_reviewed() {
    let stage = wedged(async {
        let calls = [held("1"), held("2")];
        let stage = begin(&calls, json!({"review": "hang:go"}), hurried());
        stage.until_in("1").await;
        stage.hold.release("2");
        stage.seen.until_over("call_2").await;
        stage.hold.release("1");
        stage.until_idle().await;
        stage
    });
    assert_eq!(stage.told(), ["call 1", "call 2", "result 1 late", "result 2 late"]);
    assert_eq!(stage.seen.asked("review"), ids(&[1, 2]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_fails_waits_for_what_runs_and_leaves_no_call_unanswered() {
    // Nothing this deep can be read back from a log.
    let deep = lane("1", json!({"depth": 200, "wait_for": "1"}));
    let stage = begin(&[deep, held("2"), held("3")], json!({}), at_most(2));
    stage.until_in("1").await;
    stage.until_in("2").await;
    stage.hold.release("1");
    stage.seen.until_answered("tool-result seen noted").await;
    stage.hold.release("2");
    stage.until_idle().await;
    let told = [
        "call 1",
        "call 2",
        "result 1 TOOL_OUTCOME_UNKNOWN",
        "result 2 TOOL_OUTCOME_UNKNOWN",
        "result 3 TOOL_NOT_STARTED",
    ];
    assert_eq!(stage.told(), told);
    assert_eq!(stage.inside().last().unwrap(), "out 2");
    let lines = stage.seen.lines();
    let error = "cannot read the outcome of the tool call `call_1`: recursion limit exceeded";
    assert!(lines.last().unwrap().contains(error), "{lines:#?}");
    assert!(lines.last().unwrap().starts_with(r#"turn/end 1 {"kind":"error""#), "{lines:#?}");
}
