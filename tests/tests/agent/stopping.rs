//! What *turn-stopping* listeners do to a turn, and what a cancellation does to them.

use lockgate::session::AbortCause;
use serde_json::{Value, json};

use crate::stage::{ABORTED, ASKED, COMPLETED, LONG, Stage, failed};

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
    let told = "inject:asked then until-cancelled then wait-for:go";
    check(json!({"turn_stopping": [told]}), "step/end 1.1").await;
    check(json!({"pre_step": [told]}), "spliced next-turn 0 -1").await;
    check(json!({"prompt_submit": [told]}), "spliced next-turn 0 -1").await;
    let held = "inject:asked then wait-for:go then reject:no";
    check(json!({"pre_step": [held]}), "spliced next-turn 0 -1").await;
}
