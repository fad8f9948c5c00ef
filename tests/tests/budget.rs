//! What loads leave in a process, and that it says so when it can have no more. A binary of its own:
//! what is used up is used up for the whole process.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "reload/stage.rs"]
#[expect(dead_code, reason = "it is the stage of another binary too")]
mod stage;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use lockgate::{Host, HostOptions, PluginState, WatchOptions};
use lockgate_tests::c_library;
use lockgate_tests::puppets::{request, seen};
use serde_json::json;

use crate::stage::{Stage, build, good};

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes a minute and gigabytes: the files of retired libraries stay mapped"]
async fn a_plugin_that_uses_threads_is_replaced_until_the_process_has_no_room_for_another() {
    let watch = WatchOptions { quiet: Duration::from_millis(5), ..WatchOptions::default() };
    let stage = Stage::with(HostOptions::default(), watch);
    let state = || stage.host.plugins().remove(0).state;
    let begun = Instant::now();
    let mut last = 1;
    'reloads: for number in 1..1100_u64 {
        stage.put(&build(&format!("{number:09}t")));
        loop {
            match state() {
                PluginState::Live { generation, .. } if generation == number + 1 => break,
                PluginState::Kept { generation, refusal } => {
                    let said = "E-BUDGET: the process has less than 64 keys for thread-local \
                                values left";
                    assert_eq!(refusal.to_string(), said);
                    assert_eq!(generation, number);
                    last = number;
                    break 'reloads;
                }
                _ => tokio::time::sleep(Duration::from_millis(1)).await,
            }
            assert!(begun.elapsed() < Duration::from_secs(300), "stuck at {number}");
        }
    }
    assert!((900..1000).contains(&last), "{last} reloads");
    // What is live goes on.
    let stamp = format!("{:09}t", last - 1);
    assert_eq!(stage.call().await, format!("{stamp}/{stamp}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_with_static_thread_local_storage_is_loaded_once() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("c-seams/static_tls.c");
    let Some(dir) = c_library(&source, &[]) else { return };
    let options =
        HostOptions { plugin_dirs: vec![dir.path().to_owned()], ..HostOptions::default() };
    let host = Host::start(&options).unwrap();
    let _watching = host.watch(WatchOptions::default()).unwrap();
    let next = c_library(&source, &["-DREASON=\"not there\"".to_owned()]).unwrap();
    fs::rename(next.path().join("plugin.so"), dir.path().join("plugin.so")).unwrap();
    let begun = Instant::now();
    let refusal = loop {
        match host.plugins().remove(0).state {
            PluginState::Kept { refusal, .. } => break refusal,
            _ => tokio::time::sleep(Duration::from_millis(2)).await,
        }
        assert!(begun.elapsed() < Duration::from_secs(20));
    };
    let said = "E-STATIC-TLS: it has static thread-local storage, of which the process has a \
                fixed amount";
    assert_eq!(refusal.to_string(), said);
    let outcome = seen(&*host.execute(request("rm", &json!({}))).await);
    assert_eq!(outcome["text"], "Error: not here");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_is_replaced_ends_with_the_calls_that_began_with_it() {
    let stage = Stage::new();
    let copies = || {
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        maps.lines().filter(|it| it.contains("/stamped.") && it.contains("r-xp")).count()
    };
    let before = copies();
    for number in 1..=3 {
        stage.put(&build(&good(number)));
        stage.until_live(&good(number)).await;
    }
    // Each library stays mapped. The files go with the last call, but for that of the first, which
    // has proven itself, and that of the last.
    assert_eq!(copies(), before + 3);
    let removed = || {
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let ours = maps.lines().filter(|it| it.contains("/stamped.") && it.contains("r-xp"));
        ours.filter(|it| it.ends_with("(deleted)")).count()
    };
    stage.until("two files are removed", async |_| removed() == 2).await;
}
