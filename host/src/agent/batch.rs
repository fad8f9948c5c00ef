//! The tool calls of one answer: which of them run side by side, and in which order what comes of
//! them is told.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::{Pin, pin};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use lockgate_plugin_api::{Block, ToolOutcome};
use serde::de::IgnoredAny;
use serde_json::Value;

use super::Core;
use super::record::{self, Proposed};
use super::step::Place;
use super::turn::TurnError;
use crate::signal::Signal;
use crate::tools::{self, CallRequest, Prepared, Settled};

/// The calls of one answer, in the order in which the model wrote them.
///
/// Only bodies overlap, with who stands around them. Everything else of a call happens in its
/// turn: those who decide are asked about one call after the other, and what came of a call is
/// reviewed and appended once that is done for every call before it.
struct Batch<'a> {
    core: &'a Core,
    place: Place,
    signal: &'a Signal,
    waiting: VecDeque<Proposed>,
    /// Whether the first of those that wait must run alone. Once that is said, it stands.
    is_next_exclusive: bool,
    /// Those whose outcome is not in the log.
    started: VecDeque<Started>,
    /// The bodies that run, each with the number of its call's event.
    running: FuturesUnordered<Running>,
    /// Whether a call has concluded the turn.
    concluded: bool,
}

struct Started {
    /// The number of the event that says so.
    event: u64,
    call_id: String,
    /// Where its body left it, once that has ended.
    settled: Option<Settled>,
}

type Running = Pin<Box<dyn Future<Output = (u64, Settled)> + Send>>;

/// Runs the tool calls in `content`. Returns whether one of them concluded the turn; none if there
/// was no call.
///
/// Once the signal has fired no call is started any more, and each of them is told so. Bodies that
/// run are waited for, also where the log fails: nothing more is appended then.
pub(super) async fn run(
    core: &Core,
    place: Place,
    signal: &Signal,
    content: Vec<Block>,
) -> Result<Option<bool>, TurnError> {
    let waiting: VecDeque<Proposed> = content.into_iter().filter_map(proposed).collect();
    if waiting.is_empty() {
        return Ok(None);
    }
    let mut batch = Batch {
        core,
        place,
        signal,
        waiting,
        is_next_exclusive: false,
        started: VecDeque::new(),
        running: FuturesUnordered::new(),
        concluded: false,
    };
    let done = batch.run().await;
    while batch.running.next().await.is_some() {}
    done.map(|()| Some(batch.concluded))
}

impl Batch<'_> {
    async fn run(&mut self) -> Result<(), TurnError> {
        loop {
            self.fill().await?;
            let Some(first) = self.started.front() else { break };
            if first.settled.is_none()
                && let Some((event, settled)) = self.running.next().await
            {
                self.settle(event, settled);
            }
            self.commit().await?;
        }
        // Only a signal that has fired leaves any.
        for call in self.waiting.drain(..) {
            let call_id = call.call_id.clone();
            let event = record::call(self.core, self.place, call)?;
            record::result(self.core, self.place, event, call_id, &never_started())?;
        }
        Ok(())
    }

    /// Starts calls as long as they may run beside those that do, and there is room.
    async fn fill(&mut self) -> Result<(), TurnError> {
        let cap = self.core.options.max_parallel_tool_calls.get();
        while self.running.len() < cap && !self.signal.has_fired() {
            if self.is_next_exclusive && !self.started.is_empty() {
                break;
            }
            let Some(next) = self.waiting.front() else { break };
            // What is live when the call begins, which may be more than those before it see.
            let call = tools::create(&self.core.registry.snapshot(), self.request(next));
            let is_parallel =
                !self.is_next_exclusive && self.beside(tools::is_parallel(&call)).await;
            if !is_parallel && !self.started.is_empty() {
                self.is_next_exclusive = true;
                break;
            }
            // Whoever was asked may have cancelled the turn.
            if self.signal.has_fired() {
                break;
            }
            let next = self.waiting.pop_front().expect("nobody else takes it");
            self.is_next_exclusive = false;
            let call_id = next.call_id.clone();
            let event = record::call(self.core, self.place, next)?;
            let settled = match self.beside(tools::prepare(call)).await {
                Prepared::Settled(settled) => Some(settled),
                Prepared::Admitted(call) => {
                    // A call that nobody knows of afterwards might be made twice.
                    let core = self.core;
                    self.beside(core.checkpoint()).await?;
                    let running = async move { (event, tools::dispatch(call).await) };
                    self.running.push(Box::pin(running));
                    None
                }
            };
            self.started.push_back(Started { event, call_id, settled });
            if !is_parallel {
                break;
            }
        }
        Ok(())
    }

    /// Appends what came of the calls that have settled, up to the first that has not.
    async fn commit(&mut self) -> Result<(), TurnError> {
        while let Some(Started { event, call_id, settled: Some(settled) }) =
            self.started.pop_front_if(|it| it.settled.is_some())
        {
            let outcome = self.beside(tools::finish(settled)).await;
            record::result(self.core, self.place, event, call_id, &outcome)?;
            self.concluded |= outcome.concludes_turn();
        }
        Ok(())
    }

    /// Waits for `work` while the bodies that run go on.
    async fn beside<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        loop {
            tokio::select! {
                biased;
                Some((event, settled)) = self.running.next() => self.settle(event, settled),
                done = &mut work => return done,
            }
        }
    }

    fn settle(&mut self, event: u64, settled: Settled) {
        if let Some(call) = self.started.iter_mut().find(|it| it.event == event) {
            call.settled = Some(settled);
        }
    }

    fn request(&self, call: &Proposed) -> CallRequest {
        CallRequest {
            call_id: call.call_id.clone(),
            name: call.name.clone(),
            arguments: json_text(call.arguments.clone()),
            agent: Some(self.core.id),
            cwd: self.core.options.cwd.clone(),
            signal: self.signal.clone(),
        }
    }
}

fn proposed(block: Block) -> Option<Proposed> {
    let Block::ToolCall { id: call_id, name, arguments } = block else { return None };
    Some(Proposed { call_id, name, arguments })
}

fn never_started() -> ToolOutcome {
    let message = "tool call aborted before dispatch";
    ToolOutcome::coded_failure(message, "AbortError", "ABORTED_BEFORE_DISPATCH")
}

/// What a model wrote as arguments, as JSON: nothing is no arguments, and what is no JSON is a
/// text.
fn json_text(raw: String) -> String {
    if raw.is_empty() {
        return "{}".to_owned();
    }
    match serde_json::from_str::<IgnoredAny>(&raw) {
        Ok(IgnoredAny) => raw,
        Err(_) => Value::String(raw).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_json_whatever_the_model_wrote() {
        #[track_caller]
        fn check(raw: &str, expected: &str) {
            assert_eq!(json_text(raw.to_owned()), expected);
        }
        check("", "{}");
        check(r#"{"a": 1}"#, r#"{"a": 1}"#);
        check("[1]", "[1]");
        check(" ", r#"" ""#);
        check("not json", r#""not json""#);
        check(r#"{"a": "b"#, r#""{\"a\": \"b""#);
        let deep = "[".repeat(5000) + &"]".repeat(5000);
        check(&deep, &deep);
    }
}
