//! The seams: asks the listeners of a snapshot and reads their answers.

use std::iter;
use std::pin::pin;

use lockgate_plugin_api::abi::future::Out;
use lockgate_plugin_api::abi::listener::Noted;
use lockgate_plugin_api::{
    BadDecision, Guard, GuardDecision, Message, PostTool, PostToolDecision, PreStep,
    PreStepDecision, PreTool, PreToolDecision, Prompt, PromptDecision, SessionSource, ToolOutcome,
};

use crate::library::call::LentCall;
use crate::library::facts::{Lend, OutcomeFacts, PromptFacts, StartFacts, StepFacts, StopFacts};
use crate::library::frame::{Begun, Ending, Frame, Trail};
use crate::library::listener::Place;
use crate::refusal::chain;
use crate::registry::Snapshot;
use crate::signal::{self, Signal};
use crate::trail::Said;

pub use crate::library::listener::ListenerFailure;

/// What *pre-step* decided.
#[derive(Debug, PartialEq)]
pub(crate) enum Admission {
    /// These messages enter the step.
    Enter(Vec<Message>),
    /// The turn ends as blocked.
    Reject,
}

/// Tells the listeners of *session-start*. What fails is logged.
pub(crate) async fn session_start(snapshot: &Snapshot, agent: u64, source: SessionSource) {
    for place in &snapshot.session_start {
        let _ = tell(snapshot, place, StartFacts { agent, source }, None).await;
    }
}

/// What *prompt-submit* decided.
#[derive(Debug, PartialEq)]
pub(crate) enum Submission {
    /// The prompt, as it may have been rewritten, and the messages that follow it.
    Allow(Vec<Message>),
    /// It is dropped.
    Block,
}

/// Asks *prompt-submit* about one prompt, alone; without an opinion it is allowed.
///
/// # Errors
/// When a listener fails: the turn ends with it.
pub(crate) async fn prompt_submit(
    snapshot: &Snapshot,
    agent: u64,
    turn: u64,
    signal: &Signal,
    mut prompt: Message,
) -> Result<Submission, ListenerFailure> {
    if snapshot.prompt_submit.is_empty() {
        return Ok(Submission::Allow(vec![prompt]));
    }
    let json = serde_json::to_string(&prompt).expect("messages always serialise");
    let facts = PromptFacts { agent, turn, signal, prompt: &json };
    let places = &snapshot.prompt_submit;
    let decision = ask(snapshot, places, facts, PromptDecision::allow, None).await?;
    match decision.verdict() {
        Ok(Prompt::Allow { content, contexts }) => {
            prompt.content = content.unwrap_or(prompt.content);
            Ok(Submission::Allow(iter::once(prompt).chain(contexts).collect()))
        }
        // What cannot be read has been refused on its way out; not a yes in any case.
        Ok(Prompt::Block { .. }) | Err(_) => Ok(Submission::Block),
    }
}

/// Asks *pre-step* which of `messages` enter the step.
///
/// # Errors
/// When a listener fails: the turn ends with it.
pub(crate) async fn pre_step(
    snapshot: &Snapshot,
    agent: u64,
    turn: u64,
    step: u64,
    signal: &Signal,
    messages: Vec<Message>,
) -> Result<Admission, ListenerFailure> {
    if snapshot.pre_step.is_empty() {
        return Ok(Admission::Enter(messages));
    }
    let json = serde_json::to_string(&messages).expect("messages always serialise");
    let facts = StepFacts { agent, turn, step, signal, messages: &json };
    let default = || PreStepDecision::enter(messages.clone());
    let decision = ask(snapshot, &snapshot.pre_step, facts, default, None).await?;
    match decision.verdict() {
        Ok(PreStep::Enter { messages }) => Ok(Admission::Enter(messages)),
        // What cannot be read has been refused on its way out; not a yes in any case.
        Ok(PreStep::Reject { .. }) | Err(_) => Ok(Admission::Reject),
    }
}

/// Tells the listeners of *turn-stopping*, one after the other. One that is not there is left out.
///
/// # Errors
/// When a listener fails: the turn ends with it, and the listeners behind it are not told.
pub(crate) async fn turn_stopping(
    snapshot: &Snapshot,
    agent: u64,
    turn: u64,
    signal: &Signal,
) -> Result<(), ListenerFailure> {
    for place in &snapshot.turn_stopping {
        match tell(snapshot, place, StopFacts { agent, turn, signal }, None).await {
            Err(failure) if !failure.is_unavailable() => return Err(failure),
            Ok(_) | Err(_) => {}
        }
    }
    Ok(())
}

/// Asks *pre-execute*; without an opinion the call is allowed.
///
/// # Errors
/// When a listener fails: the call fails, and nothing runs.
pub(crate) async fn pre_execute(
    snapshot: &Snapshot,
    call: &LentCall,
) -> Result<PreToolDecision, ListenerFailure> {
    ask(snapshot, &snapshot.pre_execute, call, PreToolDecision::allow, Some(call)).await
}

/// Asks the guards until one denies; the reason, if one does.
///
/// # Errors
/// When a guard fails: the call fails, and nothing runs.
pub(crate) async fn guard(
    snapshot: &Snapshot,
    call: &LentCall,
) -> Result<Option<String>, ListenerFailure> {
    let abstained = || GuardDecision::EMPTY;
    let decision = ask(snapshot, &snapshot.guard, call, abstained, Some(call)).await?;
    if decision.is_empty() {
        return Ok(None);
    }
    Ok(Some(match decision.verdict() {
        Ok(Guard::Deny { reason }) => reason.to_owned(),
        // What cannot be read has been refused on its way out; not a yes in any case.
        Err(error) => chain(&error),
    }))
}

/// Asks *post-execute* about `outcome`; without an opinion it is accepted.
///
/// # Errors
/// When a listener fails: the call fails.
pub(crate) async fn post_execute(
    snapshot: &Snapshot,
    call: &LentCall,
    outcome: &ToolOutcome,
) -> Result<PostToolDecision, ListenerFailure> {
    let facts = OutcomeFacts { call, outcome };
    ask(snapshot, &snapshot.post_execute, facts, PostToolDecision::accept, Some(call)).await
}

/// Tells the listeners of *tool-result*. What fails is logged and changes nothing.
pub(crate) async fn tool_result(snapshot: &Snapshot, call: &LentCall, outcome: &ToolOutcome) {
    for place in &snapshot.tool_result {
        let _ = tell(snapshot, place, OutcomeFacts { call, outcome }, Some(call)).await;
    }
}

/// Asks a deciding chain.
async fn ask<'a, S: Lend>(
    snapshot: &'a Snapshot,
    places: &'a [Place<S>],
    facts: S::Facts<'a>,
    default: impl FnMut() -> S::Answer + Send,
    call: Option<&'a LentCall>,
) -> Result<S::Answer, ListenerFailure>
where
    S::Answer: Decides,
{
    let signal: &'a Signal = match call {
        Some(call) => &call.call().signal,
        None => signal::never(),
    };
    let frame = Frame::new(places, facts, Default(default), signal, trail(snapshot, call));
    pin!(frame).await
}

/// Tells one listener, and logs its failure.
async fn tell<'a, S: Lend<Answer = Noted>>(
    snapshot: &'a Snapshot,
    place: &'a Place<S>,
    facts: S::Facts<'a>,
    call: Option<&'a LentCall>,
) -> Result<Noted, ListenerFailure> {
    let told = ask(snapshot, std::slice::from_ref(place), facts, || Noted::DONE, call).await;
    if let Err(failure) = &told {
        tracing::warn!(code = failure.code(), "{failure}");
    }
    told
}

/// Where answers about `call` are reported, if anybody asked.
pub(crate) fn trail<'a>(snapshot: &'a Snapshot, call: Option<&'a LentCall>) -> Option<Trail<'a>> {
    let call = call.map(|it| it.call().call_id.as_str());
    snapshot.trail.as_ref().map(|sink| Trail { sink, call })
}

/// A seam's Decision, as the host reads it.
trait Decides: Out {
    /// The Decision in a word and its reason.
    ///
    /// # Errors
    /// When it cannot be read.
    fn said(&self) -> Result<Said, BadDecision>;

    /// Whether it can be read.
    ///
    /// # Errors
    /// When it cannot.
    fn check(&self) -> Result<(), BadDecision>;
}

/// The end of a deciding chain: its default.
struct Default<F>(F);

impl<D: Decides, F: FnMut() -> D + Send> Ending<'_, D> for Default<F> {
    const HAS_BODY: bool = false;

    fn begin(&mut self, _: &Signal) -> Begun<'static, D> {
        Begun::Now((self.0)())
    }

    fn pass(&mut self, answer: D) -> Result<D, String> {
        answer.check().map(|()| answer).map_err(|error| chain(&error))
    }

    fn said(&self, answer: &D) -> Said {
        answer.said().unwrap_or_else(|error| Said::because("protocol", chain(&error)))
    }
}

impl Decides for Noted {
    fn said(&self) -> Result<Said, BadDecision> {
        Ok(Said::new("noted"))
    }

    fn check(&self) -> Result<(), BadDecision> {
        Ok(())
    }
}

impl Decides for PromptDecision {
    fn said(&self) -> Result<Said, BadDecision> {
        Ok(match self.verdict()? {
            Prompt::Allow { content: None, .. } => Said::new("allow"),
            Prompt::Allow { content: Some(_), .. } => Said::new("rewrite"),
            Prompt::Block { reason } => Said::because("block", reason),
        })
    }

    fn check(&self) -> Result<(), BadDecision> {
        self.verdict().map(drop)
    }
}

impl Decides for PreStepDecision {
    fn said(&self) -> Result<Said, BadDecision> {
        Ok(match self.verdict()? {
            PreStep::Enter { messages } => {
                Said::because("enter", format!("{} messages", messages.len()))
            }
            PreStep::Reject { reason } => Said::because("reject", reason),
        })
    }

    fn check(&self) -> Result<(), BadDecision> {
        self.verdict().map(drop)
    }
}

impl Decides for PreToolDecision {
    fn said(&self) -> Result<Said, BadDecision> {
        Ok(match self.verdict()? {
            PreTool::Allow => Said::new("allow"),
            PreTool::Deny { reason } => Said::because("deny", reason),
            PreTool::Ask { reason: Some(reason) } => Said::because("ask", reason),
            PreTool::Ask { reason: None } => Said::new("ask"),
        })
    }

    fn check(&self) -> Result<(), BadDecision> {
        self.verdict().map(drop)
    }
}

impl Decides for GuardDecision {
    fn said(&self) -> Result<Said, BadDecision> {
        let Guard::Deny { reason } = self.verdict()?;
        Ok(Said::because("deny", reason))
    }

    fn check(&self) -> Result<(), BadDecision> {
        self.verdict().map(drop)
    }
}

impl Decides for PostToolDecision {
    fn said(&self) -> Result<Said, BadDecision> {
        let (verdict, contexts) = match self.verdict()? {
            PostTool::Accept { contexts } => ("accept", contexts),
            PostTool::ReplaceContent { contexts, .. } => ("replace-content", contexts),
            PostTool::ReplaceValue { contexts, .. } => ("replace-value", contexts),
            PostTool::Block { contexts, .. } => ("block", contexts),
        };
        let added: Vec<String> = contexts.iter().map(Message::text).collect();
        let reason = Some(added.join("; ")).filter(|it| !it.is_empty());
        Ok(Said { verdict, reason })
    }

    fn check(&self) -> Result<(), BadDecision> {
        self.verdict().map(drop)
    }
}
