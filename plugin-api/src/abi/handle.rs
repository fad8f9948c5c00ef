//! An agent as plugins reach it: what they may tell it, read of it and write into its log.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::asked::HostError;
use super::host::Host;
use crate::message::Message;

/// A target of [`HostTable::send`](super::host::HostTable::send): the message is a prompt, in a
/// turn of its own.
pub const NEXT_TURN: u32 = 1;
/// As [`NEXT_TURN`]: the message enters at the next step.
pub const NEXT_STEP: u32 = 2;

/// A flag of [`HostTable::cancel`](super::host::HostTable::cancel): what waits for the agent goes
/// on waiting.
pub const KEEP_INBOX: u32 = 1;

/// An agent, as a plugin reaches it: by name only. An agent that is gone answers with an error.
///
/// May be kept, and used on any thread. Everything that changes the agent has happened when its
/// answer is there; what is sent from a *turn-stopping* listener is seen before the turn ends.
#[derive(Debug, Clone, Copy)]
pub struct Agent {
    id: u64,
    host: Host,
}

/// What waits for an agent, in order of arrival.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Inbox {
    /// Prompts, each for a turn of its own.
    pub next_turn: Vec<Message>,
    /// What enters together at the next step.
    pub next_step: Vec<Message>,
}

/// One event of an agent's session, as its log keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoggedEvent {
    /// Its place in the log, from 0.
    pub seq: u64,
    /// When it happened, in Unix milliseconds.
    pub time: u64,
    /// What kind of thing it is: `tool/call`.
    #[serde(rename = "type")]
    pub kind: String,
    /// What that kind of thing says.
    pub data: Value,
}

impl Agent {
    pub(super) fn new(id: u64, host: Host) -> Self {
        Self { id, host }
    }

    pub(super) fn host(self) -> Host {
        self.host
    }

    /// Its number: the key for what a plugin remembers of an agent. Never used twice in a process.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Gives the agent `message` to read at its next step, without waking it.
    ///
    /// # Errors
    /// When the agent is gone or its session cannot be written.
    pub async fn inject(&self, message: Message) -> Result<(), HostError> {
        self.host.send(self.id, NEXT_STEP, false, &message).await
    }

    /// Gives the agent `message` to read at its next step and wakes it. From *turn-stopping* this
    /// makes another step of the same turn.
    ///
    /// # Errors
    /// When the agent is gone or its session cannot be written.
    pub async fn steer(&self, message: Message) -> Result<(), HostError> {
        self.host.send(self.id, NEXT_STEP, true, &message).await
    }

    /// Gives the agent `message` as a prompt of its own, in a turn of its own.
    ///
    /// # Errors
    /// When the agent is gone or its session cannot be written.
    pub async fn follow_up(&self, message: Message) -> Result<(), HostError> {
        self.host.send(self.id, NEXT_TURN, true, &message).await
    }

    /// Cancels the turn that runs, if one does, and withdraws everything that waits for the agent.
    /// The first `reason` is the one that is recorded. The turn ends once everything that it
    /// started has come to an end, this listener included.
    ///
    /// # Errors
    /// When the agent is gone, or its session cannot be written; the turn is cancelled even so.
    pub async fn cancel(&self, reason: &str) -> Result<(), HostError> {
        self.host.cancel(self.id, 0, reason).await
    }

    /// As [`cancel`](Self::cancel), and what waits for the agent goes on waiting, until something
    /// wakes it.
    ///
    /// # Errors
    /// When the agent is gone.
    pub async fn cancel_keeping_inbox(&self, reason: &str) -> Result<(), HostError> {
        self.host.cancel(self.id, KEEP_INBOX, reason).await
    }

    /// What waits for the agent now.
    ///
    /// # Errors
    /// When the agent is gone.
    pub async fn inbox(&self) -> Result<Inbox, HostError> {
        self.host.inbox(self.id).await
    }

    /// What happened in the session, from the event `from` on: at most `most` events, and no more
    /// than the host gives at a time, so that a reader goes on behind the last one it got. None
    /// where there are no more.
    ///
    /// # Errors
    /// When the agent is gone.
    pub async fn events(&self, from: u64, most: u64) -> Result<Vec<LoggedEvent>, HostError> {
        self.host.events(self.id, from, most).await
    }

    /// Appends an event to the session's log that no conversation is made of. Its type must stand
    /// under `events` in the plugin's manifest.
    ///
    /// # Errors
    /// When the agent is gone, the type is not the plugin's to write, the data is not what an event
    /// of a known type says, or the session cannot be written.
    pub async fn append(&self, kind: &str, data: &Value) -> Result<(), HostError> {
        self.host.append(self.id, kind, data).await
    }
}
