//! What `bash` runs, and what it tells of how that ended.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use lockgate_plugin_api::testing::{Bench, Ended, Fault, Process, call};
use serde_json::{Value, json};
use tool_shell::ToolShell;

#[test]
fn it_is_offered_with_the_longest_time_as_its_budget() {
    let bench = Bench::<ToolShell>::new(json!({"max_timeout_ms": 5000})).unwrap();
    let spec = bench.tool("bash").unwrap().spec();
    assert_eq!(spec.budget, Some(Duration::from_secs(5)));
    assert_eq!(spec.parameters["required"], json!(["command"]));
    let names: Vec<String> = bench.tools().map(|it| it.spec().name).collect();
    assert_eq!(names, ["bash"]);
}

#[test]
fn no_command_runs_beside_other_calls() {
    let bench = Bench::<ToolShell>::new(json!({})).unwrap();
    assert!(!bench.tool("bash").unwrap().is_parallel_safe(&json!({"command": "ls"})));
}

#[test]
fn a_command_runs_in_the_shell_that_is_configured() {
    let seconds = Duration::from_secs;
    check(json!({}), json!({"command": "ls"}), ("bash", seconds(120), 1 << 20));
    check(json!({}), json!({"command": "ls", "timeout_ms": 3000}), ("bash", seconds(3), 1 << 20));
    check(
        json!({"shell": "/bin/sh", "timeout_ms": 7000, "max_output": 10}),
        json!({"command": "ls"}),
        ("/bin/sh", seconds(7), 10),
    );

    #[track_caller]
    fn check(config: Value, arguments: Value, (shell, timeout, keep): (&str, Duration, u64)) {
        let bench = Bench::<ToolShell>::new(config).unwrap();
        let asked: Arc<Mutex<Option<Process>>> = Arc::default();
        bench.answer_processes({
            let asked = Arc::clone(&asked);
            move |process| {
                *asked.lock().unwrap() = Some(process.clone());
                Ended::exited(0)
            }
        });
        let call = call("bash").arguments(&arguments).cwd("/work");
        bench.tool("bash").unwrap().run_call(&call).unwrap();
        let asked = asked.lock().unwrap().take().unwrap();
        assert_eq!(
            (asked.program.as_str(), asked.arguments),
            (shell, ["-c", "ls"].map(str::to_owned).to_vec())
        );
        assert_eq!((asked.timeout, asked.keep), (Some(timeout), Some(keep)));
        assert_eq!((asked.cwd.as_deref(), asked.merges_stderr), (Some("/work"), true));
    }
}

#[test]
fn what_was_printed_is_told_and_how_it_ended_if_not_well() {
    check(|| Ended::exited(0).printing("a\nb\n"), Ok("a\nb\n"));
    check(|| Ended::exited(0), Ok("(no output)"));
    check(|| Ended::exited(0).printing("a").cut(), Ok("a\n(more was printed and dropped)"));
    check(|| Ended::exited(2).printing("a\n"), Ok("a\n(exit code 2)"));
    check(|| Ended::exited(2).printing("a"), Ok("a\n(exit code 2)"));
    check(|| Ended::exited(1), Ok("(no output)\n(exit code 1)"));
    check(|| Ended::killed(9).printing("a\n"), Ok("a\n(killed by signal 9)"));
    check(|| Ended::exited(0).printing([0x61, 0xFF]), Ok("a\u{FFFD}"));
    check(|| Ended::not_started("no such program"), Err(("no such program", None)));
    check(
        || Ended::timed_out().printing("half"),
        Err(("tool call timed out after 120000ms, having printed:\nhalf", Some("TOOL_TIMEOUT"))),
    );

    #[track_caller]
    fn check(ended: fn() -> Ended, expected: Result<&str, (&str, Option<&str>)>) {
        let bench = Bench::<ToolShell>::new(json!({})).unwrap();
        bench.answer_processes(move |_| ended());
        let outcome = bench.tool("bash").unwrap().run(&json!({"command": "x"})).unwrap();
        let (value, message, code): (Result<String, _>, _, _) =
            (outcome.value(), outcome.message(), outcome.code());
        assert_eq!(value.as_deref().map_err(|_| (&*message, code.as_deref())), expected);
    }
}

#[test]
fn arguments_without_a_command_are_refused() {
    let bench = Bench::<ToolShell>::new(json!({})).unwrap();
    let outcome = bench.tool("bash").unwrap().run(&json!({})).unwrap();
    let message = "invalid arguments: missing field `command` at line 1 column 2";
    assert_eq!((&*outcome.message(), outcome.code().as_deref()), (message, Some("INVALID_ARGS")));
}

#[test]
fn a_key_that_it_does_not_know_is_refused() {
    let message = "unknown field `cwd`, expected one of `shell`, `timeout_ms`, `max_timeout_ms`, \
                   `max_output` at line 1 column 6";
    let expected = Fault::Failed { place: "create".into(), message: message.into() };
    assert_eq!(Bench::<ToolShell>::new(json!({"cwd": "/"})).map(drop), Err(expected));
}

#[test]
fn its_config_schema_says_what_it_accepts() {
    assert_eq!(Bench::<ToolShell>::check_config_schema(), Ok(()));
}
