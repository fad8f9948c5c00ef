//! What the order of a session's events has to keep to.

use thiserror::Error;

/// An event that has no place where it stands in a log.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("event {seq} has no place in the session log")]
pub struct Violation {
    /// The event's place in the log, from 0.
    pub seq: u64,
    /// Which rule it breaks.
    #[source]
    pub rule: Rule,
}

/// A rule that an event breaks.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Rule {
    /// Events are numbered from 0, and none is left out.
    #[error("its number is {found}, and not {expected}")]
    Number {
        /// The number it has.
        found: u64,
        /// The one it must have.
        expected: u64,
    },
    /// A type that is not known may be passed over only where the event says so.
    #[error("its type `{kind}` is not known, and it is not one that may be passed over")]
    UnknownType {
        /// The type.
        kind: String,
    },
    /// Turns do not nest.
    #[error("turn {open} is open")]
    TurnOpen {
        /// The turn.
        open: u32,
    },
    /// Turns are numbered from 1, and none is left out.
    #[error("the next turn is {expected}, and not {found}")]
    TurnNumber {
        /// The number it has.
        found: u32,
        /// The one it must have.
        expected: u32,
    },
    /// The event belongs into a turn.
    #[error("no turn is open")]
    NoTurn,
    /// The event names a turn that is not the open one.
    #[error("turn {turn} is not open")]
    TurnNotOpen {
        /// The turn.
        turn: u32,
    },
    /// A turn ends after its steps, and steps do not nest.
    #[error("step {step} of turn {turn} is open")]
    StepOpen {
        /// The turn.
        turn: u32,
        /// The step.
        step: u32,
    },
    /// Steps are numbered from 1 in a turn, and none is left out.
    #[error("the next step of the turn is {expected}, and not {found}")]
    StepNumber {
        /// The number it has.
        found: u32,
        /// The one it must have.
        expected: u32,
    },
    /// The event names a step that is not the open one.
    #[error("step {step} of turn {turn} is not open")]
    StepNotOpen {
        /// The turn.
        turn: u32,
        /// The step.
        step: u32,
    },
    /// A result answers a call of its step, and no call is answered twice.
    #[error("no tool call `{call_id}` of the step waits for a result")]
    NotCalled {
        /// The call.
        call_id: String,
    },
    /// A result says of one call what came of it.
    #[error("it is no result of one tool call")]
    NoResult,
    /// A step ends once its calls are answered.
    #[error("the tool call `{call_id}` of the step has no result")]
    Unanswered {
        /// The call.
        call_id: String,
    },
    /// A question is asked once.
    #[error("the approval question `{id}` is open")]
    AskedTwice {
        /// The question.
        id: String,
    },
    /// An answer is one to an open question.
    #[error("no approval question `{id}` is open")]
    NotAsked {
        /// The question.
        id: String,
    },
    /// A change of the inbox is one of messages that are there.
    #[error("the inbox holds fewer messages than it takes away")]
    Splice,
    /// A message waits once.
    #[error("the message `{id}` waits in the inbox already")]
    Waiting {
        /// The message.
        id: String,
    },
    /// Only a message stands in the conversation, and it says how.
    #[error("only a message of the conversation can change it, or name sources")]
    NotSurface,
    /// Sources are earlier events, each named once.
    #[error("it cannot cite event {cited}, which is cited already or does not come before it")]
    Source {
        /// The source.
        cited: u64,
    },
    /// What is replaced stands in the conversation.
    #[error("the messages from event {start} to event {end} do not stand in the conversation")]
    NotShown {
        /// The event of the first message.
        start: u64,
        /// The event of the last.
        end: u64,
    },
    /// A replacement cites what it replaces.
    #[error("it takes the place of event {hidden} and does not cite it")]
    Uncited {
        /// The event that is replaced.
        hidden: u64,
    },
    /// A fork holds all of what it came from.
    #[error("the log ends before the {expected} events that it was forked with")]
    Seed {
        /// How many there must be.
        expected: u64,
    },
}
