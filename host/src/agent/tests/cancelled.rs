//! What a cancellation does, wherever it lands.

use std::sync::OnceLock;

use futures_util::{StreamExt, stream};

use super::*;
use crate::model::{Chunks, ModelName, Request};
use crate::session::{Chunk, LlmFailure};

#[tokio::test]
async fn a_cancelled_answer_is_kept_as_far_as_it_can_be_read() {
    let session = Session::start(json!([{ "kind": "hang", "readyFile": "ready" }])).await;
    session.agent.follow_up(user("Go.")).unwrap();
    session.agent.follow_up(user("On.")).unwrap();
    session.agent.inject(user("I")).unwrap();
    session.until("assistant/chunk x2").await;
    session.agent.cancel(AbortCause::User).unwrap();
    session.agent.cancel(AbortCause::Parent).unwrap();
    session
        .check(&[
            "spliced next-turn 0 +Go.",
            "turn/start 1",
            "spliced next-turn 0 -1",
            "spliced next-turn 0 +On.",
            "spliced next-step 0 +I",
            "step/start 1.1",
            "user/message Go.",
            "request/header Initial",
            "request/context replay/model",
            "assistant/chunk x2",
            "spliced next-step 0 -1 canceled",
            "spliced next-turn 0 -1 canceled",
            "assistant/message interrupted partial <- 9..=10",
            "step/end 1.1",
            r#"turn/end 1 {"kind":"aborted","reason":{"kind":"user"}}"#,
        ])
        .await;
}

#[tokio::test]
async fn a_model_that_does_not_see_the_cancellation_is_not_waited_for() {
    struct Deaf;
    impl Model for Deaf {
        fn name(&self) -> ModelName {
            ModelName { provider: "deaf".to_owned(), model: "model".to_owned() }
        }

        fn request(&self, _: Request) -> Chunks {
            Box::pin(stream::pending())
        }
    }
    let (registry, directory) = (no_plugins(), TempDir::new().unwrap());
    let session = Session::of(Arc::new(Deaf), registry, SESSION_START_GRACE, directory);
    session.agent.follow_up(user("Go.")).unwrap();
    session.until("request/context deaf/model").await;
    session.agent.cancel(AbortCause::Parent).unwrap();
    let aborted = r#"turn/end 1 {"kind":"aborted","reason":{"kind":"parent"}}"#;
    session.check_from("request/context deaf/model", &["step/end 1.1", aborted]).await;
}

#[tokio::test]
async fn a_model_that_fails_over_the_cancellation_was_cancelled() {
    struct Brittle(Arc<OnceLock<Agent>>);
    impl Model for Brittle {
        fn name(&self) -> ModelName {
            ModelName { provider: "brittle".to_owned(), model: "model".to_owned() }
        }

        fn request(&self, _: Request) -> Chunks {
            let agent = Arc::clone(&self.0);
            let said = Chunk::TextDelta { index: 0, text: "Hi".to_owned() };
            let fails = async move {
                agent.get().unwrap().cancel(AbortCause::User).unwrap();
                Err(LlmFailure::new("ABORTED", "gone"))
            };
            Box::pin(stream::iter([Ok(said)]).chain(stream::once(fails)))
        }
    }
    let (agent, directory) = (Arc::new(OnceLock::new()), TempDir::new().unwrap());
    let model = Arc::new(Brittle(Arc::clone(&agent)));
    let session = Session::of(model, no_plugins(), SESSION_START_GRACE, directory);
    assert!(agent.set(session.agent.clone()).is_ok());
    session.agent.follow_up(user("Go.")).unwrap();
    session
        .check_from(
            "request/context brittle/model",
            &[
                "assistant/chunk x2",
                "assistant/message interrupted Hi <- 7..=8",
                "step/end 1.1",
                r#"turn/end 1 {"kind":"aborted","reason":{"kind":"user"}}"#,
            ],
        )
        .await;
}

#[tokio::test]
async fn a_wake_after_a_cancellation_opens_a_turn_of_its_own() {
    let answers = json!([
        { "kind": "hang", "readyFile": "ready" },
        { "kind": "chunks", "chunks": [{ "type": "text-delta", "index": 0, "text": "Hi." }] },
    ]);
    let session = Session::start(answers).await;
    session.agent.follow_up(user("Go.")).unwrap();
    session.until("assistant/chunk x2").await;
    session.agent.cancel(AbortCause::User).unwrap();
    session.agent.inject(user("I")).unwrap();
    session.agent.steer(user("S")).unwrap();
    session
        .check_from(
            "assistant/chunk x2",
            &[
                "spliced next-step 0 +I",
                "spliced next-turn 0 +S",
                "assistant/message interrupted partial <- 7..=8",
                "step/end 1.1",
                r#"turn/end 1 {"kind":"aborted","reason":{"kind":"user"}}"#,
                "turn/start 2",
                "spliced next-step 0 -1",
                "spliced next-turn 0 -1",
                "step/start 2.1",
                "user/message I",
                "user/message S",
                "assistant/chunk x1",
                "assistant/message Hi. <- 20..=20",
                "step/end 2.1",
                r#"turn/end 2 {"kind":"completed"}"#,
            ],
        )
        .await;
}

#[tokio::test]
async fn a_turn_that_is_taken_down_is_not_followed_by_another() {
    let session = Session::start(json!([{ "kind": "hang", "readyFile": "ready" }])).await;
    session.agent.follow_up(user("Go.")).unwrap();
    session.until("assistant/chunk x2").await;
    session.agent.cancel(AbortCause::Disposed).unwrap();
    session.agent.follow_up(user("On.")).unwrap();
    session
        .check_from(
            "assistant/chunk x2",
            &[
                "spliced next-turn 0 +On.",
                "assistant/message interrupted partial <- 7..=8",
                "step/end 1.1",
                r#"turn/end 1 {"kind":"aborted","reason":{"kind":"disposed"}}"#,
            ],
        )
        .await;
}

#[tokio::test]
async fn a_turn_cancelled_at_once_has_no_step() {
    let session = Session::start(json!([])).await;
    session.agent.follow_up(user("Go.")).unwrap();
    session.agent.cancel(AbortCause::User).unwrap();
    session
        .check(&[
            "spliced next-turn 0 +Go.",
            "turn/start 1",
            "spliced next-turn 0 -1",
            r#"turn/end 1 {"kind":"aborted","reason":{"kind":"user"}}"#,
        ])
        .await;
}

#[tokio::test]
async fn a_cancellation_withdraws_what_waits_even_while_idle() {
    let session = Session::start(json!(["Hi."])).await;
    session.agent.cancel(AbortCause::User).unwrap();
    for text in ["A", "B"] {
        session.agent.inject(user(text)).unwrap();
    }
    assert_eq!(session.agent.status(), Status::Idle);
    session.agent.cancel(AbortCause::User).unwrap();
    session
        .check(&[
            "spliced next-step 0 +A",
            "spliced next-step 1 +B",
            "spliced next-step 0 -2 canceled",
        ])
        .await;
}

#[tokio::test]
async fn a_model_cannot_cancel_the_turn_that_asks_it() {
    struct Rash;
    impl Model for Rash {
        fn name(&self) -> ModelName {
            ModelName { provider: "rash".to_owned(), model: "model".to_owned() }
        }

        fn request(&self, request: Request) -> Chunks {
            request.signal.cancel();
            let said = Chunk::TextDelta { index: 0, text: "Hi".to_owned() };
            Box::pin(stream::iter([Ok(said)]))
        }
    }
    let (registry, directory) = (no_plugins(), TempDir::new().unwrap());
    let session = Session::of(Arc::new(Rash), registry, SESSION_START_GRACE, directory);
    session.agent.follow_up(user("Go.")).unwrap();
    let completed = r#"turn/end 1 {"kind":"completed"}"#;
    session.check_from("step/end 1.1", &[completed]).await;
}
