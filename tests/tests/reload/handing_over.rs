//! What a plugin hands over to the build that takes its place.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lockgate::{
    CallRequest, Host, HostOptions, PluginSettings, PluginState, Signal, WatchOptions, Watching,
};
use lockgate_plugin_api::Block;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::stage::{build_of, good};

struct Stage {
    host: Arc<Host>,
    dir: TempDir,
    aside: TempDir,
    _watching: Watching,
}

impl Stage {
    fn new(first: &str) -> Self {
        let (dir, aside) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        fs::write(dir.path().join("libkeeper.so"), build_of("keeper", first)).unwrap();
        let config = json!({"held": aside.path().join("held")});
        let settings = PluginSettings { config, ..PluginSettings::default() };
        let host = Host::start(&HostOptions {
            plugin_dirs: vec![dir.path().to_owned()],
            plugins: [("keeper".to_owned(), settings)].into(),
            strict: true,
            ..HostOptions::default()
        });
        let host = Arc::new(host.unwrap());
        let watching = host.watch(WatchOptions::default()).unwrap();
        Self { host, dir, aside, _watching: watching }
    }

    fn put(&self, stamp: &str) {
        let new = self.aside.path().join("new");
        fs::write(&new, build_of("keeper", stamp)).unwrap();
        fs::rename(new, self.dir.path().join("libkeeper.so")).unwrap();
    }

    async fn count(&self) -> String {
        count(&self.host, json!({})).await
    }

    fn state(&self) -> String {
        let reports = self.host.plugins();
        match reports.first().map(|it| &it.state) {
            Some(PluginState::Live { generation, .. }) => format!("live {generation}"),
            Some(PluginState::Kept { refusal, .. }) => format!("kept, {refusal}"),
            other => format!("{other:?}"),
        }
    }

    async fn until_state(&self, expected: &str) {
        let begun = Instant::now();
        while self.state() != expected {
            assert!(begun.elapsed() < Duration::from_secs(20), "{expected}: {}", self.state());
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

async fn count(host: &Host, arguments: Value) -> String {
    let request = CallRequest {
        call_id: "c1".into(),
        name: "count".into(),
        arguments: arguments.to_string(),
        agent: None,
        cwd: None,
        signal: Signal::new(),
    };
    match host.execute(request).await.content().unwrap().as_slice() {
        [Block::Text { text }] => text.clone(),
        other => panic!("one text was expected: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_counted_goes_on_and_one_instance_at_a_time_holds_its_file() {
    let stage = Stage::new(&good(0));
    assert_eq!([stage.count().await, stage.count().await], ["1", "2"]);
    stage.put(&good(1));
    stage.until_state("live 2").await;
    assert_eq!(stage.count().await, "3");
    stage.put(&good(2));
    stage.until_state("live 3").await;
    assert_eq!(stage.count().await, "4");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_that_does_not_start_leaves_the_one_before_with_all_it_had() {
    let stage = Stage::new(&good(0));
    assert_eq!(stage.count().await, "1");
    stage.put("00000001-s");
    stage.until_state("kept, E-START: its `start` failed: this build does not start").await;
    assert_eq!(stage.count().await, "2");
    assert!(stage.aside.path().join("held").exists(), "the one before holds its file again");
    stage.put(&good(2));
    stage.until_state("live 3").await;
    assert_eq!(stage.count().await, "3");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_that_is_too_large_keeps_the_one_that_has_it() {
    let stage = Stage::new("00000000-l");
    assert_eq!(stage.count().await, "1");
    stage.put(&good(1));
    let said = "kept, E-STATE: its state has 16777217 bytes, and may have 16777216";
    stage.until_state(said).await;
    assert_eq!(stage.count().await, "2");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_does_not_end_is_not_cut_and_the_new_build_waits_for_it() {
    let stage = Stage::new(&good(0));
    let end = stage.aside.path().join("end");
    let (host, until) = (Arc::clone(&stage.host), json!({"until": end}));
    let long = tokio::spawn(async move { count(&host, until).await });
    stage.put(&good(1));
    stage.until_state("kept, E-BUSY: calls that began with the build before it do not end").await;
    // Others begin with the build that is live.
    assert_eq!(stage.count().await, "1");
    fs::write(&end, "").unwrap();
    assert_eq!(long.await.unwrap(), "2");
    let begun = Instant::now();
    while !stage.state().starts_with("live") {
        assert!(begun.elapsed() < Duration::from_secs(20), "{}", stage.state());
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert_eq!(stage.count().await, "3");
}
