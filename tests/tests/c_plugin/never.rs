//! Futures that say they are pending and wake nobody, at every seam: who waits is not kept.

use serde_json::json;

use crate::stage::{NEVER, PATIENCE, called, plugin, turn};

/// What an operator reads of a listener that was given up.
fn too_slow(seam: &str, listener: &str) -> String {
    let limit = PATIENCE.as_millis();
    format!("the {seam} listener `{listener}` of the plugin `c-seams` took more than {limit} ms")
}

#[test]
fn a_listener_of_a_call_whose_future_never_wakes_fails_the_call() {
    let Some(dir) = plugin() else { return };
    let check = |seam: &str, listener: &str, is_run: bool| {
        let (outcome, answers) = called(&dir, (seam, NEVER), "echo", &json!(1));
        let text = format!("Error: {}|finalized", too_slow(seam, listener));
        let expected = json!({"isError": true, "text": text, "code": "LISTENER_TIMEOUT"});
        assert_eq!(outcome, expected, "{seam}");
        let has_run = answers.iter().any(|it| it.starts_with("body"));
        assert_eq!(has_run, is_run, "{answers:#?}");
    };
    check("pre-execute", "gate", false);
    check("guard", "guard", false);
    check("execute", "around", false);
    check("post-execute", "review", true);
}

#[test]
fn an_observer_whose_future_never_wakes_changes_nothing() {
    let Some(dir) = plugin() else { return };
    let (outcome, answers) = called(&dir, ("tool-result", NEVER), "echo", &json!(1));
    let contexts = ["body", "post-execute"];
    let expected = json!({"isError": false, "text": "rendered|finalized", "contexts": contexts});
    assert_eq!(outcome, expected);
    assert_eq!(answers.last().unwrap(), "tool-result observe timeout");
}

#[test]
fn a_listener_of_a_turn_whose_future_never_wakes_ends_the_turn_where_it_is_waited_for() {
    let Some(dir) = plugin() else { return };
    let check = |seam: &str, end: &str| {
        let (lines, _) = turn(&dir, (seam, NEVER), &json!(["Hi."]));
        assert_eq!(lines.last().unwrap(), &format!("turn/end 1 {end}"));
    };
    for (seam, listener) in
        [("prompt-submit", "admit"), ("pre-step", "propose"), ("turn-stopping", "stop")]
    {
        let error =
            format!(r#"{{"message":"{}","code":"LISTENER_TIMEOUT"}}"#, too_slow(seam, listener));
        check(seam, &format!(r#"{{"kind":"error","error":{error}}}"#));
    }
    check("session-start", r#"{"kind":"completed"}"#);
}
