//! Calls that somebody is asked about, in a session, with a real listener that says so.

use std::collections::VecDeque;
use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use lockgate::session::{AbortCause, ApprovalOutcome, ApprovalPolicy};
use lockgate::{AgentOptions, AnyApprover, ApprovalRequest, Approvals, Approver, HostOptions};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::stage::{ABORTED, LONG, Stage};

/// What whoever is asked does, one after the other.
#[derive(Clone, Copy)]
enum Does {
    Answer(ApprovalOutcome),
    Panic,
    Think,
}

struct Scripted {
    does: Mutex<VecDeque<Does>>,
    asked: watch::Sender<Vec<ApprovalRequest>>,
}

impl Approver for Scripted {
    fn ask<'a>(
        &'a self,
        request: &'a ApprovalRequest,
    ) -> Pin<Box<dyn Future<Output = ApprovalOutcome> + Send + 'a>> {
        self.asked.send_modify(|it| it.push(request.clone()));
        let does = self.does.lock().unwrap().pop_front();
        Box::pin(async move {
            match does {
                Some(Does::Answer(outcome)) => outcome,
                Some(Does::Panic) => panic!("nobody there"),
                Some(Does::Think) | None => pending().await,
            }
        })
    }
}

/// A session in which `echo` is called once, and somebody is asked who does this.
fn asked(
    orders: Value,
    does: &[Does],
    approvals: Approvals,
) -> (Stage, watch::Receiver<Vec<ApprovalRequest>>) {
    let (asked, seen) = watch::channel(Vec::new());
    let approver = Scripted { does: Mutex::new(does.iter().copied().collect()), asked };
    let host =
        HostOptions { approver: Some(AnyApprover(Arc::new(approver))), ..HostOptions::default() };
    let agent = AgentOptions { approvals, session_start_grace: LONG, ..AgentOptions::default() };
    let script = json!([{"calls": [{"name": "echo", "arguments": {"value": "hi"}}]}, "Done."]);
    (Stage::open_with(script, orders, host, agent), seen)
}

fn asks() -> Value {
    json!({"tools": true, "gate": "ask:is this right?"})
}

/// The session between the call and the end of its step, with the question's id left out.
#[track_caller]
fn check_call(stage: &Stage, expected: &[&str]) {
    let lines = stage.seen.lines();
    let start = lines.iter().position(|it| it.starts_with("tool/call")).unwrap();
    let end = lines.iter().position(|it| it == "step/end 1.1").unwrap();
    let without_id = |line: &String| match line.find(r#""id":""#) {
        Some(at) if line.contains("approval/") => {
            let rest = &line[at + 6..];
            format!("{}{}", &line[..at], &rest[rest.find('"').unwrap() + 2..])
        }
        _ => line.clone(),
    };
    let between: Vec<String> = lines[start + 1..end].iter().map(without_id).collect();
    assert_eq!(between, expected);
}

const ASKED: &str = r#"{"type":"approval/asked","data":{"toolName":"echo","callId":"call_1","reason":"is this right?"}}"#;

fn decided(outcome: &str) -> String {
    format!(r#"{{"type":"approval/decided","data":{{"outcome":"{outcome}"}}}}"#)
}

fn failed(text: &str) -> String {
    format!("tool/result call_1 failed: Error: {text} <- 12")
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_yes_lets_a_call_go_on_and_each_answer_is_recorded() {
    async fn check(does: Does, outcome: &str, result: &str) {
        let (stage, seen) = asked(asks(), &[does], Approvals::Ask);
        stage.prompt("Go.");
        stage.until_idle().await;
        check_call(&stage, &[ASKED, &decided(outcome), result]);
        let seen = seen.borrow();
        let [request] = seen.as_slice() else { panic!("asked once: {seen:?}") };
        assert_eq!((&*request.tool, &*request.arguments), ("echo", r#"{"value":"hi"}"#));
        assert_eq!(
            (&*request.call_id, request.reason.as_deref()),
            ("call_1", Some("is this right?"))
        );
    }
    check(
        Does::Answer(ApprovalOutcome::AllowedOnce),
        "allowed-once",
        "tool/result call_1 ok: hi <- 12",
    )
    .await;
    let rejected = failed("the user rejected tool \"echo\"");
    check(Does::Answer(ApprovalOutcome::Rejected), "rejected", &rejected).await;
    let cancelled = failed("approval for tool \"echo\" was cancelled");
    check(Does::Answer(ApprovalOutcome::Cancelled), "cancelled", &cancelled).await;
    let unavailable =
        failed("tool \"echo\" requires approval, but no approval channel is available");
    check(Does::Answer(ApprovalOutcome::Unavailable), "unavailable", &unavailable).await;
    check(Does::Panic, "unavailable", &unavailable).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_yes_does_not_overrule_a_guard() {
    let orders = json!({"tools": true, "gate": "ask:is this right?", "guard": "deny:never"});
    let (stage, _) = asked(orders, &[Does::Answer(ApprovalOutcome::AllowedOnce)], Approvals::Ask);
    stage.prompt("Go.");
    stage.until_idle().await;
    check_call(&stage, &[ASKED, &decided("allowed-once"), &failed("never")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_answers_without_asking() {
    async fn check(approvals: Approvals, set: Option<ApprovalPolicy>, outcome: &str, result: &str) {
        let (stage, seen) = asked(asks(), &[], approvals);
        if let Some(policy) = set {
            stage.agent.set_approval_policy(policy).unwrap();
        }
        stage.prompt("Go.");
        stage.until_idle().await;
        let lines = stage.seen.lines();
        assert!(lines.iter().any(|it| it.contains(&decided(outcome)[47..])), "{lines:#?}");
        assert!(lines.iter().any(|it| it.contains(result)), "{lines:#?}");
        assert!(seen.borrow().is_empty(), "nobody was asked");
    }
    let rejected = "failed: Error: the user rejected tool \"echo\"";
    check(Approvals::Never, None, "rejected", rejected).await;
    check(Approvals::Always, None, "allowed-once", "ok: hi").await;
    check(Approvals::Always, Some(ApprovalPolicy::Never), "rejected", rejected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_is_recorded_and_told_once() {
    let (stage, _) = asked(asks(), &[], Approvals::Ask);
    stage.agent.set_approval_policy(ApprovalPolicy::Ask).unwrap();
    stage.agent.set_approval_policy(ApprovalPolicy::Never).unwrap();
    stage.agent.set_approval_policy(ApprovalPolicy::Never).unwrap();
    assert_eq!(
        stage.seen.lines(),
        [
            r#"{"type":"approval/policy","data":{"policy":"never"}}"#,
            "spliced next-step 0 +From now on tool calls that would need the user's approval are denied.",
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_cancelled_while_somebody_thinks_settles_at_once() {
    let (stage, mut seen) = asked(asks(), &[Does::Think], Approvals::Ask);
    stage.prompt("Go.");
    seen.wait_for(|it| !it.is_empty()).await.unwrap();
    stage.agent.cancel(AbortCause::User).unwrap();
    stage.until_idle().await;
    let aborted = "tool/result call_1 failed: Error: tool call aborted before dispatch \
                   ABORTED_BEFORE_DISPATCH <- 12";
    check_call(&stage, &[ASKED, &decided("cancelled"), aborted]);
    assert_eq!(stage.seen.lines().last().unwrap(), ABORTED);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_of_its_own_has_a_turn_to_ask_in() {
    let (stage, _) = asked(asks(), &[Does::Answer(ApprovalOutcome::AllowedOnce)], Approvals::Ask);
    let outcome = stage.agent.call_tool("echo", r#"{"value":"hi","context":"noted"}"#).await;
    assert_eq!(outcome.unwrap().value_json(), "\"hi\"");
    let kinds: Vec<String> = stage.seen.lines().iter().map(|it| it[..10].to_owned()).collect();
    assert_eq!(
        kinds,
        [
            "turn/start",
            "step/start",
            "tool/call ",
            r#"{"type":"a"#,
            r#"{"type":"a"#,
            "tool/resul",
            "spliced ne",
            "step/end 1",
            "turn/end 1",
        ]
    );
    stage.until_idle().await;
    let waiting: Vec<String> = stage.agent.inbox().next_step.iter().map(|it| it.text()).collect();
    assert_eq!(waiting, ["noted"]);
}
