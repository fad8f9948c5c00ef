//! Asks the person at the terminal whether a tool call may run.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use clap::ValueEnum;
use tokio::sync::Mutex;

use super::screen;
use super::typed::Typed;
use crate::approval::{AnyApprover, ApprovalRequest, Approvals, Approver};
use crate::session::ApprovalOutcome;

/// `--approve`: what becomes of calls that somebody should be asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Approve {
    /// The person at the terminal is asked; without one they are denied.
    Ask,
    /// They are denied.
    Never,
    /// They are allowed.
    Always,
}

impl From<Approve> for Approvals {
    fn from(approve: Approve) -> Self {
        match approve {
            Approve::Ask => Self::Ask,
            Approve::Never => Self::Never,
            Approve::Always => Self::Always,
        }
    }
}

/// The person at the terminal.
struct Person {
    typed: Arc<Typed>,
    /// One question at a time.
    asked: Mutex<()>,
}

/// An approver that asks on standard error, and reads the answer from `typed`.
pub(super) fn person(typed: Arc<Typed>) -> AnyApprover {
    AnyApprover(Arc::new(Person { typed, asked: Mutex::default() }))
}

impl Approver for Person {
    fn ask<'a>(
        &'a self,
        request: &'a ApprovalRequest,
    ) -> Pin<Box<dyn Future<Output = ApprovalOutcome> + Send + 'a>> {
        Box::pin(async {
            if !self.typed.is_terminal() {
                return ApprovalOutcome::Unavailable;
            }
            let _one = self.asked.lock().await;
            screen::question(&request.tool, &request.arguments, request.reason.as_deref());
            match self.typed.line().await {
                Ok(Some(answer)) if is_yes(&answer) => ApprovalOutcome::AllowedOnce,
                Ok(Some(_)) => ApprovalOutcome::Rejected,
                Ok(None) => ApprovalOutcome::Unavailable,
                Err(error) => {
                    tracing::warn!(%error, "the answer cannot be read");
                    ApprovalOutcome::Unavailable
                }
            }
        })
    }
}

/// Anything that is not clearly a yes is a no.
fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::is_yes;

    #[test]
    fn only_a_clear_yes_is_one() {
        for yes in ["y", "Y", "yes", " Yes \r"] {
            assert!(is_yes(yes), "{yes:?}");
        }
        for no in ["", "n", "no", "yess", "y es", "ok", "true", "1", "always"] {
            assert!(!is_yes(no), "{no:?}");
        }
    }
}
