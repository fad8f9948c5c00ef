//! A plugin in C, built against the header alone: what it does, and what becomes of each broken rule.
//!
//! Where there is no C compiler, that is said and nothing is tested.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;
use std::process::Command;

use lockgate::{Host, HostOptions, PluginState};
use lockgate_tests::puppets::{request, seen};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A directory with the guard, built with the rule `broken` broken; `None` without a compiler.
#[track_caller]
fn guard(broken: Option<&str>) -> Option<TempDir> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("c-guard/guard.c");
    // What a broken rule leaves out is there all the same.
    let unused = ["-Wno-unused-function", "-Wno-unused-const-variable"].map(str::to_owned);
    let options = broken.map(|it| [vec![format!("-D{it}")], unused.to_vec()].concat());
    build(&source, &options.unwrap_or_default())
}

/// A directory with the plugin that the C file `source` is; `None` without a compiler.
#[track_caller]
fn build(source: &Path, options: &[String]) -> Option<TempDir> {
    let dir = TempDir::new().unwrap();
    let include = concat!(env!("CARGO_MANIFEST_DIR"), "/../plugin-api/include");
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic"]).args(options);
    cc.args(["-shared", "-fPIC", "-fvisibility=hidden", "-I", include]);
    cc.arg(source).arg("-o").arg(dir.path().join("plugin.so"));
    let output = match cc.output() {
        Ok(output) => output,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            io::stderr().write_all(b"there is no `cc`: no plugin in C was tested\n").unwrap();
            return None;
        }
        Err(error) => panic!("`cc` does not run: {error}"),
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(dir)
}

/// A host with the plugin of `dir`, given `config`.
fn host(dir: &TempDir, config: Value) -> Host {
    let mut options =
        HostOptions { plugin_dirs: vec![dir.path().into()], ..HostOptions::default() };
    options.plugins.entry("c-guard".into()).or_default().config = config;
    Host::start(&options).unwrap()
}

/// What became of the only plugin.
fn told(host: &Host) -> String {
    match &host.plugins()[0].state {
        PluginState::Live { tools, .. } => format!("live with {}", tools.join(", ")),
        PluginState::Refused(refusal) => refusal.to_string(),
        other => panic!("it is neither live nor refused: {other:?}"),
    }
}

/// Makes these calls, one after the other, to a guard that breaks the rule `broken`.
#[track_caller]
fn check_calls(broken: Option<&str>, calls: &[(&str, Value, Value)]) {
    let Some(dir) = guard(broken) else { return };
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let host = host(&dir, json!({}));
        assert_eq!(told(&host), "live with echo, count", "{broken:?}");
        for (tool, arguments, expected) in calls {
            let outcome = host.execute(request(tool, arguments)).await;
            assert_eq!(seen(&outcome), *expected, "{broken:?}: {tool} {arguments}");
        }
    });
}

/// A call that fails because the rule `broken` is, and one after it that does not.
#[track_caller]
fn check_broken(broken: &str, tool: &str, code: &str, message: &str) {
    let failed = json!({"isError": true, "text": format!("Error: {message}"), "code": code});
    check_calls(Some(broken), &[(tool, json!("break"), failed), ("echo", json!(1), shown("1"))]);
}

/// A guard that is not loaded because the rule `broken` is.
#[track_caller]
fn check_refused(broken: &str, message: &str) {
    let Some(dir) = guard(Some(broken)) else { return };
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let host = host(&dir, json!({}));
        assert_eq!(told(&host), message, "{broken}");
    });
}

fn shown(text: &str) -> Value {
    json!({"isError": false, "text": text})
}

#[test]
fn a_plugin_in_c_denies_observes_and_offers_tools() {
    check_calls(
        None,
        &[
            ("echo", json!({"hello": ["C"]}), shown("{\"hello\":[\"C\"]}")),
            (
                "rm",
                json!({}),
                json!({"isError": true, "text": "Error: C plugins delete nothing", "code": "DENIED"}),
            ),
            ("echo", json!("later"), shown("later")),
            ("count", json!({}), shown("3")),
        ],
    );
}

#[test]
fn the_plugin_in_the_documentation_works() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/abi.md");
    let page = fs::read_to_string(page).unwrap();
    let source = page.split_once("```c\n").unwrap().1.split_once("```").unwrap().0;
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("no_rm.c");
    fs::write(&file, source).unwrap();
    let Some(dir) = build(&file, &[]) else { return };
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let host = host(&dir, json!({}));
        assert_eq!(told(&host), "live with ");
        let outcome = host.execute(request("rm", &json!({}))).await;
        let text = "Error: agents do not delete files";
        assert_eq!(seen(&outcome), json!({"isError": true, "text": text, "code": "DENIED"}));
    });
}

#[test]
fn a_plugin_in_c_is_listed_as_its_manifest_says() {
    let Some(dir) = guard(None) else { return };
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let host = host(&dir, json!({}));
        let manifest = host.plugins()[0].manifest.clone().unwrap();
        let listeners: Vec<_> = manifest
            .listeners
            .iter()
            .map(|it| format!("{} {} {} {}", it.seam.as_str(), it.name, it.priority, it.required))
            .collect();
        assert_eq!((&*manifest.name, &*manifest.version), ("c-guard", "0.3.0"));
        assert_eq!(manifest.description.as_deref(), Some("Denies, counts and echoes, in C"));
        assert_eq!(
            listeners,
            [
                "pre-execute gate 10 true",
                "execute around 0 false",
                "post-execute review 0 true",
                "tool-result observe 0 false",
            ]
        );
    });
}

#[test]
fn a_fault_in_c_is_told_and_fails_what_it_was_about() {
    check_calls(
        None,
        &[
            (
                "faulty",
                json!({}),
                json!({
                    "isError": true,
                    "text": "Error: the pre-execute listener `gate` of the plugin `c-guard` \
                             failed: the gate is out of order",
                    "code": "LISTENER_FAULT",
                }),
            ),
            (
                "echo",
                json!("fault"),
                json!({"isError": true, "text": "Error: the echo is out of order"}),
            ),
            ("echo", json!(1), shown("1")),
        ],
    );
    let Some(dir) = guard(None) else { return };
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let host = host(&dir, json!({"broken": true}));
        assert_eq!(told(&host), "E-CREATE: its `create` failed: the guard is broken");
    });
}

#[test]
fn a_table_that_lacks_something_is_never_used() {
    check_refused("NULL_ROOT", "E-FIELDS: its table `root` is null");
    check_refused("ROOT_SHORT", "E-FIELDS: its table `root` has no field `tool_result`");
    check_refused("NULL_CREATE", "E-FIELDS: the function `create` of its table `root` is null");
    check_refused("NULL_LISTENER", "E-FIELDS: its table `pre_execute[0]` is null");
    check_refused("LISTENER_SHORT", "E-FIELDS: its table `pre_execute[0]` has no field `call`");
    check_refused(
        "NULL_CALL",
        "E-FIELDS: the function `call` of its table `pre_execute[0]` is null",
    );
    check_refused("TOOL_SHORT", "E-FIELDS: its table `tools[0]` has no field `release`");
    check_refused("NULL_RENDER", "E-FIELDS: the function `render` of its table `tools[0]` is null");
    check_refused("NULL_TOOL", "E-FIELDS: its table `tools[2]` is null");
}

#[test]
fn an_answer_in_c_that_cannot_be_read_is_never_a_yes() {
    let check = |broken: &str, what: &str| {
        let message = format!(
            "the pre-execute listener `gate` of the plugin `c-guard` broke the protocol: {what}"
        );
        check_broken(broken, "rm", "LISTENER_PROTOCOL", &message);
    };
    check("VERDICT_UNKNOWN", "the verdict 77 is unknown");
    check("VERDICT_ZERO", "it answered `ready` and wrote no answer");
    check("STATUS_UNKNOWN", "it answered with the unknown status 9");
    check("STATUS_ZERO", "it answered with the unknown status 0");
    check("TEXT_NOT_UTF8", "its text is not UTF-8");
    check("FLAG_CRITICAL", "the critical flags 0x80000000 are unknown");
    check("PENDING_NOTHING", "it said `pending` and left no future");
    check_broken(
        "DATA_NOT_JSON",
        "echo",
        "LISTENER_PROTOCOL",
        "the post-execute listener `review` of the plugin `c-guard` broke the protocol: its data \
         cannot be read: EOF while parsing a value at line 1 column 12",
    );
    check_broken("FLAG_HARMLESS", "rm", "DENIED", "C plugins delete nothing");
}

#[test]
fn two_runs_of_the_rest_of_a_chain_at_once_are_a_fault() {
    check_broken(
        "NEXT_TWICE",
        "echo",
        "LISTENER_FAULT",
        "the execute listener `around` of the plugin `c-guard` failed: the rest of the chain was \
         asked again while its last future was there",
    );
}
