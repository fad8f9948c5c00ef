//! The seams, asked as the host asks them.

use std::cell::Cell;

use super::{Bench, Body, Call, Fault, Sent};
use crate::abi::agent::SessionSource;
use crate::abi::future::Out;
use crate::abi::seam;
use crate::abi::testing::lend::{LentCall, LentOutcome, LentStart, LentTurn};
use crate::decision::{
    GuardDecision, PostToolDecision, PreStepDecision, PreToolDecision, PromptDecision,
};
use crate::message::Message;
use crate::outcome::ToolOutcome;

impl<P> Bench<P> {
    /// Starts a session and returns what the listeners sent to its agent.
    ///
    /// # Errors
    /// When a listener fails; the host would log that and go on.
    pub fn session_start(&self, source: SessionSource) -> Result<Vec<Sent>, Fault> {
        let lent = LentStart { source: source.number() };
        self.telling(|| {
            self.tell::<seam::session_start>(
                &lent,
                self.instance.listeners(|it| it.session_start()),
            )
        })
    }

    /// Asks about a prompt that opens the turn `turn`, 0 where it opens one only if it is
    /// admitted. `None` where no listener has an opinion: the prompt is submitted.
    ///
    /// # Errors
    /// When a listener fails.
    pub fn prompt_submit(
        &self,
        turn: u64,
        prompt: &Message,
    ) -> Result<Option<PromptDecision>, Fault> {
        let json = serde_json::to_string(prompt).expect("messages always serialise");
        let lent = LentTurn::new(turn, 0, json, self.instance.stage());
        let chain = self.instance.listeners(|it| it.prompt_submit());
        self.ask::<seam::prompt_submit>(&lent, chain, &|_| PromptDecision::allow())
    }

    /// As [`prompt_submit`](Self::prompt_submit), with another plugin's listener further in, which
    /// decides as `further_in` says.
    ///
    /// # Errors
    /// When a listener fails.
    pub fn prompt_submit_before(
        &self,
        turn: u64,
        prompt: &Message,
        further_in: impl Fn() -> PromptDecision,
    ) -> Result<PromptDecision, Fault> {
        let json = serde_json::to_string(prompt).expect("messages always serialise");
        let lent = LentTurn::new(turn, 0, json, self.instance.stage());
        let chain = self.instance.listeners(|it| it.prompt_submit());
        self.whole::<seam::prompt_submit>(&lent, chain, false, &|_| further_in())
    }

    /// Asks about a step into which `messages` would enter. `None` where no listener has an
    /// opinion: they enter.
    ///
    /// # Errors
    /// When a listener fails.
    pub fn pre_step(
        &self,
        turn: u64,
        step: u64,
        messages: &[Message],
    ) -> Result<Option<PreStepDecision>, Fault> {
        let json = serde_json::to_string(messages).expect("messages always serialise");
        let lent = LentTurn::new(turn, step, json, self.instance.stage());
        let chain = self.instance.listeners(|it| it.pre_step());
        self.ask::<seam::pre_step>(&lent, chain, &|_| PreStepDecision::enter(messages.to_vec()))
    }

    /// As [`pre_step`](Self::pre_step), with another plugin's listener further in, which decides
    /// as `further_in` says.
    ///
    /// # Errors
    /// When a listener fails.
    pub fn pre_step_before(
        &self,
        turn: u64,
        step: u64,
        messages: &[Message],
        further_in: impl Fn() -> PreStepDecision,
    ) -> Result<PreStepDecision, Fault> {
        let json = serde_json::to_string(messages).expect("messages always serialise");
        let lent = LentTurn::new(turn, step, json, self.instance.stage());
        let chain = self.instance.listeners(|it| it.pre_step());
        self.whole::<seam::pre_step>(&lent, chain, false, &|_| further_in())
    }

    /// Ends a turn and returns what the listeners sent to its agent.
    ///
    /// # Errors
    /// When a listener fails; the host would log that and go on.
    pub fn turn_stopping(&self, turn: u64) -> Result<Vec<Sent>, Fault> {
        let lent = LentTurn::new(turn, 0, String::new(), self.instance.stage());
        self.telling(|| {
            self.tell::<seam::turn_stopping>(
                &lent,
                self.instance.listeners(|it| it.turn_stopping()),
            )
        })
    }

    /// Asks whether a call may run. `None` where no listener has an opinion: it may.
    ///
    /// # Errors
    /// When a listener fails: the host fails the call.
    pub fn pre_execute(&self, call: &Call) -> Result<Option<PreToolDecision>, Fault> {
        let lent = LentCall::new(call, self.instance.stage());
        let chain = self.instance.listeners(|it| it.pre_execute());
        self.ask::<seam::pre_execute>(&lent, chain, &|_| PreToolDecision::allow())
    }

    /// As [`pre_execute`](Self::pre_execute), with another plugin's listener further in, which
    /// decides as `further_in` says.
    ///
    /// # Errors
    /// When a listener fails: the host fails the call.
    pub fn pre_execute_before(
        &self,
        call: &Call,
        further_in: impl Fn() -> PreToolDecision,
    ) -> Result<PreToolDecision, Fault> {
        let lent = LentCall::new(call, self.instance.stage());
        let chain = self.instance.listeners(|it| it.pre_execute());
        self.whole::<seam::pre_execute>(&lent, chain, false, &|_| further_in())
    }

    /// Asks the guards about a call. `None` where none denies it.
    ///
    /// # Errors
    /// When a guard fails: the host fails the call.
    pub fn guard(&self, call: &Call) -> Result<Option<GuardDecision>, Fault> {
        let lent = LentCall::new(call, self.instance.stage());
        let chain = self.instance.listeners(|it| it.guard());
        // Guards have no `next`, so nothing behind them is ever asked.
        self.ask::<seam::guard>(&lent, chain, &|_| GuardDecision::EMPTY)
    }

    /// Runs a call through the listeners around `body`, which plays the tool. The outcome is as
    /// the outermost listener returns it; the host would render a new success.
    ///
    /// # Errors
    /// When a listener fails: the host fails the call. A body that panics ends the test.
    pub fn execute(
        &self,
        call: &Call,
        body: impl Fn(&Body<'_>) -> ToolOutcome,
    ) -> Result<ToolOutcome, Fault> {
        let stage = self.instance.stage();
        let lent = LentCall::new(call, stage);
        let attempts = Cell::new(0);
        let call = lent.signal();
        let chain = self.instance.listeners(|it| it.execute());
        let outcome = self.whole::<seam::execute>(&lent, chain, true, &|deadlines| {
            attempts.set(attempts.get() + 1);
            body(&Body { stage, attempt: attempts.get(), call, deadlines })
        })?;
        super::tool::checked("execute", outcome)
    }

    /// Asks what becomes of an outcome. `None` where no listener has an opinion: it stands.
    ///
    /// # Errors
    /// When a listener fails: the host fails the call.
    pub fn post_execute(
        &self,
        call: &Call,
        outcome: &ToolOutcome,
    ) -> Result<Option<PostToolDecision>, Fault> {
        let lent = LentOutcome { call: LentCall::new(call, self.instance.stage()), outcome };
        let chain = self.instance.listeners(|it| it.post_execute());
        self.ask::<seam::post_execute>(&lent, chain, &|_| PostToolDecision::accept())
    }

    /// As [`post_execute`](Self::post_execute), with another plugin's listener further in, which
    /// decides as `further_in` says.
    ///
    /// # Errors
    /// When a listener fails: the host fails the call.
    pub fn post_execute_before(
        &self,
        call: &Call,
        outcome: &ToolOutcome,
        further_in: impl Fn() -> PostToolDecision,
    ) -> Result<PostToolDecision, Fault> {
        let lent = LentOutcome { call: LentCall::new(call, self.instance.stage()), outcome };
        let chain = self.instance.listeners(|it| it.post_execute());
        self.whole::<seam::post_execute>(&lent, chain, false, &|_| further_in())
    }

    /// Tells the listeners what a call came to, finally.
    ///
    /// # Errors
    /// When a listener fails; the host would log that and go on.
    pub fn tool_result(&self, call: &Call, outcome: &ToolOutcome) -> Result<(), Fault> {
        let lent = LentOutcome { call: LentCall::new(call, self.instance.stage()), outcome };
        self.tell::<seam::tool_result>(&lent, self.instance.listeners(|it| it.tool_result()))
    }
}
