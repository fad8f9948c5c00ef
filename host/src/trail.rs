//! The decision trail: who was asked, what each answered, why, and how long it took.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

/// One question put to one listener, or one run of a tool's body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TrailEntry {
    /// The plugin that was asked.
    pub plugin: Arc<str>,
    /// Its listener, or the tool's name.
    pub listener: Arc<str>,
    /// The seam, or `body` for a tool's body.
    pub seam: &'static str,
    /// What it answered: a verdict of the seam, `next` for no opinion, or `fault`, `protocol`
    /// and `unavailable`.
    pub verdict: &'static str,
    /// Why, where the answer says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The time spent inside it, in nanoseconds; what it waited for does not count.
    pub ns: u64,
    /// The id of the tool call it was asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
}

/// Takes the entries as they come. Called on whatever thread asks; must not block.
#[derive(Clone)]
pub struct TrailSink {
    take: Arc<dyn Fn(TrailEntry) + Send + Sync>,
}

impl TrailSink {
    /// A sink that hands each entry to `take`.
    pub fn new(take: impl Fn(TrailEntry) + Send + Sync + 'static) -> Self {
        Self { take: Arc::new(take) }
    }

    pub(crate) fn put(&self, entry: TrailEntry) {
        (self.take)(entry);
    }
}

impl fmt::Debug for TrailSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrailSink").finish_non_exhaustive()
    }
}

/// An answer in a word and a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) verdict: &'static str,
    pub(crate) reason: Option<String>,
}

impl Said {
    pub(crate) fn new(verdict: &'static str) -> Self {
        Self { verdict, reason: None }
    }

    pub(crate) fn because(verdict: &'static str, reason: impl Into<String>) -> Self {
        Self { verdict, reason: Some(reason.into()) }
    }
}
