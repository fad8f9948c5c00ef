//! Replacing a plugin under load loses no call, and no call sees two builds.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lockgate::{HostOptions, JournalSink, Phase, WatchOptions};

use crate::stage::{Stage, build, good};

/// How often the plugin is replaced.
const REPLACEMENTS: usize = 100;

#[tokio::test(flavor = "multi_thread")]
async fn every_call_is_answered_by_one_build_and_by_none_that_was_replaced_before() {
    let watch = WatchOptions { quiet: Duration::from_millis(20), ..WatchOptions::default() };
    let stage = Arc::new(Stage::with(HostOptions::default(), watch));
    let (live, over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let callers = (0..4).map(|_| {
        let (stage, live, over) = (Arc::clone(&stage), Arc::clone(&live), Arc::clone(&over));
        tokio::spawn(async move {
            let mut calls = 0;
            while !over.load(Ordering::Relaxed) {
                let before = live.load(Ordering::Acquire);
                let answer = stage.call().await;
                let (body, review) = answer.split_once('/').expect("the call succeeds");
                assert_eq!(body, review, "one call saw two builds");
                let number: usize = body.trim_end_matches('-').parse().expect("a stamp");
                assert!(number >= before, "{number} answered when {before} was live");
                calls += 1;
            }
            calls
        })
    });
    let callers: Vec<_> = callers.collect();
    for number in 1..=REPLACEMENTS {
        stage.put(&build(&good(number)));
        stage.until_live(&good(number)).await;
        live.store(number, Ordering::Release);
    }
    over.store(true, Ordering::Relaxed);
    for caller in callers {
        assert!(caller.await.unwrap() > REPLACEMENTS, "a caller stood still");
    }
    stage.until_loads(REPLACEMENTS + 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_step_of_a_file_and_of_what_was_loaded_is_told() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&told);
    let sink = JournalSink::new(move |it| {
        let step = (it.from, it.to, it.generation);
        sink.lock().unwrap().push(step);
    });
    let options = HostOptions { journal: Some(sink), ..HostOptions::default() };
    let stage = Stage::with(options, WatchOptions::default());
    stage.put(&build(&good(1)));
    stage.until_live(&good(1)).await;
    let retired = (Some(Phase::Draining), Phase::Retired, Some(1));
    let is_told = async |_: &Stage| told.lock().unwrap().contains(&retired);
    stage.until("the first generation is retired", is_told).await;
    let mut steps = told.lock().unwrap().clone();
    // Its calls may end at any time.
    steps.retain(|it| *it != retired);
    let expected = [
        (None, Phase::Discovered, None),
        (Some(Phase::Discovered), Phase::Inspected, None),
        (Some(Phase::Inspected), Phase::Loading, None),
        (Some(Phase::Loading), Phase::Live, Some(1)),
        (Some(Phase::Live), Phase::Settling, None),
        // The first look finds that nothing has changed since the start; the file was replaced
        // meanwhile, or is afterwards.
        (Some(Phase::Settling), Phase::Inspected, None),
        (Some(Phase::Inspected), Phase::Loading, None),
        (None, Phase::Draining, Some(1)),
        (Some(Phase::Loading), Phase::Live, Some(2)),
    ];
    let unchanged =
        [(Some(Phase::Settling), Phase::Live, None), (Some(Phase::Live), Phase::Settling, None)];
    if steps.get(5) == Some(&unchanged[0]) {
        steps.drain(5..7);
    }
    assert_eq!(steps, expected);
}
