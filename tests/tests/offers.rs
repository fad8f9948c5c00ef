//! What a live plugin offers and asks for: tools that change, words on how far a body is, and time.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use lockgate::{Deadlines, HostOptions, PluginSettings, Progress, ProgressSink};
use lockgate_tests::puppets::{request, seen, stage, stage_with};
use serde_json::{Value, json};
use tokio::task::yield_now;

#[tokio::test(flavor = "multi_thread")]
async fn tools_that_changed_are_there_for_calls_that_begin_after_that() {
    let stage = stage(&[("puppet", json!({"tools": true}))]);
    let names = || -> Vec<String> { stage.host.tools().into_iter().map(|it| it.name).collect() };
    assert_eq!(names(), ["echo", "lane", "relay", "stamp", "wait"]);
    let grown = stage.host.execute(request("grown", &json!({}))).await;
    assert_eq!(seen(&grown)["text"], "Error: unknown tool \"grown\"");
    let grew = stage.host.execute(request("echo", &json!({"value": "did", "grow": true}))).await;
    assert_eq!(seen(&grew), json!({"isError": false, "text": "did"}));
    while names().len() < 6 {
        yield_now().await;
    }
    assert_eq!(names(), ["echo", "grown", "lane", "relay", "stamp", "wait"]);
    let grown = stage.host.execute(request("grown", &json!({}))).await;
    assert_eq!(seen(&grown), json!({"isError": false, "text": "grown"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_watches_hears_how_far_a_body_is() {
    let said = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&said);
    let progress = ProgressSink::new(move |it: Progress| sink.lock().unwrap().push(it));
    let options = HostOptions { progress: Some(progress), ..HostOptions::default() };
    let stage = stage_with(&[("puppet", json!({"tools": true}))], options);
    let echo = request("echo", &json!({"value": "hi", "progress": "half"}));
    assert_eq!(seen(&*stage.host.execute(echo).await), json!({"isError": false, "text": "hi"}));
    let line = |done: u64, total: u64| Progress {
        tool: "echo".into(),
        call: "c1".into(),
        agent: 0,
        done,
        total,
        text: "half".into(),
    };
    assert_eq!(*said.lock().unwrap(), [line(0, 0), line(1, 2)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manifest_may_ask_for_more_time_and_settings_have_the_last_word() {
    let usual = Deadlines { entry: Duration::from_millis(700), answer: Duration::from_millis(900) };
    let deadlines = |settings: &[(&str, PluginSettings)]| -> Value {
        let dir = lockgate_tests::plugin_dir(&["puppet", "puppet-b"]);
        let options = HostOptions {
            plugin_dirs: vec![dir.path().to_owned()],
            plugins: settings.iter().map(|(it, of)| ((*it).to_owned(), of.clone())).collect(),
            deadlines: usual,
            ..HostOptions::default()
        };
        let host = lockgate::Host::start(&options).unwrap();
        let gates = host.chains().into_iter().filter(|it| &*it.listener == "gate");
        json!(gates.map(|it| (it.entry_deadline_ms, it.answer_deadline_ms)).collect::<Vec<_>>())
    };
    // Of `puppet`, which asks for less than everybody has, and of `puppet-b`.
    assert_eq!(deadlines(&[]), json!([[700, 900], [700, 3_600_000]]));
    let set = |entry: Option<u64>, answer: Option<u64>| PluginSettings {
        entry_deadline: entry.map(Duration::from_millis),
        answer_deadline: answer.map(Duration::from_millis),
        ..PluginSettings::default()
    };
    assert_eq!(
        deadlines(&[("puppet", set(Some(1), None)), ("puppet-b", set(None, Some(2)))]),
        json!([[1, 900], [700, 2]])
    );
}
