//! What *session-start* listeners do to an agent.

use std::time::Duration;

use lockgate::session::{AbortCause, Header, SessionLog};
use lockgate::{AgentOptions, HostOptions};
use serde_json::json;
use tempfile::TempDir;

use crate::stage::{ABORTED, ASKED, COMPLETED, LONG, Stage};

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
async fn session_start_is_told_whether_the_session_was_there_before() {
    async fn check(log: SessionLog, expected: &str) {
        let orders = json!({"session_start": ["inject:{at}"]});
        let agent = AgentOptions { session_start_grace: LONG, ..AgentOptions::default() };
        let stage = Stage::open_on(json!([]), orders, HostOptions::default(), agent, log);
        stage.seen.until(expected).await;
    }
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("log");
    let log = SessionLog::create(&path, Header::new(None, 5), || 42).unwrap();
    let fork = log.fork(0, None).unwrap();
    drop(log);
    check(fork, "spliced next-step 0 +startup").await;
    let (log, _) = SessionLog::resume(&path, || 42).unwrap();
    check(log, "spliced next-step 0 +resume").await;
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

#[tokio::test(flavor = "multi_thread")]
async fn a_session_start_listener_that_fails_keeps_nobody_from_a_prompt() {
    async fn check(order: &str) {
        let stage = Stage::open(json!(["Hi."]), json!({"session_start": [order]}), LONG);
        stage.prompt("Go.");
        stage.until_idle().await;
        stage.seen.check_from(ASKED, HI);
        assert_eq!(stage.seen.answers("session-start"), ["session-start session_start fault"]);
    }
    check("fail:no disk").await;
    check("panic:boom").await;
}

/// What comes of a model that says *Hi.* in the first step, right after it was asked.
const HI: &[&str] =
    &["assistant/chunk x4", "assistant/message Hi. <- 7..=10", "step/end 1.1", COMPLETED];
