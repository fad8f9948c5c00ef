//! An agent as plugins reach it by its number.

use lockgate_plugin_api::{Inbox, Message};

use super::Core;
use crate::approval::{ApprovalRequest, Approvals};
use crate::reach::{ReachError, Reachable};
use crate::session::{AbortCause, ApprovalOutcome, Fact, InboxTarget};

/// How many events a plugin is given at a time: the agent stands still while they are written out.
const MOST_EVENTS: usize = 1000;

impl Reachable for Core {
    fn post(&self, target: InboxTarget, wake: bool, message: Message) -> Result<(), ReachError> {
        Ok(self.send(target, wake, message)?)
    }

    fn cancel(&self, cause: AbortCause, keeps_inbox: bool) -> Result<(), ReachError> {
        if keeps_inbox {
            self.cancel_turn(cause);
            return Ok(());
        }
        Ok(Core::cancel(self, cause)?)
    }

    fn inbox(&self) -> Inbox {
        self.state().log.waiting().clone()
    }

    fn events(&self, from: u64, most: u64) -> String {
        let from = usize::try_from(from).unwrap_or(usize::MAX);
        let most = usize::try_from(most).unwrap_or(usize::MAX).min(MOST_EVENTS);
        let state = self.state();
        let events = state.log.events().get(from..).unwrap_or_default();
        let events = &events[..most.min(events.len())];
        serde_json::to_string(events).expect("events always serialise")
    }

    fn ask_approval(&self, request: &ApprovalRequest) -> Result<Approvals, ReachError> {
        let mut state = self.state();
        if !state.is_running() {
            return Err(ReachError::NoTurnToAskIn);
        }
        state.append(Fact::ApprovalAsked {
            id: request.id.clone(),
            tool_name: request.tool.clone(),
            call_id: Some(request.call_id.clone()),
            reason: request.reason.clone(),
        })?;
        Ok(state.approval_policy().map_or(self.options.approvals, Approvals::from))
    }

    fn decide_approval(&self, id: &str, outcome: ApprovalOutcome) -> Result<(), ReachError> {
        self.state().append(Fact::ApprovalDecided { id: id.to_owned(), outcome })?;
        Ok(())
    }

    fn append(&self, fact: Fact) -> Result<(), ReachError> {
        let mut state = self.state();
        if fact.belongs_to_a_turn() && !state.is_running() {
            return Err(ReachError::NoTurn);
        }
        state.append(fact)?;
        Ok(())
    }
}
