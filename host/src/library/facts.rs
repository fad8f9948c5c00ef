//! What each seam asks about, and how it is laid out for the listeners.

use lockgate_plugin_api::abi::Prefixed;
use lockgate_plugin_api::abi::agent::{
    PreStepArgs, PreStepArgsRef, PromptSubmitArgs, PromptSubmitArgsRef, SessionStartArgs,
    SessionStartArgsRef, TurnStoppingArgs, TurnStoppingArgsRef,
};
use lockgate_plugin_api::abi::call::{
    ExecuteArgs, ExecuteArgsRef, GuardArgs, GuardArgsRef, PostExecuteArgs, PostExecuteArgsRef,
    PreExecuteArgs, PreExecuteArgsRef, ToolResultArgs, ToolResultArgsRef,
};
use lockgate_plugin_api::abi::listener::ListenerRef;
use lockgate_plugin_api::abi::next::NextTableRef;
use lockgate_plugin_api::abi::root::PluginRootRef;
use lockgate_plugin_api::abi::seam::{self, Seam};
use lockgate_plugin_api::abi::value::{Slice, Str};
use lockgate_plugin_api::{SessionSource, ToolOutcome};

use super::call::LentCall;
use crate::signal::Signal;

/// A seam from the host's side.
pub(crate) trait Lend: Seam {
    /// What the host asks about.
    type Facts<'a>: Copy + Send;
    /// The same as it crosses, with the header of a prefix table.
    type Table;

    /// Lays `facts` out. The table is valid as long as they are.
    fn table(facts: Self::Facts<'_>, next: NextTableRef<Self::Answer>) -> Self::Table;

    /// The reference that crosses.
    ///
    /// # Safety
    /// `table` outlives every use of the reference.
    unsafe fn lend(table: &Self::Table) -> Self::Args;

    /// The seam's listeners in a plugin's root table.
    fn exports(root: PluginRootRef) -> Slice<ListenerRef<Self::Args, Self::Answer>>;
}

/// A session that starts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StartFacts {
    pub(crate) agent: u64,
    pub(crate) source: SessionSource,
}

/// A prompt about to be submitted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PromptFacts<'a> {
    pub(crate) agent: u64,
    pub(crate) turn: u64,
    /// The turn's.
    pub(crate) signal: &'a Signal,
    /// The message as JSON.
    pub(crate) prompt: &'a str,
}

/// A step that is proposed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepFacts<'a> {
    pub(crate) agent: u64,
    pub(crate) turn: u64,
    pub(crate) step: u64,
    /// The turn's.
    pub(crate) signal: &'a Signal,
    /// The messages as JSON.
    pub(crate) messages: &'a str,
}

/// A turn about to end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StopFacts<'a> {
    pub(crate) agent: u64,
    pub(crate) turn: u64,
    /// The turn's.
    pub(crate) signal: &'a Signal,
}

/// A call with what it came to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OutcomeFacts<'a> {
    pub(crate) call: &'a LentCall,
    pub(crate) outcome: &'a ToolOutcome,
}

macro_rules! lend {
    ($($seam:ident<$a:lifetime>: |$facts:ident: $of:ty, $next:ident| $table:ident -> $args:ident { $($field:ident: $value:expr),* $(,)? })+) => { $(
        impl Lend for seam::$seam {
            type Facts<$a> = $of;
            type Table = Prefixed<$table>;

            fn table($facts: Self::Facts<'_>, $next: NextTableRef<Self::Answer>) -> Self::Table {
                Prefixed::new($table { $($field: $value),* })
            }

            unsafe fn lend(table: &Self::Table) -> $args {
                // SAFETY: the caller vouches for the table.
                $args(unsafe { table.as_prefix() })
            }

            fn exports(root: PluginRootRef) -> Slice<ListenerRef<Self::Args, Self::Answer>> {
                root.$seam()
            }
        }
    )+ };
}

lend! {
    session_start<'a>: |facts: StartFacts, _next| SessionStartArgs -> SessionStartArgsRef {
        agent: facts.agent,
        source: facts.source.number(),
    }
    prompt_submit<'a>: |facts: PromptFacts<'a>, next| PromptSubmitArgs -> PromptSubmitArgsRef {
        agent: facts.agent,
        turn: facts.turn,
        signal: facts.signal.id(),
        prompt: Str::lend(facts.prompt),
        next: next,
    }
    pre_step<'a>: |facts: StepFacts<'a>, next| PreStepArgs -> PreStepArgsRef {
        agent: facts.agent,
        turn: facts.turn,
        step: facts.step,
        signal: facts.signal.id(),
        messages: Str::lend(facts.messages),
        next: next,
    }
    turn_stopping<'a>: |facts: StopFacts<'a>, _next| TurnStoppingArgs -> TurnStoppingArgsRef {
        agent: facts.agent,
        turn: facts.turn,
        signal: facts.signal.id(),
    }
    pre_execute<'a>: |facts: &'a LentCall, next| PreExecuteArgs -> PreExecuteArgsRef {
        call: facts.table(),
        next: next,
    }
    guard<'a>: |facts: &'a LentCall, _next| GuardArgs -> GuardArgsRef { call: facts.table() }
    execute<'a>: |facts: &'a LentCall, next| ExecuteArgs -> ExecuteArgsRef {
        call: facts.table(),
        next: next,
    }
    post_execute<'a>: |facts: OutcomeFacts<'a>, next| PostExecuteArgs -> PostExecuteArgsRef {
        call: facts.call.table(),
        outcome: std::ptr::from_ref(facts.outcome),
        next: next,
    }
    tool_result<'a>: |facts: OutcomeFacts<'a>, _next| ToolResultArgs -> ToolResultArgsRef {
        call: facts.call.table(),
        outcome: std::ptr::from_ref(facts.outcome),
    }
}
