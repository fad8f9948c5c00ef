//! What holds of every call, whatever its listeners, its tool and its observers do.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;

use lockgate::TrailEntry;
use lockgate_tests::puppets::{request, stage};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

/// The orders of one plugin, at random.
fn orders() -> impl Strategy<Value = Value> {
    (
        select(vec!["", "", "allow", "deny:g", "ask:a", "fail:f", "panic:p"]),
        select(vec!["", "delegate", "allow", "deny:l"]),
        select(vec!["", "", "deny:guarded", "panic:p"]),
        select(vec!["", "twice", "short:s", "context:c", "tell:", "panic:p"]),
        select(vec!["", "context:r", "content:x", "value:v", "block:b", "panic:p"]),
        select(vec!["write:FILE", "panic:boom"]),
    )
        .prop_map(|(gate, late_gate, guard, around, review, seen)| {
            json!({
                "gate": gate, "late_gate": late_gate, "guard": guard, "around": around,
                "review": review, "seen": seen,
            })
        })
}

/// How often this wrapper asks for the rest of its chain, at most.
fn runs(orders: &Value) -> usize {
    match orders["around"].as_str().unwrap().split(':').next().unwrap() {
        "twice" => 2,
        "short" | "panic" => 0,
        _ => 1,
    }
}

/// When a seam is asked; a body runs inside the listeners around it.
fn rank(entry: &TrailEntry) -> usize {
    let order = ["pre-execute", "guard", "execute", "post-execute", "tool-result"];
    let seam = if entry.seam == "body" { "execute" } else { entry.seam };
    order.iter().position(|it| *it == seam).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_listeners_do_the_rules_of_a_call_hold(
        mut outer in orders(),
        mut inner in orders(),
        arguments in select(vec![json!({"value": 1}), json!({"fail": "no"}), json!({"meta": 2})]),
    ) {
        outer["tools"] = true.into();
        for (orders, file) in [(&mut outer, "outer"), (&mut inner, "inner")] {
            if orders["seen"] == "write:FILE" {
                orders["seen"] = format!("write:{file}").into();
            }
        }
        let (outcome, stage) = Runtime::new().unwrap().block_on(async {
            let stage = stage(&[("puppet", outer.clone()), ("puppet-b", inner.clone())]);
            (stage.host.execute(request("stamp", &arguments)).await, stage)
        });
        let trail = stage.trail.lock().unwrap();
        let at = |seam: &str| trail.iter().filter(|it| it.seam == seam).count();
        let code = outcome.code().unwrap_or_default();

        // The phases come in their order, and all are about one call.
        prop_assert!(trail.is_sorted_by_key(rank), "{trail:#?}");
        prop_assert!(trail.iter().all(|it| it.call.as_deref() == Some("c1")));
        // A body runs at most once for each time that the innermost wrapper asks for it.
        prop_assert!(at("body") <= runs(&outer) * runs(&inner));
        // Nobody takes back what a guard denied.
        if trail.iter().any(|it| it.seam == "guard" && it.verdict == "deny") {
            prop_assert!(outcome.is_error() && at("body") == 0);
        }
        // A listener that failed is not covered up, and an observer that did changes nothing.
        let failed = trail.iter().any(|it| it.verdict == "fault" && it.seam != "tool-result" && it.seam != "body");
        prop_assert_eq!(code.starts_with("LISTENER_"), failed, "{}", code);
        // The tool has its last word once, and every observer is told once.
        let content = outcome.content_json();
        prop_assert_eq!(content.matches("\"stamped\"").count(), 1, "{}", content);
        prop_assert_eq!(at("tool-result"), 2);
        for (orders, file) in [(&outer, "outer"), (&inner, "inner")] {
            if orders["seen"] == "panic:boom" {
                continue;
            }
            let told = fs::read_to_string(stage.files().join(file)).unwrap();
            let told: Value = serde_json::from_str(&told).unwrap();
            prop_assert_eq!(&told["call"], "c1");
            prop_assert_eq!(&told["tool"], "stamp");
            prop_assert_eq!(&told["arguments"], &arguments.to_string());
            prop_assert_eq!(&told["content"], &*content);
            prop_assert_eq!(&told["isError"], outcome.is_error());
        }
    }
}
