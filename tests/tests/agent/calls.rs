//! What tool calls do to a turn.

use lockgate::session::AbortCause;
use serde_json::{Value, json};

use crate::stage::{COMPLETED, LONG, Stage};

#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_called_a_tool_is_followed_by_another_though_nothing_enters() {
    let calls = json!([{"name": "a", "arguments": {"b": 1}}, {"name": "echo"}]);
    let stage = Stage::open(json!([{"calls": calls}, "Done."]), json!({"tools": true}), LONG);
    stage.prompt("Go.");
    stage.until_idle().await;
    stage.seen.check_from(
        "assistant/message call_1, call_2 <- 7..=13",
        &[
            r#"tool/call call_1 a {"b":1}"#,
            r#"tool/result call_1 failed: Error: unknown tool "a" UNKNOWN_TOOL <- 15"#,
            "tool/call call_2 echo {}",
            "tool/result call_2 ok: null <- 17",
            "step/end 1.1",
            "step/start 1.2",
            "assistant/chunk x4",
            "assistant/message Done. <- 21..=24",
            "step/end 1.2",
            COMPLETED,
        ],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_run_one_after_another_and_their_contexts_enter_at_the_next_step() {
    let call = |index: u32, id: &str, arguments: &str| {
        json!({"type": "block-end", "index": index, "block": {
            "type": "tool-call", "id": id, "name": "echo", "arguments": arguments,
        }})
    };
    let good = r#"{"value":1,"inject":"a sent","context":"a deferred"}"#;
    let bad = r#"{"fail":"no","inject":"b sent","context":"b deferred"}"#;
    let text = json!({"type": "text-delta", "index": 0, "text": "Done."});
    let answers = json!([
        {"kind": "chunks", "chunks": [call(0, "a", good), call(1, "b", bad)]},
        {"kind": "chunks", "chunks": [text]},
    ]);
    let orders = json!({"tools": true, "around": "context:around", "review": "context:reviewed"});
    let stage = Stage::open(answers, orders, LONG);
    stage.prompt("Go.");
    stage.until_idle().await;
    stage.seen.check_from(
        "request/context replay/model",
        &[
            "assistant/chunk x2",
            "assistant/message a, b <- 7..=8",
            &format!("tool/call a echo {good}"),
            "spliced next-step 0 +a sent",
            "tool/result a ok: 1 <- 10",
            "spliced next-step 1 +a deferred",
            "spliced next-step 2 +around",
            "spliced next-step 3 +reviewed",
            &format!("tool/call b echo {bad}"),
            "spliced next-step 4 +b sent",
            "tool/result b failed: Error: no ECHO_FAILED <- 16",
            "spliced next-step 5 +b deferred",
            "spliced next-step 6 +around",
            "spliced next-step 7 +reviewed",
            "step/end 1.1",
            "spliced next-step 0 -8",
            "step/start 1.2",
            "user/message a sent",
            "user/message a deferred",
            "user/message around",
            "user/message reviewed",
            "user/message b sent",
            "user/message b deferred",
            "user/message around",
            "user/message reviewed",
            "assistant/chunk x1",
            "assistant/message Done. <- 33",
            "step/end 1.2",
            COMPLETED,
        ],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_reach_the_tool_whatever_the_model_wrote() {
    async fn check(arguments: &str, expected: &[&str]) {
        let call = json!({"type": "block-end", "index": 0, "block": {
            "type": "tool-call", "id": "c", "name": "echo", "arguments": arguments,
        }});
        let text = json!({"type": "text-delta", "index": 0, "text": "Done."});
        let answers = json!([
            {"kind": "chunks", "chunks": [call]},
            {"kind": "chunks", "chunks": [text]},
        ]);
        let stage = Stage::open(answers, json!({"tools": true}), LONG);
        stage.prompt("Go.");
        stage.until_idle().await;
        let mut lines = stage.seen.lines();
        lines.retain(|it| it.starts_with("tool/"));
        assert_eq!(lines, expected);
    }
    check("", &["tool/call c echo ", "tool/result c ok: null <- 9"]).await;
    check(
        "not json",
        &[
            "tool/call c echo not json",
            "tool/result c failed: Error: invalid arguments: \"arguments\" must be an object \
             INVALID_ARGS <- 9",
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_meta_of_an_outcome_is_for_whoever_shows_it() {
    let answers = json!([{"calls": [{"name": "echo"}]}, "Done."]);
    let orders = json!({"tools": true, "around": "fail-with-meta:three lines"});
    let stage = Stage::open(answers, orders, LONG);
    stage.prompt("Go.");
    stage.until_idle().await;
    stage.seen.check_from(
        "tool/call call_1 echo {}",
        &[
            r#"tool/result call_1 failed: Error: no "three lines" <- 12"#,
            "step/end 1.1",
            "step/start 1.2",
            "assistant/chunk x4",
            "assistant/message Done. <- 16..=19",
            "step/end 1.2",
            COMPLETED,
        ],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_can_conclude_the_turn_and_the_others_still_run() {
    let call = |arguments: Value| json!({"name": "echo", "arguments": arguments});
    let calls = [call(json!({"value": 1, "conclude": true})), call(json!({"value": 2}))];
    let stage = Stage::open(json!([{"calls": calls}]), json!({"tools": true}), LONG);
    stage.prompt("Go.");
    stage.until_idle().await;
    stage.seen.check_from(
        "tool/result call_1 ok: 1 <- 15",
        &[
            r#"tool/call call_2 echo {"value":2}"#,
            "tool/result call_2 ok: 2 <- 17",
            "step/end 1.1",
            COMPLETED,
        ],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_fails_does_not_conclude_the_turn() {
    let arguments = json!({"conclude": true, "fail": "no"});
    let answers = json!([{"calls": [{"name": "echo", "arguments": arguments}]}, "Done."]);
    let stage = Stage::open(answers, json!({"tools": true}), LONG);
    stage.prompt("Go.");
    stage.until_idle().await;
    stage.seen.check_from(
        "tool/result call_1 failed: Error: no ECHO_FAILED <- 12",
        &[
            "step/end 1.1",
            "step/start 1.2",
            "assistant/chunk x4",
            "assistant/message Done. <- 16..=19",
            "step/end 1.2",
            COMPLETED,
        ],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_is_waited_for_and_the_rest_are_not_started() {
    let first = json!({"inject": "runs", "context": "deferred", "then_for": "go"});
    let answers = json!([
        {"calls": [{"name": "wait", "arguments": first}, {"name": "echo"}]},
        "Done.",
    ]);
    let stage = Stage::open(answers, json!({"tools": true}), LONG);
    stage.prompt("Go.");
    stage.seen.until("spliced next-step 0 +runs").await;
    stage.agent.cancel(AbortCause::Hook { reason: "no".to_owned() }).unwrap();
    stage.inject("still waited for");
    stage.hold.go();
    stage.until_idle().await;
    let cancelled = r#"turn/end 1 {"kind":"aborted","reason":{"kind":"hook","reason":"no"}}"#;
    stage.seen.check_from(
        "spliced next-step 0 +runs",
        &[
            "spliced next-step 0 -1 canceled",
            "spliced next-step 0 +still waited for",
            "tool/result call_1 failed: Error: tool call aborted ABORTED <- 15",
            "spliced next-step 1 +deferred",
            "tool/call call_2 echo {}",
            "tool/result call_2 failed: Error: tool call aborted before dispatch \
             ABORTED_BEFORE_DISPATCH <- 21",
            "step/end 1.1",
            cancelled,
        ],
    );
    // Nobody hears of a call that was not started.
    assert_eq!(stage.seen.answers("tool-result"), ["tool-result seen noted"]);
    stage.prompt("On.");
    stage.until_idle().await;
    stage.seen.check_from(
        cancelled,
        &[
            "spliced next-turn 0 +On.",
            "turn/start 2",
            "spliced next-step 0 -2",
            "spliced next-turn 0 -1",
            "step/start 2.1",
            "user/message still waited for",
            "user/message deferred",
            "user/message On.",
            "assistant/chunk x4",
            "assistant/message Done. <- 33..=36",
            "step/end 2.1",
            r#"turn/end 2 {"kind":"completed"}"#,
        ],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reviewer_may_replace_what_comes_with_an_outcome() {
    let calls = json!([{"name": "echo", "arguments": {"value": 1, "context": "from the body"}}]);
    let orders = json!({"tools": true, "review": "replace-contexts:from the reviewer"});
    let stage = Stage::open(json!([{"calls": calls}, "Done."]), orders, LONG);
    stage.prompt("Go.");
    stage.until_idle().await;
    stage.seen.check_until(
        "tool/result call_1 ok: 1 <- 12",
        "step/end 1.1",
        &["spliced next-step 0 +from the reviewer"],
    );
    let lines = stage.seen.lines();
    assert!(!lines.iter().any(|it| it.contains("+from the body")), "{lines:#?}");
}
