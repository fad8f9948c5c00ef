//! Which simple commands the rules see in a shell text: every row is a text and the verdict.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod programs;
mod syntax;
mod unknown;

use command_policy::CommandPolicy;
use lockgate_plugin_api::PreTool;
use lockgate_plugin_api::testing::{Bench, call};
use serde_json::json;

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Is {
    /// A rule for a command in it denies it.
    Denied,
    /// A rule for a command in it asks about it.
    Asked,
    /// A rule may be about a command in it, which nobody knows before it runs.
    Perhaps,
    /// There may be commands in it that nobody knows before it runs.
    Unclear,
    /// It is left to others.
    Open,
    /// Each command in it is allowed.
    Allowed,
}

use Is::{Allowed, Asked, Denied, Open, Perhaps, Unclear};

/// One policy for all rows: `rm` is denied, `mv` and a forced push are asked about, a few others
/// are allowed.
fn bench() -> Bench<CommandPolicy> {
    let allow = |command| json!({"command": command, "verdict": "allow"});
    let bench = Bench::new(json!({"rules": [
        {"command": "rm", "verdict": "deny", "reason": "no rm"},
        {"command": "mv", "verdict": "ask", "reason": "no mv"},
        {"command": "git push * --force*", "verdict": "ask", "reason": "no force"},
        allow("ls"), allow("echo"), allow("cat"), allow("cd"), allow("git status"),
        allow("git push"), allow("A=1 ls"), allow("> out/*"), allow("timeout"), allow("true"),
    ]}));
    bench.unwrap()
}

/// Compares what becomes of each text, and tells all that differ.
#[track_caller]
fn check(rows: &[(&str, Is)]) {
    let bench = bench();
    let differing: Vec<String> = rows
        .iter()
        .map(|(text, expected)| (text, expected, becomes(&bench, text)))
        .filter(|(_, expected, is)| *expected != is)
        .map(|(text, expected, is)| format!("{is:?}, not {expected:?}: {text:.200}"))
        .collect();
    assert!(differing.is_empty(), "\n{}", differing.join("\n"));
}

fn becomes(bench: &Bench<CommandPolicy>, text: &str) -> Is {
    let call = call("bash").arguments(&json!({"command": text}));
    let decision = bench.pre_execute(&call).unwrap();
    match decision.as_ref().map(|it| it.verdict().unwrap()) {
        None => Open,
        Some(PreTool::Allow) => Allowed,
        Some(PreTool::Deny { .. }) => Denied,
        Some(PreTool::Ask { reason: Some(it) }) if it.contains(" cannot tell ") => Unclear,
        Some(PreTool::Ask { reason: Some(it) }) if it.contains(" may be about ") => Perhaps,
        Some(PreTool::Ask { .. }) => Asked,
    }
}
