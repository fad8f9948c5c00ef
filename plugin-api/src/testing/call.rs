//! The tool calls that a test puts before a plugin.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::Value;

/// A tool call to ask about, or to run. Made by [`call`].
#[derive(Debug, Clone)]
pub struct Call {
    pub(crate) id: u64,
    pub(crate) parent: u64,
    pub(crate) agent: u64,
    pub(crate) budget: Option<Duration>,
    pub(crate) call_id: String,
    pub(crate) root_call_id: Option<String>,
    pub(crate) name: String,
    pub(crate) arguments: String,
    pub(crate) cwd: String,
    pub(crate) is_cancelled: bool,
}

/// A call of the tool `name` by the bench's agent: without arguments (`{}`), budget and directory
/// until the methods say otherwise.
pub fn call(name: impl Into<String>) -> Call {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    Call {
        id: NEXT.fetch_add(1, Ordering::Relaxed),
        parent: 0,
        agent: super::AGENT,
        budget: None,
        call_id: "call-1".into(),
        root_call_id: None,
        name: name.into(),
        arguments: "{}".into(),
        cwd: String::new(),
        is_cancelled: false,
    }
}

impl Call {
    /// With these arguments.
    pub fn arguments(self, arguments: &Value) -> Self {
        self.arguments_json(arguments.to_string())
    }

    /// With these arguments, word for word: the host hands on valid JSON only.
    pub fn arguments_json(self, arguments: impl Into<String>) -> Self {
        Self { arguments: arguments.into(), ..self }
    }

    /// With the time that the tool gives itself, in whole milliseconds.
    pub fn budget(self, time: Duration) -> Self {
        Self { budget: Some(time), ..self }
    }

    /// In a session that works in `directory`.
    pub fn cwd(self, directory: impl Into<String>) -> Self {
        Self { cwd: directory.into(), ..self }
    }

    /// With the model's id for it; `call-1` otherwise.
    pub fn call_id(self, id: impl Into<String>) -> Self {
        Self { call_id: id.into(), ..self }
    }

    /// Made from inside the body of `parent`.
    pub fn inside(self, parent: &Self) -> Self {
        let root = parent.root_call_id.as_ref().unwrap_or(&parent.call_id).clone();
        Self { parent: parent.id, root_call_id: Some(root), ..self }
    }

    /// Made by a caller of the pipeline alone, for no agent.
    pub fn without_agent(self) -> Self {
        Self { agent: 0, ..self }
    }

    /// Cancelled before anybody is asked.
    pub fn cancelled(self) -> Self {
        Self { is_cancelled: true, ..self }
    }
}
