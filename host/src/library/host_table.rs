//! The host's functions as plugins call them.
//!
//! They live as long as the process and know their caller by its number alone: one that has been
//! retired is told so. None of them lets a panic out.

mod agents;

use std::collections::HashMap;
use std::future::Future;
use std::mem;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use lockgate_plugin_api::abi::Prefixed;
use lockgate_plugin_api::abi::blocking::Closure;
use lockgate_plugin_api::abi::future::{Out, Reply, SeamFuture, guard, write_done, write_future};
use lockgate_plugin_api::abi::host::{HostTable, HostTableRef, RETIRED};
use lockgate_plugin_api::abi::listener::Noted;
use lockgate_plugin_api::abi::process::{CUT, MERGED, ProcessExit, ProcessSpecRef, TIMED_OUT};
use lockgate_plugin_api::abi::value::{Buf, Status, Str};
use lockgate_plugin_api::error_chain;
use tokio::runtime::Handle;
use tokio_util::task::AbortOnDropHandle;
use tracing::level_filters::LevelFilter;

use super::hosted::counted;
use super::tasks::Tasks;
use crate::process::{self, Ended, Spec};
use crate::signal;

/// What the host knows of an instance that may call it.
#[derive(Clone)]
struct Caller {
    plugin: Arc<str>,
    runtime: Handle,
    tasks: Tasks,
    /// The types of event that its manifest declares.
    events: Arc<[String]>,
    tools: Arc<Mutex<Tools>>,
}

/// Who wants to know that an instance has other tools.
#[derive(Clone, Default)]
enum Tools {
    /// Nobody yet.
    #[default]
    Unheard,
    /// Nobody yet, and they have changed.
    Changed,
    Heard(OnTools),
}

/// Sees to it that the tools of an instance are listed anew. Called inside the plugin.
pub(super) type OnTools = Arc<dyn Fn() + Send + Sync>;

static CALLERS: LazyLock<RwLock<HashMap<u64, Caller>>> = LazyLock::new(RwLock::default);

/// Lets the instance with this number call the host; what it asks for runs on `runtime`.
pub(super) fn register(
    instance: u64,
    plugin: Arc<str>,
    runtime: Handle,
    tasks: Tasks,
    events: Arc<[String]>,
) {
    let caller = Caller { plugin, runtime, tasks, events, tools: Arc::default() };
    CALLERS.write().unwrap_or_else(PoisonError::into_inner).insert(instance, caller);
}

/// From now on `on_tools` is called when the instance says that its tools changed; at once, where
/// it has said so already.
pub(super) fn on_tools(instance: u64, on_tools: OnTools) {
    let Some(caller) = caller(instance) else { return };
    let heard = Tools::Heard(Arc::clone(&on_tools));
    let before = mem::replace(&mut *lock(&caller.tools), heard);
    if matches!(before, Tools::Changed) {
        on_tools();
    }
}

fn lock<T>(it: &Mutex<T>) -> MutexGuard<'_, T> {
    it.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers the instance with this number no more.
pub(super) fn retire(instance: u64) {
    CALLERS.write().unwrap_or_else(PoisonError::into_inner).remove(&instance);
}

/// The table that every instance gets.
pub(super) fn table() -> HostTableRef {
    const TABLE: &Prefixed<HostTable> = &Prefixed::new(HostTable {
        log,
        max_level,
        extension,
        has_fired,
        fired,
        sleep,
        send: agents::send,
        spawn,
        spawn_blocking,
        process,
        cancel: agents::cancel,
        inbox: agents::inbox,
        events: agents::events,
        append: agents::append,
        tools_changed,
    });
    HostTableRef(TABLE.static_as_prefix())
}

fn caller(instance: u64) -> Option<Caller> {
    CALLERS.read().unwrap_or_else(PoisonError::into_inner).get(&instance).cloned()
}

unsafe extern "C" fn log(instance: u64, level: u32, target: Str, message: Str) {
    // Nobody is left to tell that the log itself failed.
    let _ = guard(|| {
        let Some(Caller { plugin, .. }) = caller(instance) else { return };
        // SAFETY: the plugin lends both texts during the call.
        let target = unsafe { target.read() }.unwrap_or("(not UTF-8)");
        // SAFETY: as above.
        let message = unsafe { message.read() }.unwrap_or("(not UTF-8)");
        match level {
            1 => tracing::error!(target: "plugin", %plugin, at = target, "{message}"),
            2 => tracing::warn!(target: "plugin", %plugin, at = target, "{message}"),
            3 => tracing::info!(target: "plugin", %plugin, at = target, "{message}"),
            4 => tracing::debug!(target: "plugin", %plugin, at = target, "{message}"),
            _ => tracing::trace!(target: "plugin", %plugin, at = target, "{message}"),
        }
    });
}

unsafe extern "C" fn max_level() -> u32 {
    match LevelFilter::current() {
        LevelFilter::OFF => 0,
        LevelFilter::ERROR => 1,
        LevelFilter::WARN => 2,
        LevelFilter::INFO => 3,
        LevelFilter::DEBUG => 4,
        LevelFilter::TRACE => 5,
    }
}

unsafe extern "C" fn extension(_: Str) -> *const () {
    // There is none yet: everything is in the table.
    std::ptr::null()
}

unsafe extern "C" fn has_fired(signal: u64) -> u32 {
    match guard(|| signal != 0 && signal::known(signal).is_none_or(|it| it.is_cancelled())) {
        Ok(fired) => u32::from(fired),
        Err(_) => 1,
    }
}

unsafe extern "C" fn fired(
    instance: u64,
    signal: u64,
    future: *mut SeamFuture<Noted>,
    fault: *mut Buf,
) -> Status {
    // Waiting for a signal is nothing that the host does: it is the listener's own time.
    let answer = answer_uncounted(instance, |_| {
        let token = signal::known(signal);
        Ok(async move {
            if let Some(token) = token {
                token.cancelled().await;
            }
            Reply::Ready(Noted::DONE)
        })
    });
    // SAFETY: the caller gives empty places to write to.
    unsafe { write_future(answer, future, fault) }
}

unsafe extern "C" fn sleep(
    instance: u64,
    millis: u64,
    future: *mut SeamFuture<Noted>,
    fault: *mut Buf,
) -> Status {
    let answer = answer(instance, |caller| {
        // Made on the runtime: a plugin may poll it on a thread of its own.
        let _runtime = caller.runtime.enter();
        let slept = tokio::time::sleep(Duration::from_millis(millis));
        Ok(async move {
            slept.await;
            Reply::Ready(Noted::DONE)
        })
    });
    // SAFETY: the caller gives empty places to write to.
    unsafe { write_future(answer, future, fault) }
}

unsafe extern "C" fn spawn(
    instance: u64,
    future: *mut SeamFuture<Noted>,
    fault: *mut Buf,
) -> Status {
    // SAFETY: the plugin hands its future over and leaves the place to write to.
    let future = unsafe { future.replace(SeamFuture::EMPTY) };
    let spawned = at_once(instance, move |caller| {
        let plugin = Arc::clone(&caller.plugin);
        caller.tasks.spawn(&caller.runtime, async move {
            match future.await {
                Reply::Ready(_) | Reply::Next => {}
                Reply::Fault(why) | Reply::Protocol(why) => {
                    tracing::warn!(%plugin, "a spawned future failed: {why}");
                }
            }
        })
    });
    // SAFETY: the caller gives an empty place to write to.
    unsafe { write_done(spawned, fault) }
}

unsafe extern "C" fn spawn_blocking(instance: u64, closure: Closure, fault: *mut Buf) -> Status {
    /// Goes to another thread.
    struct Sent(Closure);
    // SAFETY: the plugin promises that the closure may be called on any thread.
    unsafe impl Send for Sent {}
    // Taken by whoever is first: the thread that calls it, or we, where that cannot be had.
    let sent = Arc::new(Mutex::new(Some(Sent(closure))));
    let take = |it: &Mutex<Option<Sent>>| lock(it).take();
    let to_call = Arc::clone(&sent);
    let spawned = at_once(instance, move |caller| {
        caller.tasks.spawn_blocking(&caller.runtime, move || {
            if let Some(Sent(Closure { run, state })) = take(&to_call) {
                // SAFETY: called once.
                unsafe { run(state) }
            }
        })
    });
    let spawned = match spawned {
        Err(_) if take(&sent).is_none() => Ok(()),
        spawned => spawned,
    };
    // SAFETY: the caller gives an empty place to write to.
    unsafe { write_done(spawned, fault) }
}

unsafe extern "C" fn process(
    instance: u64,
    spec: ProcessSpecRef,
    future: *mut SeamFuture<ProcessExit>,
    fault: *mut Buf,
) -> Status {
    let answer = answer(instance, |caller| {
        // SAFETY: the plugin lends the spec during the call.
        let spec = unsafe { read_spec(spec) }?;
        // A task of the runtime, whoever polls; dropped, it takes the process along.
        let running = AbortOnDropHandle::new(caller.runtime.spawn(process::run(spec)));
        Ok(async move {
            match running.await {
                Ok(Ok(exit)) => Reply::Ready(written_exit(exit)),
                Ok(Err(error)) => Reply::Fault(error_chain(&error)),
                Err(error) => Reply::Fault(format!("the process was given up: {error}")),
            }
        })
    });
    // SAFETY: the caller gives empty places to write to.
    unsafe { write_future(answer, future, fault) }
}

unsafe extern "C" fn tools_changed(instance: u64, fault: *mut Buf) -> Status {
    let told = at_once(instance, |caller| {
        let mut tools = lock(&caller.tools);
        if let Tools::Heard(on_tools) = &*tools {
            let on_tools = Arc::clone(on_tools);
            drop(tools);
            on_tools();
        } else {
            *tools = Tools::Changed;
        }
        true
    });
    // SAFETY: the caller gives an empty place to write to.
    unsafe { write_done(told, fault) }
}

/// What `spec` asks for.
///
/// # Safety
/// The plugin lends `spec` during the call.
unsafe fn read_spec(spec: ProcessSpecRef) -> Result<Spec, String> {
    let read = |text: Str| {
        // SAFETY: the caller vouches for everything in the spec.
        let text = unsafe { text.read() };
        text.map(str::to_owned).map_err(|_| "a text of the command is not UTF-8".to_owned())
    };
    // SAFETY: the caller vouches for the spec.
    let arguments = unsafe { spec.arguments().read() };
    // SAFETY: as above.
    let environment = unsafe { spec.environment().read() };
    let environment = environment.as_chunks::<2>().0;
    let token = match spec.signal() {
        0 => None,
        // A signal that is gone is one that has fired: what it was for is over.
        id => Some(signal::known(id).unwrap_or_else(signal::fired)),
    };
    Ok(Spec {
        program: read(spec.program())?,
        arguments: arguments.iter().map(|it| read(*it)).collect::<Result<_, _>>()?,
        cwd: Some(read(spec.cwd())?).filter(|it| !it.is_empty()).map(Into::into),
        environment: environment
            .iter()
            .map(|[name, value]| Ok((read(*name)?, read(*value)?)))
            .collect::<Result<_, String>>()?,
        stdin: read(spec.stdin())?,
        timeout: Some(spec.timeout_ms()).filter(|it| *it != 0).map(Duration::from_millis),
        keep: Some(spec.keep()).filter(|it| *it != 0),
        merged: spec.flags() & MERGED != 0,
        signal: token,
    })
}

fn written_exit(exit: process::Exit) -> ProcessExit {
    let (how, code) = match exit.how {
        Ended::Exited(code) => (1, code),
        Ended::Signalled(signal) => (2, signal),
    };
    let cut = if exit.cut { CUT } else { 0 };
    let timed_out = if exit.timed_out { TIMED_OUT } else { 0 };
    let (stdout, stderr) = (exit.stdout.into(), exit.stderr.into());
    ProcessExit { how, code, flags: cut | timed_out, stdout, stderr }
}

/// Does something for an instance that has not been retired.
fn at_once(instance: u64, f: impl FnOnce(&Caller) -> bool) -> Result<(), String> {
    let done = match caller(instance) {
        Some(caller) => guard(|| f(&caller))?,
        None => false,
    };
    if done { Ok(()) } else { Err(RETIRED.into()) }
}

/// The future that `make` answers with, for an instance that has not been retired. Whoever waits
/// for it waits for the host.
fn answer<D: Out, F: Future<Output = Reply<D>> + Send + 'static>(
    instance: u64,
    make: impl FnOnce(&Caller) -> Result<F, String>,
) -> Result<SeamFuture<D>, String> {
    answer_uncounted(instance, |caller| make(caller).map(counted))
}

/// As [`answer`], where the time is that of whoever waits.
fn answer_uncounted<D: Out, F: Future<Output = Reply<D>> + Send + 'static>(
    instance: u64,
    make: impl FnOnce(&Caller) -> Result<F, String>,
) -> Result<SeamFuture<D>, String> {
    let Some(caller) = caller(instance) else {
        return Err(RETIRED.into());
    };
    guard(|| make(&caller)).flatten().map(SeamFuture::new)
}
