//! A build that cannot take over leaves the last good one where it is.

use std::fs;
use std::process::Command;
use std::time::Duration;

use lockgate::{HostOptions, Probe, Quarantine, WatchOptions};
use lockgate_tests::lockgate;
use serde_json::json;
use tempfile::TempDir;

use crate::stage::{Stage, build, call, good};

/// Puts `bytes` in the place of a good build: `expected` is said of it, the good one answers, and
/// the next good one takes over.
async fn check(bytes: &[u8], expected: &str) {
    let options =
        HostOptions { probe: Probe::Command(lockgate().to_owned()), ..HostOptions::default() };
    let stage = Stage::with(options, WatchOptions::default());
    stage.put(bytes);
    stage.until_state(expected).await;
    assert_eq!(stage.state(), format!("libstamped.so: {expected}"));
    assert_eq!(stage.call().await, format!("{0}/{0}", good(0)));
    stage.put(&build(&good(1)));
    stage.until_live(&good(1)).await;
    stage.until_state("libstamped.so: live").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_plugin_is_refused() {
    check(b"#!/bin/sh\n", "kept, E-FORMAT: the file is text, not an ELF library").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_refuses_its_configuration_is_refused() {
    let said = "kept, E-CREATE: its `create` failed: this build refuses its configuration";
    check(&build("00000000-c"), said).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_panics_in_create_is_refused() {
    let said = "kept, E-CREATE: its `create` failed: panicked: this build panics in `create`";
    check(&build("00000000-p"), said).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_start_is_refused() {
    let said = "kept, E-START: its `start` failed: this build does not start";
    check(&build("00000000-s"), said).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_crashes_does_so_in_a_child_process() {
    check(
        &build("00000000-a"),
        "kept, E-PROBE: loading it ended a child process with the signal 6",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_hangs_does_so_in_a_child_process() {
    let said = "kept, E-PROBE: loading it took more than 5 s in a child process";
    check(&build("00000000-h"), said).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_gone_leaves_its_gate_closed_until_it_is_back() {
    let grace = Duration::from_millis(300);
    let stage =
        Stage::with(HostOptions::default(), WatchOptions { grace, ..WatchOptions::default() });
    fs::remove_file(stage.file()).unwrap();
    let said = "LISTENER_UNAVAILABLE: ";
    stage.until("the gate is closed", async |it| it.call().await.starts_with(said)).await;
    let denied = call(&stage.host, json!({"deny": true})).await;
    assert!(denied.contains("the file of the plugin `stamped` was removed"), "{denied}");
    assert_eq!(stage.state(), "");
    stage.put(&build(&good(1)));
    stage.until_live(&good(1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namesake_opens_no_gate() {
    let stage = Stage::new();
    let namesake = stage.dir.path().join("namesake.so");
    // Of the same version: the one by the earlier path is live, which this is not.
    fs::write(&namesake, build("00000002-c")).unwrap();
    stage.until_state("namesake.so: superseded").await;
    assert_eq!(stage.call().await, format!("{0}/{0}", good(0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_that_fails_three_times_is_shut_out_and_the_last_good_one_is_back() {
    let state = TempDir::new().unwrap();
    let quarantine = Some(state.path().join("quarantine.json"));
    let options = HostOptions { quarantine, ..HostOptions::default() };
    let stage = Stage::with(options, WatchOptions::default());
    stage.put(&build("00000001-f"));
    let failed = "LISTENER_FAULT: ";
    stage.until("the bad build is live", async |it| it.call().await.starts_with(failed)).await;
    // No call gets through while it is there.
    let last_good = format!("{0}/{0}", good(0));
    stage
        .until("the last good build is back", async |it| {
            let answer = it.call().await;
            assert!(answer.starts_with(failed) || answer == last_good, "{answer}");
            answer == last_good
        })
        .await;
    let said =
        "kept, E-QUARANTINED: the build was shut out: three listeners failed in its first minute";
    stage.until_state(said).await;
    // Whatever its file is called, and whoever comes back to it.
    stage.put(&build(&good(2)));
    stage.until_live(&good(2)).await;
    stage.put(&build("00000001-f"));
    stage.until_state(said).await;
    assert_eq!(stage.call().await, format!("{0}/{0}", good(2)));
    let kept = Quarantine::open(Some(&state.path().join("quarantine.json"))).unwrap();
    assert_eq!(kept.builds().values().map(|it| &*it.plugin).collect::<Vec<_>>(), ["stamped"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pipe_among_the_plugins_keeps_nobody_waiting() {
    let stage = Stage::new();
    let pipe = stage.dir.path().join("pipe.so");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let said = "pipe.so: E-FILE: the path leads to a named pipe, not to a file";
    stage.until_state(said).await;
    stage.put(&build(&good(1)));
    stage.until_live(&good(1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_of_what_is_live_goes_on_for_it_without_a_load() {
    let grace = Duration::from_millis(300);
    let stage =
        Stage::with(HostOptions::default(), WatchOptions { grace, ..WatchOptions::default() });
    fs::copy(stage.file(), stage.dir.path().join("twin.so")).unwrap();
    stage.until_state("twin.so: superseded").await;
    fs::remove_file(stage.file()).unwrap();
    stage.until_state("twin.so: live").await;
    assert_eq!(stage.state(), "twin.so: live");
    assert_eq!(stage.call().await, format!("{0}/{0}", good(0)));
    fs::write(stage.dir.path().join("twin.so"), build(&good(1))).unwrap();
    stage.until_live(&good(1)).await;
}
