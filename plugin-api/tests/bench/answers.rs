//! What the seams and the tools of a plugin answer.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use lockgate_plugin_api::testing::{
    Bench, Cancel, Ended, Fault, Process, Progress, Sent, Target, call,
};
use lockgate_plugin_api::{
    Block, Guard, Inbox, Message, PreStep, PreStepDecision, PreTool, PreToolDecision, Prompt,
    PromptDecision, ToolOutcome,
};
use serde_json::{Value, json};

use super::probe::Probe;

fn bench() -> Bench<Probe> {
    Bench::new(json!({})).unwrap()
}

#[test]
fn a_chain_is_asked_by_priority_and_ends_with_the_default() {
    check("other", None);
    check("over", Some(PreTool::Allow));
    check("deny", Some(PreTool::Deny { reason: "probe" }));

    #[track_caller]
    fn check(name: &str, expected: Option<PreTool<'_>>) {
        let decision = bench().pre_execute(&call(name)).unwrap();
        assert_eq!(decision.as_ref().map(|it| it.verdict().unwrap()), expected);
    }
}

#[test]
fn a_test_may_say_what_stands_further_in() {
    check("over", PreTool::Ask { reason: Some("further in") });
    check("other", PreTool::Ask { reason: Some("further in") });
    check("deny", PreTool::Deny { reason: "probe" });

    #[track_caller]
    fn check(name: &str, expected: PreTool<'_>) {
        let further_in = || PreToolDecision::ask("further in");
        let decision = bench().pre_execute_before(&call(name), further_in).unwrap();
        assert_eq!(decision.verdict().unwrap(), expected);
    }
}

#[test]
fn time_takes_none() {
    let bench = bench();
    let decision = bench.pre_execute(&call("late")).unwrap().unwrap();
    assert_eq!(decision.verdict().unwrap(), PreTool::Ask { reason: Some("an hour later") });
    assert_eq!(bench.time(), Duration::from_secs(3600));
}

#[test]
fn guards_deny_or_have_no_opinion() {
    let denied = bench().guard(&call("deny")).unwrap().unwrap();
    assert_eq!(denied.verdict().unwrap(), Guard::Deny { reason: "never" });
    assert!(bench().guard(&call("other")).unwrap().is_none());
}

#[test]
fn a_prompt_is_lent_with_its_turn() {
    let decision = bench().prompt_submit(7, &Message::from_user("bad")).unwrap().unwrap();
    let Prompt::Block { reason } = decision.verdict().unwrap() else { panic!("{decision:?}") };
    assert_eq!(reason, "in turn Some(7)");
    let good = Message::from_user("good");
    assert!(bench().prompt_submit(0, &good).unwrap().is_none());
    let further_in = || PromptDecision::block("further in");
    let decision = bench().prompt_submit_before(0, &good, further_in).unwrap();
    assert!(matches!(decision.verdict(), Ok(Prompt::Block { reason: "further in" })));
}

#[test]
fn a_step_is_lent_with_its_messages() {
    let (bench, prompt) = (bench(), Message::from_user("go"));
    let entered = bench.pre_step(2, 3, std::slice::from_ref(&prompt)).unwrap().unwrap();
    let PreStep::Enter { messages } = entered.verdict().unwrap() else { panic!("{entered:?}") };
    assert_eq!(messages, [prompt, Message::from_plugin("probe", "turn 2 step 3")]);
    let rejected = bench.pre_step_before(2, 3, &[], || PreStepDecision::reject("further in"));
    let rejected = rejected.unwrap();
    let PreStep::Reject { reason } = rejected.verdict().unwrap() else { panic!("{rejected:?}") };
    assert_eq!(reason, "further in");
}

#[test]
fn what_is_sent_is_told_in_order() {
    let sent = |target, text: &str| Sent {
        target,
        wakes: true,
        message: Message::from_plugin("probe", text),
    };
    let bench = bench();
    let expected = [sent(Target::NextStep, "turn 3"), sent(Target::NextTurn, "and then")];
    assert_eq!(bench.turn_stopping(3).unwrap(), expected);
    assert_eq!(bench.turn_stopping(3).unwrap(), expected);
    assert_eq!(bench.sent(), [expected.clone(), expected].concat());
}

#[test]
fn a_body_runs_as_often_as_a_listener_asks_for_it() {
    let flaky = |name: &str| {
        let outcome = bench().execute(&call(name), |body| match body.attempt() {
            1 => ToolOutcome::failure("flaky"),
            attempt => ToolOutcome::success(&json!(attempt)),
        });
        outcome.unwrap().value_json().into_owned()
    };
    assert_eq!(flaky("retry"), "2");
    assert_eq!(flaky("once"), "");
}

#[test]
fn a_deadline_tells_the_body_to_end_and_says_that_it_did() {
    check(1999, (false, "", 1999));
    check(2000, (true, "too late", 2000));
    check(9000, (true, "too late", 2000));

    #[track_caller]
    fn check(millis: u64, expected: (bool, &str, u64)) {
        let bench = bench();
        let told = Mutex::new(None);
        let outcome = bench.execute(&call("slow"), |body| {
            *told.lock().unwrap() = Some(body.work(Duration::from_millis(millis)));
            ToolOutcome::success(&json!("ended"))
        });
        let (told, time) = (told.into_inner().unwrap().unwrap(), bench.time());
        let outcome = outcome.unwrap();
        let time = u64::try_from(time.as_millis()).unwrap();
        assert_eq!((told, &*outcome.message(), time), expected);
    }
}

#[test]
fn a_deadline_passes_only_while_something_runs_further_in() {
    let bench = bench();
    let outcome = bench.execute(&call("linger"), |_| ToolOutcome::success(&json!("ended")));
    assert_eq!((&*outcome.unwrap().value_json(), bench.time().as_secs()), ("\"ended\"", 9));
}

#[test]
fn a_caller_who_gives_up_is_no_deadline() {
    let outcome = bench().execute(&call("slow"), |body| {
        body.cancel_call();
        assert!(body.work(Duration::from_secs(60)));
        ToolOutcome::failure("told to end")
    });
    assert_eq!(outcome.unwrap().message(), "told to end");
    let outcome = bench().execute(&call("slow").cancelled(), |body| {
        ToolOutcome::success(&json!(body.is_told_to_end()))
    });
    assert_eq!(outcome.unwrap().value_json(), "true");
}

#[test]
fn a_tool_is_what_it_was_offered_as() {
    let bench = bench();
    let tool = bench.tool("work").unwrap();
    let spec = tool.spec();
    assert_eq!((spec.budget, spec.has_last_word), (Some(Duration::from_secs(5)), true));
    assert_eq!(spec.parameters, json!({"type": "object"}));
    assert!(tool.is_parallel_safe(&json!({})));
    assert!(!tool.is_parallel_safe(&json!({"do": "note"})));
    let rendered = tool.render(&call("work"), &json!("x")).unwrap();
    assert_eq!(rendered, Some(vec![Block::text("it is \"x\"")]));
    assert_eq!(tool.present(&call("work"), &json!("x")).unwrap(), None);
    let last_word = |outcome| tool.finalize_content(&call("work"), &outcome).unwrap();
    assert_eq!(last_word(ToolOutcome::failure("x")), Some(vec![Block::text("never mind")]));
    assert_eq!(last_word(ToolOutcome::success(&json!(1))), None);
}

#[test]
fn a_body_may_do_more_than_answer() {
    check("note", (vec![Message::from_plugin("probe", "noted")], false, 0));
    check("conclude", (vec![], true, 0));
    check("sleep", (vec![], false, 60));

    #[track_caller]
    fn check(does: &str, expected: (Vec<Message>, bool, u64)) {
        let bench = bench();
        let outcome = bench.tool("work").unwrap().run(&json!({"do": does})).unwrap();
        assert_eq!(outcome.value_json(), "\"done\"");
        let contexts = outcome.extras().unwrap().contexts;
        assert_eq!((contexts, outcome.concludes_turn(), bench.time().as_secs()), expected);
    }
}

#[test]
fn a_cancelled_call_tells_its_body() {
    let arguments = json!({"do": "cancelled"});
    let bench = bench();
    let tool = bench.tool("work").unwrap();
    let outcome = tool.run_call(&call("work").arguments(&arguments).cancelled()).unwrap();
    assert_eq!(outcome.value_json(), "\"done\"");
}

#[test]
fn processes_end_as_the_test_says() {
    let bench = bench();
    let asked: Arc<Mutex<Vec<Process>>> = Arc::default();
    let run = || bench.tool("work").unwrap().run(&json!({"do": "process"})).unwrap();
    assert_eq!(run().message(), "the test says nothing of processes: `date`");
    bench.answer_processes({
        let asked = Arc::clone(&asked);
        move |process| {
            asked.lock().unwrap().push(process.clone());
            Ended::exited(0).printing("noon")
        }
    });
    assert_eq!(run().value::<Value>().unwrap(), "noon");
    let asked = asked.lock().unwrap().remove(0);
    assert_eq!((asked.program.as_str(), asked.arguments), ("date", vec!["-u".to_owned()]));
    assert_eq!(asked.environment, [("TZ".to_owned(), "UTC".to_owned())]);
    bench.answer_processes(|_| Ended::not_started("no such program"));
    assert_eq!(run().message(), "no such program");
}

#[test]
fn calls_of_other_tools_come_to_what_the_test_says() {
    let bench = bench();
    let run = || bench.tool("work").unwrap().run(&json!({"do": "call"})).unwrap();
    assert_eq!(run().message(), "the test says nothing of calls: `other`");
    bench.answer_calls(|name, arguments| {
        let note = Message::from_plugin("other", "noted");
        ToolOutcome::failure(format!("{name} {arguments}")).with_context(note)
    });
    let outcome = run();
    assert_eq!(outcome.value::<Value>().unwrap(), r#"other {"of":1}"#);
    assert_eq!(outcome.extras().unwrap().contexts, [Message::from_plugin("other", "noted")]);
}

#[test]
fn closures_for_threads_that_may_block_are_called() {
    let outcome = bench().tool("work").unwrap().run(&json!({"do": "block"})).unwrap();
    assert_eq!(outcome.value::<Value>().unwrap(), 42);
}

#[test]
fn a_tool_that_is_not_there_is_named_with_those_that_are() {
    let bench = bench();
    let expected = Fault::NoTool { name: "play".into(), offered: vec!["work".into()] };
    assert_eq!(bench.tool("play").unwrap_err(), expected);
}

#[test]
fn what_a_plugin_does_to_the_agent_is_kept() {
    let bench = bench();
    let reach = |what: &str, with: &str| {
        let call = call("reach").arguments(&json!([what, with]));
        assert!(bench.pre_execute(&call).unwrap().is_none());
        bench.sent().last().map(|it| it.message.text()).unwrap_or_default()
    };
    bench.log_event("turn/start", json!({"turn": 1}));
    assert_eq!(reach("append", "probe/seen"), "");
    assert_eq!(bench.appended(), [("probe/seen".to_owned(), json!({"by": "probe"}))]);
    let refused = "the manifest does not declare the event type `turn/end`";
    assert_eq!(reach("append", "turn/end"), refused);
    assert_eq!(reach("events", ""), "1 probe/seen");
    assert_eq!(reach("inbox", ""), "2 wait");
    reach("cancel-keeping", "first");
    assert_eq!(bench.inbox().next_step.len(), 3);
    reach("cancel", "then");
    assert_eq!(bench.inbox(), Inbox::default());
    let cancel = |why: &str, keeps_inbox: bool| Cancel { reason: why.to_owned(), keeps_inbox };
    assert_eq!(bench.cancels(), [cancel("first", true), cancel("then", false)]);
}

#[test]
fn what_a_body_says_on_the_way_is_kept() {
    let mut bench = bench();
    bench.tool("work").unwrap().run(&json!({"do": "progress"})).unwrap();
    let expected = Progress { done: 1, total: 3, text: "a third".into() };
    assert_eq!(bench.progress(), [expected]);
    assert_eq!(bench.take_changed_tools(), Ok(false));
    bench.tool("work").unwrap().run(&json!({"do": "change"})).unwrap();
    assert_eq!(bench.take_changed_tools(), Ok(true));
    assert_eq!(bench.take_changed_tools(), Ok(false));
}
