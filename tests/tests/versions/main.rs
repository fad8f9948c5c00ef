//! Plugins and hosts of other ages of the plugin API, and plugins that were built in other ways.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod variant;

use std::fs;
use std::path::Path;
use std::process::Command;

use lockgate::{Host, HostOptions, PluginState};
use lockgate_tests::plugin_dir;
use lockgate_tests::puppets::{request, seen};
use serde_json::{Value, json};

use variant::{Build, Change, host, plugin};

const AGENT: &str = "plugin-api/src/abi/agent.rs";
const CALL: &str = "plugin-api/src/abi/call.rs";
const HOST: &str = "plugin-api/src/abi/host.rs";
const LISTENER: &str = "plugin-api/src/abi/listener.rs";
const ROOT: &str = "plugin-api/src/abi/root.rs";
const ENTRY: &str = "plugin-api/src/export/entry.rs";
const EXPORT: &str = "plugin-api/src/export.rs";
const DECISION: &str = "plugin-api/src/decision.rs";
const VERDICTS: &str = "plugin-api/src/decision/tool.rs";

/// A plugin API that has grown wherever it may: a field of a call, a function of the host, a slot
/// of the root table and a verdict, each with what authors reach it by.
const GROWN: [Change<'_>; 7] = [
    (
        CALL,
        "(state: *const ()) -> u64,\n}\n",
        "(state: *const ()) -> u64,\n    /// Grown.\n    pub origin: u64,\n}\n",
    ),
    (
        CALL,
        "    /// The tool's name. The tool may not exist: policies",
        "    /// Grown.\n    pub fn origin(&self) -> Option<u64> { self.table.origin() }\n\
         /// Grown.\n    pub fn now(&self) -> Option<u64> { self.host.now() }\n\
         /// The tool's name. The tool may not exist: policies",
    ),
    (
        HOST,
        "/// The host, as a plugin reaches it. May be kept",
        "impl Host {\n    /// Grown.\n    \
         pub fn now(&self) -> Option<u64> { self.table.now().map(|it| it()) }\n}\n\n\
         /// The host, as a plugin reaches it. May be kept",
    ),
    (
        ROOT,
        "pub tool_result: Slice<ListenerRef<ToolResultArgsRef, Noted>>,\n",
        "pub tool_result: Slice<ListenerRef<ToolResultArgsRef, Noted>>,\n\
         /// Grown.\npub tool_listed: Slice<ListenerRef<ToolResultArgsRef, Noted>>,\n",
    ),
    (EXPORT, "create: create::<$p>,\n", "create: create::<$p>, tool_listed: Slice::EMPTY,\n"),
    (DECISION, "DENY = 2, ASK = 3 }", "DENY = 2, ASK = 3, DEFER = 4 }"),
    (
        VERDICTS,
        "    /// A person decides, and is told why they are asked.",
        "    /// Grown.\n    pub fn defer() -> Self { Self(Answer::new(Self::DEFER)) }\n\
         /// A person decides, and is told why they are asked.",
    ),
];

/// An API with a field of another name.
const RENAMED: [Change<'_>; 2] = [
    (LISTENER, "    pub priority: i32,\n", "    pub rank: i32,\n"),
    (EXPORT, "priority: $priority,", "rank: $priority,"),
];

/// The function that the host's table grows by: where the table ends is the host's affair.
fn grown_function() -> (String, String) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = fs::read_to_string(root.join(HOST)).unwrap();
    let table = &text[text.find("pub struct HostTable {").unwrap()..];
    let last = &table[table.find("#[sabi(last_prefix_field)]").unwrap()..];
    let last = &last[..last.find("\n}\n").unwrap()];
    let grown = "\n/// Grown.\npub now: extern \"C\" fn() -> u64,";
    (last.to_owned(), format!("{last}{grown}"))
}

/// Has `f` build with the API grown.
fn with_grown<T>(name: &str, host_too: &[Change<'_>], f: impl FnOnce(Build<'_>) -> T) -> T {
    let (last, grown) = grown_function();
    let changes = [&GROWN, host_too, &[(HOST, last.as_str(), grown.as_str())]].concat();
    f(Build { name, changes: &changes, ..Build::default() })
}

/// What this host says of the plugin in `library`, and what a call comes to with it.
fn loaded(library: &Path) -> (String, Value) {
    let dir = plugin_dir(&[]);
    fs::copy(library, dir.path().join(library.file_name().unwrap())).unwrap();
    let options =
        HostOptions { plugin_dirs: vec![dir.path().to_owned()], ..HostOptions::default() };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let host = Host::start(&options).unwrap();
        let reports = host.plugins();
        let [report] = &reports[..] else { panic!("one file was expected") };
        let state = match &report.state {
            PluginState::Live { .. } => "live".into(),
            PluginState::Refused(refusal) => refusal.to_string(),
            other => format!("{other:?}"),
        };
        (state, seen(&*host.execute(request("rm", &json!({}))).await))
    })
}

/// Checks that a plugin is live, and how it answers for a call.
#[track_caller]
fn check_live(library: &Path, text: &str) {
    let denied = json!({"isError": true, "code": "DENIED", "text": format!("Error: {text}")});
    assert_eq!(loaded(library), ("live".into(), denied));
}

const DENY: &str = "Some(PreToolDecision::deny(format!(\"no {}\", call.name())))";

#[test]
fn a_plugin_of_a_newer_api_is_live_and_finds_what_this_host_lacks_absent() {
    let reach = "Some(PreToolDecision::deny(format!(\"{:?} {:?}\", call.origin(), call.now())))";
    let library = with_grown("newer", &[], |it| plugin(it, reach));
    check_live(&library, "None None");
}

#[test]
fn a_verdict_that_this_host_does_not_know_is_never_a_yes() {
    let answer = "{ let _ = call; Some(PreToolDecision::defer()) }";
    let library = with_grown("verdict", &[], |it| plugin(it, answer));
    let (state, outcome) = loaded(&library);
    assert_eq!(state, "live");
    assert_eq!(
        (outcome["code"].as_str().unwrap(), outcome["text"].as_str().unwrap()),
        (
            "LISTENER_PROTOCOL",
            "Error: the pre-execute listener `gate` of the plugin `aged-verdict` broke the \
             protocol: the verdict 4 is unknown",
        ),
    );
}

#[test]
fn a_plugin_of_this_api_is_live_on_a_host_of_a_newer_one() {
    let host_too = [
        // What has been added may be missing, from plugins without layouts too.
        (
            "host/src/library/fields.rs",
            "let $of { $($field: _),+ } = it;",
            "let $of { $($field: _),+, .. } = it;",
        ),
        ("host/src/library/call.rs", "            signal,\n", "            signal, origin: 7,\n"),
        (
            "host/src/library/host_table.rs",
            "&Prefixed::new(HostTable {\n",
            "&Prefixed::new(HostTable {\n        now,\n",
        ),
        (
            "host/src/library/host_table.rs",
            "/// The table that every instance gets.\n",
            "extern \"C\" fn now() -> u64 { 8 }\n\n/// The table that every instance gets.\n",
        ),
    ];
    let program = with_grown("host", &host_too, |it| host(it, include_str!("newer_host.rs")));
    let older = plugin(Build { name: "older", ..Build::default() }, DENY);
    let reach = "Some(PreToolDecision::deny(format!(\"{:?} {:?}\", call.origin(), call.now())))";
    let newer = with_grown("as-new", &[], |it| plugin(it, reach));
    let broken = plugin(Build { name: "broken", changes: &RENAMED, ..Build::default() }, DENY);
    let refused = "E-LAYOUT: its tables differ from this host's at `session_start` in `Listener`: \
                   expected the field `priority`, found the field `rank`\n";
    let cases = [(older, "Error: no rm\n"), (newer, "Error: Some(7) Some(8)\n"), (broken, refused)];
    for (library, expected) in cases {
        let dir = plugin_dir(&[]);
        fs::copy(&library, dir.path().join("plugin.so")).unwrap();
        let output = Command::new(&program).arg(dir.path()).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{output:?}");
    }
}

/// Checks that a plugin built with these changes is refused, and what is said of it.
#[track_caller]
fn check_refused(name: &str, changes: &[Change<'_>], expected: &str) {
    let library = plugin(Build { name, changes, ..Build::default() }, DENY);
    let (said, outcome) = loaded(&library);
    assert_eq!(said, format!("E-LAYOUT: its tables differ from this host's at {expected}"));
    // What is refused is unavailable, not absent.
    assert_eq!(outcome["code"], "LISTENER_UNAVAILABLE");
}

#[test]
fn a_field_inserted_in_the_middle_is_refused() {
    check_refused(
        "inserted",
        &[(
            CALL,
            "    /// The model's id for the call.\n",
            "/// In.\npub inserted: u64,\n/// The\n",
        )],
        "`tools.sink.add.tool.execute.run.call` in `CallTable`: expected the field `call_id`, \
         found the field `inserted`",
    );
}

#[test]
fn a_field_taken_from_the_end_is_refused() {
    check_refused(
        "shrunk",
        &[
            (
                AGENT,
                "    pub agent: u64,\n    /// A [`SessionSource`] as its number.\n    \
                 #[sabi(last_prefix_field)]\n    pub source: u32,\n",
                "    #[sabi(last_prefix_field)]\n    pub agent: u64,\n",
            ),
            (AGENT, "SessionSource::from_number(args.source())", "SessionSource::Startup"),
        ],
        "`session_start.call.args` in `SessionStartArgs`: expected 2 fields that are always there, \
         found 1",
    );
}

#[test]
fn a_changed_signature_is_refused() {
    check_refused(
        "signature",
        &[
            (LISTENER, "        args: A,\n", "        args: A,\n        depth: u32,\n"),
            (
                ENTRY,
                "fn synchronous<P: Plugin, S: Seam, L: Listens<P, S>>(\n    instance: *const Instance,\n    args: S::Args,\n",
                "fn synchronous<P: Plugin, S: Seam, L: Listens<P, S>>(\n    instance: *const Instance,\n    args: S::Args,\n    _: u32,\n",
            ),
            (
                ENTRY,
                "fn asynchronous<P: Plugin, S: Seam, L: ListensLater<P, S>>(\n    instance: *const Instance,\n    args: S::Args,\n",
                "fn asynchronous<P: Plugin, S: Seam, L: ListensLater<P, S>>(\n    instance: *const Instance,\n    args: S::Args,\n    _: u32,\n",
            ),
        ],
        "`session_start.call`: expected the parameters `instance, args, out, future, fault`, \
         found the parameters `instance, args, depth, out, future, fault`",
    );
}

#[test]
fn a_renamed_parameter_is_refused() {
    check_refused(
        "parameter",
        &[(LISTENER, "        args: A,\n", "        lent: A,\n")],
        "`session_start.call`: expected the parameters `instance, args, out, future, fault`, \
         found the parameters `instance, lent, out, future, fault`",
    );
}

#[test]
fn a_renamed_field_is_refused() {
    check_refused(
        "field",
        &RENAMED,
        "`session_start` in `Listener`: expected the field `priority`, found the field `rank`",
    );
}

#[test]
fn a_renamed_slot_of_the_root_is_refused() {
    check_refused(
        "slot",
        &[
            (ROOT, "pub session_start: ", "pub session_begin: "),
            (
                EXPORT,
                "session_start: $crate::__export!(@pick session_start $p, [] ",
                "session_begin: $crate::__export!(@pick session_start $p, [] ",
            ),
        ],
        "the root in `PluginRoot`: expected the field `session_start`, found the field \
         `session_begin`",
    );
}

#[test]
fn a_renumbered_verdict_is_refused() {
    check_refused(
        "renumbered",
        &[(DECISION, "DENY = 2, ASK = 3 }", "DENY = 3, ASK = 2 }")],
        "`pre_execute.call.args.next.run.future.poll.out` in `PreToolDecision`: expected { \
         'ALLOW'=>1, 'ASK'=>3, 'DENY'=>2, }, found { 'ALLOW'=>1, 'ASK'=>2, 'DENY'=>3, }",
    );
}

#[test]
fn how_a_plugin_is_optimised_linked_and_stripped_does_not_matter() {
    let cases: [(&str, &[&str]); 3] = [
        ("size", &["profile.dev.opt-level=\"s\""]),
        ("lto", &["profile.dev.opt-level=3", "profile.dev.lto=\"fat\""]),
        ("stripped", &["profile.dev.opt-level=0", "profile.dev.strip=\"symbols\""]),
    ];
    for (name, config) in cases {
        let library = plugin(Build { name, config, ..Build::default() }, DENY);
        check_live(&library, "no rm");
    }
}

#[test]
fn another_compiler_does_not_matter() {
    let listed = Command::new("rustup").args(["toolchain", "list"]).output();
    let listed = listed.map(|it| String::from_utf8_lossy(&it.stdout).into_owned());
    let is_nightly = |it: &&str| it.starts_with("nightly");
    let listed = listed.unwrap_or_default();
    let Some(nightly) = listed.split_whitespace().find(is_nightly) else {
        say("there is no nightly toolchain here, so nothing was built with another compiler");
        return;
    };
    let build = Build { name: "nightly", toolchain: Some(nightly), ..Build::default() };
    check_live(&plugin(build, DENY), "no rm");
}

#[expect(clippy::print_stderr, reason = "whoever reads the output is told what was not tested")]
fn say(text: &str) {
    eprintln!("{text}");
}
