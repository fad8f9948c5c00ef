//! Counts and times tool calls for Prometheus.

mod counts;
mod exposition;
mod file;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use lockgate_plugin_api::{
    Create, Host, Next, Plugin, PluginError, ToolCall, ToolOutcome, export_plugin,
};
use serde::Deserialize;

use counts::Counts;
use file::Unwritten;

/// The plugin.
#[derive(Debug)]
pub struct Metrics {
    /// For its timers and its runtime.
    host: Host,
    /// What the writing future has a part in.
    shared: Arc<Shared>,
}

/// What is counted, and where it goes.
#[derive(Debug)]
struct Shared {
    config: Config,
    counts: Mutex<Counts>,
    /// The text that is in the file. Held while it is written, so that two writes of one instance
    /// come in turn.
    written: Mutex<Option<String>>,
}

/// What may be set under `[plugins.metrics.config]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    /// The file that is written. Absolute.
    file: PathBuf,
    /// The milliseconds between two writes at least.
    #[serde(default = "fifteen_seconds")]
    interval_ms: u64,
    /// The upper bounds of the buckets, in seconds.
    #[serde(default = "five_ms_to_five_minutes")]
    buckets: Vec<f64>,
}

fn fifteen_seconds() -> u64 {
    15_000
}

fn five_ms_to_five_minutes() -> Vec<f64> {
    vec![0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0]
}

/// Why a configuration is none to go by.
#[derive(Debug, thiserror::Error)]
enum BadConfig {
    /// It would depend on where the process was started.
    #[error("the file `{}` is not an absolute path", .0.display())]
    Relative(PathBuf),
    /// It would write all the time.
    #[error("`interval_ms` is 0; it must be at least 1")]
    NoInterval,
    /// Nothing could be told from it.
    #[error("`buckets` is empty; name at least one upper bound")]
    NoBuckets,
    /// No time is below it, or none is above.
    #[error("`buckets` has the bound {0}; each must be a time above 0")]
    NoTime(f64),
    /// Prometheus reads ascending ones only.
    #[error("`buckets` has {after} after {before}; let them ascend")]
    NotAscending {
        /// The one that should be smaller.
        before: f64,
        /// The one that should be larger.
        after: f64,
    },
}

impl Config {
    fn checked(self) -> Result<Self, BadConfig> {
        if !self.file.is_absolute() {
            return Err(BadConfig::Relative(self.file));
        }
        if self.interval_ms == 0 {
            return Err(BadConfig::NoInterval);
        }
        if self.buckets.is_empty() {
            return Err(BadConfig::NoBuckets);
        }
        if let Some(bound) = self.buckets.iter().find(|it| **it <= 0.0) {
            return Err(BadConfig::NoTime(*bound));
        }
        match self.buckets.windows(2).find(|it| it[0] >= it[1]) {
            Some(pair) => Err(BadConfig::NotAscending { before: pair[0], after: pair[1] }),
            None => Ok(self),
        }
    }
}

impl Plugin for Metrics {
    fn create(create: &Create) -> Result<Self, PluginError> {
        let config = create.config::<Config>()?.checked()?;
        let shared = Shared { config, counts: Mutex::default(), written: Mutex::default() };
        Ok(Self { host: create.host(), shared: Arc::new(shared) })
    }

    /// Writes the file once, so that it is there and can be written, and then whenever something
    /// was counted in an interval.
    fn start(&self) -> Result<(), PluginError> {
        self.shared.write()?;
        self.host.spawn(keep_writing(self.host, Arc::clone(&self.shared)))?;
        Ok(())
    }

    fn quiesce(&self) {
        self.shared.write_or_tell();
    }
}

impl Metrics {
    /// Times what is further in: the other listeners around the body, and it.
    async fn time(&self, call: &ToolCall, next: &mut Next) -> ToolOutcome {
        let begun = Instant::now();
        let outcome = next.run().await;
        let (time, failure) = (begun.elapsed(), failure(&outcome));
        let bounds = &self.shared.config.buckets;
        self.shared.counts().time(call.name(), failure.as_deref(), time, bounds);
        outcome
    }

    /// Counts what a call came to.
    fn count(&self, call: &ToolCall, outcome: &ToolOutcome) {
        self.shared.counts().count(call.name(), failure(outcome).as_deref());
    }
}

/// The code of a failure, empty where it has none; nothing for a success.
fn failure(outcome: &ToolOutcome) -> Option<String> {
    outcome.is_error().then(|| outcome.code().unwrap_or_default())
}

/// Writes once an interval, until the instance ends.
async fn keep_writing(host: Host, shared: Arc<Shared>) {
    let interval = Duration::from_millis(shared.config.interval_ms);
    while host.sleep(interval).await.is_ok() {
        let shared = Arc::clone(&shared);
        if host.spawn_blocking(move || shared.write_or_tell()).await.is_err() {
            return;
        }
    }
}

impl Shared {
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the file, unless it says the same already.
    fn write(&self) -> Result<(), Unwritten> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let text = exposition::text(&self.counts(), &self.config.buckets);
        if written.as_ref() != Some(&text) {
            file::replace(&self.config.file, &text)?;
            *written = Some(text);
        }
        Ok(())
    }

    /// As [`write`](Self::write); that it cannot be done is told, and tried again next time.
    fn write_or_tell(&self) {
        if let Err(error) = self.write() {
            let error = PluginError::from(error);
            tracing::error!(%error, "the metrics are out of date");
        }
    }
}

export_plugin!(Metrics {
    description: "Counts and times tool calls for Prometheus",
    config_schema: include_str!("config_schema.json"),
    // Outside of `retry` and `call-timeout`: a call is timed once, with all its attempts.
    execute: async time @ 10000,
    tool_result: count,
});
