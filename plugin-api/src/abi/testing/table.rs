//! The functions of a bench's host: its own clock and signals, and records of everything else.

use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::time::Duration;

use crate::abi::Prefixed;
use crate::abi::blocking::Closure;
use crate::abi::future::{Out, Reply, SeamFuture, guard, write_done, write_future};
use crate::abi::handle::{KEEP_INBOX, NEXT_TURN};
use crate::abi::host::{HostTable, HostTableRef, RETIRED};
use crate::abi::json::Json;
use crate::abi::listener::Noted;
use crate::abi::process::{MERGED, ProcessExit, ProcessSpecRef};
use crate::abi::value::{Buf, Slice, Status, Str};
use crate::testing::stage::{self, Stage};
use crate::testing::{AGENT, Cancel, Line, Process, Sent, Target};

/// The table of every bench.
pub(super) fn table() -> HostTableRef {
    const TABLE: &Prefixed<HostTable> = &Prefixed::new(HostTable {
        log,
        max_level,
        extension,
        has_fired,
        fired,
        sleep,
        send,
        spawn,
        spawn_blocking,
        process,
        cancel,
        inbox,
        events,
        append,
        tools_changed,
    });
    HostTableRef(TABLE.static_as_prefix())
}

unsafe extern "C" fn log(instance: u64, level: u32, target: Str, message: Str) {
    // Nobody is left to tell that the log itself failed.
    let _ = guard(|| {
        // SAFETY: the plugin lends it during the call.
        let target = unsafe { read(target) };
        // SAFETY: as above.
        let message = unsafe { read(message) };
        let is_panic = target == "panic";
        // The library's bridges speak as its newest instance, which need not be the one inside.
        let inside = stage::innermost();
        let stage = if is_panic { inside } else { inside.or_else(|| stage::find(instance)) };
        if is_panic {
            echo(&message);
        }
        if let Some(stage) = stage {
            stage.log(Line { level, target, message });
        }
    });
}

/// The bridge has taken the place of the panic hook, which would show the test's own panics.
#[expect(clippy::print_stderr, reason = "the test harness captures what is printed this way only")]
fn echo(panic: &str) {
    eprintln!("{panic}");
}

unsafe extern "C" fn max_level() -> u32 {
    5
}

unsafe extern "C" fn extension(_: Str) -> *const () {
    std::ptr::null()
}

unsafe extern "C" fn has_fired(signal: u64) -> u32 {
    u32::from(guard(|| stage::has_fired(signal)).unwrap_or(true))
}

unsafe extern "C" fn fired(
    instance: u64,
    signal: u64,
    future: *mut SeamFuture<Noted>,
    fault: *mut Buf,
) -> Status {
    let answer = answer(instance, |stage| async move {
        poll_fn(|cx| stage.poll_fired(signal, cx.waker())).await;
        Reply::Ready(Noted::DONE)
    });
    // SAFETY: the plugin gives empty places to write to.
    unsafe { write_future(answer, future, fault) }
}

unsafe extern "C" fn sleep(
    instance: u64,
    millis: u64,
    future: *mut SeamFuture<Noted>,
    fault: *mut Buf,
) -> Status {
    let answer = answer(instance, |stage| {
        let until = stage.now() + Duration::from_millis(millis);
        async move {
            poll_fn(|cx| stage.poll_time(until, cx.waker())).await;
            Reply::Ready(Noted::DONE)
        }
    });
    // SAFETY: the plugin gives empty places to write to.
    unsafe { write_future(answer, future, fault) }
}

unsafe extern "C" fn send(
    instance: u64,
    agent: u64,
    target: u32,
    wake: u32,
    message: Str,
    future: *mut SeamFuture<Noted>,
    fault: *mut Buf,
) -> Status {
    // SAFETY: the plugin lends it during the call.
    let message = unsafe { read(message) };
    let answer = answer(instance, |stage| async move {
        if agent != AGENT {
            return gone(agent);
        }
        let target = if target == NEXT_TURN { Target::NextTurn } else { Target::NextStep };
        match serde_json::from_str(&message) {
            Ok(message) => {
                stage.agent().send(Sent { target, wakes: wake != 0, message });
                Reply::Ready(Noted::DONE)
            }
            Err(error) => Reply::Fault(format!("this is no message: {error}")),
        }
    });
    // SAFETY: the plugin gives empty places to write to.
    unsafe { write_future(answer, future, fault) }
}

unsafe extern "C" fn cancel(
    instance: u64,
    agent: u64,
    flags: u32,
    reason: Str,
    future: *mut SeamFuture<Noted>,
    fault: *mut Buf,
) -> Status {
    // SAFETY: the plugin lends it during the call.
    let reason = unsafe { read(reason) };
    let answer = answer(instance, |stage| async move {
        if agent != AGENT {
            return gone(agent);
        }
        stage.agent().cancel(Cancel { reason, keeps_inbox: flags & KEEP_INBOX != 0 });
        Reply::Ready(Noted::DONE)
    });
    // SAFETY: the plugin gives empty places to write to.
    unsafe { write_future(answer, future, fault) }
}

unsafe extern "C" fn inbox(
    instance: u64,
    agent: u64,
    future: *mut SeamFuture<Json>,
    fault: *mut Buf,
) -> Status {
    let answer = answer(instance, |stage| async move {
        if agent != AGENT {
            return gone(agent);
        }
        Json::reply(Some(&stage.agent().inbox()))
    });
    // SAFETY: the plugin gives empty places to write to.
    unsafe { write_future(answer, future, fault) }
}

unsafe extern "C" fn events(
    instance: u64,
    agent: u64,
    from: u64,
    most: u64,
    future: *mut SeamFuture<Json>,
    fault: *mut Buf,
) -> Status {
    let answer = answer(instance, |stage| async move {
        if agent != AGENT {
            return gone(agent);
        }
        Json::reply(Some(&stage.agent().events(from, most)))
    });
    // SAFETY: the plugin gives empty places to write to.
    unsafe { write_future(answer, future, fault) }
}

unsafe extern "C" fn append(
    instance: u64,
    agent: u64,
    kind: Str,
    data: Str,
    future: *mut SeamFuture<Noted>,
    fault: *mut Buf,
) -> Status {
    // SAFETY: the plugin lends both during the call.
    let [kind, data] = [kind, data].map(|it| unsafe { read(it) });
    let answer = answer(instance, |stage| async move {
        if agent != AGENT {
            return gone(agent);
        }
        if !stage.may_append(&kind) {
            return Reply::Fault(format!("the manifest does not declare the event type `{kind}`"));
        }
        match serde_json::from_str(&data) {
            Ok(data) => {
                stage.agent().append(stage.now(), &kind, data);
                Reply::Ready(Noted::DONE)
            }
            Err(error) => Reply::Fault(format!("the data of `{kind}` is no JSON: {error}")),
        }
    });
    // SAFETY: the plugin gives empty places to write to.
    unsafe { write_future(answer, future, fault) }
}

fn gone<D>(agent: u64) -> Reply<D> {
    Reply::Fault(format!("the agent {agent} is gone"))
}

unsafe extern "C" fn tools_changed(instance: u64, fault: *mut Buf) -> Status {
    let changed = stage::find(instance).map(|it| it.change_tools()).ok_or(RETIRED.to_owned());
    // SAFETY: the plugin gives an empty place to write to.
    unsafe { write_done(changed, fault) }
}

unsafe extern "C" fn spawn(
    instance: u64,
    future: *mut SeamFuture<Noted>,
    fault: *mut Buf,
) -> Status {
    // SAFETY: the plugin hands its future over and leaves the place to write to.
    let future = unsafe { future.replace(SeamFuture::EMPTY) };
    let spawned = guard(|| {
        let stage = stage::find(instance).ok_or(RETIRED)?;
        let task = Box::pin(async move {
            // A panic is in the log.
            let _ = future.await;
        });
        if stage.spawned().add(task) { Ok(()) } else { Err(RETIRED.to_owned()) }
    });
    // SAFETY: the plugin gives an empty place to write to.
    unsafe { write_done(spawned.flatten(), fault) }
}

/// Calls it at once: a bench has one thread.
unsafe extern "C" fn spawn_blocking(instance: u64, closure: Closure, fault: *mut Buf) -> Status {
    let found = stage::find(instance).ok_or(RETIRED.to_owned());
    let called = found.map(|stage| {
        // SAFETY: called once, and on no fault.
        stage.inside(|| unsafe { (closure.run)(closure.state) });
    });
    // SAFETY: the plugin gives an empty place to write to.
    unsafe { write_done(called, fault) }
}

unsafe extern "C" fn process(
    instance: u64,
    spec: ProcessSpecRef,
    future: *mut SeamFuture<ProcessExit>,
    fault: *mut Buf,
) -> Status {
    // SAFETY: the plugin lends it during the call.
    let process = unsafe { asked(spec) };
    let answer = answer(instance, |stage| async move {
        let Some(run) = stage.run_process() else {
            let message = format!("the test says nothing of processes: `{}`", process.program);
            return Reply::Fault(message);
        };
        run(&process).exit.map_or_else(Reply::Fault, Reply::Ready)
    });
    // SAFETY: the plugin gives empty places to write to.
    unsafe { write_future(answer, future, fault) }
}

/// What the plugin wants to run.
///
/// # Safety
/// The plugin lends `spec` during the call.
unsafe fn asked(spec: ProcessSpecRef) -> Process {
    // SAFETY: the caller's promise.
    let texts = |it: Slice<Str>| unsafe { it.read() }.to_vec();
    // SAFETY: the caller's promise.
    let text = |it: Str| unsafe { read(it) };
    let environment = texts(spec.environment());
    Process {
        program: text(spec.program()),
        arguments: texts(spec.arguments()).into_iter().map(text).collect(),
        cwd: Some(text(spec.cwd())).filter(|it| !it.is_empty()),
        environment: environment.chunks_exact(2).map(|it| (text(it[0]), text(it[1]))).collect(),
        stdin: text(spec.stdin()),
        timeout: Some(spec.timeout_ms()).filter(|it| *it != 0).map(Duration::from_millis),
        keep: Some(spec.keep()).filter(|it| *it != 0),
        merges_stderr: spec.flags() & MERGED != 0,
    }
}

/// A copy of what the plugin lends.
///
/// # Safety
/// It is lent during the call.
unsafe fn read(text: Str) -> String {
    // SAFETY: the caller's promise.
    unsafe { text.read() }.map_or_else(|_| "(a text that is not UTF-8)".into(), str::to_owned)
}

/// The future that answers a plugin, unless its bench is gone.
fn answer<D: Out, F: Future<Output = Reply<D>> + Send + 'static>(
    instance: u64,
    make: impl FnOnce(Arc<Stage>) -> F,
) -> Result<SeamFuture<D>, String> {
    let stage = stage::find(instance).ok_or(RETIRED)?;
    guard(|| SeamFuture::new(make(stage)))
}
