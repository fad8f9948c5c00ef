//! What plugins do to an agent from its seams besides sending to it, and what they read of it.

use serde_json::json;

use crate::stage::{ASKED, COMPLETED, LONG, Stage, failed};

/// How a turn ends that a plugin cancelled.
const CANCELLED: &str =
    r#"turn/end 1 {"kind":"aborted","reason":{"kind":"hook","reason":"enough"}}"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_cancels_the_turn_and_what_waits_or_only_the_turn() {
    async fn check(order: &str, after: &[&str]) {
        let order = format!("follow-up:Later. then {order}:enough");
        let stage = Stage::open(json!([]), json!({"pre_step": [order]}), LONG);
        stage.prompt("Go.");
        stage.until_idle().await;
        stage.seen.check_from("spliced next-turn 0 +Later.", after);
    }
    check("cancel", &["spliced next-turn 0 -1 canceled", CANCELLED]).await;
    check("cancel-keeping", &[CANCELLED]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_reads_what_waits_and_what_happened() {
    let orders = json!({"turn_stopping": ["follow-up:A then follow-up:B then say-inbox"]});
    let stage = Stage::open(json!(["One.", "Two.", "Three.", "Four."]), orders, LONG);
    stage.prompt("Go.");
    stage.until_idle().await;
    let lines = stage.seen.lines();
    assert!(lines.iter().any(|it| it == "spliced next-step 0 +turn [A, B] step []"), "{lines:#?}");

    let pages = ["say-events:0 then say-events:2 then say-events:1000"];
    let stage = Stage::open(json!(["One.", "Two."]), json!({"pre_step": pages}), LONG);
    stage.prompt("Go.");
    stage.until_idle().await;
    stage.seen.check_until(
        "spliced next-turn 0 -1",
        "step/start 1.1",
        &[
            "spliced next-step 0 +0 agent/inbox/spliced, 1 turn/start, 2 agent/inbox/spliced",
            "spliced next-step 1 +2 agent/inbox/spliced, 3 agent/inbox/spliced",
            "spliced next-step 2 +",
        ],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_appends_what_its_manifest_declares_and_nothing_else() {
    let hook = r#"append:hook/invoked={"turn":1,"point":"P","dialect":"d","handlerId":"h"}"#;
    let own = r#"append:puppet/said={"any":["thing"]}"#;
    let orders = json!({"pre_step": [format!("{hook} then {own}")]});
    let stage = Stage::open(json!(["Hi."]), orders, LONG);
    stage.prompt("Go.");
    stage.until_idle().await;
    stage.seen.check_until(
        "spliced next-turn 0 -1",
        ASKED,
        &[
            r#"{"type":"hook/invoked","data":{"turn":1,"point":"P","dialect":"d","handlerId":"h"}}"#,
            r#"{"type":"puppet/said","data":{"any":["thing"]}}"#,
            "step/start 1.1",
            "user/message Go.",
            "request/header Initial",
        ],
    );
    stage.seen.check_from("step/end 1.1", &[COMPLETED]);

    async fn check_refused(order: &str, why: &str) {
        let stage = Stage::open(json!([]), json!({"pre_step": [order]}), LONG);
        stage.prompt("Go.");
        stage.until_idle().await;
        let end = failed("pre-step", "pre_step", &why.replace('"', "\\\""));
        stage.seen.check_from("spliced next-turn 0 -1", &[&end]);
    }
    check_refused(
        "append:puppet/other={}",
        "events of the type `puppet/other` are not among the `events` of its manifest",
    )
    .await;
    check_refused(
        r#"append:turn/end={"turn":1,"reason":{"kind":"completed"}}"#,
        "events of the type `turn/end` are not among the `events` of its manifest",
    )
    .await;
    check_refused(
        "append:hook/invoked={}",
        "that is not what `hook/invoked` says: missing field `turn`",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_belongs_to_a_turn_is_not_appended_outside_one() {
    let todo = r#"append:todo/write={"todos":[]}"#;
    let stage = Stage::open(json!(["Hi."]), json!({"session_start": [todo]}), LONG);
    stage.seen.until_answered("session-start session_start fault").await;
    assert!(stage.seen.lines().is_empty());
    let stage = Stage::open(json!(["Hi."]), json!({"pre_step": [todo]}), LONG);
    stage.prompt("Go.");
    stage.until_idle().await;
    assert!(stage.seen.lines().iter().any(|it| it.contains("todo/write")));
}
