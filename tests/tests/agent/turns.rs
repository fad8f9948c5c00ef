//! What listeners do to a turn.

use std::time::Duration;

use lockgate::session::AbortCause;
use serde_json::{Value, json};

use crate::stage::{ABORTED, COMPLETED, LONG, Stage};

/// The line after which the model's first answer comes.
const ASKED: &str = "request/context script/model";

#[tokio::test(flavor = "multi_thread")]
async fn a_steer_while_the_turn_is_stopping_makes_another_step() {
    let orders = json!({"turn_stopping": ["steer:More of {at}."]});
    let stage = Stage::open(json!(["One.", "Two."]), orders, LONG);
    stage.prompt("Go.");
    stage.until_idle().await;
    stage.seen.check_from(
        ASKED,
        &[
            "assistant/chunk x4",
            "assistant/message One. <- 7..=10",
            "step/end 1.1",
            "spliced next-step 0 +More of 1.",
            "spliced next-step 0 -1",
            "step/start 1.2",
            "user/message More of 1.",
            "assistant/chunk x4",
            "assistant/message Two. <- 17..=20",
            "step/end 1.2",
            COMPLETED,
        ],
    );
    let stopped = "turn-stopping turn_stopping noted";
    assert_eq!(stage.seen.answers("turn-stopping"), [stopped, stopped]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_from_a_turn_that_is_stopping_gets_a_turn_of_its_own() {
    let orders = json!({"turn_stopping": ["follow-up:After {at}."]});
    let stage = Stage::open(json!(["One.", "Two."]), orders, LONG);
    stage.prompt("Go.");
    stage.until_idle().await;
    stage.seen.check_from(
        "step/end 1.1",
        &[
            "spliced next-turn 0 +After 1.",
            COMPLETED,
            "turn/start 2",
            "spliced next-turn 0 -1",
            "step/start 2.1",
            "user/message After 1.",
            "assistant/chunk x4",
            "assistant/message Two. <- 19..=22",
            "step/end 2.1",
            r#"turn/end 2 {"kind":"completed"}"#,
        ],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_that_fails_while_the_turn_is_stopping_ends_it() {
    async fn check(order: &str, why: &str) {
        let stage = Stage::open(json!(["One."]), json!({"turn_stopping": [order]}), LONG);
        stage.prompt("Go.");
        stage.until_idle().await;
        stage.seen.check_from("step/end 1.1", &[&failed("turn-stopping", "turn_stopping", why)]);
    }
    check("fail:no disk", "no disk").await;
    check("panic:boom", "panicked: boom").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_cancelled_while_a_listener_is_asked_ends_as_soon_as_it_has_answered() {
    async fn check(orders: Value, after: &str) {
        let stage = Stage::open(json!(["Hi."]), orders, LONG);
        stage.prompt("Go.");
        stage.seen.until("spliced next-step 0 +asked").await;
        stage.agent.cancel(AbortCause::User).unwrap();
        stage.inject("I");
        stage.hold.go();
        stage.until_idle().await;
        stage.seen.check_from(
            after,
            &[
                "spliced next-step 0 +asked",
                "spliced next-step 0 -1 canceled",
                "spliced next-step 0 +I",
                ABORTED,
            ],
        );
    }
    for answer in ["", " then fail:no disk"] {
        let held = format!("inject:asked then wait-for:go{answer}");
        check(json!({"turn_stopping": [held]}), "step/end 1.1").await;
        check(json!({"pre_step": [held]}), "spliced next-turn 0 -1").await;
    }
    let held = "inject:asked then wait-for:go then reject:no";
    check(json!({"pre_step": [held]}), "spliced next-turn 0 -1").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_could_end_does_so_without_a_word_when_nothing_enters() {
    let orders = json!({
        "pre_step": ["steer:More.", "empty"],
        "turn_stopping": ["fail:nobody is asked"],
    });
    let stage = Stage::open(json!(["Hi."]), orders, LONG);
    stage.prompt("Go.");
    stage.until_idle().await;
    stage.seen.check_from("step/end 1.1", &["spliced next-step 0 -1", COMPLETED]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_enters_is_for_the_pre_step_listeners_to_say() {
    async fn check(orders: &[&str], expected: &[&str]) {
        // Held until both prompts wait.
        let orders = json!({"session_start": ["wait-for:go"], "pre_step": orders});
        let stage = Stage::open(json!(["Hi."]), orders, LONG);
        stage.prompt("Go.");
        stage.prompt("On.");
        stage.hold.go();
        stage.until_idle().await;
        stage.seen.check_from("spliced next-turn 0 -1", expected);
    }
    check(&["reject:no"], &[r#"turn/end 1 {"kind":"blocked"}"#]).await;
    check(&["empty"], &[COMPLETED]).await;
    check(&["fail:no disk"], &[&failed("pre-step", "pre_step", "no disk")]).await;
    check(&["panic:boom"], &[&failed("pre-step", "pre_step", "panicked: boom")]).await;
    check(
        &["add:at {at}", "reject:no"],
        &[
            "step/start 1.1",
            "user/message Go.",
            "user/message at 1.1",
            "request/header Initial",
            ASKED,
            "assistant/chunk x4",
            "assistant/message Hi. <- 9..=12",
            "step/end 1.1",
            COMPLETED,
            "turn/start 2",
            "spliced next-turn 0 -1",
            r#"turn/end 2 {"kind":"blocked"}"#,
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_request_waits_for_session_start() {
    let orders = json!({"session_start": ["wait-for:go then inject:{at}"]});
    let stage = Stage::open(json!(["Hi."]), orders, LONG);
    stage.prompt("Go.");
    stage.hold.go();
    stage.until_idle().await;
    stage.seen.check_from(
        "turn/start 1",
        &[
            "spliced next-step 0 +startup",
            "spliced next-step 0 -1",
            "spliced next-turn 0 -1",
            "step/start 1.1",
            "user/message startup",
            "user/message Go.",
            "request/header Initial",
            ASKED,
            "assistant/chunk x4",
            "assistant/message Hi. <- 10..=13",
            "step/end 1.1",
            COMPLETED,
        ],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_request_waits_for_session_start_no_longer_than_the_grace() {
    let orders = json!({"session_start": ["wait-for:go then inject:late"]});
    let stage = Stage::open(json!(["Hi.", "Ho."]), orders, Duration::ZERO);
    stage.prompt("Go.");
    stage.until_idle().await;
    stage.prompt("On.");
    // Already there: the grace is over once and for all.
    assert_eq!(
        stage.seen.lines()[..14],
        [
            "spliced next-turn 0 +Go.",
            "turn/start 1",
            "spliced next-turn 0 -1",
            "step/start 1.1",
            "user/message Go.",
            "request/header Initial",
            ASKED,
            "assistant/chunk x4",
            "assistant/message Hi. <- 7..=10",
            "step/end 1.1",
            COMPLETED,
            "spliced next-turn 0 +On.",
            "turn/start 2",
            "spliced next-turn 0 -1",
        ]
    );
    stage.until_idle().await;
    stage.hold.go();
    stage.seen.until("spliced next-step 0 +late").await;
    let ended = r#"turn/end 2 {"kind":"completed"}"#;
    stage.seen.check_from(ended, &["spliced next-step 0 +late"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_cancelled_while_it_waits_for_session_start_asks_nobody() {
    let orders = json!({"session_start": ["wait-for:never"], "pre_step": ["fail:asked"]});
    let stage = Stage::open(json!([]), orders, LONG);
    stage.prompt("Go.");
    stage.agent.cancel(AbortCause::User).unwrap();
    stage.until_idle().await;
    stage.seen.check_from("turn/start 1", &["spliced next-turn 0 -1 canceled", ABORTED]);
    assert_eq!(stage.seen.answers("pre-step"), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_start_listener_can_wake_the_agent() {
    let orders = json!({"session_start": ["steer:Look around."]});
    let stage = Stage::open(json!(["Hi."]), orders, LONG);
    stage.seen.until(COMPLETED).await;
    stage.seen.check_from(
        "spliced next-step 0 +Look around.",
        &[
            "turn/start 1",
            "spliced next-step 0 -1",
            "step/start 1.1",
            "user/message Look around.",
            "request/header Initial",
            ASKED,
            "assistant/chunk x4",
            "assistant/message Hi. <- 7..=10",
            "step/end 1.1",
            COMPLETED,
        ],
    );
}

/// How a turn ends in which a listener failed.
fn failed(seam: &str, listener: &str, why: &str) -> String {
    let message = format!("the {seam} listener `{listener}` of the plugin `puppet` failed: {why}");
    let error = format!(r#"{{"message":"{message}","code":"LISTENER_FAULT"}}"#);
    format!(r#"turn/end 1 {{"kind":"error","error":{error}}}"#)
}
