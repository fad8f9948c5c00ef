//! What an agent holds under its lock: the log, the inbox, and the turn that runs.

use std::sync::Arc;

use lockgate_plugin_api::Message;
use tokio::sync::watch;

use super::Status;
use super::inbox::{self, Boundary, Claimed};
use super::turn::{Ending, TurnError};
use crate::approval::Approvals;
use crate::session::{
    AbortCause, ApprovalPolicy, CallConfig, Event, Fact, HeaderReason, InboxTarget, LogError,
    RequestHeader, SessionLog, TurnEndReason,
};
use crate::signal::Signal;

pub(super) struct State {
    pub(super) log: SessionLog,
    /// The turn that runs; none while idle.
    running: Option<Running>,
    status: watch::Sender<Status>,
    /// Fires when the *session-start* listeners have had their say, or their time.
    introduced: Signal,
    /// Why the agent stopped, if its log is to blame.
    failure: Option<Arc<LogError>>,
}

struct Running {
    signal: Signal,
    /// Who cancelled it.
    cause: Option<AbortCause>,
    /// Whether the agent was woken after that.
    woken: bool,
    /// Whether it asks no model, so that what arrives meanwhile wakes the agent afterwards.
    alone: bool,
}

/// A turn that has been opened.
pub(super) struct Turn {
    pub(super) number: u32,
    pub(super) signal: Signal,
    /// What entered with it; none if the *session-start* listeners may still add to that.
    pub(super) claimed: Option<Result<Claimed, LogError>>,
}

impl State {
    pub(super) fn new(log: SessionLog) -> Self {
        Self {
            log,
            running: None,
            status: watch::Sender::new(Status::Idle),
            introduced: Signal::new(),
            failure: None,
        }
    }

    pub(super) fn status(&self) -> watch::Receiver<Status> {
        self.status.subscribe()
    }

    pub(super) fn introduced(&self) -> Signal {
        self.introduced.clone()
    }

    pub(super) fn failure(&self) -> Option<Arc<LogError>> {
        self.failure.clone()
    }

    /// Appends `fact` and returns its number.
    pub(super) fn append(&mut self, fact: Fact) -> Result<u64, LogError> {
        self.log.append(fact)
    }

    /// Takes the messages that enter at a boundary.
    pub(super) fn claim(&mut self, boundary: Boundary) -> Result<Claimed, LogError> {
        inbox::claim(&mut self.log, boundary)
    }

    /// Whether nothing waits for the next step.
    pub(super) fn lets_turn_end(&self) -> bool {
        self.log.waiting().next_step.is_empty()
    }

    /// Puts `message` last in one of the inbox's lists.
    pub(super) fn push(&mut self, target: InboxTarget, message: Message) -> Result<(), LogError> {
        inbox::push(&mut self.log, target, message)
    }

    /// Appends the header of a request, and the model it is for, where they differ from the last.
    pub(super) fn announce(&mut self, header: RequestHeader) -> Result<(), LogError> {
        fn of(event: &Event) -> Option<&RequestHeader> {
            if let Fact::RequestHeader { header, .. } = &event.fact { Some(header) } else { None }
        }
        let last = self.log.events().iter().rev().find_map(of);
        let CallConfig { provider, model, .. } = header.config.clone();
        let reason = match last {
            None => HeaderReason::Initial,
            Some(_) if !self.log.live().iter().rev().any(|it| of(it).is_some()) => {
                HeaderReason::Resume
            }
            Some(last) if *last != header => HeaderReason::Change,
            Some(_) => return Ok(()),
        };
        let moved =
            last.is_none_or(|it| (&it.config.provider, &it.config.model) != (&provider, &model));
        self.append(Fact::RequestHeader { header, reason })?;
        if moved {
            self.append(Fact::RequestContext { provider, model, context_window: None })?;
        }
        Ok(())
    }

    /// Puts `message` into the inbox, and perhaps wakes the agent. Returns the turn that this
    /// opened, for the caller to have run.
    pub(super) fn send(
        &mut self,
        target: InboxTarget,
        wake: bool,
        message: Message,
    ) -> Result<Option<Turn>, LogError> {
        let cancelled = self.running.as_ref().is_some_and(|it| it.cause.is_some());
        let target = if wake && cancelled { InboxTarget::NextTurn } else { target };
        self.push(target, message)?;
        if !wake {
            return Ok(None);
        }
        let Some(running) = &mut self.running else {
            self.failure = None;
            return Ok(self.open());
        };
        // A turn that goes on will find the message by itself, one that was cancelled will not.
        running.woken |= match running.cause {
            None => running.alone,
            Some(AbortCause::Disposed) => false,
            Some(
                AbortCause::User
                | AbortCause::Parent
                | AbortCause::Hook { .. }
                | AbortCause::Legacy,
            ) => true,
        };
        Ok(None)
    }

    /// Empties the inbox and remembers who cancelled the turn. Returns the turn's signal, to be
    /// fired when the lock is gone.
    pub(super) fn cancel(&mut self, cause: AbortCause) -> (Result<(), LogError>, Option<Signal>) {
        let cleared = inbox::clear(&mut self.log);
        if let Some(running) = &mut self.running {
            running.woken = false;
        }
        (cleared, self.cancel_turn(cause))
    }

    /// As [`cancel`](Self::cancel), with the inbox as it is.
    pub(super) fn cancel_turn(&mut self, cause: AbortCause) -> Option<Signal> {
        let running = self.running.as_mut()?;
        running.cause.get_or_insert(cause);
        Some(running.signal.clone())
    }

    /// How questions whether a call may run are answered, if the session says.
    pub(super) fn approval_policy(&self) -> Option<ApprovalPolicy> {
        self.last(
            |it| {
                if let Fact::ApprovalPolicy { policy, .. } = it { Some(*policy) } else { None }
            },
        )
    }

    /// Has them answered by `policy`, where they were not already; `usual` holds where the session
    /// says nothing.
    pub(super) fn set_approval_policy(
        &mut self,
        policy: ApprovalPolicy,
        usual: Approvals,
    ) -> Result<(), LogError> {
        if self.approval_policy().map_or(usual, Approvals::from) == policy.into() {
            return Ok(());
        }
        self.append(Fact::ApprovalPolicy { policy, source: None })?;
        let notice = match policy {
            ApprovalPolicy::Ask => "From now on the user may be asked whether a tool call may run.",
            ApprovalPolicy::Never => {
                "From now on tool calls that would need the user's approval are denied."
            }
        };
        self.push(InboxTarget::NextStep, Message::from_plugin("approval", notice))
    }

    /// Opens a turn that claims nothing, unless one runs.
    pub(super) fn open_alone(&mut self) -> Result<Option<(u32, Signal)>, LogError> {
        if self.running.is_some() {
            return Ok(None);
        }
        let number = self.start()?;
        self.failure = None;
        Ok(Some((number, self.run(true))))
    }

    /// Whether a turn is open.
    pub(super) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Closes the turn that runs. Returns the one opened after it, if any.
    pub(super) fn close(&mut self, turn: u32, result: Result<Ending, TurnError>) -> Option<Turn> {
        let Running { cause, woken, .. } = self.running.take().expect("an open turn runs");
        let (reason, goes_on) = match result {
            // A cancellation that came too late for this turn still stops what waits.
            Ok(Ending::Ended(reason)) => (reason, cause.is_none()),
            Ok(Ending::Parked(reason)) => (reason, false),
            Err(error) => {
                let reason = match cause {
                    Some(reason) => TurnEndReason::Aborted { reason },
                    None => TurnEndReason::Error { error: error.failure() },
                };
                if let TurnError::Log(error) = error {
                    self.fail(error);
                }
                (reason, false)
            }
        };
        let closed = self.log.close_step();
        if let Err(error) = closed.and_then(|()| self.append(Fact::TurnEnd { turn, reason })) {
            self.fail(error);
        }
        if (goes_on || woken) && self.waits() && self.failure.is_none() {
            return self.open();
        }
        self.status.send_replace(Status::Idle);
        None
    }

    fn open(&mut self) -> Option<Turn> {
        let number = match self.start() {
            Ok(number) => number,
            Err(error) => {
                self.fail(error);
                self.status.send_replace(Status::Idle);
                return None;
            }
        };
        let signal = self.run(false);
        let claimed = self.introduced.has_fired().then(|| self.claim(Boundary::Turn));
        Some(Turn { number, signal, claimed })
    }

    /// Begins a turn in the log. One that could not be ended there is ended first.
    fn start(&mut self) -> Result<u32, LogError> {
        self.log.close_turn()?;
        let turn = self.log.next_turn();
        self.append(Fact::TurnStart { turn })?;
        Ok(turn)
    }

    /// Whether anything waits in the inbox.
    fn waits(&self) -> bool {
        !self.lets_turn_end() || !self.log.waiting().next_turn.is_empty()
    }

    /// A turn runs now: its signal.
    fn run(&mut self, alone: bool) -> Signal {
        let signal = Signal::new();
        self.running = Some(Running { signal: signal.clone(), cause: None, woken: false, alone });
        self.status.send_replace(Status::Running);
        signal
    }

    /// The last thing of some kind that happened.
    fn last<'a, T>(&'a self, kind: impl FnMut(&'a Fact) -> Option<T>) -> Option<T> {
        self.log.events().iter().rev().map(|it| &it.fact).find_map(kind)
    }

    fn fail(&mut self, error: LogError) {
        tracing::error!(%error, "an agent stops: its session log cannot be written");
        self.failure.get_or_insert(Arc::new(error));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Header, Rule, Violation};

    #[test]
    fn a_cancellation_that_comes_too_late_for_a_turn_stops_the_next() {
        #[track_caller]
        fn check(cause: Option<AbortCause>, goes_on: bool) {
            let mut state = running();
            if let Some(cause) = cause {
                state.cancel(cause).0.unwrap();
            }
            assert_eq!(send(&mut state, true), None);
            let next = state.close(1, Ok(Ending::Ended(TurnEndReason::Completed)));
            assert_eq!(next.map(|it| it.number), goes_on.then_some(2));
        }
        check(None, true);
        check(Some(AbortCause::User), true);
        check(Some(AbortCause::Disposed), false);
    }

    #[test]
    fn a_cancellation_takes_back_a_wake() {
        let mut state = running();
        state.cancel(AbortCause::User).0.unwrap();
        send(&mut state, true);
        state.cancel(AbortCause::User).0.unwrap();
        send(&mut state, false);
        assert!(state.close(1, Err(TurnError::Cancelled)).is_none());
    }

    #[test]
    fn a_log_that_failed_stops_the_agent_until_it_is_woken() {
        let mut state = running();
        state.cancel(AbortCause::User).0.unwrap();
        send(&mut state, true);
        let error = TurnError::Log(Violation { seq: 7, rule: Rule::NoTurn }.into());
        assert!(state.close(1, Err(error)).is_none());
        assert!(matches!(*state.failure().unwrap(), LogError::Invalid(Violation { seq: 7, .. })));
        assert_eq!(*state.status().borrow(), Status::Idle);
        assert_eq!(send(&mut state, true), Some(2));
        assert!(state.failure().is_none());
    }

    fn running() -> State {
        let mut state = State::new(SessionLog::ephemeral(Header::new(None, 5), || 42));
        state.introduced().fire();
        assert_eq!(send(&mut state, true), Some(1));
        state
    }

    /// The number of the turn that a message opens.
    fn send(state: &mut State, wake: bool) -> Option<u32> {
        let message = Message::from_user("Go.");
        let turn = state.send(InboxTarget::NextTurn, wake, message);
        turn.expect("nothing is written").map(|it| it.number)
    }

    #[test]
    fn a_request_is_announced_where_it_differs_from_the_last() {
        let mut state = running();
        let before = state.log.events().len();
        let header = |model: &str, system: Option<&str>| {
            let config = serde_json::json!({ "provider": "p", "model": model });
            RequestHeader {
                config: serde_json::from_value(config).unwrap(),
                adapter_defaults: None,
                system: system.map(str::to_owned),
                tools: None,
            }
        };
        for (model, system) in [("a", None), ("a", None), ("a", Some("s")), ("b", Some("s"))] {
            state.announce(header(model, system)).unwrap();
        }
        let facts: Vec<Fact> =
            state.log.events()[before..].iter().map(|it| it.fact.clone()).collect();
        let announced =
            |model, system, reason| Fact::RequestHeader { header: header(model, system), reason };
        let moved = |model: &str| Fact::RequestContext {
            provider: "p".to_owned(),
            model: model.to_owned(),
            context_window: None,
        };
        assert_eq!(
            facts,
            [
                announced("a", None, HeaderReason::Initial),
                moved("a"),
                announced("a", Some("s"), HeaderReason::Change),
                announced("b", Some("s"), HeaderReason::Change),
                moved("b"),
            ]
        );
    }
}
