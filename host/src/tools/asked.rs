//! What becomes of a call that a listener wants somebody to be asked about.

use std::sync::Arc;
use std::time::Instant;

use lockgate_plugin_api::error_chain;
use uuid::Uuid;

use super::{Pipeline, Route, failure, refused};
use crate::approval::{self, AnyApprover, ApprovalRequest};
use crate::reach;
use crate::session::ApprovalOutcome;
use crate::trail::TrailEntry;

impl Pipeline<'_> {
    /// Asks; `None` where the call may go on, to the guards.
    pub(super) async fn ask(&self, reason: Option<&str>) -> Option<Route> {
        let call = self.call.call();
        let Some(approver) = &self.asking.snapshot.approver else {
            return Some(refused(failure::unasked(&call.name, reason)));
        };
        if call.agent == 0 {
            return Some(refused(failure::nobody_to_ask_for(&call.name)));
        }
        let request = ApprovalRequest {
            id: Uuid::new_v4().to_string(),
            agent: call.agent,
            tool: call.name.clone(),
            arguments: call.arguments.clone(),
            call_id: call.call_id.clone(),
            reason: reason.map(str::to_owned),
            signal: call.signal.clone(),
        };
        let began = Instant::now();
        match decided(approver, &request).await {
            Ok(outcome) => {
                self.report_approval(outcome, reason, began);
                match outcome {
                    ApprovalOutcome::AllowedOnce => None,
                    ApprovalOutcome::Cancelled if self.is_cancelled() => {
                        Some(refused(failure::aborted(false)))
                    }
                    outcome => Some(refused(failure::unapproved(&call.name, outcome))),
                }
            }
            Err(why) => Some(Route::Final(failure::denied(&why, "APPROVAL_UNAVAILABLE"))),
        }
    }

    fn report_approval(&self, outcome: ApprovalOutcome, reason: Option<&str>, began: Instant) {
        let Some(sink) = &self.asking.snapshot.trail else { return };
        sink.put(TrailEntry {
            plugin: Arc::from("host"),
            listener: Arc::from("approval"),
            seam: "approval",
            verdict: outcome.as_str(),
            reason: reason.map(str::to_owned),
            ns: u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX),
            call: Some(self.call.call().call_id.clone()),
        });
    }
}

/// The answer, with question and answer in the session.
async fn decided(
    approver: &AnyApprover,
    request: &ApprovalRequest,
) -> Result<ApprovalOutcome, String> {
    let agent = reach::find(request.agent).ok_or("the agent that the call runs for is gone")?;
    let approvals = agent.ask_approval(request).map_err(|error| error_chain(&error))?;
    let outcome = approval::answer(approvals, approver, request).await;
    agent.decide_approval(&request.id, outcome).map_err(|error| error_chain(&error))?;
    Ok(outcome)
}
