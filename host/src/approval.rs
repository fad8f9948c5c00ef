//! Asking somebody whether a tool call may run, where a listener of *pre-execute* says so.

use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::FutureExt;

use crate::session::{ApprovalOutcome, ApprovalPolicy};
use crate::signal::Signal;

/// A question about one tool call.
#[derive(Debug, Clone)]
pub struct ApprovalRequest {
    /// The question's own id, unique in the session.
    pub id: String,
    /// The agent that the call runs for, by its number for plugins.
    pub agent: u64,
    /// The tool.
    pub tool: String,
    /// Its arguments: one JSON text.
    pub arguments: String,
    /// The model's id for the call.
    pub call_id: String,
    /// Why it is asked, where the listener says.
    pub reason: Option<String>,
    /// Fires when the call is cancelled. Nobody waits for the answer any more then, and the
    /// future of it is dropped.
    pub signal: Signal,
}

/// Who can be asked: a person at a terminal, an editor, a program.
///
/// Called once a question, on a task of the host's runtime, for several calls at once where several
/// run. It may take as long as it likes. A panic counts as [`ApprovalOutcome::Unavailable`].
pub trait Approver: Send + Sync {
    /// The answer. [`ApprovalOutcome::AllowedOnce`] is the only yes, and guards are still asked
    /// after it.
    fn ask<'a>(
        &'a self,
        request: &'a ApprovalRequest,
    ) -> Pin<Box<dyn Future<Output = ApprovalOutcome> + Send + 'a>>;
}

/// An [`Approver`] that can be handed around.
#[derive(Clone)]
pub struct AnyApprover(pub Arc<dyn Approver>);

impl fmt::Debug for AnyApprover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AnyApprover").finish_non_exhaustive()
    }
}

/// What becomes of questions that no session says anything about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Approvals {
    /// They are put to the [`Approver`].
    #[default]
    Ask,
    /// Each is answered with no, unseen.
    Never,
    /// Each is answered with yes, unseen. Guards are still asked.
    Always,
}

impl From<ApprovalPolicy> for Approvals {
    fn from(policy: ApprovalPolicy) -> Self {
        match policy {
            ApprovalPolicy::Ask => Self::Ask,
            ApprovalPolicy::Never => Self::Never,
        }
    }
}

/// The answer to `request` by these rules. A cancellation is answered at once, whoever still
/// thinks.
pub(crate) async fn answer(
    approvals: Approvals,
    approver: &AnyApprover,
    request: &ApprovalRequest,
) -> ApprovalOutcome {
    if request.signal.has_fired() {
        return ApprovalOutcome::Cancelled;
    }
    match approvals {
        Approvals::Never => ApprovalOutcome::Rejected,
        Approvals::Always => ApprovalOutcome::AllowedOnce,
        Approvals::Ask => {
            let asked = async { approver.0.ask(request).await };
            tokio::select! {
                biased;
                () = request.signal.fired() => ApprovalOutcome::Cancelled,
                answer = AssertUnwindSafe(asked).catch_unwind() => answer.unwrap_or_else(|_| {
                    tracing::error!(tool = request.tool, "whoever was asked for approval panicked");
                    ApprovalOutcome::Unavailable
                }),
            }
        }
    }
}
