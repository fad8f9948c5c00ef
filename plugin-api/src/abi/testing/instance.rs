//! One instance of a linked plugin, from `create` to `destroy`.

use std::sync::Arc;
use std::{fmt, ptr};

use super::table;
use super::tool::Entry;
use crate::abi::Prefixed;
use crate::abi::future::{Out, Reply};
use crate::abi::listener::ListenerRef;
use crate::abi::root::{CreateArgs, CreateArgsRef, PluginRootRef, Purpose, SavedState};
use crate::abi::tool::{ToolEntryRef, ToolSink, ToolSinkRef};
use crate::abi::value::{Buf, Instance as Opaque, Slice, Status, Str};
use crate::plugin::State;
use crate::testing::Fault;
use crate::testing::stage::Stage;

/// A live instance, destroyed when it is dropped.
pub(crate) struct Instance {
    root: PluginRootRef,
    opaque: *const Opaque,
    stage: Arc<Stage>,
}

impl Instance {
    /// Creates one.
    pub(crate) fn create(
        root: PluginRootRef,
        stage: &Arc<Stage>,
        config: &str,
        purpose: Purpose,
        state: Option<&State>,
    ) -> Result<Self, Fault> {
        let args = Prefixed::new(CreateArgs {
            host: table::table(),
            instance: stage.number(),
            purpose: purpose.number(),
            state_version: state.map_or(0, |it| it.version),
            state: state.map_or(Slice::EMPTY, |it| Slice::lend(&it.bytes)),
            config: Str::lend(config),
        });
        // SAFETY: `args` outlives the call below, the only user.
        let args = CreateArgsRef(unsafe { args.as_prefix() });
        let mut opaque = ptr::null();
        step("create", stage, |fault| {
            // SAFETY: the root's function, with places to write to.
            unsafe { root.create()(args, &raw mut opaque, fault) }
        })?;
        Ok(Self { root, opaque, stage: Arc::clone(stage) })
    }

    /// Starts it; to be called once.
    pub(crate) fn start(&self) -> Result<(), Fault> {
        // SAFETY: the root's function, on a live instance.
        step("start", &self.stage, |fault| unsafe { self.root.start()(self.opaque, fault) })
    }

    /// The tools it lists.
    pub(crate) fn tools(&self) -> Result<Vec<Entry>, Fault> {
        unsafe extern "C" fn add(state: *const (), tool: ToolEntryRef) {
            // SAFETY: the list below, lent to nobody else during the call.
            let tools = unsafe { &mut *state.cast_mut().cast::<Vec<Entry>>() };
            // SAFETY: an entry that is offered belongs to whoever it is offered to.
            tools.push(unsafe { Entry::owned(tool) });
        }
        let mut tools: Vec<Entry> = Vec::new();
        let sink = Prefixed::new(ToolSink { state: (&raw mut tools).cast(), add });
        // SAFETY: `sink` outlives the call below, the only user.
        let sink = ToolSinkRef(unsafe { sink.as_prefix() });
        // SAFETY: the root's function, on a live instance.
        step("tools", &self.stage, |fault| unsafe { self.root.tools()(self.opaque, sink, fault) })?;
        Ok(tools)
    }

    /// What it leaves for the next.
    pub(crate) fn save_state(&self) -> Result<Option<State>, Fault> {
        let mut out = SavedState::EMPTY;
        let mut fault = Buf::EMPTY;
        let status = self.stage.inside(|| {
            // SAFETY: the root's function, on a live instance, with places to write to.
            unsafe { self.root.save_state()(self.opaque, &raw mut out, &raw mut fault) }
        });
        match Reply::from_parts(status, out, &fault) {
            Reply::Ready(SavedState { version, bytes, .. }) => {
                Ok(Some(State { version, bytes: bytes.as_bytes().to_vec() }))
            }
            Reply::Next => Ok(None),
            Reply::Fault(message) => Err(Fault::Failed { place: "save-state".into(), message }),
            Reply::Protocol(message) => {
                Err(Fault::Protocol { place: "save-state".into(), message })
            }
        }
    }

    /// Tells it that nobody will ask it again; to be called once, after `start`.
    pub(crate) fn quiesce(&self) -> Result<(), Fault> {
        // SAFETY: the root's function, on a live instance.
        step("quiesce", &self.stage, |fault| unsafe { self.root.quiesce()(self.opaque, fault) })
    }

    /// The listeners of the seam that `seam` picks.
    pub(crate) fn listeners<A: 'static, D: 'static>(
        &self,
        seam: impl FnOnce(PluginRootRef) -> Slice<ListenerRef<A, D>>,
    ) -> &[ListenerRef<A, D>] {
        // SAFETY: the lists of a linked plugin are in statics.
        unsafe { seam(self.root).read() }
    }

    /// What it runs on.
    pub(crate) fn stage(&self) -> &Arc<Stage> {
        &self.stage
    }

    pub(super) fn opaque(&self) -> *const Opaque {
        self.opaque
    }
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instance").field("stage", &self.stage).finish_non_exhaustive()
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.stage.inside(|| {
            self.stage.spawned().end();
            // SAFETY: the last call on the instance, which nobody else holds.
            unsafe { self.root.destroy()(self.opaque) }
        });
    }
}

/// One step of an instance's life.
fn step(
    place: &str,
    stage: &Arc<Stage>,
    call: impl FnOnce(*mut Buf) -> Status,
) -> Result<(), Fault> {
    let mut fault = Buf::EMPTY;
    let place = place.to_owned();
    match stage.inside(|| call(&raw mut fault)) {
        Status::READY => Ok(()),
        Status::FAULT => {
            let message = String::from_utf8_lossy(fault.as_bytes()).into_owned();
            Err(Fault::Failed { place, message })
        }
        Status(other) => {
            Err(Fault::Protocol { place, message: format!("it answered with the status {other}") })
        }
    }
}
