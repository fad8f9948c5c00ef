//! What a bench lends for a question: a call, and the arguments of each seam around it.

use crate::abi::Prefixed;
use crate::abi::agent::{
    PreStepArgs, PreStepArgsRef, PromptSubmitArgs, PromptSubmitArgsRef, SessionStartArgs,
    SessionStartArgsRef, TurnStoppingArgs, TurnStoppingArgsRef,
};
use crate::abi::call::{
    CallTable, CallTableRef, ExecuteArgs, ExecuteArgsRef, GuardArgs, GuardArgsRef, PostExecuteArgs,
    PostExecuteArgsRef, PreExecuteArgs, PreExecuteArgsRef, ToolResultArgs, ToolResultArgsRef,
};
use crate::abi::next::NextTableRef;
use crate::abi::seam::{self, Seam};
use crate::abi::value::Str;
use crate::outcome::ToolOutcome;
use crate::testing::stage::Stage;
use crate::testing::{AGENT, Call};

/// What a seam is asked about, in the test's own words.
pub(crate) trait Lends<S: Seam> {
    /// Lends the arguments to `ask`, with the rest of the chain where the seam has one.
    fn lend(&self, next: NextTableRef<S::Answer>, ask: &mut dyn FnMut(S::Args));
}

/// A call in the form in which it is lent.
pub(crate) struct LentCall<'a> {
    call: &'a Call,
    stage: &'a Stage,
    signal: u64,
}

impl<'a> LentCall<'a> {
    pub(crate) fn new(call: &'a Call, stage: &'a Stage) -> Self {
        let signal = stage.signal();
        if call.is_cancelled {
            stage.fire(signal);
        }
        Self { call, stage, signal }
    }

    /// The caller's signal.
    pub(crate) fn signal(&self) -> u64 {
        self.signal
    }

    /// Runs `f` with the call, which it may use until it returns.
    pub(super) fn with<R>(&self, f: impl FnOnce(CallTableRef) -> R) -> R {
        unsafe extern "C" fn signal(state: *const ()) -> u64 {
            // SAFETY: the number below, alive while the table is lent.
            unsafe { *state.cast::<u64>() }
        }
        let Call { call_id, root_call_id, name, arguments, cwd, .. } = self.call;
        let millis = |it: std::time::Duration| u64::try_from(it.as_millis()).unwrap_or(u64::MAX);
        let table = Prefixed::new(CallTable {
            state: (&raw const self.signal).cast(),
            id: self.call.id,
            parent: self.call.parent,
            agent: self.call.agent,
            budget_ms: self.call.budget.map_or(0, |it| millis(it).max(1)),
            call_id: Str::lend(call_id),
            root_call_id: Str::lend(root_call_id.as_ref().unwrap_or(call_id)),
            name: Str::lend(name),
            arguments: Str::lend(arguments),
            cwd: Str::lend(cwd),
            signal,
        });
        // SAFETY: `table` and what it lends outlive `f`.
        f(CallTableRef(unsafe { table.as_prefix() }))
    }
}

impl Drop for LentCall<'_> {
    fn drop(&mut self) {
        self.stage.forget(self.signal);
    }
}

impl Lends<seam::pre_execute> for LentCall<'_> {
    fn lend(
        &self,
        next: NextTableRef<<seam::pre_execute as Seam>::Answer>,
        ask: &mut dyn FnMut(PreExecuteArgsRef),
    ) {
        self.with(|call| {
            let args = Prefixed::new(PreExecuteArgs { call, next });
            // SAFETY: `args` outlives `ask`.
            ask(PreExecuteArgsRef(unsafe { args.as_prefix() }));
        });
    }
}

impl Lends<seam::guard> for LentCall<'_> {
    fn lend(
        &self,
        _: NextTableRef<<seam::guard as Seam>::Answer>,
        ask: &mut dyn FnMut(GuardArgsRef),
    ) {
        self.with(|call| {
            let args = Prefixed::new(GuardArgs { call });
            // SAFETY: `args` outlives `ask`.
            ask(GuardArgsRef(unsafe { args.as_prefix() }));
        });
    }
}

impl Lends<seam::execute> for LentCall<'_> {
    fn lend(&self, next: NextTableRef<ToolOutcome>, ask: &mut dyn FnMut(ExecuteArgsRef)) {
        self.with(|call| {
            let args = Prefixed::new(ExecuteArgs { call, next });
            // SAFETY: `args` outlives `ask`.
            ask(ExecuteArgsRef(unsafe { args.as_prefix() }));
        });
    }
}

/// A call with what it came to.
pub(crate) struct LentOutcome<'a> {
    pub(crate) call: LentCall<'a>,
    pub(crate) outcome: &'a ToolOutcome,
}

impl Lends<seam::post_execute> for LentOutcome<'_> {
    fn lend(
        &self,
        next: NextTableRef<<seam::post_execute as Seam>::Answer>,
        ask: &mut dyn FnMut(PostExecuteArgsRef),
    ) {
        self.call.with(|call| {
            let args = Prefixed::new(PostExecuteArgs { call, outcome: self.outcome, next });
            // SAFETY: `args` outlives `ask`.
            ask(PostExecuteArgsRef(unsafe { args.as_prefix() }));
        });
    }
}

impl Lends<seam::tool_result> for LentOutcome<'_> {
    fn lend(
        &self,
        _: NextTableRef<<seam::tool_result as Seam>::Answer>,
        ask: &mut dyn FnMut(ToolResultArgsRef),
    ) {
        self.call.with(|call| {
            let args = Prefixed::new(ToolResultArgs { call, outcome: self.outcome });
            // SAFETY: `args` outlives `ask`.
            ask(ToolResultArgsRef(unsafe { args.as_prefix() }));
        });
    }
}

/// A moment in a turn: its number, its step where it is at one, its signal, and its messages as
/// JSON.
pub(crate) struct LentTurn<'a> {
    turn: u64,
    step: u64,
    json: String,
    stage: &'a Stage,
    signal: u64,
}

impl<'a> LentTurn<'a> {
    pub(crate) fn new(turn: u64, step: u64, json: String, stage: &'a Stage) -> Self {
        Self { turn, step, json, stage, signal: stage.signal() }
    }
}

impl Drop for LentTurn<'_> {
    fn drop(&mut self) {
        self.stage.forget(self.signal);
    }
}

impl Lends<seam::prompt_submit> for LentTurn<'_> {
    fn lend(
        &self,
        next: NextTableRef<<seam::prompt_submit as Seam>::Answer>,
        ask: &mut dyn FnMut(PromptSubmitArgsRef),
    ) {
        let Self { turn, signal, .. } = *self;
        let prompt = Str::lend(&self.json);
        let args = Prefixed::new(PromptSubmitArgs { agent: AGENT, turn, signal, prompt, next });
        // SAFETY: `args` outlives `ask`.
        ask(PromptSubmitArgsRef(unsafe { args.as_prefix() }));
    }
}

impl Lends<seam::pre_step> for LentTurn<'_> {
    fn lend(
        &self,
        next: NextTableRef<<seam::pre_step as Seam>::Answer>,
        ask: &mut dyn FnMut(PreStepArgsRef),
    ) {
        let Self { turn, step, signal, .. } = *self;
        let messages = Str::lend(&self.json);
        let args = Prefixed::new(PreStepArgs { agent: AGENT, turn, step, signal, messages, next });
        // SAFETY: `args` outlives `ask`.
        ask(PreStepArgsRef(unsafe { args.as_prefix() }));
    }
}

impl Lends<seam::turn_stopping> for LentTurn<'_> {
    fn lend(
        &self,
        _: NextTableRef<<seam::turn_stopping as Seam>::Answer>,
        ask: &mut dyn FnMut(TurnStoppingArgsRef),
    ) {
        let Self { turn, signal, .. } = *self;
        let args = Prefixed::new(TurnStoppingArgs { agent: AGENT, turn, signal });
        // SAFETY: `args` outlives `ask`.
        ask(TurnStoppingArgsRef(unsafe { args.as_prefix() }));
    }
}

/// The start of a session, with how it came to start.
pub(crate) struct LentStart {
    pub(crate) source: u32,
}

impl Lends<seam::session_start> for LentStart {
    fn lend(
        &self,
        _: NextTableRef<<seam::session_start as Seam>::Answer>,
        ask: &mut dyn FnMut(SessionStartArgsRef),
    ) {
        let args = Prefixed::new(SessionStartArgs { agent: AGENT, source: self.source });
        // SAFETY: `args` outlives `ask`.
        ask(SessionStartArgsRef(unsafe { args.as_prefix() }));
    }
}
