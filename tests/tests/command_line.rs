//! The program `lockgate` as people and scripts meet it: what `call` and `plugins` print where, and
//! their exit codes.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::process::Command;

use lockgate_tests::stage::{DONE, FAILED, INCOMPATIBLE, REFUSED, Stage, USAGE};
use lockgate_tests::{mixed_dir, without_sizes, write_with_note_changed};
use serde_json::{Value, json};

/// A stage with a shell, and a policy that denies `rm -rf`.
fn stage() -> Stage {
    Stage::new(&["tool-shell", "native-guard"])
}

#[test]
fn without_a_command_help_is_printed() {
    let ran = stage().run(&[]);
    assert_eq!((ran.code, &*ran.out), (Some(USAGE), ""));
    assert!(ran.err.contains("Usage: lockgate [OPTIONS] <COMMAND>"), "{}", ran.err);
}

#[test]
fn a_wrong_flag_is_wrong_usage() {
    let ran = stage().run(&["call", "bash", "--dry"]);
    assert_eq!((ran.code, &*ran.out), (Some(USAGE), ""));
    assert!(ran.err.starts_with("error: unexpected argument '--dry' found\n"), "{}", ran.err);
}

#[test]
fn inspect_prints_the_manifest_of_a_plugin_that_could_not_be_loaded() {
    let stage = Stage::new(&[]);
    let name = ("LOCKGATE_PLUGIN_V1__native_guard", "LOCKGATE_PLUGIN_V1__native_gourd");
    write_with_note_changed(&stage.path("p/gourd.so"), "native-guard", name.0, name.1);
    let listener = |seam: &str, name: &str, priority: i32, required: bool| json!({"seam": seam, "name": name, "priority": priority, "required": required});
    let rustc = Command::new("rustc").arg("--version").output().unwrap().stdout;
    let schema = include_str!("../../plugins/native-guard/src/config_schema.json");
    let expected = json!({
        "name": "native-guard",
        "version": "0.1.0",
        "api": "0.1.0",
        "min_host": "0.1.0",
        "needs": [],
        "events": [],
        "symbol": "LOCKGATE_PLUGIN_V1__native_gourd",
        "listeners": [
            listener("session-start", "greet", 0, false),
            listener("pre-step", "admit", 10, true),
            listener("pre-execute", "gate", 10, true),
            listener("post-execute", "annotate", 0, true),
        ],
        "tools": false,
        "state": false,
        "exclusive": false,
        "config_schema": serde_json::from_str::<serde_json::Value>(schema).unwrap(),
        "description": "Greets, refuses a forbidden prompt, denies a dangerous tool call, annotates results",
        "panic": "unwind",
        "rustc": String::from_utf8(rustc).unwrap().trim_end(),
        "target": lockgate_plugin_api::abi::entry::TARGET,
    });
    stage.check_json(&["plugins", "inspect", "p/gourd.so"], DONE, &expected);
    stage.check_json(&["plugins", "inspect", "--json", "p/gourd.so"], DONE, &expected);
    stage.check(
        &["plugins", "check", "p/gourd.so"],
        INCOMPATIBLE,
        "p/gourd.so: E-ENTRY: it does not export the symbol `LOCKGATE_PLUGIN_V1__native_gourd` that \
         its note names\n    Build the plugin again from clean with `export_plugin!`.\n",
        "",
    );
}

#[test]
fn inspect_says_why_a_file_is_no_plugin() {
    let stage = Stage::new(&[]);
    stage.write("p/text.so", "hello");
    stage.check(
        &["plugins", "inspect", "p/text.so"],
        INCOMPATIBLE,
        "",
        "refused p/text.so: E-FORMAT: the file is text, not an ELF library\n    \
         Build the plugin with `crate-type = [\"cdylib\"]` and use that file.\n",
    );
}

#[test]
fn check_says_of_every_file_whether_it_fits() {
    let stage = Stage::with(mixed_dir());
    let ran = stage.run(&["plugins", "check", "--json", "p"]);
    let refused = |file: &str, code: &str, message: &str, remedy: &str| json!({"path": format!("p/{file}"), "ok": false, "code": code, "message": message, "remedy": remedy});
    let format = "Build the plugin with `crate-type = [\"cdylib\"]` and use that file.";
    let expected = json!([
        refused("a_text.so", "E-FORMAT", "the file is text, not an ELF library", format),
        refused("b_empty.so", "E-FORMAT", "the file is empty", format),
        refused(
            "c_cut.so",
            "E-TRUNCATED",
            "the file ends after # bytes, and its segments reach to byte #",
            "Wait until the file is written, or copy it again whole.",
        ),
        refused(
            "d_foreign.so",
            "E-NOTE",
            "the library has no note `LOCKGATE`, so it is not a plugin",
            "Export the plugin with `export_plugin!`, or take the file out of the directory.",
        ),
        {"path": "p/e_good.so", "ok": true, "code": null, "message": null, "remedy": null},
    ]);
    let out: Value = serde_json::from_str(&without_sizes(&ran.out)).unwrap();
    assert_eq!((out, &*ran.err, ran.code), (expected, "", Some(INCOMPATIBLE)));
    stage.check(&["plugins", "check", "p/e_good.so"], DONE, "p/e_good.so: ok\n", "");
}

#[test]
fn order_says_who_is_asked_before_whom_and_whose_place_is_empty() {
    let stage = Stage::new(&["native-guard", "call-timeout"]);
    stage.write(
        "lockgate.toml",
        "plugins.native-guard.config.colour = 'red'\nplugins.call-timeout.priority.execute = -1",
    );
    let ran = stage.run(&["plugins", "order", "--json", "--plugins", "p"]);
    let place = |seam: &str, plugin: &str, listener: &str, priority: i32, live: bool| {
        // What is not there keeps the places that are required, and those alone.
        json!({
            "seam": seam, "plugin": plugin, "listener": listener,
            "priority": priority, "required": !live, "live": live,
            "entry_deadline_ms": 5000, "answer_deadline_ms": 60_000,
        })
    };
    let expected = json!([
        place("pre-step", "native-guard", "admit", 10, false),
        place("pre-execute", "native-guard", "gate", 10, false),
        place("execute", "call-timeout", "keep_budget", -1, true),
        place("post-execute", "native-guard", "annotate", 0, false),
    ]);
    assert_eq!((ran.json(), ran.code), (expected, Some(DONE)));
}

#[test]
fn list_says_what_became_of_every_file() {
    let stage = Stage::new(&["tool-shell", "call-timeout"]);
    stage.write("lockgate.toml", "plugins.call-timeout.enabled = false");
    stage.write("p/z.so", "hello");
    let ran = stage.run(&["plugins", "list", "--json", "--plugins", "p"]);
    let out = ran.json();
    let expected = json!([
        {
            "path": "p/libcall_timeout.so",
            "name": "call-timeout",
            "version": "0.1.0",
            "state": "disabled",
            "listeners": [
                {"seam": "execute", "name": "keep_budget", "priority": 100, "required": false},
            ],
            "tools": [],
            "code": null,
            "message": null,
            "remedy": null,
        },
        {
            "path": "p/libtool_shell.so",
            "name": "tool-shell",
            "version": "0.1.0",
            "state": "live",
            "listeners": [],
            "tools": ["bash"],
            "code": null,
            "message": null,
            "remedy": null,
        },
        {
            "path": "p/z.so",
            "name": null,
            "version": null,
            "state": "refused E-FORMAT",
            "listeners": null,
            "tools": [],
            "code": "E-FORMAT",
            "message": "the file is text, not an ELF library",
            "remedy": "Build the plugin with `crate-type = [\"cdylib\"]` and use that file.",
        },
    ]);
    assert_eq!((out, ran.code), (expected, Some(DONE)));
}

const ECHO: &str = r#"{"command":"echo hi"}"#;
const REMOVE: &str = r#"{"command":"rm -rf p"}"#;

#[test]
fn call_prints_what_the_tool_returns() {
    stage().check(&["call", "bash", ECHO, "--plugins", "p"], DONE, "hi\n", "");
}

#[test]
fn explain_says_on_standard_error_who_was_asked() {
    let ran = stage().run(&["call", "bash", ECHO, "--plugins", "p", "--explain"]);
    let told: Vec<Vec<&str>> =
        ran.err.lines().map(|it| it.split_whitespace().take(3).collect()).collect();
    assert_eq!(
        told,
        [
            ["pre-execute", "native-guard/gate", "next"],
            ["body", "tool-shell/bash", "success"],
            ["post-execute", "native-guard/annotate", "accept"],
        ]
    );
    assert_eq!((&*ran.out, ran.code), ("hi\n", Some(DONE)));
}

#[test]
fn a_dry_run_asks_and_runs_nothing() {
    let stage = stage();
    let touch = r#"{"command":"touch made"}"#;
    stage.check(
        &["call", "bash", touch, "--plugins", "p", "--dry-run"],
        DONE,
        "",
        "nothing stands in its way: the tool would run\n",
    );
    assert!(!stage.path("made").exists());
    stage.check(
        &["call", "bash", REMOVE, "--plugins", "p", "--dry-run"],
        REFUSED,
        "Error: arguments with `rm -rf` are not allowed here\n",
        "",
    );
    stage.check(
        &["call", "none", "--plugins", "p", "--dry-run"],
        FAILED,
        "Error: unknown tool \"none\"\n",
        "",
    );
}

/// What `call --json` prints, with the times left out that it has to tell.
#[track_caller]
fn check_call(args: &str, code: i32, expected: Value) {
    let ran = stage().run(&["call", "bash", args, "--plugins", "p", "--json"]);
    let mut out = ran.json();
    for entry in out["trail"].as_array_mut().unwrap() {
        let time = entry.as_object_mut().unwrap().remove("ns");
        assert!(time.unwrap().as_u64() > Some(0));
    }
    assert_eq!((out, &*ran.err, ran.code), (expected, "", Some(code)));
}

#[test]
fn call_prints_the_outcome_and_the_trail_as_json() {
    let reviewed = json!({
        "plugin": "native-guard",
        "listener": "annotate",
        "seam": "post-execute",
        "verdict": "accept",
        "reason": "audited bash",
        "call": "call_1",
    });
    check_call(
        ECHO,
        DONE,
        json!({
            "isError": false,
            "content": [{"type": "text", "text": "hi\n"}],
            "trail": [
                {
                    "plugin": "native-guard",
                    "listener": "gate",
                    "seam": "pre-execute",
                    "verdict": "next",
                    "call": "call_1",
                },
                {
                    "plugin": "tool-shell",
                    "listener": "bash",
                    "seam": "body",
                    "verdict": "success",
                    "call": "call_1",
                },
                reviewed,
            ],
        }),
    );
    let denied = "arguments with `rm -rf` are not allowed here";
    check_call(
        REMOVE,
        REFUSED,
        json!({
            "isError": true,
            "content": [{"type": "text", "text": format!("Error: {denied}")}],
            "code": "DENIED",
            "trail": [
                {
                    "plugin": "native-guard",
                    "listener": "gate",
                    "seam": "pre-execute",
                    "verdict": "deny",
                    "reason": denied,
                    "call": "call_1",
                },
                reviewed,
            ],
        }),
    );
}

#[test]
fn a_call_that_is_denied_and_one_that_fails_are_told_apart() {
    let stage = stage();
    stage.check(
        &["call", "bash", REMOVE, "--plugins", "p"],
        REFUSED,
        "Error: arguments with `rm -rf` are not allowed here\n",
        "",
    );
    assert!(stage.path("p").exists());
    stage.check(&["call", "none", "--plugins", "p"], FAILED, "Error: unknown tool \"none\"\n", "");
    stage.check(
        &["call", "bash", "{}", "--plugins", "p"],
        FAILED,
        "Error: invalid arguments: missing required property \"command\"\n",
        "",
    );
}

#[test]
fn arguments_that_are_not_json_are_told_before_anything_is_loaded() {
    stage().check(
        &["call", "bash", "{nope", "--plugins", "nowhere"],
        FAILED,
        "",
        "error: the arguments of `bash` are not JSON: key must be a string at line 1 column 2\n",
    );
}

#[test]
fn a_directory_that_is_not_there_is_named() {
    stage().check(
        &["plugins", "list", "--plugins", "nowhere"],
        FAILED,
        "",
        "error: the plugins cannot be found: cannot list the plugin directory `nowhere`: \
         No such file or directory (os error 2)\n",
    );
}

#[test]
fn an_unknown_key_in_the_configuration_is_told_with_its_place_and_the_one_that_was_meant() {
    let stage = stage();
    stage.write("lockgate.toml", "strict = true\n[plugins.tool-shell]\n  requird = true\n");
    stage.check(
        &["plugins", "list", "--plugins", "p"],
        FAILED,
        "",
        &format!(
            "error: `{}`, line 3, column 3: unknown key `plugins.tool-shell.requird`, did you mean \
             `required`?\n",
            fs::canonicalize(stage.path("lockgate.toml")).unwrap().display()
        ),
    );
}
