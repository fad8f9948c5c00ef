//! What becomes of an agent that nobody holds.

use lockgate::{CallRequest, Signal};
use serde_json::json;

use crate::stage::{COMPLETED, LONG, Stage};

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_is_gone_with_its_last_handle() {
    let orders = json!({"tools": true, "session_start": ["inject:here"]});
    let Stage { agent, host, seen, .. } = Stage::open(json!([]), orders, LONG);
    seen.until_answered("session-start session_start noted").await;
    let send = || async {
        let request = CallRequest {
            call_id: "c".into(),
            name: "echo".into(),
            arguments: r#"{"inject":"again"}"#.into(),
            agent: None,
            cwd: None,
            signal: Signal::new(),
        };
        host.execute(request).await.message().into_owned()
    };
    let other = agent.clone();
    drop(agent);
    assert_eq!(send().await, "");
    drop(other);
    assert_eq!(send().await, "the agent is gone");
    let sent = ["spliced next-step 0 +here", "spliced next-step 1 +again"];
    assert_eq!(seen.lines(), sent);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_without_a_handle_still_ends_its_turn() {
    let orders = json!({"pre_step": ["inject:asked then wait-for:go"]});
    let stage = Stage::open(json!(["Hi.", "Ho."]), orders, LONG);
    stage.prompt("Go.");
    stage.seen.until("spliced next-step 0 +asked").await;
    let Stage { agent, seen, hold, .. } = stage;
    drop(agent);
    hold.go();
    seen.until(COMPLETED).await;
    seen.check_from(
        "step/end 1.1",
        &[
            "spliced next-step 0 -1",
            "step/start 1.2",
            "user/message asked",
            "assistant/chunk x4",
            "assistant/message Ho. <- 17..=20",
            "step/end 1.2",
            COMPLETED,
        ],
    );
}
