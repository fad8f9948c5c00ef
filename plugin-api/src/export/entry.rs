//! The entries: what stands between the host's call and an author's method, panics included.

use std::fmt::Display;
use std::future::Future;
use std::marker::PhantomData;
use std::ptr;

use crate::abi::future::{Out, Reply, SeamFuture, guard, write_done, write_future};
use crate::abi::host::Host;
use crate::abi::listener::{ListenerRef, Noted};
use crate::abi::root::{CreateArgsRef, Purpose, SavedState};
use crate::abi::seam::Seam;
use crate::abi::tool::{Lent, ToolSinkRef, Tools};
use crate::abi::value::{Buf, Instance, Status, Str};
use crate::log;
use crate::plugin::{Create, Plugin, PluginError, State};

/// A listener in the root table.
pub type Exported<S> = ListenerRef<<S as Seam>::Args, <S as Seam>::Answer>;

/// What a listener may return.
#[diagnostic::on_unimplemented(
    message = "a listener of this seam cannot answer with `{Self}`",
    label = "this method's answer",
    note = "it answers with the seam's Decision, with an `Option` of it, or with a `Result` of either; on the seams that only tell, with nothing",
    note = "an `async` method is exported with `async` before its name"
)]
pub trait IntoReply<D> {
    /// The answer as it crosses.
    fn into_reply(self) -> Reply<D>;
}

impl<D: Out> IntoReply<D> for D {
    fn into_reply(self) -> Reply<D> {
        Reply::Ready(self)
    }
}

impl<D: Out> IntoReply<D> for Option<D> {
    fn into_reply(self) -> Reply<D> {
        self.map_or(Reply::Next, Reply::Ready)
    }
}

impl<D: Out, T: IntoReply<D>, E: Display> IntoReply<D> for Result<T, E> {
    fn into_reply(self) -> Reply<D> {
        match self {
            Ok(answer) => answer.into_reply(),
            Err(error) => Reply::Fault(error.to_string()),
        }
    }
}

impl IntoReply<Noted> for () {
    fn into_reply(self) -> Reply<Noted> {
        Reply::Ready(Noted::DONE)
    }
}

/// A method's answer as it crosses at the seam `S`.
pub fn reply<S: Seam, T: IntoReply<S::Answer>>(_: PhantomData<S>, answer: T) -> Reply<S::Answer> {
    answer.into_reply()
}

/// What an `async` method returns, as it is: here the compiler says so of one that is not.
pub fn later<F: Future>(answer: F) -> F {
    answer
}

/// A method that answers at once.
pub trait Listens<P, S: Seam> {
    /// Calls it.
    fn ask(plugin: &P, view: &S::View) -> Reply<S::Answer>;
}

/// An `async` method.
pub trait ListensLater<P, S: Seam> {
    /// Calls it.
    fn ask(
        plugin: &P,
        view: &S::View,
        next: &mut S::Next,
    ) -> impl Future<Output = Reply<S::Answer>> + Send;
}

/// An instance as the host holds it.
struct Live<P> {
    plugin: P,
    host: Host,
}

/// The instance behind the host's pointer.
///
/// # Safety
/// `create::<P>` made it, and `destroy::<P>` has not been called.
unsafe fn live<'a, P>(instance: *const Instance) -> &'a Live<P> {
    // SAFETY: the caller vouches for the instance.
    unsafe { &*instance.cast::<Live<P>>() }
}

/// The entry of a method that answers at once.
///
/// # Safety
/// Called by the host as [`Listener::call`](crate::abi::listener::Listener) says.
pub unsafe extern "C" fn synchronous<P: Plugin, S: Seam, L: Listens<P, S>>(
    instance: *const Instance,
    args: S::Args,
    out: *mut S::Answer,
    _future: *mut SeamFuture<S::Answer>,
    fault: *mut Buf,
) -> Status {
    let reply = guard(|| {
        // SAFETY: the host keeps the instance while it is asked.
        let live = unsafe { live::<P>(instance) };
        // SAFETY: the host lends the arguments for this call; the views end with it.
        let (view, _) = unsafe { S::views(args, live.host) };
        L::ask(&live.plugin, &view)
    });
    // SAFETY: the host gives empty places to write to.
    unsafe { reply.unwrap_or_else(Reply::Fault).write(out, fault) }
}

/// The entry of an `async` method.
///
/// # Safety
/// Called by the host as [`Listener::call`](crate::abi::listener::Listener) says.
pub unsafe extern "C" fn asynchronous<P: Plugin, S: Seam, L: ListensLater<P, S>>(
    instance: *const Instance,
    args: S::Args,
    _out: *mut S::Answer,
    future: *mut SeamFuture<S::Answer>,
    fault: *mut Buf,
) -> Status {
    let lent = Lent((instance, args));
    let made = guard(|| {
        let listener = async move {
            // Whole, so that what is lent goes with the future.
            let lent = lent;
            let Lent((instance, args)) = lent;
            // SAFETY: the host keeps the instance until this future is dropped.
            let live = Lent(unsafe { live::<P>(instance) });
            // SAFETY: the host lends the arguments until this future is dropped.
            let (view, mut next) = unsafe { S::views(args, live.0.host) };
            L::ask(&live.0.plugin, &view, &mut next).await
        };
        // SAFETY: what the listener borrows is lent until the future is dropped.
        unsafe { SeamFuture::borrowing(listener) }
    });
    // SAFETY: the host gives empty places to write to.
    unsafe { write_future(made, future, fault) }
}

/// Makes an instance.
///
/// # Safety
/// Called by the host as the root table says.
pub unsafe extern "C" fn create<P: Plugin>(
    args: CreateArgsRef,
    instance: *mut *const Instance,
    fault: *mut Buf,
) -> Status {
    let made = guard(|| {
        // SAFETY: the host numbered the instance and lends its table for ever.
        let host = unsafe { Host::new(args.host(), args.instance()) };
        log::install(host);
        // SAFETY: the host lends the configuration during the call.
        let config = unsafe { args.config().trusted() };
        // SAFETY: as above.
        let bytes = unsafe { args.state().read() };
        let version = args.state_version();
        let state = (version != 0).then(|| State { version, bytes: bytes.to_vec() });
        let purpose = Purpose::from_number(args.purpose());
        let plugin = P::create(&Create { config, purpose, state, host });
        plugin.map(|plugin| Live { plugin, host }).map_err(|error| error.to_string())
    });
    let made = made.flatten().map(|live| {
        // SAFETY: the host gives a place to write to.
        unsafe { instance.write(Box::into_raw(Box::new(live)).cast_const().cast()) };
    });
    // SAFETY: the host gives an empty place to write to.
    unsafe { write_done(made, fault) }
}

/// Starts an instance.
///
/// # Safety
/// Called by the host as the root table says.
pub unsafe extern "C" fn start<P: Plugin>(instance: *const Instance, fault: *mut Buf) -> Status {
    // SAFETY: the caller's promise.
    unsafe { step::<P>(instance, fault, |live| live.plugin.start()) }
}

/// Lists an instance's tools.
///
/// # Safety
/// Called by the host as the root table says.
pub unsafe extern "C" fn tools<P: Plugin>(
    instance: *const Instance,
    sink: ToolSinkRef,
    fault: *mut Buf,
) -> Status {
    let list = |live: &Live<P>| {
        // SAFETY: the host lends the sink during the call.
        let mut tools = unsafe { Tools::lent(sink, live.host) };
        live.plugin.tools(&mut tools);
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { step::<P>(instance, fault, list) }
}

/// Asks an instance what another one may go on from.
///
/// # Safety
/// Called by the host as the root table says.
pub unsafe extern "C" fn save_state<P: Plugin>(
    instance: *const Instance,
    out: *mut SavedState,
    fault: *mut Buf,
) -> Status {
    let reply = guard(|| {
        // SAFETY: the host keeps the instance during the call.
        let saved = unsafe { live::<P>(instance) }.plugin.save_state();
        saved.map_or(Reply::Next, |State { version, bytes }| {
            Reply::Ready(SavedState { version, flags: 0, bytes: bytes.into() })
        })
    });
    // SAFETY: the host gives empty places to write to.
    unsafe { reply.unwrap_or_else(Reply::Fault).write(out, fault) }
}

/// A plugin written with this API has no tables beside its root.
///
/// # Safety
/// Called by the host as the root table says.
pub unsafe extern "C" fn extension(_: Str) -> *const () {
    ptr::null()
}

/// Tells an instance that nobody will ask it again.
///
/// # Safety
/// Called by the host as the root table says.
pub unsafe extern "C" fn quiesce<P: Plugin>(instance: *const Instance, fault: *mut Buf) -> Status {
    let end = |live: &Live<P>| {
        live.plugin.quiesce();
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { step::<P>(instance, fault, end) }
}

/// Frees an instance.
///
/// # Safety
/// Called by the host as the root table says.
pub unsafe extern "C" fn destroy<P: Plugin>(instance: *const Instance) {
    // SAFETY: `create::<P>` made it by `Box::into_raw`, and `destroy` is called once.
    let live = unsafe { Box::from_raw(instance.cast_mut().cast::<Live<P>>()) };
    // A destructor that panics has been reported by the panic hook.
    let _ = guard(move || drop(live));
}

/// One step of an instance's life that may fail.
///
/// # Safety
/// The host keeps the instance during the call and gives an empty `fault` to write to.
unsafe fn step<P: Plugin>(
    instance: *const Instance,
    fault: *mut Buf,
    f: impl FnOnce(&Live<P>) -> Result<(), PluginError>,
) -> Status {
    // SAFETY: the caller vouches for the instance.
    let live = unsafe { live::<P>(instance) };
    let done = guard(|| f(live).map_err(|error| error.to_string()));
    // SAFETY: the caller vouches for `fault`.
    unsafe { write_done(done.flatten(), fault) }
}
