//! The tools of a linked plugin: one run of a body, and what the plugin says of a value.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::lend::LentCall;
use crate::abi::Prefixed;
use crate::abi::call::CallTableRef;
use crate::abi::future::{Out, Reply, SeamFuture, guard, write_done, write_future};
use crate::abi::json::Json;
use crate::abi::tool::{HAS_LAST_WORD, NestedCallRef, RunTable, RunTableRef, ToolEntryRef};
use crate::abi::value::{Buf, Status, Str};
use crate::message::Message;
use crate::outcome::ToolOutcome;
use crate::testing::Progress;
use crate::testing::stage::Stage;
use crate::testing::wait;
use crate::tool::ToolSpec;

/// A tool that the plugin offered, released when it is dropped.
pub(crate) struct Entry {
    entry: ToolEntryRef,
}

/// What a body does besides answering.
struct Running {
    signal: u64,
    stage: Arc<Stage>,
    contexts: Mutex<Vec<Message>>,
    concludes: AtomicBool,
}

impl Entry {
    /// # Safety
    /// The entry was offered to the caller, and nobody else releases it.
    pub(super) unsafe fn owned(entry: ToolEntryRef) -> Self {
        Self { entry }
    }

    /// What the tool is; a text that is no JSON stands as a string.
    pub(crate) fn spec(&self) -> ToolSpec {
        // SAFETY: lent until `release`.
        let text = |it: Str| unsafe { it.read() }.unwrap_or("(no text)").to_owned();
        let json = |it: Str| serde_json::from_str(&text(it)).unwrap_or_else(|_| text(it).into());
        ToolSpec {
            name: text(self.entry.name()),
            description: text(self.entry.description()),
            parameters: json(self.entry.parameters()),
            output: json(self.entry.output()),
            budget: Some(self.entry.budget_ms()).filter(|it| *it != 0).map(Duration::from_millis),
            has_last_word: self.entry.flags() & HAS_LAST_WORD != 0,
        }
    }

    /// Runs the body; `None` where its answer never comes.
    pub(crate) fn run(
        &self,
        stage: &Arc<Stage>,
        call: &LentCall<'_>,
    ) -> Option<Reply<ToolOutcome>> {
        let running = Running {
            signal: call.signal(),
            stage: Arc::clone(stage),
            contexts: Mutex::default(),
            concludes: AtomicBool::new(false),
        };
        let reply = call.with(|call| {
            let table = Prefixed::new(RunTable {
                call,
                state: (&raw const running).cast(),
                signal,
                defer_context,
                call_tool,
                conclude_turn,
                progress,
            });
            // SAFETY: `table` outlives the body's future, which `answer` drops.
            let table = RunTableRef(unsafe { table.as_prefix() });
            stage.inside(|| {
                let mut out = ToolOutcome::EMPTY;
                let mut future = SeamFuture::EMPTY;
                let mut fault = Buf::EMPTY;
                let state = self.entry.state();
                // SAFETY: the plugin's function, with a lent table and empty places.
                let status = unsafe {
                    self.entry.execute()(
                        state,
                        table,
                        &raw mut out,
                        &raw mut future,
                        &raw mut fault,
                    )
                };
                if status == Status::PENDING {
                    return wait::answer(stage, future, || false);
                }
                Some(Reply::from_parts(status, out, &fault))
            })
        })?;
        let Reply::Ready(outcome) = reply else { return Some(reply) };
        let contexts = running.contexts.into_inner().unwrap_or_else(PoisonError::into_inner);
        let outcome = contexts.into_iter().fold(outcome, ToolOutcome::with_context);
        let concludes = running.concludes.load(Ordering::Relaxed) && !outcome.is_error();
        Some(Reply::Ready(outcome.concluding(concludes)))
    }

    /// What the model is shown of a value.
    pub(crate) fn render(
        &self,
        stage: &Arc<Stage>,
        call: &LentCall<'_>,
        value: &str,
    ) -> Reply<Json> {
        said(stage, call, |call, out, fault| {
            // SAFETY: the plugin's function, with what is lent and empty places.
            unsafe { self.entry.render()(self.entry.state(), call, Str::lend(value), out, fault) }
        })
    }

    /// What whoever presents the outcome gets of a value.
    pub(crate) fn present(
        &self,
        stage: &Arc<Stage>,
        call: &LentCall<'_>,
        value: &str,
    ) -> Reply<Json> {
        said(stage, call, |call, out, fault| {
            // SAFETY: the plugin's function, with what is lent and empty places.
            unsafe { self.entry.present()(self.entry.state(), call, Str::lend(value), out, fault) }
        })
    }

    /// The last word on what the model is shown.
    pub(crate) fn finalize(
        &self,
        stage: &Arc<Stage>,
        call: &LentCall<'_>,
        outcome: &ToolOutcome,
    ) -> Reply<Json> {
        said(stage, call, |call, out, fault| {
            // SAFETY: the plugin's function, with what is lent and empty places.
            unsafe { self.entry.finalize()(self.entry.state(), call, outcome, out, fault) }
        })
    }

    /// Whether a call with these arguments may run beside others.
    pub(crate) fn is_parallel_safe(&self, stage: &Arc<Stage>, arguments: &str) -> bool {
        let (state, arguments) = (self.entry.state(), Str::lend(arguments));
        // SAFETY: the plugin's function, with what is lent.
        stage.inside(|| unsafe { self.entry.is_parallel_safe()(state, arguments) }) == 1
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("spec", &self.spec()).finish()
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        // SAFETY: the last call on the entry, which nobody else holds.
        unsafe { self.entry.release()(self.entry.state()) }
    }
}

/// Asks one of the functions that answer at once.
fn said(
    stage: &Arc<Stage>,
    call: &LentCall<'_>,
    ask: impl FnOnce(CallTableRef, *mut Json, *mut Buf) -> Status,
) -> Reply<Json> {
    let mut out = Json::EMPTY;
    let mut fault = Buf::EMPTY;
    let status = call.with(|it| stage.inside(|| ask(it, &raw mut out, &raw mut fault)));
    Reply::from_parts(status, out, &fault)
}

/// # Safety
/// `state` is the `Running` of a table that is lent.
unsafe fn running<'a>(state: *const ()) -> &'a Running {
    // SAFETY: the caller's promise.
    unsafe { &*state.cast::<Running>() }
}

unsafe extern "C" fn signal(state: *const ()) -> u64 {
    // SAFETY: called with the table's state, while it is lent.
    unsafe { running(state) }.signal
}

unsafe extern "C" fn defer_context(state: *const (), message: Str, fault: *mut Buf) -> Status {
    // SAFETY: called with the table's state, while it is lent.
    let running = unsafe { running(state) };
    // SAFETY: the body lends it during the call.
    let message = unsafe { message.read() }.map(str::to_owned);
    let read = guard(|| match message {
        Ok(message) => serde_json::from_str(&message).map_err(|it| it.to_string()),
        Err(error) => Err(error.to_string()),
    });
    let kept = read.flatten().map(|message| {
        running.contexts.lock().unwrap_or_else(PoisonError::into_inner).push(message);
    });
    // SAFETY: the body gives an empty place to write to.
    unsafe { write_done(kept, fault) }
}

unsafe extern "C" fn call_tool(
    state: *const (),
    request: NestedCallRef,
    future: *mut SeamFuture<ToolOutcome>,
    fault: *mut Buf,
) -> Status {
    // SAFETY: called with the table's state, while it is lent.
    let running = unsafe { running(state) };
    let made = guard(|| {
        // SAFETY: the body lends the request during the call.
        let text = |it: Str| unsafe { it.read() }.map_err(|it| it.to_string());
        let name = text(request.name())?;
        let arguments =
            serde_json::from_str(text(request.arguments())?).map_err(|it| it.to_string())?;
        let answer = running.stage.answer_call();
        let answer = answer.ok_or_else(|| format!("the test says nothing of calls: `{name}`"))?;
        let outcome = answer(name, &arguments);
        // What is said to the model about the inner call is said with the outer one.
        let said = outcome.extras().map(|it| it.contexts).unwrap_or_default();
        running.contexts.lock().unwrap_or_else(PoisonError::into_inner).extend(said);
        Ok(SeamFuture::new(std::future::ready(Reply::Ready(outcome))))
    });
    // SAFETY: the body gives empty places to write to.
    unsafe { write_future(made.flatten(), future, fault) }
}

unsafe extern "C" fn conclude_turn(state: *const ()) {
    // SAFETY: called with the table's state, while it is lent.
    unsafe { running(state) }.concludes.store(true, Ordering::Relaxed);
}

unsafe extern "C" fn progress(state: *const (), done: u64, total: u64, text: Str) {
    // SAFETY: called with the table's state, while it is lent.
    let running = unsafe { running(state) };
    // SAFETY: the body lends it during the call.
    let text = unsafe { text.read() }.unwrap_or("(not UTF-8)").to_owned();
    running.stage.make_progress(Progress { done, total, text });
}
