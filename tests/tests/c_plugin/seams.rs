//! A plugin in C at every seam, which answers as it should.

use serde_json::{Value, json};

use crate::stage::{called, plugin, turn};

/// A plugin that keeps all rules.
const NOWHERE: (&str, &str) = ("nowhere", "none");

#[test]
fn a_plugin_in_c_is_heard_at_every_seam_of_a_call() {
    let Some(dir) = plugin() else { return };
    let (outcome, answers) = called(&dir, NOWHERE, "echo", &json!({"hello": ["C"]}));
    assert_eq!(
        outcome,
        json!({
            "isError": false,
            "text": "rendered|finalized",
            "contexts": ["body", "post-execute"],
        })
    );
    assert_eq!(
        answers,
        [
            "pre-execute gate allow",
            "guard guard next",
            "body echo success",
            "execute around success",
            "post-execute review accept",
            "tool-result observe noted",
        ]
    );
    let (outcome, answers) = called(&dir, NOWHERE, "rm", &json!({}));
    assert_eq!(
        outcome,
        json!({
            "isError": true,
            "text": "Error: nothing is removed from C",
            "code": "DENIED_BY_GUARD",
            "contexts": ["post-execute"],
        })
    );
    let expected = [
        "pre-execute gate allow",
        "guard guard deny",
        "post-execute review accept",
        "tool-result observe noted",
    ];
    assert_eq!(answers, expected);
}

#[test]
fn a_plugin_in_c_is_heard_at_every_seam_of_a_turn() {
    let Some(dir) = plugin() else { return };
    let script = json!([{"calls": [{"name": "echo", "arguments": {"hello": "C"}}]}, "Done."]);
    let (lines, answers) = turn(&dir, NOWHERE, &script);
    let lines: Vec<&str> = lines.iter().map(String::as_str).filter(|it| is_told(it)).collect();
    assert_eq!(
        lines,
        [
            "turn/start 1",
            "step/start 1.1",
            "user/message session-start",
            "user/message Go.",
            "user/message prompt-submit",
            "user/message pre-step",
            "tool/call call_1 echo {\"hello\":\"C\"}",
            "tool/result call_1 ok: rendered, finalized {\"by\":\"C\"} <- 17",
            "step/end 1.1",
            "step/start 1.2",
            "user/message body",
            "user/message post-execute",
            "step/end 1.2",
            r#"turn/end 1 {"kind":"completed"}"#,
        ]
    );
    assert_eq!(
        answers,
        [
            "session-start greet noted",
            "prompt-submit admit allow",
            "pre-step propose enter",
            "pre-execute gate allow",
            "guard guard next",
            "body echo success",
            "execute around success",
            "post-execute review accept",
            "tool-result observe noted",
            "pre-step propose enter",
            "turn-stopping stop noted",
        ]
    );
}

/// Whether a line is of what a plugin can change.
fn is_told(line: &str) -> bool {
    let kinds = ["turn/", "step/", "user/", "tool/"];
    kinds.iter().any(|it| line.starts_with(it))
}

/// The calls and results of two calls to `meet`, each of which ends once `most` are inside.
fn met(at: (&str, &str), most: u32) -> Option<Vec<String>> {
    let dir = plugin()?;
    let call = || json!({"name": "meet", "arguments": {"most": most}});
    let (lines, _) = turn(&dir, at, &json!([{"calls": [call(), call()]}, "Done."]));
    let short = |it: &String| {
        let mut words = it.split(' ');
        let kind = words.next()?.strip_prefix("tool/")?;
        Some(format!("{kind} {}", words.next()?))
    };
    Some(lines.iter().filter_map(short).collect())
}

#[test]
fn only_one_says_that_a_call_may_run_beside_others() {
    let Some(beside) = met(NOWHERE, 2) else { return };
    assert_eq!(beside, ["call call_1", "call call_2", "result call_1", "result call_2"]);
    for breach in ["number-unknown", "number-zero"] {
        let alone = met(("parallel", breach), 1).unwrap();
        let expected = ["call call_1", "result call_1", "call call_2", "result call_2"];
        assert_eq!(alone, expected, "{breach}");
    }
}

#[test]
fn what_a_reader_may_pass_over_changes_nothing() {
    let Some(dir) = plugin() else { return };
    let expected = json!({
        "isError": false, "text": "rendered|finalized", "contexts": ["body", "post-execute"],
    });
    for at in ["pre-execute", "post-execute", "body", "render", "present", "finalize"] {
        let (outcome, _): (Value, _) = called(&dir, (at, "flag-harmless"), "echo", &json!(1));
        assert_eq!(outcome, expected, "{at}");
    }
}
