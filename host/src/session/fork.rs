//! A new session that begins as another one did.

use std::path::Path;

use thiserror::Error;
use uuid::Uuid;

use super::resume::validate;
use super::{Header, LogError, SessionLog};

/// A log that could not be forked.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ForkError {
    /// There are not so many events.
    #[error("cannot fork a session after {length} events: it has {events}")]
    Boundary {
        /// How many were to be taken over.
        length: u64,
        /// How many there are.
        events: u64,
    },
    /// A turn would be cut in two.
    #[error("cannot fork a session after {length} events: turn {turn} is open there")]
    OpenTurn {
        /// How many were to be taken over.
        length: u64,
        /// The turn.
        turn: u32,
    },
    /// The new log cannot be written.
    #[error(transparent)]
    Log(#[from] LogError),
}

impl SessionLog {
    /// A new log that begins with the first `length` events of this one: in a new file at `path`,
    /// or in none.
    ///
    /// Conversation, numbers of turns, request header and approval policy go on from there. What
    /// waits in the inbox does not come along. The new session has an id of its own and names this
    /// one as its parent; its agent is told that it starts, not that it is resumed.
    ///
    /// # Errors
    ///
    /// [`ForkError::Boundary`] if there are fewer events, [`ForkError::OpenTurn`] if a turn is open
    /// there, [`ForkError::Log`] if there is anything at `path`, or if it cannot be written.
    pub fn fork(&self, length: u64, path: Option<&Path>) -> Result<Self, ForkError> {
        let taken = usize::try_from(length).ok().and_then(|it| self.events.get(..it));
        let Some(taken) = taken else {
            return Err(ForkError::Boundary { length, events: self.course.next() });
        };
        let parent = self.header();
        let header = Header {
            id: Uuid::new_v4().to_string(),
            created_at: (self.clock)(),
            parent_session: Some(parent.id.clone()),
            seed_length: Some(length),
            origin: None,
            ..parent.clone()
        };
        let course = validate(&header, taken).map_err(LogError::from)?;
        if let Some(turn) = &course.turn {
            return Err(ForkError::OpenTurn { length, turn: turn.number });
        }
        let mut fork = match path {
            Some(path) => Self::create(path, header, self.clock)?,
            None => Self::ephemeral(header, self.clock),
        };
        for event in taken {
            fork.write(event.clone())?;
        }
        fork.end_seed()?;
        Ok(fork)
    }
}
