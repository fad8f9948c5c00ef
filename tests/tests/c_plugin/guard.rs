//! The guard in C, and the plugin of the documentation: what they do, and what becomes of tables that
//! lack something.

use std::fs;
use std::path::Path;

use lockgate::{Host, HostOptions, PluginState};
use lockgate_tests::puppets::{request, seen};
use serde_json::{Value, json};
use tempfile::TempDir;

use lockgate_tests::c_library;

/// A directory with the guard, which lacks what `lack` says; `None` without a compiler.
#[track_caller]
fn guard(lack: Option<&str>) -> Option<TempDir> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("c-guard/guard.c");
    // What no table leads to is there all the same.
    let unused = ["-Wno-unused-function", "-Wno-unused-const-variable"].map(str::to_owned);
    let options = lack.map(|it| [vec![format!("-D{it}")], unused.to_vec()].concat());
    c_library(&source, &options.unwrap_or_default())
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

/// Makes these calls, one after the other.
#[track_caller]
fn check_calls(calls: &[(&str, Value, Value)]) {
    let Some(dir) = guard(None) else { return };
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let host = host(&dir, json!({}));
        assert_eq!(told(&host), "live with echo, count");
        for (tool, arguments, expected) in calls {
            let outcome = host.execute(request(tool, arguments)).await;
            assert_eq!(seen(&outcome), *expected, "{tool} {arguments}");
        }
    });
}

/// A guard that is not loaded because it was built with `lack`.
#[track_caller]
fn check_refused(lack: &str, message: &str) {
    let Some(dir) = guard(Some(lack)) else { return };
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let host = host(&dir, json!({}));
        assert_eq!(told(&host), message, "{lack}");
    });
}

fn shown(text: &str) -> Value {
    json!({"isError": false, "text": text})
}

#[test]
fn a_plugin_in_c_denies_observes_and_offers_tools() {
    check_calls(&[
        ("echo", json!({"hello": ["C"]}), shown("{\"hello\":[\"C\"]}")),
        (
            "rm",
            json!({}),
            json!({"isError": true, "text": "Error: C plugins delete nothing", "code": "DENIED"}),
        ),
        ("echo", json!("later"), shown("later")),
        ("count", json!({}), shown("3")),
    ]);
}

#[test]
fn the_plugin_in_the_documentation_works() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/abi.md");
    let page = fs::read_to_string(page).unwrap();
    let source = page.split_once("```c\n").unwrap().1.split_once("```").unwrap().0;
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("no_rm.c");
    fs::write(&file, source).unwrap();
    let Some(dir) = c_library(&file, &[]) else { return };
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
    check_calls(&[
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
    ]);
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
