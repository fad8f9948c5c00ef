//! The seams: asks the listeners of a snapshot and reads their answers.

use std::future::Future;
use std::iter;
use std::pin::pin;
use std::sync::Arc;

use lockgate_plugin_api::abi::future::Out;
use lockgate_plugin_api::abi::listener::Noted;
use lockgate_plugin_api::{
    BadDecision, Guard, GuardDecision, Message, PostTool, PostToolDecision, PreStep,
    PreStepDecision, PreTool, PreToolDecision, Prompt, PromptDecision, SeamName, SessionSource,
    ToolOutcome,
};

use crate::library::call::LentCall;
use crate::library::facts::{Lend, OutcomeFacts, PromptFacts, StartFacts, StepFacts, StopFacts};
use crate::library::frame::{Begun, Ending, Frame, Terms, Trail};
use crate::library::listener::Place;
use crate::refusal::chain;
use crate::registry::Snapshot;
use crate::signal::{self, Signal};
use crate::trail::{Said, TrailEntry};
use crate::watchdog::{Watch, Watched, Wedge};

pub use crate::library::listener::ListenerFailure;

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
        Err(error) => chain(&error),
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

/// Tells the listeners of *tool-result* from the place `first` on. What fails is logged and
/// changes nothing.
pub(crate) async fn tool_result(
    asking: Asking<'_>,
    call: &LentCall,
    outcome: &ToolOutcome,
    first: usize,
) {
    for place in &asking.snapshot.tool_result[first..] {
        let _ = tell(asking, place, OutcomeFacts { call, outcome }).await;
        if !asking.watch.is_open() {
            return;
        }
    }
}

/// As [`tool_result`], but for the listeners of `plugin`, in which a thread is wedged.
pub(crate) async fn tool_result_without(
    asking: Asking<'_>,
    call: &LentCall,
    outcome: &ToolOutcome,
    plugin: &Arc<str>,
) {
    for place in asking.snapshot.tool_result.iter().filter(|it| it.plugin != *plugin) {
        let _ = tell(asking, place, OutcomeFacts { call, outcome }).await;
    }
}

/// Whom and what a question is about, besides its facts.
#[derive(Clone, Copy)]
pub(crate) struct Asking<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) watch: &'a Watch,
    /// The caller's signal; nobody takes back what an agent asks.
    signal: &'a Signal,
    call: Option<&'a str>,
}

impl<'a> Asking<'a> {
    /// A question about a tool call.
    pub(crate) fn of_call(snapshot: &'a Snapshot, watch: &'a Watch, call: &'a LentCall) -> Self {
        let (signal, call) = (&call.call().signal, Some(call.call().call_id.as_str()));
        Self { snapshot, watch, signal, call }
    }

    fn of_agent(snapshot: &'a Snapshot, watch: &'a Watch) -> Self {
        Self { snapshot, watch, signal: signal::never(), call: None }
    }

    /// What the frame is told.
    pub(crate) fn terms(self) -> Terms<'a> {
        let Self { snapshot, watch, signal, call } = self;
        let trail = snapshot.trail.as_ref().map(|sink| Trail { sink, call });
        Terms { signal, trail, watch }
    }
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

/// Puts a wedge into the trail, for the listener that cannot.
pub(crate) fn report_wedge(snapshot: &Snapshot, wedge: &Wedge, why: &str, call: Option<&str>) {
    let Some(sink) = &snapshot.trail else { return };
    let Watched { plugin, listener, seam, deadline } = &wedge.place;
    let nanos = deadline.unwrap_or_default().as_nanos();
    sink.put(TrailEntry {
        plugin: Arc::clone(plugin),
        listener: Arc::clone(listener),
        seam,
        verdict: "timeout",
        reason: Some(why.to_owned()),
        ns: u64::try_from(nanos).unwrap_or(u64::MAX),
        call: call.map(Into::into),
    });
}

/// Asks a deciding chain.
async fn ask<'a, S: Lend>(
    asking: Asking<'a>,
    places: &'a [Place<S>],
    facts: S::Facts<'a>,
    default: impl FnMut() -> S::Answer + Send,
) -> Result<S::Answer, ListenerFailure>
where
    S::Answer: Decides,
{
    let frame = Frame::new(places, facts, Default(default), asking.terms());
    pin!(frame).await
}

/// Tells one listener, and logs its failure.
async fn tell<'a, S: Lend<Answer = Noted>>(
    asking: Asking<'a>,
    place: &'a Place<S>,
    facts: S::Facts<'a>,
) -> Result<Noted, ListenerFailure> {
    let told = ask(asking, std::slice::from_ref(place), facts, || Noted::DONE).await;
    if let Err(failure) = &told
        && asking.watch.is_open()
    {
        tracing::warn!(code = failure.code(), "{failure}");
    }
    told
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
