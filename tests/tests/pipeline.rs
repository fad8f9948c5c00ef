//! One tool call through every phase, with real plugins that answer as they are told.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use lockgate::{Dispatch, HostOptions};
use lockgate_tests::puppets::{request, seen, stage, stage_with};
use serde_json::{Value, json};

#[track_caller]
fn check(orders: &[(&str, Value)], arguments: Value, expected: Value) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let outcome = runtime.block_on(async {
        let stage = stage(orders);
        stage.host.execute(request("echo", &arguments)).await
    });
    assert_eq!(seen(&outcome), expected);
}

#[test]
fn a_call_that_nobody_minds_returns_the_value() {
    check(
        &[("puppet", json!({"tools": true}))],
        json!({"value": "hi"}),
        json!({"isError": false, "text": "hi"}),
    );
}

#[test]
fn a_denial_is_told_to_the_model_and_runs_nothing() {
    check(
        &[("puppet", json!({"tools": true, "gate": "deny:not here"}))],
        json!({"value": "hi"}),
        json!({"isError": true, "text": "Error: not here", "code": "DENIED"}),
    );
}

#[test]
fn an_ask_without_anybody_to_ask_is_a_denial() {
    check(
        &[("puppet", json!({"tools": true, "gate": "ask:is this right?"}))],
        json!({"value": "hi"}),
        json!({"isError": true, "text": "Error: is this right?", "code": "APPROVAL_UNAVAILABLE"}),
    );
    check(
        &[("puppet", json!({"tools": true, "gate": "ask:"}))],
        json!({"value": "hi"}),
        json!({
            "isError": true,
            "text": "Error: tool \"echo\" requires approval (not yet supported)",
            "code": "APPROVAL_UNAVAILABLE",
        }),
    );
}

#[test]
fn an_allow_further_out_cannot_overrule_a_guard() {
    check(
        &[("puppet", json!({"tools": true, "gate": "allow", "guard": "deny:guarded"}))],
        json!({"value": "hi"}),
        json!({"isError": true, "text": "Error: guarded", "code": "DENIED_BY_GUARD"}),
    );
}

#[test]
fn a_guard_denies_with_an_empty_reason_too() {
    check(
        &[("puppet", json!({"tools": true, "guard": "deny:"}))],
        json!({"value": "hi"}),
        json!({"isError": true, "text": "Error: ", "code": "DENIED_BY_GUARD"}),
    );
}

#[test]
fn an_answer_further_out_skips_the_listeners_further_in() {
    check(
        &[
            ("puppet", json!({"tools": true, "gate": "allow"})),
            ("puppet-b", json!({"gate": "deny:no"})),
        ],
        json!({"value": "hi"}),
        json!({"isError": false, "text": "hi"}),
    );
}

#[test]
fn a_late_gate_sees_what_the_listeners_further_in_decide() {
    check(
        &[
            ("puppet", json!({"tools": true, "late_gate": "delegate"})),
            ("puppet-b", json!({"late_gate": "deny:b says no"})),
        ],
        json!({"value": "hi"}),
        json!({"isError": true, "text": "Error: b says no", "code": "DENIED"}),
    );
}

#[test]
fn a_gate_that_fails_fails_its_call_and_says_so() {
    let fault = |why: &str| {
        json!({
            "isError": true,
            "text": format!(
                "Error: the pre-execute listener `gate` of the plugin `puppet` failed: {why}"
            ),
            "code": "LISTENER_FAULT",
        })
    };
    check(
        &[("puppet", json!({"tools": true, "gate": "panic:boom"}))],
        json!({"value": "hi"}),
        fault("panicked: boom"),
    );
    check(
        &[("puppet", json!({"tools": true, "gate": "fail:no database"}))],
        json!({"value": "hi"}),
        fault("no database"),
    );
}

#[test]
fn nobody_further_out_can_hide_a_failure() {
    check(
        &[
            ("puppet", json!({"tools": true, "late_gate": "delegate", "review": "content:fine"})),
            ("puppet-b", json!({"late_gate": "panic:boom"})),
        ],
        json!({"value": "hi"}),
        json!({
            "isError": true,
            "text": "Error: the pre-execute listener `late_gate` of the plugin `puppet-b` failed: panicked: boom",
            "code": "LISTENER_FAULT",
        }),
    );
}

#[test]
fn around_runs_the_body_as_often_as_it_likes_and_the_last_run_counts() {
    check(
        &[("puppet", json!({"tools": true, "around": "twice"}))],
        json!({"value": "hi", "context": "from the body", "conclude": true}),
        json!({"isError": false, "text": "hi", "contexts": ["from the body"], "concludes": true}),
    );
}

#[test]
fn around_may_answer_instead_of_the_body() {
    check(
        &[("puppet", json!({"tools": true, "around": "short:cached"}))],
        json!({"value": "hi", "context": "never added"}),
        json!({"isError": false, "text": "cached"}),
    );
}

#[test]
fn contexts_stand_in_the_order_body_around_review() {
    check(
        &[(
            "puppet",
            json!({"tools": true, "around": "context:around", "review": "context:review"}),
        )],
        json!({"value": "hi", "context": "body"}),
        json!({"isError": false, "text": "hi", "contexts": ["body", "around", "review"]}),
    );
}

#[test]
fn a_body_that_is_abandoned_is_told_to_end_and_waited_for() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let outcome = runtime.block_on(async {
        let stage = stage(&[("puppet", json!({"tools": true, "around": "abandon:"}))]);
        let outcome = stage.host.execute(request("wait", &json!({}))).await;
        let trail = stage.trail.lock().unwrap();
        let body = trail.iter().find(|it| it.seam == "body").map(|it| it.verdict);
        assert_eq!(body, Some("failure"), "{trail:?}");
        outcome
    });
    assert_eq!(seen(&outcome), json!({"isError": false, "text": "did not wait"}));
}

#[test]
fn a_deadline_tells_the_body_to_end_and_is_known_by_who_set_it() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let outcome = runtime.block_on(async {
        let stage = stage(&[("puppet", json!({"tools": true, "around": "deadline:5"}))]);
        stage.host.execute(request("wait", &json!({}))).await
    });
    assert_eq!(seen(&outcome), json!({"isError": true, "text": "Error: too late"}));
}

#[test]
fn a_caller_who_gives_up_is_not_taken_for_the_deadline() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let outcome = runtime.block_on(async {
        // Inline, so that the body waits once the call was polled, before the caller gives up.
        let options = HostOptions { dispatch: Dispatch::Inline, ..HostOptions::default() };
        let orders = json!({"tools": true, "around": "deadline:3600000"});
        let stage = stage_with(&[("puppet", orders)], options);
        let request = request("wait", &json!({}));
        let signal = request.signal.clone();
        tokio::join!(stage.host.execute(request), async { signal.fire() }).0
    });
    assert_eq!(
        seen(&outcome),
        json!({"isError": true, "text": "Error: tool call aborted", "code": "ABORTED"})
    );
}

#[test]
fn a_call_cancelled_before_it_begins_is_seen_by_no_policy() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let stage = stage(&[("puppet", json!({"tools": true, "gate": "deny:not here"}))]);
        let request = request("echo", &json!({"value": "hi"}));
        request.signal.fire();
        let outcome = stage.host.execute(request).await;
        assert_eq!(
            seen(&outcome),
            json!({
                "isError": true,
                "text": "Error: tool call aborted before dispatch",
                "code": "ABORTED_BEFORE_DISPATCH",
            })
        );
        let trail = stage.trail.lock().unwrap();
        let seams: Vec<&str> = trail.iter().map(|it| it.seam).collect();
        assert_eq!(seams, ["tool-result"]);
    });
}

#[test]
fn reviewers_replace_and_block() {
    let told = |review: &str| [("puppet", json!({"tools": true, "review": review}))];
    let argument = json!({"value": "hi", "context": "body"});
    check(
        &told("content:hidden"),
        argument.clone(),
        json!({"isError": false, "text": "hidden", "contexts": ["body"]}),
    );
    check(
        &told("value:other"),
        argument.clone(),
        json!({"isError": false, "text": "other", "contexts": ["body"]}),
    );
    check(
        &told("block:not good"),
        argument,
        json!({"isError": true, "text": "not good", "code": "BLOCKED"}),
    );
    check(
        &told("value:other"),
        json!({"value": "hi", "fail": "broken"}),
        json!({
            "isError": true,
            "text": "Error: tools/post-execute cannot replace the value of a failed result",
        }),
    );
}

#[test]
fn reviewers_see_denials() {
    check(
        &[("puppet", json!({"tools": true, "gate": "deny:not here", "review": "tell:"}))],
        json!({"value": "hi"}),
        json!({
            "isError": true,
            "text": "reviewed [{\"type\":\"text\",\"text\":\"Error: not here\"}]",
            "code": "DENIED",
        }),
    );
}

#[test]
fn a_body_that_fails_or_panics_is_an_outcome() {
    check(
        &[("puppet", json!({"tools": true}))],
        json!({"value": 1, "fail": "broken", "context": "kept"}),
        json!({
            "isError": true,
            "text": "Error: broken",
            "code": "ECHO_FAILED",
            "contexts": ["kept"],
        }),
    );
    check(
        &[("puppet", json!({"tools": true}))],
        json!({"value": 1, "panic": "ouch"}),
        json!({"isError": true, "text": "Error: panicked: ouch"}),
    );
}

#[test]
fn a_tool_renders_presents_and_has_the_last_word_on_every_route() {
    #[track_caller]
    fn check(orders: Value, arguments: Value, expected: Value) {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let outcome = runtime.block_on(async {
            let stage = stage(&[("puppet", orders)]);
            stage.host.execute(request("stamp", &arguments)).await
        });
        let mut seen = seen(&outcome);
        if let Some(meta) = outcome.extras().unwrap().meta {
            seen["meta"] = serde_json::from_str(meta.get()).unwrap();
        }
        assert_eq!(seen, expected);
    }
    let free = json!({"tools": true});
    check(
        free.clone(),
        json!({"value": 1, "meta": {"rows": 2}}),
        json!({"isError": false, "text": "rendered 1|stamped", "meta": {"rows": 2}}),
    );
    check(
        free.clone(),
        json!({"fail": "no"}),
        json!({"isError": true, "text": "Error: no|stamped"}),
    );
    check(
        json!({"tools": true, "gate": "deny:not here"}),
        json!({"value": 1}),
        json!({"isError": true, "text": "Error: not here|stamped", "code": "DENIED"}),
    );
    check(
        json!({"tools": true, "review": "value:other"}),
        json!({"value": 1}),
        json!({"isError": false, "text": "rendered \"other\"|stamped"}),
    );
    check(
        free,
        json!({"value": 1, "panic": "boom"}),
        json!({"isError": true, "text": "Error: panicked: boom"}),
    );
}

#[test]
fn an_observer_that_panics_changes_nothing() {
    check(
        &[("puppet", json!({"tools": true, "seen": "panic:boom"}))],
        json!({"value": "hi"}),
        json!({"isError": false, "text": "hi"}),
    );
}

#[test]
fn an_unknown_tool_is_seen_by_policies_and_fails() {
    check(
        &[("puppet", json!({"review": "tell:"}))],
        json!({}),
        json!({
            "isError": true,
            "text": "reviewed [{\"type\":\"text\",\"text\":\"Error: unknown tool \\\"echo\\\"\"}]",
            "code": "UNKNOWN_TOOL",
        }),
    );
}

#[test]
fn the_call_after_a_panic_works() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let stage = stage(&[("puppet", json!({"tools": true, "gate": "panic-on:bad"}))]);
        let bad = stage.host.execute(request("echo", &json!({"value": "bad"}))).await;
        assert_eq!(bad.code().as_deref(), Some("LISTENER_FAULT"));
        let good = stage.host.execute(request("echo", &json!({"value": "good"}))).await;
        assert_eq!(seen(&good), json!({"isError": false, "text": "good"}));
    });
}

#[test]
fn the_trail_says_who_answered_what_and_why() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let stage = stage(&[
            ("puppet", json!({"tools": true, "late_gate": "delegate"})),
            ("puppet-b", json!({"guard": "deny:guarded", "review": "context:noted"})),
        ]);
        stage.host.execute(request("echo", &json!({"value": "hi"}))).await;
        let trail = stage.trail.lock().unwrap();
        let told: Vec<String> = trail
            .iter()
            .map(|it| {
                let reason = it.reason.as_deref().unwrap_or("-");
                format!("{} {} {} {} {reason}", it.seam, it.plugin, it.listener, it.verdict)
            })
            .collect();
        assert_eq!(
            told,
            [
                "pre-execute puppet gate next -",
                "pre-execute puppet-b gate next -",
                "pre-execute puppet-b late_gate next -",
                "pre-execute puppet late_gate allow -",
                "guard puppet guard next -",
                "guard puppet-b guard deny guarded",
                "post-execute puppet-b review accept noted",
                "post-execute puppet review accept noted",
                "tool-result puppet seen noted -",
                "tool-result puppet-b seen noted -",
            ]
        );
    });
}
