//! What an agent writes into its log while nobody listens.

use super::*;

#[tokio::test]
async fn a_prompt_becomes_a_turn() {
    let session = Session::start(json!(["Hi."])).await;
    session.agent.follow_up(user("Go.")).unwrap();
    session
        .check(&[
            "spliced next-turn 0 +Go.",
            "turn/start 1",
            "spliced next-turn 0 -1",
            "step/start 1.1",
            "user/message Go.",
            "request/header Initial",
            "request/context script/model",
            "assistant/chunk x4",
            "assistant/message Hi. <- 7..=10",
            "step/end 1.1",
            r#"turn/end 1 {"kind":"completed"}"#,
        ])
        .await;
}

#[tokio::test]
async fn each_prompt_has_a_turn_of_its_own_and_a_steer_comes_before_it() {
    let session = Session::start(json!(["One.", "Two.", "Three."])).await;
    for prompt in ["A", "B"] {
        session.agent.follow_up(user(prompt)).unwrap();
    }
    session.agent.steer(user("S")).unwrap();
    session
        .check(&[
            "spliced next-turn 0 +A",
            "turn/start 1",
            "spliced next-turn 0 -1",
            "spliced next-turn 0 +B",
            "spliced next-step 0 +S",
            "step/start 1.1",
            "user/message A",
            "request/header Initial",
            "request/context script/model",
            "assistant/chunk x4",
            "assistant/message One. <- 9..=12",
            "step/end 1.1",
            "spliced next-step 0 -1",
            "step/start 1.2",
            "user/message S",
            "assistant/chunk x4",
            "assistant/message Two. <- 18..=21",
            "step/end 1.2",
            r#"turn/end 1 {"kind":"completed"}"#,
            "turn/start 2",
            "spliced next-turn 0 -1",
            "step/start 2.1",
            "user/message B",
            "assistant/chunk x4",
            "assistant/message Three. <- 29..=32",
            "step/end 2.1",
            r#"turn/end 2 {"kind":"completed"}"#,
        ])
        .await;
}

#[tokio::test]
async fn a_model_that_fails_ends_the_turn_and_the_queue_waits_for_a_wake() {
    let answers = json!([{ "fail": { "message": "no key", "code": "AUTH" } }, "Hi.", "Ho."]);
    let session = Session::start(answers).await;
    session.agent.follow_up(user("A")).unwrap();
    session.agent.follow_up(user("B")).unwrap();
    session
        .check_from(
            "request/context script/model",
            &[
                "assistant/chunk x1",
                "step/end 1.1",
                r#"turn/end 1 {"error":{"code":"AUTH","message":"no key"},"kind":"error"}"#,
            ],
        )
        .await;
    session.agent.follow_up(user("C")).unwrap();
    session
        .check_from(
            r#"turn/end 1 {"error":{"code":"AUTH","message":"no key"},"kind":"error"}"#,
            &[
                "spliced next-turn 1 +C",
                "turn/start 2",
                "spliced next-turn 0 -1",
                "step/start 2.1",
                "user/message B",
                "assistant/chunk x4",
                "assistant/message Hi. <- 16..=19",
                "step/end 2.1",
                r#"turn/end 2 {"kind":"completed"}"#,
                "turn/start 3",
                "spliced next-turn 0 -1",
                "step/start 3.1",
                "user/message C",
                "assistant/chunk x4",
                "assistant/message Ho. <- 27..=30",
                "step/end 3.1",
                r#"turn/end 3 {"kind":"completed"}"#,
            ],
        )
        .await;
}

#[tokio::test]
async fn an_answer_cut_off_by_its_limit_runs_no_tool_and_marks_its_turn() {
    let call = json!({ "type": "tool-call-delta", "index": 1, "id": "c1", "name": "bash", "argumentsDelta": "{" });
    let text = |text: &str| json!({ "type": "text-delta", "index": 0, "text": text });
    let cut = json!({ "type": "finish", "reason": { "kind": "max-tokens" } });
    let answers = json!([
        { "kind": "chunks", "chunks": [text("Cut"), call, cut] },
        { "kind": "chunks", "chunks": [text("More.")] },
        { "kind": "chunks", "chunks": [text("Whole.")] },
    ]);
    let session = Session::start(answers).await;
    session.agent.follow_up(user("A")).unwrap();
    session.agent.follow_up(user("B")).unwrap();
    session.agent.steer(user("S")).unwrap();
    session
        .check_from(
            "request/context replay/model",
            &[
                "assistant/chunk x3",
                "assistant/message Cut <- 9..=11",
                "step/end 1.1",
                "spliced next-step 0 -1",
                "step/start 1.2",
                "user/message S",
                "assistant/chunk x1",
                "assistant/message More. <- 17..=17",
                "step/end 1.2",
                r#"turn/end 1 {"kind":"max-tokens"}"#,
                "turn/start 2",
                "spliced next-turn 0 -1",
                "step/start 2.1",
                "user/message B",
                "assistant/chunk x1",
                "assistant/message Whole. <- 25..=25",
                "step/end 2.1",
                r#"turn/end 2 {"kind":"completed"}"#,
            ],
        )
        .await;
}

#[tokio::test]
async fn a_log_that_cannot_be_written_stops_the_agent() {
    let session = Session::start(json!([{ "kind": "hang", "readyFile": "ready" }])).await;
    session.agent.follow_up(user("Go.")).unwrap();
    session.until("assistant/chunk x2").await;
    session.agent.core.state().log.seal();
    session.agent.cancel(AbortCause::User).unwrap();
    let error = session.agent.when_idle().await.unwrap_err();
    assert!(matches!(*error, LogError::Append { seq: 9, .. }), "{error}");
    let error = session.agent.follow_up(user("On.")).unwrap_err();
    assert!(matches!(error, LogError::Append { seq: 9, .. }), "{error}");
    assert_eq!(session.agent.status(), Status::Idle);
}

#[tokio::test]
async fn each_message_that_waits_has_an_id_of_its_own() {
    let session = Session::start(json!([])).await;
    for id in ["", "", "m1", "m1"] {
        session.agent.inject(Message { id: id.to_owned(), ..user("Hi.") }).unwrap();
    }
    let events = session.seen.borrow().clone();
    let mut ids: Vec<String> = events
        .into_iter()
        .map(|it| match it.fact {
            Fact::InboxSpliced { mut inserted, .. } => inserted.remove(0).id,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(ids[2], "m1");
    ids.retain(|it| it.len() == 36);
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 3);
}
