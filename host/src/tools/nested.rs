//! Calls that a tool's body makes: calls like any other, inside the one it runs for.

use std::fmt;
use std::path::PathBuf;
use std::sync::Weak;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{CallRequest, Origin, Pipeline, make};
use crate::library::body::{Nested, NestedOutcome};
use crate::registry::Registry;
use crate::signal::Signal;

/// A run of a body, as the calls it makes know it.
pub(super) struct Inside {
    registry: Weak<Registry>,
    origin: Origin,
    call_id: String,
    agent: Option<u64>,
    cwd: Option<PathBuf>,
    signal: Signal,
    /// Counts the calls made, from 1.
    made: AtomicU64,
}

impl Inside {
    /// The run of the pipeline's body that `signal` tells to end.
    pub(super) fn of(pipeline: &Pipeline<'_>, signal: &Signal) -> Self {
        let call = pipeline.call.call();
        Self {
            registry: pipeline.asking.snapshot.registry.clone(),
            origin: Origin { parent: call.id, root_call_id: call.root_call_id.clone() },
            call_id: call.call_id.clone(),
            agent: Some(call.agent).filter(|it| *it != 0),
            cwd: Some(call.cwd.as_str()).filter(|it| !it.is_empty()).map(PathBuf::from),
            signal: signal.clone(),
            made: AtomicU64::new(0),
        }
    }
}

impl Nested for Inside {
    fn call(&self, name: String, arguments: String) -> Result<NestedOutcome, String> {
        // What is live when the inner call begins, which may be more than the outer one sees.
        let registry = self.registry.upgrade().ok_or("the host has ended")?;
        let number = self.made.fetch_add(1, Ordering::Relaxed) + 1;
        let request = CallRequest {
            call_id: format!("{}:{number}", self.call_id),
            name,
            arguments,
            agent: self.agent,
            cwd: self.cwd.clone(),
            signal: self.signal.clone(),
        };
        let (snapshot, origin) = (registry.snapshot(), self.origin.clone());
        Ok(Box::pin(async move { make(&snapshot, request, Some(&origin)).await }))
    }
}

impl fmt::Debug for Inside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inside").field("call_id", &self.call_id).finish_non_exhaustive()
    }
}
