//! The seams: asks the listeners of a snapshot and reads their answers.

mod call;
mod turn;

use std::pin::pin;
use std::sync::Arc;

use lockgate_plugin_api::abi::future::Out;
use lockgate_plugin_api::abi::listener::Noted;
use lockgate_plugin_api::{
    BadDecision, Guard, GuardDecision, Message, PostTool, PostToolDecision, PreStep,
    PreStepDecision, PreTool, PreToolDecision, Prompt, PromptDecision, error_chain,
};

use crate::library::call::LentCall;
use crate::library::facts::Lend;
use crate::library::frame::{Begun, Ending, Frame, Terms, Trail};
use crate::library::listener::Place;
use crate::registry::Snapshot;
use crate::signal::{self, Signal};
use crate::trail::{Said, TrailEntry};
use crate::watchdog::{Watch, Watched, Wedge};

pub(crate) use self::call::{guard, post_execute, pre_execute, tool_result};
pub(crate) use self::turn::{
    Admission, Submission, pre_step, prompt_submit, session_start, turn_stopping,
};
pub use crate::library::listener::ListenerFailure;

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

/// Puts a wedge into the trail, for the listener that cannot.
pub(crate) fn report_wedge(snapshot: &Snapshot, wedge: &Wedge, why: &str, call: Option<&str>) {
    let Some(sink) = &snapshot.trail else { return };
    let Watched { plugin, listener, seam, deadline, .. } = &wedge.place;
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
        answer.check().map(|()| answer).map_err(|error| error_chain(&error))
    }

    fn said(&self, answer: &D) -> Said {
        answer.said().unwrap_or_else(|error| Said::because("protocol", error_chain(&error)))
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
