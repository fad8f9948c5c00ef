//! What *pre-step* listeners do to what enters a step.

use serde_json::json;

use crate::stage::{ASKED, COMPLETED, LONG, Stage, failed};

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
async fn pre_step_is_asked_before_each_step_even_if_nothing_would_enter() {
    let answers = json!([{"calls": [{"name": "echo"}]}, "Done."]);
    let orders = json!({"tools": true, "pre_step": ["add:at {at}", "add:at {at}"]});
    let stage = Stage::open(answers, orders, LONG);
    stage.prompt("Go.");
    stage.until_idle().await;
    let mut lines = stage.seen.lines();
    lines.retain(|it| it.starts_with("step/") || it.starts_with("user/"));
    let expected = [
        "step/start 1.1",
        "user/message Go.",
        "user/message at 1.1",
        "step/end 1.1",
        "step/start 1.2",
        "user/message at 1.2",
        "step/end 1.2",
    ];
    assert_eq!(lines, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_arrives_while_pre_step_is_asked_enters_at_the_next_step() {
    let orders = json!({"pre_step": ["inject:asked then wait-for:go"]});
    let stage = Stage::open(json!(["One.", "Two."]), orders, LONG);
    stage.prompt("Go.");
    stage.seen.until("spliced next-step 0 +asked").await;
    stage.inject("I");
    stage.steer("S");
    stage.hold.go();
    stage.until_idle().await;
    stage.seen.check_from(
        "spliced next-step 0 +asked",
        &[
            "spliced next-step 1 +I",
            "spliced next-step 2 +S",
            "step/start 1.1",
            "user/message Go.",
            "request/header Initial",
            ASKED,
            "assistant/chunk x4",
            "assistant/message One. <- 10..=13",
            "step/end 1.1",
            "spliced next-step 0 -3",
            "step/start 1.2",
            "user/message asked",
            "user/message I",
            "user/message S",
            "assistant/chunk x4",
            "assistant/message Two. <- 21..=24",
            "step/end 1.2",
            COMPLETED,
        ],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_arrives_while_a_prompt_is_refused_waits_for_the_next_prompt() {
    async fn check(answer: &str, ended: &str) {
        let held = format!("inject:asked then wait-for:go then {answer}");
        let stage = Stage::open(json!(["Hi."]), json!({"pre_step": [held]}), LONG);
        stage.prompt("Go.");
        stage.seen.until("spliced next-step 0 +asked").await;
        stage.steer("S");
        stage.prompt("Wait.");
        stage.hold.go();
        stage.until_idle().await;
        stage.prompt("On.");
        stage.seen.until(r#"turn/end 2 {"kind":"completed"}"#).await;
        let lines = stage.seen.lines();
        let expected = [
            "spliced next-turn 0 +Go.",
            "turn/start 1",
            "spliced next-turn 0 -1",
            "spliced next-step 0 +asked",
            "spliced next-step 1 +S",
            "spliced next-turn 0 +Wait.",
            ended,
            "spliced next-turn 1 +On.",
            "turn/start 2",
            "spliced next-step 0 -2",
            "spliced next-turn 0 -1",
            "step/start 2.1",
            "user/message asked",
            "user/message S",
            "user/message Wait.",
            "request/header Initial",
            ASKED,
            "assistant/chunk x4",
            "assistant/message Hi. <- 17..=20",
            "step/end 2.1",
            r#"turn/end 2 {"kind":"completed"}"#,
        ];
        assert_eq!(lines[..expected.len()], expected);
    }
    check("reject:no", r#"turn/end 1 {"kind":"blocked"}"#).await;
    check("fail:no disk", &failed("pre-step", "pre_step", "no disk")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_is_for_the_prompt_submit_listeners_to_admit() {
    async fn check(orders: serde_json::Value, expected: &[&str]) {
        let stage = Stage::open(json!(["Hi."]), orders, LONG);
        stage.prompt("Go.");
        stage.until_idle().await;
        stage.seen.check_until("spliced next-turn 0 -1", "request/header Initial", expected);
    }
    let ask = |order: &str| json!({"prompt_submit": [order]});
    check(ask("block:no"), &[r#"turn/end 1 {"kind":"blocked"}"#]).await;
    check(ask("fail:no disk"), &[&failed("prompt-submit", "prompt_submit", "no disk")]).await;
    check(ask("rewrite:Stop."), &["step/start 1.1", "user/message Stop."]).await;
    let followed = ["step/start 1.1", "user/message Go.", "user/message about Go."];
    check(ask("context:about {at}"), &followed).await;
    // What pre-step sees is the prompt as it was admitted.
    let both = json!({"prompt_submit": ["rewrite:Stop."], "pre_step": ["add:at {at}"]});
    let entered = ["step/start 1.1", "user/message Stop.", "user/message at 1.1"];
    check(both, &entered).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn prompt_submit_is_asked_once_a_prompt_and_never_about_what_is_steered() {
    let orders = json!({
        "prompt_submit": ["context:first", "context:second"],
        "turn_stopping": ["steer:More."],
    });
    let stage = Stage::open(json!(["One.", "Two."]), orders, LONG);
    stage.prompt("Go.");
    stage.until_idle().await;
    let asked = stage.seen.answers("prompt-submit");
    assert_eq!(asked, ["prompt-submit prompt_submit allow"]);
}
