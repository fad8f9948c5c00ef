//! What the host does for plugins: the table of functions, and the handle authors get.

use std::fmt;
use std::future::Future;
use std::time::Duration;

use abi_stable::StableAbi;
use serde_json::Value;

use super::asked::{HostError, ask, done};
use super::blocking::{self, Closure};
use super::future::{Reply, SeamFuture};
use super::handle::{Inbox, LoggedEvent};
use super::json::Json;
use super::listener::Noted;
use super::process::{Command, ProcessExit, ProcessOutput, ProcessSpecRef};
use super::value::{Buf, Status, Str};
use crate::message::Message;

/// The host's functions. They live as long as the process. `instance` is the one of
/// [`CreateArgs`](super::root::CreateArgs); once it is destroyed it is answered no more.
///
/// A function that takes a `future` answers [`Status::PENDING`] or [`Status::FAULT`].
#[repr(C)]
#[derive(StableAbi)]
#[sabi(kind(Prefix(prefix_ref = HostTableRef, prefix_fields = HostTablePrefix)))]
pub struct HostTable {
    /// Writes a line to the host's log. `level` is 1 for errors to 5 for traces.
    /// [any thread, concurrent, must not block]
    pub log: unsafe extern "C" fn(instance: u64, level: u32, target: Str, message: Str),
    /// The highest level that anybody reads; 0 for none. [any thread, concurrent, must not block]
    pub max_level: unsafe extern "C" fn() -> u32,
    /// A table of the host's that is not in this one, by its id; null where it has none.
    /// [any thread, concurrent, must not block]
    pub extension: unsafe extern "C" fn(id: Str) -> *const (),
    /// 1 when the signal has fired. A signal that is gone counts as fired.
    /// [any thread, concurrent, must not block]
    pub has_fired: unsafe extern "C" fn(signal: u64) -> u32,
    /// A future that is ready when the signal has fired. [any thread, concurrent, must not block]
    pub fired: unsafe extern "C" fn(
        instance: u64,
        signal: u64,
        future: *mut SeamFuture<Noted>,
        fault: *mut Buf,
    ) -> Status,
    /// A future that is ready after `millis` milliseconds. [any thread, concurrent, must not block]
    pub sleep: unsafe extern "C" fn(
        instance: u64,
        millis: u64,
        future: *mut SeamFuture<Noted>,
        fault: *mut Buf,
    ) -> Status,
    /// Puts a message (JSON) into an agent's inbox: `target` 1 for a turn of its own, 2 for the
    /// next step; `wake` 1 to wake the agent. [any thread, concurrent, must not block]
    pub send: unsafe extern "C" fn(
        instance: u64,
        agent: u64,
        target: u32,
        wake: u32,
        message: Str,
        future: *mut SeamFuture<Noted>,
        fault: *mut Buf,
    ) -> Status,
    /// Takes `future` over, leaving none there, and polls it to its end or the instance's.
    /// [any thread, concurrent, must not block]
    pub spawn: unsafe extern "C" fn(
        instance: u64,
        future: *mut SeamFuture<Noted>,
        fault: *mut Buf,
    ) -> Status,
    /// Calls the closure, once, on a thread that may block. On a fault it is not called.
    /// The instance is not destroyed before it has returned.
    /// [any thread, concurrent, must not block]
    pub spawn_blocking:
        unsafe extern "C" fn(instance: u64, closure: Closure, fault: *mut Buf) -> Status,
    /// Runs a process in a process group of its own. Dropping the future, and the signal in
    /// `spec`, kill the group. [any thread, concurrent, must not block]
    pub process: unsafe extern "C" fn(
        instance: u64,
        spec: ProcessSpecRef,
        future: *mut SeamFuture<ProcessExit>,
        fault: *mut Buf,
    ) -> Status,
    /// Cancels an agent's turn, if one runs, because of `reason`, and withdraws what waits for the
    /// agent unless [`KEEP_INBOX`](super::handle::KEEP_INBOX) is set.
    /// [any thread, concurrent, must not block]
    pub cancel: unsafe extern "C" fn(
        instance: u64,
        agent: u64,
        flags: u32,
        reason: Str,
        future: *mut SeamFuture<Noted>,
        fault: *mut Buf,
    ) -> Status,
    /// What waits for an agent: an object of two lists of messages, `nextTurn` and `nextStep`.
    /// [any thread, concurrent, must not block]
    pub inbox: unsafe extern "C" fn(
        instance: u64,
        agent: u64,
        future: *mut SeamFuture<Json>,
        fault: *mut Buf,
    ) -> Status,
    /// The events of an agent's session from the number `from` on, at most `most`: a list of
    /// objects as the log has them. [any thread, concurrent, must not block]
    pub events: unsafe extern "C" fn(
        instance: u64,
        agent: u64,
        from: u64,
        most: u64,
        future: *mut SeamFuture<Json>,
        fault: *mut Buf,
    ) -> Status,
    /// Appends an event of the type `kind`, which the manifest declares, with `data` (JSON) to the
    /// log of an agent's session. [any thread, concurrent, must not block]
    pub append: unsafe extern "C" fn(
        instance: u64,
        agent: u64,
        kind: Str,
        data: Str,
        future: *mut SeamFuture<Noted>,
        fault: *mut Buf,
    ) -> Status,
    /// The instance has other tools now: it is asked to list them again, on another thread, and
    /// calls that begin after that find those. [any thread, concurrent, must not block]
    #[sabi(last_prefix_field)]
    pub tools_changed: unsafe extern "C" fn(instance: u64, fault: *mut Buf) -> Status,
}

/// What the host's functions say to an instance that has ended.
pub const RETIRED: &str = "RETIRED: the plugin's instance has ended";

/// The host, as a plugin reaches it. May be kept and used on any thread, until the instance it
/// was given to is dropped; then it answers with errors.
#[derive(Clone, Copy)]
pub struct Host {
    table: HostTableRef,
    instance: u64,
}

/// A signal that tells work to end: a call or a turn was cancelled, or a deadline has passed.
/// May be kept; one whose work is over counts as fired.
#[derive(Debug, Clone, Copy)]
pub struct Cancelled {
    signal: u64,
    host: Host,
}

impl Cancelled {
    pub(super) fn new(signal: u64, host: Host) -> Self {
        Self { signal, host }
    }

    /// Whether it has fired.
    pub fn has_fired(&self) -> bool {
        self.host.has_fired(self.signal)
    }

    /// Waits until it has fired.
    pub async fn fired(&self) {
        self.host.fired(self.signal).await;
    }

    pub(super) fn number(&self) -> u64 {
        self.signal
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").field("instance", &self.instance).finish_non_exhaustive()
    }
}

impl Host {
    /// The handle for the instance with this number.
    ///
    /// # Safety
    /// `table` came from the host that numbered the instance.
    pub unsafe fn new(table: HostTableRef, instance: u64) -> Self {
        Self { table, instance }
    }

    /// Waits for at least `time`, in whole milliseconds.
    ///
    /// # Errors
    /// When the instance has been retired.
    pub async fn sleep(&self, time: Duration) -> Result<(), HostError> {
        let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let slept = ask(|future, fault| {
            // SAFETY: the host's function, with places to write to.
            unsafe { self.table.sleep()(self.instance, millis, future, fault) }
        });
        slept.answer().await.map(drop)
    }

    /// Runs a command to its end.
    ///
    /// Dropping the future kills the command's whole process group, and so does the signal given
    /// to [`Command::killed_by`].
    ///
    /// # Errors
    /// When the command cannot be started; how it ended is not an error.
    pub async fn process(&self, command: &Command) -> Result<ProcessOutput, HostError> {
        let ended = command.with_spec(|spec| {
            ask(|future, fault| {
                // SAFETY: the host's function, with places to write to; it copies the spec.
                unsafe { self.table.process()(self.instance, spec, future, fault) }
            })
        });
        ended.answer().await.map(ProcessOutput::from)
    }

    /// Runs `future` on the host's runtime, until it ends or the instance does.
    ///
    /// # Errors
    /// When the instance has been retired; the future is dropped.
    pub fn spawn(
        &self,
        future: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), HostError> {
        let mut future = SeamFuture::new(async move {
            future.await;
            Reply::Ready(Noted::DONE)
        });
        let mut fault = Buf::EMPTY;
        // SAFETY: the host's function, which takes what it takes over.
        let status = unsafe { self.table.spawn()(self.instance, &raw mut future, &raw mut fault) };
        done(status, &fault)
    }

    /// Calls `f` on a thread that may block, and waits for what it returns. The instance is not
    /// dropped before `f` has returned, whether anybody waits or not.
    ///
    /// # Errors
    /// When the instance has been retired and `f` is not called, or when `f` panics.
    pub async fn spawn_blocking<T: Send + 'static>(
        &self,
        f: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, HostError> {
        let (work, result) = blocking::work(f);
        let mut fault = Buf::EMPTY;
        let status = {
            let closure = work.into_closure();
            // SAFETY: the host calls the closure once, or says that it does not.
            let status =
                unsafe { self.table.spawn_blocking()(self.instance, closure, &raw mut fault) };
            if status != Status::READY {
                // SAFETY: it was not called, so the work is still ours.
                unsafe { blocking::give_up(closure) };
            }
            status
        };
        done(status, &fault)?;
        result.await.map_err(HostError::new)
    }

    /// Says that the instance offers other tools now. The host calls
    /// [`Plugin::tools`](crate::Plugin::tools) again, soon and on another thread; calls that begin
    /// after that find what it lists.
    ///
    /// # Errors
    /// When the instance has been retired.
    pub fn tools_changed(&self) -> Result<(), HostError> {
        let mut fault = Buf::EMPTY;
        // SAFETY: the host's function, with a place to write to.
        let status = unsafe { self.table.tools_changed()(self.instance, &raw mut fault) };
        done(status, &fault)
    }

    /// Writes a line to the host's log; `level` is 1 for errors to 5 for traces.
    pub(crate) fn log(&self, level: u32, target: &str, message: &str) {
        // SAFETY: the host's function; it copies the texts.
        unsafe { self.table.log()(self.instance, level, Str::lend(target), Str::lend(message)) }
    }

    /// The highest level that anybody reads.
    pub(crate) fn max_level(&self) -> u32 {
        // SAFETY: the host's function.
        unsafe { self.table.max_level()() }
    }

    pub(super) fn has_fired(&self, signal: u64) -> bool {
        // SAFETY: the host's function.
        unsafe { self.table.has_fired()(signal) != 0 }
    }

    pub(super) async fn fired(&self, signal: u64) {
        let fired = ask(|future, fault| {
            // SAFETY: the host's function, with places to write to.
            unsafe { self.table.fired()(self.instance, signal, future, fault) }
        });
        // A host that cannot say any more has nothing left to cancel.
        let _ = fired.answer().await;
    }

    pub(super) async fn send(
        &self,
        agent: u64,
        target: u32,
        wake: bool,
        message: &Message,
    ) -> Result<(), HostError> {
        let message = serde_json::to_string(message).expect("messages always serialise");
        let sent = ask(|future, fault| {
            let (instance, wake, message) = (self.instance, u32::from(wake), Str::lend(&message));
            // SAFETY: the host's function, with places to write to; it copies the message.
            unsafe { self.table.send()(instance, agent, target, wake, message, future, fault) }
        });
        sent.answer().await.map(drop)
    }

    pub(super) async fn cancel(
        &self,
        agent: u64,
        flags: u32,
        reason: &str,
    ) -> Result<(), HostError> {
        let cancelled = ask(|future, fault| {
            let (instance, reason) = (self.instance, Str::lend(reason));
            // SAFETY: the host's function, with places to write to; it copies the reason.
            unsafe { self.table.cancel()(instance, agent, flags, reason, future, fault) }
        });
        cancelled.answer().await.map(drop)
    }

    pub(super) async fn inbox(&self, agent: u64) -> Result<Inbox, HostError> {
        let asked = ask(|future, fault| {
            // SAFETY: the host's function, with places to write to.
            unsafe { self.table.inbox()(self.instance, agent, future, fault) }
        });
        asked.read().await
    }

    pub(super) async fn events(
        &self,
        agent: u64,
        from: u64,
        most: u64,
    ) -> Result<Vec<LoggedEvent>, HostError> {
        let asked = ask(|future, fault| {
            // SAFETY: the host's function, with places to write to.
            unsafe { self.table.events()(self.instance, agent, from, most, future, fault) }
        });
        asked.read().await
    }

    pub(super) async fn append(
        &self,
        agent: u64,
        kind: &str,
        data: &Value,
    ) -> Result<(), HostError> {
        let data = data.to_string();
        let appended = ask(|future, fault| {
            let (instance, kind, data) = (self.instance, Str::lend(kind), Str::lend(&data));
            // SAFETY: the host's function, with places to write to; it copies the texts.
            unsafe { self.table.append()(instance, agent, kind, data, future, fault) }
        });
        appended.answer().await.map(drop)
    }
}
