//! A host that watches a directory, and builds of the plugin `stamped` to put there.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lockgate::{CallRequest, Host, HostOptions, PluginState, Signal, WatchOptions, Watching};
use lockgate_plugin_api::Block;
use lockgate_tests::library;
use serde_json::json;
use tempfile::TempDir;

/// The time after which something that should have happened did not.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Stage {
    pub(crate) host: Host,
    pub(crate) dir: TempDir,
    /// Beside the plugin directory, on the same file system.
    pub(crate) aside: TempDir,
    _watching: Watching,
}

/// The bytes of a build of `stamped` with this stamp, of ten characters.
pub(crate) fn build(stamp: &str) -> Vec<u8> {
    build_of("stamped", stamp)
}

/// The same of another plugin that has a stamp.
pub(crate) fn build_of(package: &str, stamp: &str) -> Vec<u8> {
    assert_eq!(stamp.len(), 10, "a stamp keeps its length");
    let mut bytes = fs::read(library(package)).unwrap();
    let word = b"STAMP:0000000000";
    let at = bytes.windows(word.len()).position(|it| it == word).unwrap();
    bytes[at + 6..at + 16].copy_from_slice(stamp.as_bytes());
    bytes
}

/// The `number`th good build.
pub(crate) fn good(number: usize) -> String {
    format!("{number:09}-")
}

impl Stage {
    /// The first good build is live, and its directory watched.
    pub(crate) fn new() -> Self {
        Self::with(HostOptions::default(), WatchOptions::default())
    }

    pub(crate) fn with(options: HostOptions, watch: WatchOptions) -> Self {
        let (dir, aside) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        fs::write(dir.path().join("libstamped.so"), build(&good(0))).unwrap();
        let plugin_dirs = vec![dir.path().to_owned()];
        let host = Host::start(&HostOptions { plugin_dirs, ..options }).unwrap();
        let watching = host.watch(watch).unwrap();
        Self { host, dir, aside, _watching: watching }
    }

    /// Where the plugin is.
    pub(crate) fn file(&self) -> PathBuf {
        self.dir.path().join("libstamped.so")
    }

    /// Puts a build there, as careful tools do.
    pub(crate) fn put(&self, bytes: &[u8]) {
        let new = self.aside.path().join("new");
        fs::write(&new, bytes).unwrap();
        fs::rename(&new, self.file()).unwrap();
    }

    /// What a call of the tool says: who allowed it, what the body was, who reviewed it.
    pub(crate) async fn call(&self) -> String {
        call(&self.host, json!({})).await
    }

    /// The state of the plugin's file.
    pub(crate) fn state(&self) -> String {
        self.host
            .plugins()
            .iter()
            .map(|it| state(&it.path, &it.state))
            .collect::<Vec<_>>()
            .join("; ")
    }

    /// Waits until what is live is the `count`th load, and so is said to be.
    pub(crate) async fn until_loads(&self, count: usize) {
        self.until_state("libstamped.so: live").await;
        self.until("the last load is told", async |it| it.loads() >= count as u64).await;
        assert_eq!(self.loads(), count as u64, "a load for each replacement");
    }

    /// How many loads there were.
    fn loads(&self) -> u64 {
        let generation = |it: &PluginState| match it {
            PluginState::Live { generation, .. }
            | PluginState::PerAgent { generation }
            | PluginState::Kept { generation, .. } => *generation,
            PluginState::Refused(_) | PluginState::Disabled | PluginState::Superseded => 0,
        };
        self.host.plugins().iter().map(|it| generation(&it.state)).max().unwrap_or(0)
    }

    /// Waits until `seen` is so.
    pub(crate) async fn until(&self, what: &str, mut seen: impl AsyncFnMut(&Self) -> bool) {
        let begun = Instant::now();
        while !seen(self).await {
            assert!(
                begun.elapsed() < PATIENCE,
                "it never came to be that {what}: {}",
                self.state()
            );
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Waits until calls are answered by the build with this stamp.
    pub(crate) async fn until_live(&self, stamp: &str) {
        let answer = format!("{stamp}/{stamp}");
        self.until(&format!("{stamp} is live"), async |it| it.call().await == answer).await;
    }

    /// Waits until this is said of the plugin directory.
    pub(crate) async fn until_state(&self, expected: &str) {
        self.until(expected, async |it| it.state().contains(expected)).await;
    }
}

/// The stamp of the body, and that of the reviewer; or the code and the text of a failure.
pub(crate) async fn call(host: &Host, arguments: serde_json::Value) -> String {
    let request = CallRequest {
        call_id: "c1".into(),
        name: "stamp".into(),
        arguments: arguments.to_string(),
        agent: None,
        cwd: None,
        signal: Signal::new(),
    };
    let outcome = host.execute(request).await;
    let text = match outcome.content().unwrap().as_slice() {
        [Block::Text { text }] => text.trim_matches('"').to_owned(),
        other => panic!("one text was expected: {other:?}"),
    };
    if let Some(code) = outcome.code() {
        return format!("{code}: {text}");
    }
    let contexts = outcome.extras().unwrap().contexts;
    let reviews: Vec<String> = contexts.iter().map(lockgate_plugin_api::Message::text).collect();
    format!("{text}/{}", reviews.join(","))
}

fn state(path: &Path, state: &PluginState) -> String {
    let file = path.file_name().unwrap().to_str().unwrap();
    match state {
        PluginState::Live { .. } => format!("{file}: live"),
        PluginState::PerAgent { .. } => format!("{file}: per agent"),
        PluginState::Refused(refusal) => format!("{file}: {refusal}"),
        PluginState::Kept { refusal, .. } => format!("{file}: kept, {refusal}"),
        PluginState::Disabled => format!("{file}: disabled"),
        PluginState::Superseded => format!("{file}: superseded"),
    }
}
