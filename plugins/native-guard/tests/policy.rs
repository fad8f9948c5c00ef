//! The policy at every seam, under every key of its configuration.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use lockgate_plugin_api::testing::{Bench, Fault, Sent, Target, call};
use lockgate_plugin_api::{
    Block, Message, PostTool, PostToolDecision, PreStep, PreTool, PreToolDecision, SessionSource,
    ToolOutcome,
};
use native_guard::NativeGuard;
use serde_json::{Value, json};

fn bench(config: Value) -> Bench<NativeGuard> {
    Bench::new(config).unwrap()
}

fn message(text: &str) -> Message {
    Message::from_plugin("native-guard", text)
}

#[test]
fn a_session_is_greeted_by_how_it_started() {
    check(SessionSource::Startup, "policy active (started: startup)");
    check(SessionSource::Resume, "policy active (started: resume)");

    #[track_caller]
    fn check(source: SessionSource, expected: &str) {
        let message = message(expected);
        let expected = Sent { target: Target::NextStep, wakes: false, message };
        assert_eq!(bench(json!({})).session_start(source), Ok(vec![expected]));
    }
}

#[test]
fn a_forbidden_prompt_is_refused() {
    let config = json!({"forbidden_prompts": ["rm -rf", "sudo"]});
    let user = Message::from_user;
    check(json!({}), &[user("please rm -rf it")], Some("the prompt contains `rm -rf`"));
    check(json!({}), &[user("sudo make")], None);
    check(config.clone(), &[user("hello"), user("sudo make")], Some("the prompt contains `sudo`"));
    check(config.clone(), &[user("make")], None);
    check(json!({"forbidden_prompts": []}), &[user("rm -rf")], None);
    // Only what the person says, and a step that only continues brings nothing.
    check(config.clone(), &[message("sudo was used")], None);
    check(config, &[], None);

    #[track_caller]
    fn check(config: Value, messages: &[Message], expected: Option<&str>) {
        let decision = bench(config).pre_step(1, 1, messages).unwrap();
        let reason = decision.as_ref().map(|it| match it.verdict().unwrap() {
            PreStep::Reject { reason } => reason,
            PreStep::Enter { .. } => panic!("{it:?}"),
        });
        assert_eq!(reason, expected);
    }
}

#[test]
fn a_tool_call_is_denied_before_it_is_allowed() {
    let lists = json!({
        "denied_tools": ["rm"],
        "denied_arguments": ["/etc", "/boot"],
        "allowed_tools": ["rm", "ls"],
    });
    let denied = |reason| Some(PreTool::Deny { reason });
    check(&lists, "rm", "/tmp", denied("the tool `rm` is not allowed here"));
    check(&lists, "rm", "/etc", denied("the tool `rm` is not allowed here"));
    check(&lists, "ls", "/boot", denied("arguments with `/boot` are not allowed here"));
    check(&lists, "ls", "/tmp", Some(PreTool::Allow));
    check(&lists, "cat", "/tmp", None);
    check(&json!({}), "bash", "rm -rf", denied("arguments with `rm -rf` are not allowed here"));
    check(&json!({}), "rm", "/etc", None);
    check(&json!({"denied_arguments": []}), "bash", "rm -rf", None);

    #[track_caller]
    fn check(config: &Value, tool: &str, argument: &str, expected: Option<PreTool<'_>>) {
        let call = call(tool).arguments(&json!({"path": argument}));
        let decision = bench(config.clone()).pre_execute(&call).unwrap();
        assert_eq!(decision.as_ref().map(|it| it.verdict().unwrap()), expected);
    }
}

#[test]
fn what_is_not_on_its_lists_is_left_to_others() {
    let ask = || PreToolDecision::ask("a person knows");
    let decision = bench(json!({})).pre_execute_before(&call("ls"), ask).unwrap();
    assert_eq!(decision.verdict().unwrap(), PreTool::Ask { reason: Some("a person knows") });
}

#[test]
fn a_note_is_added_to_whatever_is_decided_about_a_result() {
    let outcome = ToolOutcome::success(&json!("hi"));
    let bench = bench(json!({}));
    let decision = bench.post_execute(&call("bash"), &outcome).unwrap().unwrap();
    let PostTool::Accept { contexts } = decision.verdict().unwrap() else { panic!("{decision:?}") };
    assert_eq!(contexts, [message("audited bash")]);
    let feedback = || vec![Block::text("not this")];
    let further_in = || PostToolDecision::block(feedback()).with_context(message("blocked"));
    let decision = bench.post_execute_before(&call("bash"), &outcome, further_in).unwrap();
    let PostTool::Block { feedback: told, contexts } = decision.verdict().unwrap() else {
        panic!("{decision:?}")
    };
    assert_eq!(told, feedback());
    assert_eq!(contexts, [message("audited bash"), message("blocked")]);
}

#[test]
fn at_other_seams_it_has_no_say() {
    let (bench, call) = (bench(json!({"denied_tools": ["rm"]})), call("rm"));
    let outcome = bench.execute(&call, |_| ToolOutcome::success(&json!("ran"))).unwrap();
    assert_eq!(outcome.value_json(), "\"ran\"");
    assert!(bench.guard(&call).unwrap().is_none());
    assert!(bench.prompt_submit(1, &Message::from_user("rm -rf")).unwrap().is_none());
    assert_eq!(bench.turn_stopping(1), Ok(vec![]));
    assert_eq!(bench.tool_result(&call, &outcome), Ok(()));
    assert_eq!(bench.tools().count(), 0);
}

#[test]
fn a_key_that_it_does_not_know_is_refused() {
    let message = "unknown field `denied`, expected one of `forbidden_prompts`, `allowed_tools`, \
                   `denied_tools`, `denied_arguments` at line 1 column 9";
    let expected = Fault::Failed { place: "create".into(), message: message.into() };
    assert_eq!(Bench::<NativeGuard>::new(json!({"denied": []})).map(drop), Err(expected));
}

#[test]
fn its_config_schema_says_what_it_accepts() {
    assert_eq!(Bench::<NativeGuard>::check_config_schema(), Ok(()));
}
