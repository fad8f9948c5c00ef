//! The host's functions by which plugins reach an agent. Each has done what it does before it
//! returns, and answers with a future for the day on which an agent is somewhere else.

use lockgate_plugin_api::abi::future::{Out, Reply, SeamFuture, write_future};
use lockgate_plugin_api::abi::handle::{KEEP_INBOX, NEXT_STEP, NEXT_TURN};
use lockgate_plugin_api::abi::json::Json;
use lockgate_plugin_api::abi::listener::Noted;
use lockgate_plugin_api::abi::value::{Buf, Status, Str};
use lockgate_plugin_api::error_chain;

use super::{Caller, answer};
use crate::reach::{self, Reachable};
use crate::session::{AbortCause, Fact, InboxTarget};

pub(super) unsafe extern "C" fn send(
    instance: u64,
    agent: u64,
    target: u32,
    wake: u32,
    message: Str,
    future: *mut SeamFuture<Noted>,
    fault: *mut Buf,
) -> Status {
    let sent = reached(instance, agent, |agent, _| {
        // SAFETY: the plugin lends the text during the call.
        let text = unsafe { read(message, "the message") }?;
        let message =
            serde_json::from_str(text).map_err(|error| format!("not a message: {error}"))?;
        let target = match target {
            NEXT_TURN => InboxTarget::NextTurn,
            NEXT_STEP => InboxTarget::NextStep,
            other => return Err(format!("there is no inbox {other}")),
        };
        let sent = agent.post(target, wake != 0, message);
        sent.map_err(|error| format!("the message was not taken: {}", error_chain(&error)))?;
        Ok(Noted::DONE)
    });
    // SAFETY: the caller gives empty places to write to.
    unsafe { write_future(sent, future, fault) }
}

pub(super) unsafe extern "C" fn cancel(
    instance: u64,
    agent: u64,
    flags: u32,
    reason: Str,
    future: *mut SeamFuture<Noted>,
    fault: *mut Buf,
) -> Status {
    let cancelled = reached(instance, agent, |agent, _| {
        // SAFETY: the plugin lends the text during the call.
        let reason = unsafe { read(reason, "the reason") }?.to_owned();
        let cancelled = agent.cancel(AbortCause::Hook { reason }, flags & KEEP_INBOX != 0);
        cancelled.map_err(|error| error_chain(&error))?;
        Ok(Noted::DONE)
    });
    // SAFETY: the caller gives empty places to write to.
    unsafe { write_future(cancelled, future, fault) }
}

pub(super) unsafe extern "C" fn inbox(
    instance: u64,
    agent: u64,
    future: *mut SeamFuture<Json>,
    fault: *mut Buf,
) -> Status {
    let read = reached(instance, agent, |agent, _| {
        let inbox = serde_json::to_string(&agent.inbox()).map_err(|error| error.to_string())?;
        Ok(Json::new(inbox))
    });
    // SAFETY: the caller gives empty places to write to.
    unsafe { write_future(read, future, fault) }
}

pub(super) unsafe extern "C" fn events(
    instance: u64,
    agent: u64,
    from: u64,
    most: u64,
    future: *mut SeamFuture<Json>,
    fault: *mut Buf,
) -> Status {
    let read = reached(instance, agent, |agent, _| Ok(Json::new(agent.events(from, most))));
    // SAFETY: the caller gives empty places to write to.
    unsafe { write_future(read, future, fault) }
}

pub(super) unsafe extern "C" fn append(
    instance: u64,
    agent: u64,
    kind: Str,
    data: Str,
    future: *mut SeamFuture<Noted>,
    fault: *mut Buf,
) -> Status {
    let appended = reached(instance, agent, |agent, caller| {
        // SAFETY: the plugin lends the text during the call.
        let kind = unsafe { read(kind, "the type") }?;
        // SAFETY: as above.
        let data = unsafe { read(data, "the data") }?;
        if !caller.events.iter().any(|it| it == kind) {
            return Err(format!(
                "events of the type `{kind}` are not among the `events` of its manifest"
            ));
        }
        let data = serde_json::from_str(data)
            .map_err(|error| format!("the data of `{kind}` is no JSON: {error}"))?;
        let fact = Fact::of_kind(kind, data)
            .map_err(|error| format!("that is not what `{kind}` says: {error}"))?;
        agent.append(fact).map_err(|error| error_chain(&error))?;
        Ok(Noted::DONE)
    });
    // SAFETY: the caller gives empty places to write to.
    unsafe { write_future(appended, future, fault) }
}

/// Does something to an agent at once, for an instance that has not been retired.
fn reached<D: Out + Send>(
    instance: u64,
    agent: u64,
    act: impl FnOnce(&dyn Reachable, &Caller) -> Result<D, String>,
) -> Result<SeamFuture<D>, String> {
    answer(instance, |caller| {
        // What an agent does may start a task.
        let _runtime = caller.runtime.enter();
        let acted = match reach::find(agent) {
            Some(agent) => act(&*agent, caller)?,
            None => return Err("the agent is gone".into()),
        };
        Ok(std::future::ready(Reply::Ready(acted)))
    })
}

/// A text that a plugin lends.
///
/// # Safety
/// It is lent for `'a`.
unsafe fn read<'a>(text: Str, what: &str) -> Result<&'a str, String> {
    // SAFETY: the caller's promise.
    unsafe { text.read() }.map_err(|_| format!("{what} is not UTF-8"))
}
