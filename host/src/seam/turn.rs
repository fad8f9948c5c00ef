//! The seams of an agent's turns, each asked on a task that may wedge.

use std::future::Future;
use std::iter;
use std::sync::Arc;

use lockgate_plugin_api::{
    Message, PreStep, PreStepDecision, Prompt, PromptDecision, SeamName, SessionSource,
};

use super::{Asking, ListenerFailure, ask, report_wedge, tell};
use crate::library::facts::{PromptFacts, StartFacts, StepFacts, StopFacts};
use crate::registry::Snapshot;
use crate::signal::Signal;
use crate::watchdog::Watch;

/// What *pre-step* decided.
#[derive(Debug, PartialEq)]
pub(crate) enum Admission {
    /// These messages enter the step.
    Enter(Vec<Message>),
    /// The turn ends as blocked.
    Reject,
}

/// What *prompt-submit* decided.
#[derive(Debug, PartialEq)]
pub(crate) enum Submission {
    /// The prompt, as it may have been rewritten, and the messages that follow it.
    Allow(Vec<Message>),
    /// It is dropped.
    Block,
}

/// Tells the listeners of *session-start*. What fails is logged.
pub(crate) async fn session_start(snapshot: &Arc<Snapshot>, agent: u64, source: SessionSource) {
    for index in 0..snapshot.session_start.len() {
        let own = Arc::clone(snapshot);
        let work = async move |watch: Arc<Watch>| {
            let asking = Asking::of_agent(&own, &watch);
            tell(asking, &own.session_start[index], StartFacts { agent, source }).await
        };
        let _ = guarded(snapshot, SeamName::SessionStart, work).await;
    }
}

/// Asks *prompt-submit* about one prompt, alone; without an opinion it is allowed.
///
/// # Errors
/// When a listener fails: the turn ends with it.
pub(crate) async fn prompt_submit(
    snapshot: &Arc<Snapshot>,
    agent: u64,
    turn: u64,
    signal: &Signal,
    mut prompt: Message,
) -> Result<Submission, ListenerFailure> {
    if snapshot.prompt_submit.is_empty() {
        return Ok(Submission::Allow(vec![prompt]));
    }
    let (own, signal) = (Arc::clone(snapshot), signal.clone());
    let work = async move |watch: Arc<Watch>| {
        let json = serde_json::to_string(&prompt).expect("messages always serialise");
        let facts = PromptFacts { agent, turn, signal: &signal, prompt: &json };
        let asking = Asking::of_agent(&own, &watch);
        let decision = ask(asking, &own.prompt_submit, facts, PromptDecision::allow).await?;
        Ok(match decision.verdict() {
            Ok(Prompt::Allow { content, contexts }) => {
                prompt.content = content.unwrap_or(prompt.content);
                Submission::Allow(iter::once(prompt).chain(contexts).collect())
            }
            // What cannot be read has been refused on its way out; not a yes in any case.
            Ok(Prompt::Block { .. }) | Err(_) => Submission::Block,
        })
    };
    guarded(snapshot, SeamName::PromptSubmit, work).await
}

/// Asks *pre-step* which of `messages` enter the step.
///
/// # Errors
/// When a listener fails: the turn ends with it.
pub(crate) async fn pre_step(
    snapshot: &Arc<Snapshot>,
    agent: u64,
    turn: u64,
    step: u64,
    signal: &Signal,
    messages: Vec<Message>,
) -> Result<Admission, ListenerFailure> {
    if snapshot.pre_step.is_empty() {
        return Ok(Admission::Enter(messages));
    }
    let (own, signal) = (Arc::clone(snapshot), signal.clone());
    let work = async move |watch: Arc<Watch>| {
        let json = serde_json::to_string(&messages).expect("messages always serialise");
        let facts = StepFacts { agent, turn, step, signal: &signal, messages: &json };
        let default = || PreStepDecision::enter(messages.clone());
        let asking = Asking::of_agent(&own, &watch);
        let decision = ask(asking, &own.pre_step, facts, default).await?;
        Ok(match decision.verdict() {
            Ok(PreStep::Enter { messages }) => Admission::Enter(messages),
            // What cannot be read has been refused on its way out; not a yes in any case.
            Ok(PreStep::Reject { .. }) | Err(_) => Admission::Reject,
        })
    };
    guarded(snapshot, SeamName::PreStep, work).await
}

/// Tells the listeners of *turn-stopping*, one after the other. One that is not there is left out.
///
/// # Errors
/// When a listener fails: the turn ends with it, and the listeners behind it are not told.
pub(crate) async fn turn_stopping(
    snapshot: &Arc<Snapshot>,
    agent: u64,
    turn: u64,
    signal: &Signal,
) -> Result<(), ListenerFailure> {
    if snapshot.turn_stopping.is_empty() {
        return Ok(());
    }
    let (own, signal) = (Arc::clone(snapshot), signal.clone());
    let work = async move |watch: Arc<Watch>| {
        for place in &own.turn_stopping {
            let facts = StopFacts { agent, turn, signal: &signal };
            match tell(Asking::of_agent(&own, &watch), place, facts).await {
                Err(failure) if !failure.is_unavailable() => return Err(failure),
                Ok(_) | Err(_) => {}
            }
        }
        Ok(())
    };
    guarded(snapshot, SeamName::TurnStopping, work).await
}

/// Asks on a task that may wedge; a wedge is the failure of its listener.
async fn guarded<T, F>(
    snapshot: &Arc<Snapshot>,
    seam: SeamName,
    work: impl FnOnce(Arc<Watch>) -> F,
) -> Result<T, ListenerFailure>
where
    T: Send + 'static,
    F: Future<Output = Result<T, ListenerFailure>> + Send + 'static,
{
    match snapshot.dispatcher.run(work).await {
        Ok(answer) => answer,
        Err(wedge) => {
            let failure = ListenerFailure::wedged(&wedge, seam);
            tracing::warn!(code = failure.code(), "{failure}");
            report_wedge(snapshot, &wedge, &failure.to_string(), None);
            Err(failure)
        }
    }
}
