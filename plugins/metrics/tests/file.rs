//! What the file says, and when it is written.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lockgate_plugin_api::testing::{Bench, call};
use lockgate_plugin_api::{Extras, ToolOutcome};
use metrics::Metrics;
use serde_json::{Value, json};
use tempfile::TempDir;

const INTERVAL: Duration = Duration::from_secs(15);

/// A directory, the file in it, and a plugin that writes there. No call takes longer than its one
/// bucket allows.
fn stage() -> (TempDir, PathBuf, Bench<Metrics>) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("lockgate.prom");
    let bench = Bench::new(json!({"file": file, "buckets": [100_000]})).unwrap();
    (dir, file, bench)
}

/// Makes a call that comes as far as its body.
fn run(bench: &Bench<Metrics>, tool: &str, outcome: impl Fn() -> ToolOutcome) {
    let call = call(tool);
    let outcome = bench.execute(&call, |_| outcome()).unwrap();
    bench.tool_result(&call, &outcome).unwrap();
}

fn success() -> ToolOutcome {
    ToolOutcome::success(&json!("done"))
}

/// The samples in the file, less the sums of times, which are what they are.
fn samples(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap();
    let lines = text.lines().filter(|it| !it.starts_with('#') && !it.contains("_sum{"));
    lines.map(|it| it.strip_prefix("lockgate_tool_").unwrap().to_owned()).collect()
}

fn inode(file: &Path) -> u64 {
    fs::metadata(file).unwrap().ino()
}

#[test]
fn calls_are_counted_by_their_outcome_and_timed_if_they_ran() {
    let (_dir, file, bench) = stage();
    run(&bench, "bash", success);
    run(&bench, "bash", || ToolOutcome::coded_failure("no", "AnError", "TOOL_TIMEOUT"));
    run(&bench, "bash", || ToolOutcome::failure("no"));
    run(&bench, "made-up", || ToolOutcome::coded_failure("no", "AnError", "UNKNOWN_TOOL"));
    let extras = Extras { code: Some("DENIED".into()), ..Extras::default() };
    let denied = ToolOutcome::failure("no").with_extras(&extras);
    bench.tool_result(&call("rm"), &denied).unwrap();
    bench.end().unwrap();
    assert_eq!(
        samples(&file),
        [
            r#"calls_total{tool="(unknown)"} 1"#,
            r#"calls_total{tool="bash"} 3"#,
            r#"calls_total{tool="rm"} 1"#,
            r#"failures_total{tool="(unknown)",code="UNKNOWN_TOOL"} 1"#,
            r#"failures_total{tool="bash",code=""} 1"#,
            r#"failures_total{tool="bash",code="TOOL_TIMEOUT"} 1"#,
            r#"failures_total{tool="rm",code="DENIED"} 1"#,
            r#"duration_seconds_bucket{tool="(unknown)",le="100000"} 1"#,
            r#"duration_seconds_bucket{tool="(unknown)",le="+Inf"} 1"#,
            r#"duration_seconds_count{tool="(unknown)"} 1"#,
            r#"duration_seconds_bucket{tool="bash",le="100000"} 3"#,
            r#"duration_seconds_bucket{tool="bash",le="+Inf"} 3"#,
            r#"duration_seconds_count{tool="bash"} 3"#,
        ]
    );
}

#[test]
fn the_file_is_written_once_an_interval_and_at_the_end() {
    let (dir, file, bench) = stage();
    let calls = || samples(&file).first().cloned();
    let counted = |calls: u64| Some(format!("calls_total{{tool=\"read\"}} {calls}"));
    assert_eq!(calls(), None);
    run(&bench, "read", success);
    bench.pass(INTERVAL - Duration::from_millis(1)).unwrap();
    assert_eq!(calls(), None);
    bench.pass(Duration::from_millis(1)).unwrap();
    assert_eq!(calls(), counted(1));
    run(&bench, "read", success);
    run(&bench, "read", success);
    assert_eq!(calls(), counted(1));
    bench.pass(INTERVAL).unwrap();
    assert_eq!(calls(), counted(3));
    run(&bench, "read", success);
    bench.end().unwrap();
    assert_eq!(calls(), counted(4));
    let left: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|it| it.unwrap().path()).collect();
    assert_eq!(left, [file]);
}

#[test]
fn the_file_is_replaced_as_a_whole_and_only_if_something_has_changed() {
    let (_dir, file, bench) = stage();
    // Kept open, so that its number is not given to the next file.
    let (first, number) = (fs::File::open(&file).unwrap(), inode(&file));
    bench.pass(INTERVAL).unwrap();
    assert_eq!(inode(&file), number);
    run(&bench, "read", success);
    bench.pass(INTERVAL).unwrap();
    assert_ne!(inode(&file), number);
    drop(first);
}

#[test]
fn an_outcome_goes_back_as_it_came() {
    let (_dir, _file, bench) = stage();
    let told = || ToolOutcome::coded_failure("no", "AnError", "X");
    let outcome = bench.execute(&call("read"), |_| told()).unwrap();
    assert_eq!((outcome.message(), outcome.code()), ("no".into(), Some("X".into())));
}

#[test]
fn a_file_that_cannot_be_written_is_told_and_tried_again() {
    let (dir, file, bench) = stage();
    let moved = dir.path().with_extension("moved");
    fs::rename(dir.path(), &moved).unwrap();
    run(&bench, "read", success);
    bench.pass(INTERVAL).unwrap();
    let lines: Vec<_> = bench.lines().into_iter().map(|it| (it.level, it.message)).collect();
    let line = format!(
        "the metrics are out of date error=the metrics cannot be written to `{}`; its directory \
         must exist and be writable: No such file or directory (os error 2)",
        file.display()
    );
    assert_eq!(lines, [(1, line)]);
    fs::rename(&moved, dir.path()).unwrap();
    bench.pass(INTERVAL).unwrap();
    assert_eq!(samples(&file)[0], r#"calls_total{tool="read"} 1"#);
    assert_eq!(bench.lines().len(), 1);
}

#[test]
fn a_directory_that_is_not_there_refuses_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("missing/lockgate.prom");
    let fault = Bench::<Metrics>::new(json!({"file": file})).map(drop).unwrap_err();
    let expected = format!(
        "start failed: the metrics cannot be written to `{}`; its directory must exist and be \
         writable: No such file or directory (os error 2)",
        file.display()
    );
    assert_eq!(fault.to_string(), expected);
    // Only to see whether it would work, nothing is written.
    let unused = dir.path().join("lockgate.prom");
    assert_eq!(Bench::<Metrics>::probe(json!({"file": unused})), Ok(()));
    assert!(!unused.exists());
}

#[test]
fn a_file_that_cannot_be_put_in_its_place_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a-directory");
    fs::create_dir(&file).unwrap();
    assert!(Bench::<Metrics>::new(json!({"file": file})).is_err());
    let left: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|it| it.unwrap().path()).collect();
    assert_eq!(left, [file]);
}

#[test]
fn a_configuration_that_makes_no_sense_is_refused() {
    let with = |key: &str, value: Value| {
        let mut config = json!({"file": "/x.prom"});
        config[key] = value;
        config
    };
    check(with("file", json!("x.prom")), "the file `x.prom` is not an absolute path");
    check(with("interval_ms", json!(0)), "`interval_ms` is 0; it must be at least 1");
    check(with("buckets", json!([])), "`buckets` is empty; name at least one upper bound");
    check(with("buckets", json!([0, 1])), "`buckets` has the bound 0; each must be a time above 0");
    check(with("buckets", json!([1, 1])), "`buckets` has 1 after 1; let them ascend");
    check(with("buckets", json!([1, 3, 2.5])), "`buckets` has 2.5 after 3; let them ascend");

    #[track_caller]
    fn check(config: Value, expected: &str) {
        assert_eq!(Bench::<Metrics>::probe(config).unwrap_err().message(), expected);
    }
}

#[test]
fn its_config_schema_says_what_it_accepts() {
    assert_eq!(Bench::<Metrics>::check_config_schema(), Ok(()));
}
