//! Nothing is made of what may not be on the disk.

use super::*;

#[tokio::test]
async fn no_model_is_asked_and_no_tool_runs_before_what_led_there_is_on_the_disk() {
    let failed = |log: &str| {
        let message =
            format!("cannot flush the session log `{log}`: Invalid argument (os error 22)");
        let reason = json!({"kind": "error", "error": {"message": message, "code": "UNKNOWN"}});
        format!("turn/end 1 {reason}")
    };
    let session = Session::start(json!(["Never said."])).await;
    let path = session.log();
    session.agent.core.state().log.unhinge();
    session.agent.follow_up(user("Go.")).unwrap();
    let error = session.agent.when_idle().await.unwrap_err();
    assert!(matches!(*error, LogError::Flush { .. }), "{error}");
    assert_eq!(
        lines(&session.seen.borrow())[3..],
        [
            "step/start 1.1",
            "user/message Go.",
            "request/header Initial",
            "request/context script/model",
            "step/end 1.1",
            &failed(&path),
        ]
    );

    let session = Session::start(json!([])).await;
    session.agent.core.state().log.unhinge();
    let error = session.agent.call_tool("echo", "{}").await.unwrap_err();
    assert!(matches!(error, CallError::Session(_)), "{error}");
    let unknown = "Error: the outcome of the tool call is not known; it may have taken effect";
    assert_eq!(
        lines(&session.seen.borrow())[2..],
        [
            "tool/call call_1 echo {}",
            &format!("tool/result call_1 failed: {unknown} TOOL_OUTCOME_UNKNOWN <- [2]"),
            "step/end 1.1",
            r#"turn/end 1 {"kind":"completed"}"#,
        ]
    );
}
