//! What bodies say of how far they are, for whoever watches.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

/// How far the body of a tool call is, in the tool's own words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// The tool.
    pub tool: String,
    /// The model's id for the call.
    pub call: String,
    /// The agent that it runs for, by its number for plugins; 0 for none.
    pub agent: u64,
    /// How much is done, in the tool's own unit.
    pub done: u64,
    /// Of how much; 0 where that cannot be counted.
    pub total: u64,
    /// A line for a person.
    pub text: String,
}

/// Takes what bodies say as it comes, as often as they say it. Called on whatever thread the body
/// is on; must not block.
#[derive(Clone)]
pub struct ProgressSink {
    take: Arc<dyn Fn(Progress) + Send + Sync>,
}

impl ProgressSink {
    /// A sink that hands on to `take`.
    pub fn new(take: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        Self { take: Arc::new(take) }
    }

    pub(crate) fn put(&self, progress: Progress) {
        (self.take)(progress);
    }
}

impl fmt::Debug for ProgressSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProgressSink").finish_non_exhaustive()
    }
}
