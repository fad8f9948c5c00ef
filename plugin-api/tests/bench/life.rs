//! Instances: several at once, and one after the other.

use std::thread;
use std::time::Duration;

use lockgate_plugin_api::testing::{Bench, Line, call};
use lockgate_plugin_api::{PreTool, State};
use serde_json::json;

use super::probe::Probe;

#[test]
fn benches_of_one_plugin_do_not_hear_of_each_other() {
    let first = Bench::<Probe>::new(json!({"name": "first"})).unwrap();
    let second = Bench::<Probe>::new(json!({"name": "second"})).unwrap();
    let reason = |bench: &Bench<Probe>| {
        let decision = bench.pre_execute(&call("deny")).unwrap().unwrap();
        let PreTool::Deny { reason } = decision.verdict().unwrap() else { panic!("{decision:?}") };
        reason.to_owned()
    };
    assert_eq!([reason(&first), reason(&second)], ["first", "second"]);
    first.turn_stopping(1).unwrap();
    assert_eq!((first.sent().len(), second.sent().len()), (2, 0));
    drop(second);
    assert_eq!(reason(&first), "first");
}

#[test]
fn a_panic_is_in_the_log_of_the_bench_that_it_was_in() {
    let bench = Bench::<Probe>::new(json!({})).unwrap();
    // The library's bridges speak as this one from now on.
    let newer = Bench::<Probe>::new(json!({})).unwrap();
    bench.pre_execute(&call("panic")).unwrap_err();
    let lines = bench.lines();
    let [Line { level: 1, target, message }] = &*lines else { panic!("{lines:?}") };
    assert_eq!(target, "panic");
    assert!(message.ends_with("\na slip"), "{message}");
    assert_eq!(newer.lines(), []);
}

#[test]
fn benches_live_on_any_number_of_threads() {
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let bench = Bench::<Probe>::new(json!({})).unwrap();
                bench.pre_execute(&call("late")).unwrap();
                assert_eq!(bench.time(), Duration::from_secs(3600));
                assert_eq!(bench.turn_stopping(1).unwrap().len(), 2);
            });
        }
    });
}

#[test]
fn spawned_futures_go_on_while_time_passes() {
    let bench = Bench::<Probe>::new(json!({})).unwrap();
    let work = |what: &str| bench.tool("work").unwrap().run(&json!({"do": what})).unwrap();
    work("spawn");
    bench.pass(Duration::from_secs(9)).unwrap();
    assert_eq!((bench.sent().len(), bench.time()), (0, Duration::from_secs(9)));
    bench.pass(Duration::from_secs(21)).unwrap();
    assert_eq!((bench.sent().len(), bench.time()), (3, Duration::from_secs(30)));
    // A minute, in which an answer is waited for.
    work("sleep");
    assert_eq!((bench.sent().len(), bench.time()), (8, Duration::from_secs(90)));
}

#[test]
fn an_instance_goes_on_from_what_another_saved() {
    let first = State { version: 1, bytes: b"first".into() };
    let saved = Bench::<Probe>::new(json!({})).unwrap().save_state().unwrap();
    assert_eq!(saved, Some(first));
    let other = State { version: 2, bytes: b"other".into() };
    let resumed = Bench::<Probe>::resume(json!({}), &other).unwrap();
    assert_eq!(resumed.save_state().unwrap(), Some(other));
}

#[test]
fn a_probe_starts_nothing() {
    assert_eq!(Bench::<Probe>::probe(json!({"name": "no-start"})), Ok(()));
    assert!(Bench::<Probe>::probe(json!({"name": "refuse"})).is_err());
}
