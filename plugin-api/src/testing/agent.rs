//! The agent of a bench: what waits for it, what its session has, and what a plugin did to it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;

use super::{Sent, Target};
use crate::abi::handle::{Inbox, LoggedEvent};

/// A plugin cancelled the bench's agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cancel {
    /// Why.
    pub reason: String,
    /// Whether what waited for the agent goes on waiting.
    pub keeps_inbox: bool,
}

/// The agent that the stage of a bench has.
#[derive(Default)]
pub(crate) struct Agent {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    inbox: Inbox,
    sent: Vec<Sent>,
    cancels: Vec<Cancel>,
    events: Vec<LoggedEvent>,
    /// The places of the events that the plugin appended.
    appended: Vec<usize>,
}

impl Agent {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn send(&self, sent: Sent) {
        let mut state = self.lock();
        let list = match sent.target {
            Target::NextStep => &mut state.inbox.next_step,
            Target::NextTurn => &mut state.inbox.next_turn,
        };
        list.push(sent.message.clone());
        state.sent.push(sent);
    }

    /// What was sent, from the one with this index on.
    pub(crate) fn sent(&self, from: usize) -> Vec<Sent> {
        self.lock().sent.iter().skip(from).cloned().collect()
    }

    pub(crate) fn cancel(&self, cancel: Cancel) {
        let mut state = self.lock();
        if !cancel.keeps_inbox {
            state.inbox = Inbox::default();
        }
        state.cancels.push(cancel);
    }

    pub(crate) fn cancels(&self) -> Vec<Cancel> {
        self.lock().cancels.clone()
    }

    pub(crate) fn inbox(&self) -> Inbox {
        self.lock().inbox.clone()
    }

    /// Puts an event last, `now` on the bench's clock.
    pub(crate) fn log(&self, now: Duration, kind: &str, data: Value) {
        let mut state = self.lock();
        let seq = u64::try_from(state.events.len()).unwrap_or(u64::MAX);
        let time = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
        state.events.push(LoggedEvent { seq, time, kind: kind.to_owned(), data });
    }

    /// As [`log`](Self::log), for the plugin.
    pub(crate) fn append(&self, now: Duration, kind: &str, data: Value) {
        self.log(now, kind, data);
        let mut state = self.lock();
        let last = state.events.len() - 1;
        state.appended.push(last);
    }

    /// What happened from the event `from` on, at most `most` events.
    pub(crate) fn events(&self, from: u64, most: u64) -> Vec<LoggedEvent> {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let state = self.lock();
        state.events.iter().filter(|it| it.seq >= from).take(most).cloned().collect()
    }

    /// The types and the data of what the plugin appended.
    pub(crate) fn appended(&self) -> Vec<(String, Value)> {
        let state = self.lock();
        let events = state.appended.iter().map(|it| &state.events[*it]);
        events.map(|it| (it.kind.clone(), it.data.clone())).collect()
    }
}
