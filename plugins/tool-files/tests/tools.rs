//! The tools as they are offered, and one run of each: what they do is tested beside the sources.

use std::fs;

use lockgate_plugin_api::testing::{Bench, Fault, call};
use serde_json::{Value, json};
use tempfile::TempDir;
use tool_files::ToolFiles;

#[test]
fn three_tools_are_offered_with_what_they_need() {
    let bench = Bench::<ToolFiles>::new(json!({})).unwrap();
    let specs: Vec<_> = bench.tools().map(|it| it.spec()).collect();
    let needs = specs.iter().map(|it| (it.name.as_str(), &it.parameters["required"]));
    assert_eq!(
        needs.collect::<Vec<_>>(),
        [
            ("read", &json!(["file_path"])),
            ("write", &json!(["file_path", "content"])),
            ("edit", &json!(["file_path", "old_string", "new_string"])),
        ]
    );
}

#[test]
fn only_reading_runs_beside_other_calls() {
    let bench = Bench::<ToolFiles>::new(json!({})).unwrap();
    let arguments =
        json!({"file_path": "notes", "content": "", "old_string": "", "new_string": ""});
    let beside = bench.tools().map(|it| (it.spec().name, it.is_parallel_safe(&arguments)));
    assert_eq!(
        beside.collect::<Vec<_>>(),
        [("read".into(), true), ("write".into(), false), ("edit".into(), false)]
    );
}

#[test]
fn a_file_is_written_edited_and_read_in_the_directory_of_the_session() {
    let dir = TempDir::new().unwrap();
    let bench = Bench::<ToolFiles>::new(json!({})).unwrap();
    let run = |tool: &str, arguments: Value| {
        let call = call(tool).arguments(&arguments).cwd(dir.path().to_str().unwrap());
        let outcome = bench.tool(tool).unwrap().run_call(&call).unwrap();
        assert!(!outcome.is_error(), "{}", outcome.message());
        outcome.value::<String>().unwrap()
    };
    run("write", json!({"file_path": "sub/notes", "content": "one\ntwo\n"}));
    run("edit", json!({"file_path": "sub/notes", "old_string": "two", "new_string": "2"}));
    assert_eq!(fs::read_to_string(dir.path().join("sub/notes")).unwrap(), "one\n2\n");
    let read = run("read", json!({"file_path": "sub/notes"}));
    assert_eq!(read, "1: one\n2: 2\n\n(end of file; total lines: 2)");
}

#[test]
fn a_failure_has_its_code() {
    let bench = Bench::<ToolFiles>::new(json!({})).unwrap();
    let outcome = bench.tool("read").unwrap().run(&json!({"file_path": "notes"})).unwrap();
    let message = "the session has no directory, so `notes` means no file";
    assert_eq!(
        (&*outcome.message(), outcome.code().as_deref()),
        (message, Some("FS_OUTSIDE_ROOT"))
    );
}

#[test]
fn a_root_is_absolute_and_there() {
    check("sub", ("create", "the root `sub` is not an absolute path"));
    check("/nowhere/at/all", ("start", "the root `/nowhere/at/all` is not a directory"));

    #[track_caller]
    fn check(root: &str, (place, message): (&str, &str)) {
        let expected = Fault::Failed { place: place.into(), message: message.into() };
        assert_eq!(Bench::<ToolFiles>::new(json!({"roots": [root]})).map(drop), Err(expected));
    }
}

#[test]
fn its_config_schema_says_what_it_accepts() {
    assert_eq!(Bench::<ToolFiles>::check_config_schema(), Ok(()));
}
