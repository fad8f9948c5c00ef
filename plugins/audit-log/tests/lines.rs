//! The lines of calls, in files that can be written and in those that cannot.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;
use std::time::SystemTime;

use audit_log::AuditLog;
use lockgate_plugin_api::testing::{Bench, Call, call};
use lockgate_plugin_api::{Block, Extras, ToolOutcome};
use serde_json::{Map, Value, json};

fn bench(file: &Path, more: &Value) -> Bench<AuditLog> {
    let mut config = json!({"file": file});
    config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    Bench::new(config).unwrap()
}

fn shell(command: &str) -> Call {
    call("bash").call_id("c-7").arguments(&json!({"command": command}))
}

fn success() -> ToolOutcome {
    ToolOutcome::success(&json!("done")).with_content(&[Block::text("done")])
}

/// The lines of the file, each of them JSON.
fn lines(file: &Path) -> Vec<Map<String, Value>> {
    let text = fs::read_to_string(file).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'), "{text}");
    text.lines().map(|it| serde_json::from_str(it).unwrap()).collect()
}

/// Tells the plugin of a call and compares its line, but for the time and the number of the call.
#[track_caller]
fn check(config: Value, call: &Call, outcome: &ToolOutcome, expected: Value) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("audit.jsonl");
    bench(&file, &config).tool_result(call, outcome).unwrap();
    let mut line = lines(&file).remove(0);
    let time = line.remove("time").unwrap();
    assert!(time.as_str().is_some_and(|it| it.len() == 24 && it.ends_with('Z')), "{time}");
    assert!(line.remove("call").is_some_and(|it| it.is_u64()));
    assert_eq!(Value::Object(line), expected);
}

/// As [`check`], of a success with these arguments, but for everything else that it says.
#[track_caller]
fn check_kept(config: &Value, arguments: &str, expected: Value) {
    let mut line = expected;
    let rest = json!({
        "agent": 1,
        "call_id": "call-1",
        "tool": "bash",
        "outcome": "success",
        "content_bytes": 31,
    });
    line.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    let call = call("bash").arguments_json(arguments);
    check(config.clone(), &call, &success(), line);
}

#[test]
fn a_line_says_what_was_called_and_what_it_came_to() {
    let with = |outcome: Value| {
        let mut line = json!({
            "agent": 1,
            "call_id": "c-7",
            "tool": "bash",
            "arguments": {"command": "ls"},
        });
        line.as_object_mut().unwrap().extend(outcome.as_object().unwrap().clone());
        line
    };
    // `[{"type":"text","text":"done"}]` has 31 bytes.
    let done = with(json!({"outcome": "success", "content_bytes": 31}));
    check(json!({}), &shell("ls"), &success(), done);
    check(
        json!({}),
        &shell("ls"),
        &ToolOutcome::coded_failure("no", "ToolTimeoutError", "TOOL_TIMEOUT").with_content(&[]),
        with(json!({"outcome": "failure", "code": "TOOL_TIMEOUT", "content_bytes": 2})),
    );
    let extras = Extras { code: Some("DENIED".into()), ..Extras::default() };
    check(
        json!({}),
        &shell("ls"),
        &ToolOutcome::failure("no").with_extras(&extras).with_content(&[]),
        with(json!({"outcome": "failure", "code": "DENIED", "content_bytes": 2})),
    );
    check(
        json!({}),
        &shell("ls"),
        &ToolOutcome::failure("no").with_content(&[]),
        with(json!({"outcome": "failure", "content_bytes": 2})),
    );
}

#[test]
fn a_call_for_no_agent_names_none() {
    let line = json!({
        "call_id": "c-7",
        "tool": "bash",
        "arguments": {"command": "ls"},
        "outcome": "success",
        "content_bytes": 31,
    });
    check(json!({}), &shell("ls").without_agent(), &success(), line);
}

#[test]
fn a_call_from_inside_another_names_it() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("audit.jsonl");
    let bench = bench(&file, &json!({}));
    let outer = shell("outer");
    bench.tool_result(&shell("inner").inside(&outer), &success()).unwrap();
    bench.tool_result(&outer, &success()).unwrap();
    let lines = lines(&file);
    assert_eq!((&lines[0]["parent"], lines[1].get("parent")), (&lines[1]["call"], None));
}

#[test]
fn what_is_kept_of_the_arguments_is_configured() {
    let arguments = r#"{"command":"l\u00e4s"}"#;
    let keep = |what: &str| json!({"arguments": what});
    check_kept(&keep("full"), arguments, json!({"arguments": {"command": "läs"}}));
    check_kept(&keep("none"), arguments, json!({}));
    let hash = blake3::hash(arguments.as_bytes()).to_hex();
    check_kept(&keep("hash"), arguments, json!({"arguments_blake3": hash.as_str()}));
}

#[test]
fn long_arguments_are_cut_and_say_so() {
    let limit = json!({"arguments_limit": 4});
    check_kept(&limit, r#""ab""#, json!({"arguments": "ab"}));
    check_kept(&limit, r#""abc""#, json!({"arguments_head": "\"abc", "arguments_bytes": 5}));
    // Not in the middle of a character.
    check_kept(&limit, r#""abäc""#, json!({"arguments_head": "\"ab", "arguments_bytes": 7}));
    let all = json!({"arguments": "full"});
    let most = format!("\"{}\"", "a".repeat(16_382));
    check_kept(&all, &most, json!({"arguments": "a".repeat(16_382)}));
    let more = format!("\"{}\"", "a".repeat(16_383));
    let head = format!("\"{}", "a".repeat(16_383));
    check_kept(&all, &more, json!({"arguments_head": head, "arguments_bytes": 16_385}));
}

#[test]
fn a_call_is_one_line_however_its_arguments_are_written() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("audit.jsonl");
    let bench = bench(&file, &json!({}));
    let deep = "[\n".repeat(5_000) + &"]\r\n".repeat(5_000);
    for arguments in ["{\n  \"a\": 1e3\r\n}", r#""a\nb""#, &deep] {
        bench.tool_result(&call("bash").arguments_json(arguments), &success()).unwrap();
    }
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().count(), 3);
    assert!(text.contains(r#""arguments":{   "a": 1e3  },"#), "{text}");
    assert!(text.contains(r#""arguments":"a\nb","#), "{text}");
}

#[test]
fn the_time_is_that_of_the_call() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("audit.jsonl");
    let now = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let before = now().as_secs();
    bench(&file, &json!({})).tool_result(&shell("ls"), &success()).unwrap();
    let line = lines(&file).remove(0);
    let time = line["time"].as_str().unwrap();
    let number = |at: usize| time[at..at + 2].parse::<u64>().unwrap();
    let second = number(11) * 3_600 + number(14) * 60 + number(17);
    let possible: Vec<u64> = (before..=now().as_secs()).map(|it| it % 86_400).collect();
    assert!(possible.contains(&second), "{time} is none of {possible:?}");
}

#[test]
fn lines_of_several_writers_do_not_mix_and_what_was_there_stays() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("audit.jsonl");
    fs::write(&file, "{\"tool\":\"earlier\"}\n").unwrap();
    thread::scope(|scope| {
        for writer in 0..4 {
            let file = &file;
            scope.spawn(move || {
                let bench = bench(file, &json!({}));
                for _ in 0..50 {
                    let call = call(format!("tool-{writer}")).arguments(&json!("x".repeat(9_000)));
                    bench.tool_result(&call, &success()).unwrap();
                }
            });
        }
    });
    let lines = lines(&file);
    let of = |tool: &str| lines.iter().filter(|it| it["tool"] == tool).count();
    let counts = ["earlier", "tool-0", "tool-1", "tool-2", "tool-3"].map(of);
    assert_eq!((counts, lines.len()), ([1, 50, 50, 50, 50], 201));
}

#[test]
fn a_new_file_is_for_its_owner_alone() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("audit.jsonl");
    let _bench = bench(&file, &json!({}));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_line_that_cannot_be_written_is_told_and_fails_nothing() {
    let bench = bench(Path::new("/dev/full"), &json!({}));
    assert_eq!(bench.tool_result(&shell("ls"), &success()), Ok(()));
    let lines: Vec<_> = bench.lines().into_iter().map(|it| (it.level, it.message)).collect();
    let line = "a tool call is missing from the audit log file=/dev/full call=\"c-7\" \
                tool=\"bash\" error=No space left on device (os error 28)";
    assert_eq!(lines, [(1, line.to_owned())]);
}

#[test]
fn a_file_that_cannot_be_opened_refuses_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("missing/audit.jsonl");
    let fault = Bench::<AuditLog>::new(json!({"file": file})).map(drop).unwrap_err();
    let expected = format!(
        "start failed: the audit log `{}` cannot be opened for appending; its directory must \
         exist and be writable: No such file or directory (os error 2)",
        file.display()
    );
    assert_eq!(fault.to_string(), expected);
    // Only to see whether it would work, nothing is opened.
    let unused = dir.path().join("audit.jsonl");
    assert_eq!(Bench::<AuditLog>::probe(json!({"file": unused})), Ok(()));
    assert!(!unused.exists());
    let fault = Bench::<AuditLog>::probe(json!({"file": "audit.jsonl"})).unwrap_err();
    assert_eq!(fault.message(), "the file `audit.jsonl` is not an absolute path");
}

#[test]
fn its_config_schema_says_what_it_accepts() {
    assert_eq!(Bench::<AuditLog>::check_config_schema(), Ok(()));
}
