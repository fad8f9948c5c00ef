//! Tool calls of one answer side by side, and the order in which they are told.

use lockgate::Dispatch;
use lockgate::session::Fact;
use serde_json::{Value, json};

use crate::lanes::{at_most, begin, held, ids, lane};
use crate::stage::Terms;

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_must_run_alone_waits_for_those_before_it_and_is_waited_for() {
    let alone = lane("3", json!({"beside": "", "wait_for": "3"}));
    let calls = [held("1"), held("2"), alone, lane("4", json!({}))];
    let stage = begin(&calls, json!({}), Terms::default());
    stage.until_in("1").await;
    stage.until_in("2").await;
    stage.hold.release("1");
    stage.seen.until_said("out 1").await;
    stage.hold.release("2");
    stage.until_in("3").await;
    stage.hold.release("3");
    stage.until_idle().await;
    assert_eq!(
        stage.told(),
        ["call 1", "call 2", "result 1", "result 2", "call 3", "result 3", "call 4", "result 4"]
    );
    let mut inside = stage.inside();
    inside[..2].sort();
    assert_eq!(inside, ["in 1", "in 2", "out 1", "out 2", "in 3", "out 3", "in 4", "out 4"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_overlap_wherever_plugins_are_asked() {
    for dispatch in [Dispatch::Guarded, Dispatch::Inline] {
        let calls = [lane("1", json!({"wait_for": "it"})), lane("2", json!({"makes": "it"}))];
        let stage = begin(&calls, json!({}), Terms { dispatch, ..Terms::default() });
        stage.until_idle().await;
        assert_eq!(stage.told(), ["call 1", "call 2", "result 1", "result 2"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_runs_while_the_next_call_is_decided_on() {
    let calls = [held("1"), lane("stuck", json!({}))];
    let stage = begin(&calls, json!({"gate": "hang-on:stuck"}), Terms::default());
    stage.seen.until_call("call_2").await;
    stage.hold.release("1");
    stage.seen.until_over("call_1").await;
    stage.hold.go();
    stage.until_idle().await;
    assert_eq!(stage.told(), ["call 1", "call 2", "result 1", "result 2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_starts_as_soon_as_another_makes_room() {
    let calls = [held("1"), held("2"), held("3"), held("4")];
    let stage = begin(&calls, json!({}), at_most(2));
    stage.until_in("1").await;
    stage.until_in("2").await;
    stage.hold.release("1");
    stage.until_in("3").await;
    stage.hold.release("2");
    stage.until_in("4").await;
    stage.hold.release("3");
    stage.hold.release("4");
    stage.until_idle().await;
    assert_eq!(
        stage.told(),
        ["call 1", "call 2", "result 1", "call 3", "result 2", "call 4", "result 3", "result 4"]
    );
    assert_eq!(stage.most_inside(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_one_body_may_run_at_once_calls_follow_each_other() {
    let stage = begin(&[held("1"), held("2")], json!({}), at_most(1));
    stage.until_in("1").await;
    stage.hold.release("1");
    stage.until_in("2").await;
    stage.hold.release("2");
    stage.until_idle().await;
    assert_eq!(stage.told(), ["call 1", "result 1", "call 2", "result 2"]);
    assert_eq!(stage.most_inside(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_of_calls_is_told_in_their_order_whatever_ends_first() {
    let noted =
        |name: &str| lane(name, json!({"wait_for": name, "context": format!("note {name}")}));
    let calls = [noted("1"), noted("2"), noted("3")];
    let stage = begin(&calls, json!({"review": "context:note of a review"}), Terms::default());
    for name in ["1", "2", "3"] {
        stage.until_in(name).await;
    }
    for name in ["3", "2", "1"] {
        stage.hold.release(name);
        stage.seen.until_over(&format!("call_{name}")).await;
    }
    stage.until_idle().await;
    assert_eq!(
        stage.told(),
        [
            "call 1",
            "call 2",
            "call 3",
            "result 1",
            "note 1",
            "note of a review",
            "result 2",
            "note 2",
            "note of a review",
            "result 3",
            "note 3",
            "note of a review",
        ]
    );
    assert_eq!(stage.seen.asked("lane"), ids(&[3, 2, 1]));
    for listener in ["gate", "guard", "review", "seen"] {
        assert_eq!(stage.seen.asked(listener), ids(&[1, 2, 3]), "{listener}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_result_cites_its_own_call() {
    let calls = [held("1"), held("2")];
    let stage = begin(&calls, json!({}), Terms::default());
    stage.until_in("1").await;
    stage.hold.release("2");
    stage.seen.until_over("call_2").await;
    stage.hold.release("1");
    stage.until_idle().await;
    let events = stage.seen.events();
    let call = |id: &str| {
        let is_it = |fact: &Fact| matches!(fact, Fact::ToolCall { call_id, .. } if call_id == id);
        events.iter().find(|it| is_it(&it.fact)).unwrap().seq.unwrap()
    };
    let results = events.iter().filter(|it| matches!(it.fact, Fact::ToolResult { .. }));
    let cited: Vec<_> = results.map(|it| it.source_event_seqs.clone().unwrap()).collect();
    assert_eq!(cited, [[call("call_1")], [call("call_2")]]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_may_not_run_takes_nobodys_place() {
    let calls = [held("1"), lane("no", json!({})), lane("boom", json!({})), held("4")];
    let orders = json!({"gate": "deny-on:no", "late_gate": "panic-on:boom"});
    let stage = begin(&calls, orders, at_most(2));
    stage.until_in("1").await;
    stage.until_in("4").await;
    stage.hold.release("4");
    stage.hold.release("1");
    stage.until_idle().await;
    assert_eq!(
        stage.told(),
        ["call 1", "call 2", "call 3", "call 4", "result 1", "result 2", "result 3", "result 4"]
    );
    // A policy that failed is not reviewed, and everybody hears of every call.
    assert_eq!(stage.seen.asked("review"), ids(&[1, 2, 4]));
    assert_eq!(stage.seen.asked("seen"), ids(&[1, 2, 3, 4]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_lets_a_call_run_beside_others_or_does_not() {
    async fn check(second: Value, is_beside: bool) {
        let stage = begin(&[held("1"), second.clone()], json!({}), Terms::default());
        stage.until_in("1").await;
        if is_beside {
            stage.until_in("2").await;
        }
        stage.hold.release("1");
        stage.until_idle().await;
        let expected = match is_beside {
            true => ["call 1", "call 2", "result 1", "result 2"],
            false => ["call 1", "result 1", "call 2", "result 2"],
        };
        let mut told = stage.told();
        told[3].truncate(expected[3].len());
        assert_eq!(told, expected, "{second}");
    }
    check(lane("2", json!({})), true).await;
    check(lane("2", json!({"beside": "no"})), false).await;
    check(lane("2", json!({"beside": "panic:boom"})), false).await;
    // What its arguments are not.
    check(json!({"name": "lane", "arguments": {"beside": "yes"}}), false).await;
    // It does not say.
    check(json!({"name": "echo"}), false).await;
    check(json!({"name": "nobody"}), false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_asked_about_when_it_is_about_to_start() {
    let careful = |name: &str, more: Value| {
        let mut call = lane(name, more);
        call["arguments"]["beside"] = "yes-without:taken".into();
        call
    };
    let calls = [
        careful("1", json!({"wait_for": "1", "makes": "taken"})),
        careful("2", json!({"wait_for": "2"})),
        careful("3", json!({})),
    ];
    let stage = begin(&calls, json!({}), at_most(2));
    stage.until_in("1").await;
    stage.until_in("2").await;
    stage.hold.release("1");
    // Told once its result is in the log, just before there is room for another.
    stage.seen.until_result("call_1").await;
    stage.hold.release("2");
    stage.until_idle().await;
    assert_eq!(stage.told(), ["call 1", "call 2", "result 1", "result 2", "call 3", "result 3"]);
}
