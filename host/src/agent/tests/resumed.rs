//! An agent whose session was there before it.

use super::*;

/// The same session, once more, with another model.
async fn again(session: Session, answers: Value) -> Session {
    let Session { agent, directory, .. } = session;
    agent.when_idle().await.expect("the log can be written");
    drop(agent);
    let path = directory.path().join("session.jsonl");
    let log = loop {
        // The agent goes with its last task, and its lock with it.
        match SessionLog::resume(&path, || 43) {
            Ok((log, _)) => break log,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    fs::write(directory.path().join("model.json"), answers.to_string()).unwrap();
    let spec = ModelSpec::Script(directory.path().join("model.json"));
    let model = model::open(&spec, directory.path()).unwrap();
    Session::on(Arc::from(model), no_plugins(), SESSION_START_GRACE, directory, log)
}

#[tokio::test]
async fn a_session_goes_on_where_it_was() {
    let session = Session::start(json!(["One."])).await;
    session.agent.follow_up(user("Go.")).unwrap();
    session.agent.when_idle().await.unwrap();
    session.agent.inject(user("I")).unwrap();
    let session = again(session, json!(["Two.", "Three."])).await;
    assert_eq!(session.agent.status(), Status::Idle);
    assert_eq!(session.agent.inbox().next_step.len(), 1);
    let introduced = session.agent.core.state().introduced();
    introduced.fired().await;
    for prompt in ["On.", "And on."] {
        session.agent.follow_up(user(prompt)).unwrap();
        session.agent.when_idle().await.unwrap();
    }
    session
        .check(&[
            "spliced next-turn 0 +On.",
            "turn/start 2",
            "spliced next-step 0 -1",
            "spliced next-turn 0 -1",
            "step/start 2.1",
            "user/message I",
            "user/message On.",
            "request/header Resume",
            "assistant/chunk x4",
            "assistant/message Two. <- 24..=27",
            "step/end 2.1",
            r#"turn/end 2 {"kind":"completed"}"#,
            "spliced next-turn 0 +And on.",
            "turn/start 3",
            "spliced next-turn 0 -1",
            "step/start 3.1",
            "user/message And on.",
            "assistant/chunk x4",
            "assistant/message Three. <- 36..=39",
            "step/end 3.1",
            r#"turn/end 3 {"kind":"completed"}"#,
        ])
        .await;
    let said: Vec<String> = crate::session::messages(session.agent.core.state().log.events())
        .iter()
        .map(Message::text)
        .collect();
    assert_eq!(said, ["Go.", "One.", "I", "On.", "Two.", "And on.", "Three."]);
}

#[tokio::test]
async fn a_policy_for_approvals_outlives_its_agent() {
    let session = Session::start(json!([])).await;
    session.agent.set_approval_policy(ApprovalPolicy::Never).unwrap();
    let session = again(session, json!([])).await;
    session.agent.set_approval_policy(ApprovalPolicy::Never).unwrap();
    session.check(&[]).await;
}

#[tokio::test]
async fn a_turn_that_could_not_be_closed_is_closed_before_the_next() {
    let session = Session::start(json!(["Hi."])).await;
    let path = session.directory.path().join("session.jsonl");
    session.agent.core.state().log.append(Fact::TurnStart { turn: 1 }).unwrap();
    session.agent.follow_up(user("Go.")).unwrap();
    session
        .check_from(
            "spliced next-turn 0 +Go.",
            &[
                r#"turn/end 1 {"kind":"interrupted"}"#,
                "turn/start 2",
                "spliced next-turn 0 -1",
                "step/start 2.1",
                "user/message Go.",
                "request/header Initial",
                "request/context script/model",
                "assistant/chunk x4",
                "assistant/message Hi. <- 9..=12",
                "step/end 2.1",
                r#"turn/end 2 {"kind":"completed"}"#,
            ],
        )
        .await;
    crate::session::validate(&crate::session::read(&path).unwrap()).unwrap();
}
