//! What a plugin did instead of answering.

use std::{error, fmt};

/// A plugin failed, or broke the rules of the boundary. A panic inside it is one of these too:
/// its message begins with `panicked: `.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// It says that it failed, or it panicked.
    Failed {
        /// Who: `create`, `start`, `pre-execute/gate`, `tool/bash`, …
        place: String,
        /// What it said.
        message: String,
    },
    /// It answered as no plugin may. The host takes such an answer for a failure.
    Protocol {
        /// Who, as for [`Failed`](Self::Failed).
        place: String,
        /// What is wrong with the answer.
        message: String,
    },
    /// It waits, and nothing is left in the test that could wake it.
    Stuck {
        /// Who, as for [`Failed`](Self::Failed).
        place: String,
    },
    /// It offers no tool of this name.
    NoTool {
        /// The name.
        name: String,
        /// Those it offers.
        offered: Vec<String>,
    },
}

impl Fault {
    /// What went wrong, without who: for a failure, what the plugin said.
    pub fn message(&self) -> String {
        match self {
            Self::Failed { message, .. } | Self::Protocol { message, .. } => message.clone(),
            Self::Stuck { .. } => "it waits for what never comes".into(),
            Self::NoTool { name, offered } => {
                format!("there is no tool `{name}`, only: {}", offered.join(", "))
            }
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = self.message();
        match self {
            Self::Failed { place, .. } => write!(f, "{place} failed: {message}"),
            Self::Protocol { place, .. } => write!(f, "{place} broke the rules: {message}"),
            Self::Stuck { place } => write!(f, "{place} does not answer: {message}"),
            Self::NoTool { .. } => f.write_str(&message),
        }
    }
}

impl error::Error for Fault {}
