//! The seams of a tool call, asked inside the call's own task.

use std::sync::Arc;

use lockgate_plugin_api::abi::future::Out;
use lockgate_plugin_api::{
    Guard, GuardDecision, PostToolDecision, PreToolDecision, ToolOutcome, error_chain,
};

use super::{Asking, ListenerFailure, ask, tell};
use crate::library::call::LentCall;
use crate::library::facts::OutcomeFacts;

/// Asks *pre-execute*; without an opinion the call is allowed.
///
/// # Errors
/// When a listener fails: the call fails, and nothing runs.
pub(crate) async fn pre_execute(
    asking: Asking<'_>,
    call: &LentCall,
) -> Result<PreToolDecision, ListenerFailure> {
    ask(asking, &asking.snapshot.pre_execute, call, PreToolDecision::allow).await
}

/// Asks the guards until one denies; the reason, if one does.
///
/// # Errors
/// When a guard fails: the call fails, and nothing runs.
pub(crate) async fn guard(
    asking: Asking<'_>,
    call: &LentCall,
) -> Result<Option<String>, ListenerFailure> {
    let decision = ask(asking, &asking.snapshot.guard, call, || GuardDecision::EMPTY).await?;
    if decision.is_empty() {
        return Ok(None);
    }
    Ok(Some(match decision.verdict() {
        Ok(Guard::Deny { reason }) => reason.to_owned(),
        // What cannot be read has been refused on its way out; not a yes in any case.
        Err(error) => error_chain(&error),
    }))
}

/// Asks *post-execute* about `outcome`; without an opinion it is accepted.
///
/// # Errors
/// When a listener fails: the call fails.
pub(crate) async fn post_execute(
    asking: Asking<'_>,
    call: &LentCall,
    outcome: &ToolOutcome,
) -> Result<PostToolDecision, ListenerFailure> {
    let facts = OutcomeFacts { call, outcome };
    ask(asking, &asking.snapshot.post_execute, facts, PostToolDecision::accept).await
}

/// Tells the listeners of *tool-result* from the place `first` on, except those of the plugin
/// `but`. What fails is logged and changes nothing.
pub(crate) async fn tool_result(
    asking: Asking<'_>,
    call: &LentCall,
    outcome: &ToolOutcome,
    first: usize,
    but: Option<&Arc<str>>,
) {
    let places = &asking.snapshot.tool_result[first..];
    for place in places.iter().filter(|it| but.is_none_or(|but| it.plugin != *but)) {
        if !asking.watch.is_open() {
            return;
        }
        let _ = tell(asking, place, OutcomeFacts { call, outcome }).await;
    }
}
