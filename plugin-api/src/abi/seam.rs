//! The seams as types, named by the words that `export_plugin!` takes: what crosses at each.
#![expect(non_camel_case_types, reason = "they are the words an author writes in `export_plugin!`")]

use super::agent::{
    PreStepArgsRef, PromptSubmitArgsRef, ProposedStep, SessionStart, SessionStartArgsRef,
    StoppingTurn, SubmittedPrompt, TurnStoppingArgsRef,
};
use super::call::{
    CallTableRef, ExecuteArgsRef, GuardArgsRef, PostExecuteArgsRef, PreExecuteArgsRef, ToolCall,
    ToolResultArgsRef,
};
use super::future::Out;
use super::host::Host;
use super::listener::Noted;
use super::next::Next;
use crate::decision::{
    GuardDecision, PostToolDecision, PreStepDecision, PreToolDecision, PromptDecision,
};
use crate::manifest::SeamName;
use crate::outcome::ToolOutcome;

/// A seam: what crosses there, and the views of it that methods get.
pub trait Seam: 'static {
    /// What crosses.
    type Args: Copy + 'static;
    /// The answer.
    type Answer: Out;
    /// What methods get, made of what crosses.
    type View: Send + Sync;
    /// What `async` methods get besides: the rest of the chain, or nothing.
    type Next: Send + Sync;
    /// The seam's name.
    const NAME: SeamName;

    /// The views of lent arguments.
    ///
    /// # Safety
    /// The host lends `args` for as long as the views live.
    unsafe fn views(args: Self::Args, host: Host) -> (Self::View, Self::Next);
}

/// A call with what it came to, lent.
#[derive(Debug)]
pub struct Reviewed {
    call: ToolCall,
    outcome: *const ToolOutcome,
}

// SAFETY: the outcome is read-only while it is lent.
unsafe impl Send for Reviewed {}
// SAFETY: as for `Send`.
unsafe impl Sync for Reviewed {}

impl Reviewed {
    /// The view of a lent call and outcome.
    ///
    /// # Safety
    /// The host lends both for as long as the value returned lives.
    unsafe fn lent(call: CallTableRef, outcome: *const ToolOutcome, host: Host) -> Self {
        // SAFETY: the caller vouches for the call.
        Self { call: unsafe { ToolCall::lent(call, host) }, outcome }
    }

    /// The call.
    pub fn call(&self) -> &ToolCall {
        &self.call
    }

    /// What it came to.
    pub fn outcome(&self) -> &ToolOutcome {
        // SAFETY: the host lends it for as long as this view lives.
        unsafe { &*self.outcome }
    }
}

/// Defines the seams. Everything in the parentheses is made from `args` and `host` by unsafe
/// constructors, which are sound because `args` are lent for as long as the views live.
macro_rules! seams {
    ($($(#[$doc:meta])* $seam:ident = $name:ident($args:ty) -> $answer:ty,
        |$lent:ident, $host:ident| ($view:ty: $make_view:expr $(, $next:ty: $make_next:expr)?);)+) => { $(
        $(#[$doc])*
        #[derive(Debug)]
        pub enum $seam {}

        impl Seam for $seam {
            type Args = $args;
            type Answer = $answer;
            type View = $view;
            type Next = seams!(@type $($next)?);
            const NAME: SeamName = SeamName::$name;

            unsafe fn views($lent: $args, $host: Host) -> (Self::View, Self::Next) {
                // SAFETY: the caller vouches for the arguments.
                let view = unsafe { $make_view };
                (view, seams!(@next $($make_next)?))
            }
        }
    )+ };
    (@type) => { () };
    (@type $next:ty) => { $next };
    (@next) => { () };
    // SAFETY: the caller vouches for the arguments.
    (@next $make:expr) => { unsafe { $make } };
}

seams! {
    /// A session starts: told, not asked.
    session_start = SessionStart(SessionStartArgsRef) -> Noted,
        |args, host| (SessionStart: SessionStart::lent(args, host));
    /// A prompt is about to be submitted.
    prompt_submit = PromptSubmit(PromptSubmitArgsRef) -> PromptDecision,
        |args, host| (
            SubmittedPrompt: SubmittedPrompt::lent(args, host),
            Next<PromptDecision>: Next::lent(args.next(), host)
        );
    /// A step is proposed.
    pre_step = PreStep(PreStepArgsRef) -> PreStepDecision,
        |args, host| (
            ProposedStep: ProposedStep::lent(args, host),
            Next<PreStepDecision>: Next::lent(args.next(), host)
        );
    /// A turn is about to end: told, and waited for.
    turn_stopping = TurnStopping(TurnStoppingArgsRef) -> Noted,
        |args, host| (StoppingTurn: StoppingTurn::lent(args, host));
    /// A tool call is about to run.
    pre_execute = PreExecute(PreExecuteArgsRef) -> PreToolDecision,
        |args, host| (
            ToolCall: ToolCall::lent(args.call(), host),
            Next<PreToolDecision>: Next::lent(args.next(), host)
        );
    /// A tool call was allowed.
    guard = Guard(GuardArgsRef) -> GuardDecision,
        |args, host| (ToolCall: ToolCall::lent(args.call(), host));
    /// Around a tool's body.
    execute = Execute(ExecuteArgsRef) -> ToolOutcome,
        |args, host| (
            ToolCall: ToolCall::lent(args.call(), host),
            Next<ToolOutcome>: Next::lent(args.next(), host)
        );
    /// A tool call came to an outcome.
    post_execute = PostExecute(PostExecuteArgsRef) -> PostToolDecision,
        |args, host| (
            Reviewed: Reviewed::lent(args.call(), args.outcome(), host),
            Next<PostToolDecision>: Next::lent(args.next(), host)
        );
    /// A tool call's outcome is final: told, not asked.
    tool_result = ToolResult(ToolResultArgsRef) -> Noted,
        |args, host| (Reviewed: Reviewed::lent(args.call(), args.outcome(), host));
}
