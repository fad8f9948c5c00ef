//! What the person types, a line at a time: prompts, and answers to questions.

use std::io::{self, IsTerminal};

use tokio::io::{AsyncBufReadExt, BufReader, Lines, Stdin};
use tokio::sync::Mutex;

/// Standard input, shared by all who read lines of it.
#[derive(Debug)]
pub(super) struct Typed {
    lines: Mutex<Lines<BufReader<Stdin>>>,
    is_terminal: bool,
}

impl Typed {
    pub(super) fn new() -> Self {
        let lines = Mutex::new(BufReader::new(tokio::io::stdin()).lines());
        Self { lines, is_terminal: io::stdin().is_terminal() }
    }

    /// Whether a person types.
    pub(super) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// The next line; `None` at the end. A line is not lost where nobody waits for it any more.
    pub(super) async fn line(&self) -> io::Result<Option<String>> {
        self.lines.lock().await.next_line().await
    }
}
