//! The seams of an agent's turns: their arguments, and the views authors get.

use abi_stable::StableAbi;

use super::handle::Agent;
use super::host::{Cancelled, Host};
use super::next::NextTableRef;
use super::value::Str;
use crate::decision::{PreStepDecision, PromptDecision};
use crate::message::Message;

/// What a *session-start* listener is told.
#[repr(C)]
#[derive(StableAbi)]
#[sabi(kind(Prefix(prefix_ref = SessionStartArgsRef, prefix_fields = SessionStartArgsPrefix)))]
pub struct SessionStartArgs {
    /// The agent whose session starts.
    pub agent: u64,
    /// A [`SessionSource`] as its number.
    #[sabi(last_prefix_field)]
    pub source: u32,
}

/// What a *prompt-submit* listener is asked.
#[repr(C)]
#[derive(StableAbi)]
#[sabi(kind(Prefix(prefix_ref = PromptSubmitArgsRef, prefix_fields = PromptSubmitArgsPrefix)))]
pub struct PromptSubmitArgs {
    /// The agent.
    pub agent: u64,
    /// The turn that the prompt opens, counted from 1 over the whole session; 0 where it opens
    /// one only if it is admitted.
    pub turn: u64,
    /// The signal that fires when the turn is cancelled.
    pub signal: u64,
    /// The prompt: one JSON message.
    pub prompt: Str,
    /// The listeners further in; behind the last one stands *allow*.
    #[sabi(last_prefix_field)]
    pub next: NextTableRef<PromptDecision>,
}

/// What a *pre-step* listener is asked.
#[repr(C)]
#[derive(StableAbi)]
#[sabi(kind(Prefix(prefix_ref = PreStepArgsRef, prefix_fields = PreStepArgsPrefix)))]
pub struct PreStepArgs {
    /// The agent.
    pub agent: u64,
    /// The turn, counted from 1 over the whole session.
    pub turn: u64,
    /// The step that is proposed, counted from 1 in its turn.
    pub step: u64,
    /// The signal that fires when the turn is cancelled.
    pub signal: u64,
    /// The messages that would enter: a JSON list, empty where a step only continues.
    pub messages: Str,
    /// The listeners further in; behind the last one stands *enter with these messages*.
    #[sabi(last_prefix_field)]
    pub next: NextTableRef<PreStepDecision>,
}

/// What a *turn-stopping* listener is told.
#[repr(C)]
#[derive(StableAbi)]
#[sabi(kind(Prefix(prefix_ref = TurnStoppingArgsRef, prefix_fields = TurnStoppingArgsPrefix)))]
pub struct TurnStoppingArgs {
    /// The agent.
    pub agent: u64,
    /// The turn that is about to end.
    pub turn: u64,
    /// The signal that fires when the turn is cancelled.
    #[sabi(last_prefix_field)]
    pub signal: u64,
}

/// How a session came to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionSource {
    /// It is new, or a fork of another.
    Startup,
    /// It was read back from its log.
    Resume,
    /// Reserved: its history was cleared.
    Clear,
    /// Reserved: its history was compacted.
    Compact,
    /// One this API does not know.
    Unknown(u32),
}

impl SessionSource {
    /// The number that crosses.
    pub fn number(self) -> u32 {
        match self {
            Self::Startup => 1,
            Self::Resume => 2,
            Self::Clear => 3,
            Self::Compact => 4,
            Self::Unknown(number) => number,
        }
    }

    fn from_number(number: u32) -> Self {
        match number {
            1 => Self::Startup,
            2 => Self::Resume,
            3 => Self::Clear,
            4 => Self::Compact,
            other => Self::Unknown(other),
        }
    }

    /// The word for it, as hooks and logs use it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Resume => "resume",
            Self::Clear => "clear",
            Self::Compact => "compact",
            Self::Unknown(_) => "unknown",
        }
    }
}

/// A session that starts, as a *session-start* listener sees it. Lent: it cannot be kept.
#[derive(Debug)]
pub struct SessionStart {
    agent: Agent,
    source: SessionSource,
}

impl SessionStart {
    /// The view of lent arguments.
    ///
    /// # Safety
    /// The host lends `args` during the call.
    pub unsafe fn lent(args: SessionStartArgsRef, host: Host) -> Self {
        let agent = Agent::new(args.agent(), host);
        Self { agent, source: SessionSource::from_number(args.source()) }
    }

    /// The agent whose session starts.
    pub fn agent(&self) -> Agent {
        self.agent
    }

    /// How it came to start.
    pub fn source(&self) -> SessionSource {
        self.source
    }
}

/// A prompt about to be submitted, as a *prompt-submit* listener sees it. Lent: it cannot be kept.
pub struct SubmittedPrompt {
    args: PromptSubmitArgsRef,
    agent: Agent,
}

// SAFETY: the arguments are read-only.
unsafe impl Send for SubmittedPrompt {}
// SAFETY: as for `Send`.
unsafe impl Sync for SubmittedPrompt {}

impl SubmittedPrompt {
    /// The view of lent arguments.
    ///
    /// # Safety
    /// The host lends `args` for as long as the value returned lives.
    pub unsafe fn lent(args: PromptSubmitArgsRef, host: Host) -> Self {
        Self { args, agent: Agent::new(args.agent(), host) }
    }

    /// The agent.
    pub fn agent(&self) -> Agent {
        self.agent
    }

    /// The turn's signal, for what a listener starts.
    pub fn signal(&self) -> Cancelled {
        Cancelled::new(self.args.signal(), self.agent.host())
    }

    /// The turn that the prompt opens, counted from 1 over the whole session; `None` where it
    /// opens one only if it is admitted.
    pub fn turn(&self) -> Option<u64> {
        Some(self.args.turn()).filter(|it| *it != 0)
    }

    /// The prompt as JSON text.
    pub fn message_json(&self) -> &str {
        // SAFETY: lent by the host for longer than `&self`.
        unsafe { self.args.prompt().trusted() }
    }

    /// The prompt.
    ///
    /// # Errors
    /// When the host and this API disagree about what a message is.
    pub fn message(&self) -> serde_json::Result<Message> {
        serde_json::from_str(self.message_json())
    }
}

/// A step that is proposed, as a *pre-step* listener sees it. Lent: it cannot be kept.
pub struct ProposedStep {
    args: PreStepArgsRef,
    agent: Agent,
}

// SAFETY: the arguments are read-only.
unsafe impl Send for ProposedStep {}
// SAFETY: as for `Send`.
unsafe impl Sync for ProposedStep {}

impl ProposedStep {
    /// The view of lent arguments.
    ///
    /// # Safety
    /// The host lends `args` for as long as the value returned lives.
    pub unsafe fn lent(args: PreStepArgsRef, host: Host) -> Self {
        Self { args, agent: Agent::new(args.agent(), host) }
    }

    /// The agent.
    pub fn agent(&self) -> Agent {
        self.agent
    }

    /// The turn, counted from 1 over the whole session.
    pub fn turn(&self) -> u64 {
        self.args.turn()
    }

    /// The turn's signal, for what a listener starts.
    pub fn signal(&self) -> Cancelled {
        Cancelled::new(self.args.signal(), self.agent.host())
    }

    /// The step, counted from 1 in its turn.
    pub fn step(&self) -> u64 {
        self.args.step()
    }

    /// The messages that would enter, as the JSON text of a list.
    pub fn messages_json(&self) -> &str {
        // SAFETY: lent by the host for longer than `&self`.
        unsafe { self.args.messages().trusted() }
    }

    /// The messages that would enter; none where the step only continues.
    ///
    /// # Errors
    /// When the host and this API disagree about what a message is.
    pub fn messages(&self) -> serde_json::Result<Vec<Message>> {
        serde_json::from_str(self.messages_json())
    }
}

/// A turn about to end, as a *turn-stopping* listener sees it. Lent: it cannot be kept.
#[derive(Debug)]
pub struct StoppingTurn {
    agent: Agent,
    turn: u64,
    signal: u64,
}

impl StoppingTurn {
    /// The view of lent arguments.
    ///
    /// # Safety
    /// The host lends `args` during the call.
    pub unsafe fn lent(args: TurnStoppingArgsRef, host: Host) -> Self {
        let agent = Agent::new(args.agent(), host);
        Self { agent, turn: args.turn(), signal: args.signal() }
    }

    /// The agent. [`Agent::steer`] keeps the turn going.
    pub fn agent(&self) -> Agent {
        self.agent
    }

    /// The turn's signal, for what a listener starts.
    pub fn signal(&self) -> Cancelled {
        Cancelled::new(self.signal, self.agent.host())
    }

    /// The turn, counted from 1 over the whole session.
    pub fn turn(&self) -> u64 {
        self.turn
    }
}
