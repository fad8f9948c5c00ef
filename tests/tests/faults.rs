//! Plugins at their worst: what stays inside, never answers, or comes back too late.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::time::{Duration, Instant};

use lockgate::{Deadlines, Dispatch, HostOptions};
use lockgate_tests::puppets::{Stage, request, seen, stage_with};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

/// Long enough for a healthy entry on a busy machine, short enough to wait for.
const DEADLINE: Duration = Duration::from_millis(250);

fn short() -> HostOptions {
    let deadlines = Deadlines { entry: DEADLINE, answer: DEADLINE };
    HostOptions { deadlines, ..HostOptions::default() }
}

fn two_workers() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// The outcome of one call while a plugin hangs, and what was answered by the time it had come
/// back and could do nothing any more.
fn hung(orders: Value, arguments: &Value) -> (Value, Vec<String>) {
    let runtime = two_workers();
    let (outcome, stage) = runtime.block_on(async {
        let stage = stage_with(&[("puppet", orders)], short());
        let outcome = stage.host.execute(request("echo", arguments)).await;
        (outcome, stage)
    });
    release(&stage);
    // Waits for the thread that was wedged, and for all that its return sets off.
    drop(runtime);
    (seen(&outcome), stage.answers())
}

fn release(stage: &Stage) {
    fs::write(stage.files().join("go"), "").unwrap();
}

fn timed_out(seam: &str, listener: &str) -> Value {
    json!({
        "isError": true,
        "text": format!(
            "Error: the {seam} listener `{listener}` of the plugin `puppet` took more than {} ms",
            DEADLINE.as_millis()
        ),
        "code": "LISTENER_TIMEOUT",
    })
}

#[test]
fn a_gate_that_hangs_is_no_yes_then_or_later() {
    for (order, seam, listener) in [
        ("gate", "pre-execute", "gate"),
        ("guard", "guard", "guard"),
        ("around", "execute", "around"),
    ] {
        let (outcome, answers) =
            hung(json!({"tools": true, order: "hang:go"}), &json!({"value": "hi"}));
        assert_eq!(outcome, timed_out(seam, listener));
        let ran = answers.iter().any(|it| it.starts_with("body"));
        assert!(!ran, "a late return lets nothing begin: {answers:#?}");
        assert_eq!(answers.last().unwrap(), &format!("{seam} puppet {listener} timeout"));
    }
}

#[test]
fn a_reviewer_that_hangs_fails_its_call() {
    let orders = json!({"tools": true, "review": "hang:go"});
    let (outcome, _) = hung(orders, &json!({"value": "hi", "context": "from the body"}));
    assert_eq!(outcome, timed_out("post-execute", "review"));
}

#[test]
fn an_observer_that_hangs_changes_nothing() {
    let (outcome, answers) =
        hung(json!({"tools": true, "seen": "hang:go"}), &json!({"value": "hi"}));
    assert_eq!(outcome, json!({"isError": false, "text": "hi"}));
    assert_eq!(answers.last().unwrap(), "tool-result puppet seen timeout");
}

#[test]
fn a_body_may_stay_inside_as_long_as_its_budget_says() {
    let orders = json!({"tools": true, "budget_ms": 100});
    let (outcome, answers) = hung(orders, &json!({"hang": "go"}));
    assert_eq!(
        outcome,
        json!({
            "isError": true,
            "text": "Error: tool call timed out after 100ms",
            "code": "TOOL_TIMEOUT",
        })
    );
    // Its late return lets nothing begin: nobody reviews what it would have come to.
    let expected = [
        "pre-execute puppet gate next",
        "pre-execute puppet late_gate next",
        "guard puppet guard next",
        "body puppet echo timeout",
    ];
    assert_eq!(answers, expected);
}

#[test]
fn a_listener_that_never_answers_is_given_up_once_its_own_time_is_over() {
    let runtime = two_workers();
    let outcome = runtime.block_on(async {
        let stage =
            stage_with(&[("puppet", json!({"tools": true, "late_gate": "never"}))], short());
        stage.host.execute(request("echo", &json!({"value": "hi"}))).await
    });
    assert_eq!(seen(&outcome), timed_out("pre-execute", "late_gate"));
}

#[test]
fn what_a_listener_waits_for_is_not_its_own_time() {
    let runtime = two_workers();
    // For the host.
    let echoed = json!({"isError": false, "text": "null"});
    let sleeps = json!({"tools": true, "late_gate": "sleep"});
    let outcome = runtime.block_on(async {
        let stage = stage_with(&[("puppet", sleeps)], short());
        stage.host.execute(request("echo", &json!({}))).await
    });
    assert_eq!(seen(&outcome), echoed);
    // For what is further in.
    let aborted = json!({"isError": true, "text": "Error: tool call aborted", "code": "ABORTED"});
    let outcome = runtime.block_on(async {
        let passes = json!({"tools": true, "around": "pass"});
        let stage = stage_with(&[("puppet", passes)], short());
        let request = request("wait", &json!({}));
        let signal = request.signal.clone();
        let late = async {
            // Ends the tool that waits for it, later than any deadline.
            tokio::time::sleep(3 * DEADLINE).await;
            signal.fire();
        };
        tokio::join!(stage.host.execute(request), late).0
    });
    assert_eq!(seen(&outcome), aborted);
}

#[test]
fn healthy_calls_go_on_beside_wedged_ones() {
    let runtime = two_workers();
    let stage = runtime.block_on(async {
        let orders = json!({"tools": true, "gate": "hang-on:stuck"});
        let stage = stage_with(&[("puppet", orders)], short());
        let call = |value: &str| stage.host.execute(request("echo", &json!({"value": value})));
        let begun = Instant::now();
        let stuck = futures(5, || call("stuck"));
        let healthy = futures(64, || call("fine"));
        let (stuck, healthy) = tokio::join!(stuck, healthy);
        let took = begun.elapsed();
        assert!(healthy.iter().all(|it| seen(it)["text"] == "fine"));
        assert!(stuck.iter().all(|it| seen(it) == timed_out("pre-execute", "gate")));
        assert!(took < DEADLINE + Duration::from_secs(5), "nobody waited for the wedged: {took:?}");
        stage
    });
    release(&stage);
    // Waits for the wedged threads, which look for a file that goes with the stage.
    drop(runtime);
}

#[test]
fn panics_stay_with_the_plugin_whatever_they_carry() {
    let runtime = two_workers();
    for (seam, order, why) in [
        ("gate", "panic-again:1", "(a payload that is not text)"),
        ("gate", "panic-again:3", "(a payload that is not text)"),
        ("late_gate", "panic-again:2", "(a payload that is not text)"),
        ("guard", "panic:boom", "boom"),
        ("around", "panic:boom", "boom"),
        ("review", "panic:boom", "boom"),
    ] {
        let (listener, orders) = (seam, json!({"tools": true, seam: order}));
        let seam = match seam {
            "gate" | "late_gate" => "pre-execute",
            "guard" => "guard",
            "around" => "execute",
            _ => "post-execute",
        };
        let outcome = runtime.block_on(async {
            let stage = stage_with(&[("puppet", orders)], HostOptions::default());
            stage.host.execute(request("echo", &json!({"value": "hi"}))).await
        });
        let text = format!(
            "Error: the {seam} listener `{listener}` of the plugin `puppet` failed: panicked: {why}"
        );
        let expected = json!({"isError": true, "text": text, "code": "LISTENER_FAULT"});
        assert_eq!(seen(&outcome), expected);
    }
}

#[test]
fn a_host_future_that_ends_elsewhere_stops_no_clock_for_ever() {
    let outcome = two_workers().block_on(async {
        let orders = json!({"tools": true, "late_gate": "sleep-elsewhere"});
        let stage = stage_with(&[("puppet", orders)], short());
        let call = stage.host.execute(request("echo", &json!({"value": "hi"})));
        tokio::time::timeout(Duration::from_secs(30), call).await.unwrap()
    });
    assert_eq!(seen(&outcome), timed_out("pre-execute", "late_gate"));
}

#[tokio::test(start_paused = true)]
async fn what_nobody_waits_for_any_more_is_given_up_after_its_grace() {
    let options = HostOptions { dispatch: Dispatch::Inline, ..HostOptions::default() };
    let orders =
        [("puppet", json!({"around": "abandon:"})), ("puppet-b", json!({"around": "never:"}))];
    let stage = stage_with(&orders, options);
    let began = tokio::time::Instant::now();
    let outcome = stage.host.execute(request("echo", &json!({}))).await;
    assert_eq!(began.elapsed().as_secs(), 5);
    assert_eq!(
        seen(&outcome),
        json!({"isError": true, "text": "Error: unknown tool \"echo\"", "code": "UNKNOWN_TOOL"})
    );
}

#[test]
fn destructors_that_panic_change_nothing() {
    let runtime = two_workers();
    let outcome = runtime.block_on(async {
        // The listener's future is dropped when its time is over, and the plugin with its host.
        let orders = json!({"tools": true, "late_gate": "panic-on-drop", "end": "at the end"});
        let stage = stage_with(&[("puppet", orders)], short());
        stage.host.execute(request("echo", &json!({"value": "hi"}))).await
    });
    assert_eq!(seen(&outcome), timed_out("pre-execute", "late_gate"));
}

#[test]
fn a_plugin_that_calls_after_its_end_is_told_so() {
    let runtime = two_workers();
    let told = runtime.block_on(async {
        let orders = json!({"start": "linger:told"});
        let Stage { host, dir, .. } = stage_with(&[("puppet", orders)], short());
        drop(host);
        fs::write(dir.path().join("told.gone"), "").unwrap();
        loop {
            if let Ok(told) = fs::read_to_string(dir.path().join("told")) {
                break told;
            }
            tokio::task::yield_now().await;
        }
    });
    assert_eq!(told, "RETIRED: the plugin's instance has ended");
}

#[test]
fn a_policy_that_panics_over_and_over_never_lets_a_call_through() {
    let runtime = two_workers();
    runtime.block_on(async {
        let orders = json!({"tools": true, "gate": "panic:boom"});
        let stage = stage_with(&[("puppet", orders)], HostOptions::default());
        for _ in 0..5 {
            let outcome = stage.host.execute(request("echo", &json!({"value": "hi"}))).await;
            assert_eq!(outcome.code().as_deref(), Some("LISTENER_FAULT"));
        }
        assert!(stage.answers().iter().all(|it| !it.starts_with("body")));
    });
}

/// Runs `count` futures at once.
async fn futures<F: Future>(count: usize, make: impl Fn() -> F) -> Vec<F::Output> {
    let mut running: Vec<_> = (0..count).map(|_| Box::pin(make())).collect();
    let mut done: Vec<Option<F::Output>> = (0..count).map(|_| None).collect();
    std::future::poll_fn(|cx| {
        for (future, done) in running.iter_mut().zip(&mut done) {
            if done.is_none()
                && let std::task::Poll::Ready(output) = future.as_mut().poll(cx)
            {
                *done = Some(output);
            }
        }
        if done.iter().all(Option::is_some) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    done.into_iter().flatten().collect()
}

#[test]
fn the_runtime_is_the_hosts_and_runs_what_plugins_give_it() {
    let runtime = two_workers();
    let call = |arguments: Value| {
        let outcome = runtime.block_on(async {
            let stage = stage_with(&[("puppet", json!({"tools": true}))], HostOptions::default());
            stage.host.execute(request("echo", &arguments)).await
        });
        seen(&outcome)
    };
    assert_eq!(call(json!({"louder": "hi"})), json!({"isError": false, "text": "HI"}));
    assert_eq!(call(json!({"makes": "it", "value": 1})), json!({"isError": false, "text": "1"}));
}

#[test]
fn inline_calls_run_where_the_caller_stands() {
    let options = HostOptions { dispatch: Dispatch::Inline, ..HostOptions::default() };
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let outcome = runtime.block_on(async {
        let stage = stage_with(&[("puppet", json!({"tools": true}))], options);
        stage.host.execute(request("echo", &json!({"value": "hi"}))).await
    });
    assert_eq!(seen(&outcome), json!({"isError": false, "text": "hi"}));
}
