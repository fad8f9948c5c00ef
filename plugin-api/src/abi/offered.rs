//! How an author's tool becomes an entry: on the heap, behind functions that know its type.

use abi_stable::prefix_type::WithMetadata;

use super::call::{CallTableRef, ToolCall};
use super::future::{Reply, SeamFuture, guard, write_future};
use super::host::Host;
use super::json::Json;
use super::tool::{HAS_LAST_WORD, Lent, Run, RunTableRef, ToolEntry, ToolEntryRef};
use super::value::{Buf, Status, Str};
use crate::outcome::ToolOutcome;
use crate::tool::{Tool, ToolSpec};

/// A tool that was offered: the author's, what its entry lends, and the entry.
pub(super) struct Offered<T> {
    tool: T,
    spec: ToolSpec,
    schemas: [String; 2],
    host: Host,
    entry: Option<WithMetadata<ToolEntry>>,
}

impl<T: Tool> Offered<T> {
    /// Moves `tool` to the heap, where it stays until the entry's `release`.
    pub(super) fn entry(tool: T, host: Host) -> ToolEntryRef {
        let spec = tool.spec();
        let schemas = [spec.parameters.to_string(), spec.output.to_string()];
        let offered = Box::into_raw(Box::new(Self { tool, spec, schemas, host, entry: None }));
        // SAFETY: just made, and nobody else has it yet.
        let this = unsafe { &mut *offered };
        let entry = ToolEntry {
            state: offered.cast_const().cast(),
            name: Str::lend(&this.spec.name),
            description: Str::lend(&this.spec.description),
            parameters: Str::lend(&this.schemas[0]),
            output: Str::lend(&this.schemas[1]),
            budget_ms: this
                .spec
                .budget
                .map_or(0, |it| u64::try_from(it.as_millis()).unwrap_or(u64::MAX).max(1)),
            flags: if this.spec.has_last_word { HAS_LAST_WORD } else { 0 },
            execute: Self::execute,
            render: Self::render,
            present: Self::present,
            finalize: Self::finalize,
            is_parallel_safe: Self::is_parallel_safe,
            release: Self::release,
        };
        let entry = this.entry.insert(WithMetadata::new(entry));
        // SAFETY: the entry stays on the heap until `release`, after which the host has no use
        // for it.
        ToolEntryRef(unsafe { entry.as_prefix() })
    }

    unsafe extern "C" fn execute(
        state: *const (),
        run: RunTableRef,
        _out: *mut ToolOutcome,
        future: *mut SeamFuture<ToolOutcome>,
        fault: *mut Buf,
    ) -> Status {
        let state = Lent(state);
        let run = Lent(run);
        let made = guard(|| {
            let body = async move {
                let (state, run) = (state, run);
                // SAFETY: the tool is alive until `release`, which waits for its runs.
                let this = unsafe { &*state.0.cast::<Self>() };
                // SAFETY: the host lends the table until this future is dropped.
                let run = unsafe { Run::lent(run.0, this.host) };
                Reply::Ready(match this.tool.execute(&run).await {
                    Ok(value) => ToolOutcome::success(&value),
                    Err(error) => error.into_outcome(),
                })
            };
            // SAFETY: what the body borrows is lent until the future is dropped.
            unsafe { SeamFuture::borrowing(body) }
        });
        // SAFETY: the host gives empty places to write to.
        unsafe { write_future(made, future, fault) }
    }

    unsafe extern "C" fn render(
        state: *const (),
        call: CallTableRef,
        value: Str,
        out: *mut Json,
        fault: *mut Buf,
    ) -> Status {
        let ask = |tool: &T, call: &ToolCall| {
            // SAFETY: the host lends valid UTF-8 during the call.
            Json::reply(tool.render(call, unsafe { value.trusted() }).as_ref())
        };
        // SAFETY: the host lends everything during the call.
        unsafe { Self::answer(state, call, out, fault, ask) }
    }

    unsafe extern "C" fn present(
        state: *const (),
        call: CallTableRef,
        value: Str,
        out: *mut Json,
        fault: *mut Buf,
    ) -> Status {
        let ask = |tool: &T, call: &ToolCall| {
            // SAFETY: the host lends valid UTF-8 during the call.
            Json::reply(tool.present(call, unsafe { value.trusted() }).as_ref())
        };
        // SAFETY: the host lends everything during the call.
        unsafe { Self::answer(state, call, out, fault, ask) }
    }

    unsafe extern "C" fn finalize(
        state: *const (),
        call: CallTableRef,
        outcome: *const ToolOutcome,
        out: *mut Json,
        fault: *mut Buf,
    ) -> Status {
        let ask = |tool: &T, call: &ToolCall| {
            // SAFETY: the host lends the outcome during the call.
            Json::reply(tool.finalize_content(call, unsafe { &*outcome }).as_ref())
        };
        // SAFETY: the host lends everything during the call.
        unsafe { Self::answer(state, call, out, fault, ask) }
    }

    /// Asks the tool for one JSON text, a panic being a fault.
    ///
    /// # Safety
    /// The tool was not released; `call` is lent, and `out` and `fault` are empty places to write
    /// to.
    unsafe fn answer(
        state: *const (),
        call: CallTableRef,
        out: *mut Json,
        fault: *mut Buf,
        ask: impl FnOnce(&T, &ToolCall) -> Reply<Json>,
    ) -> Status {
        let reply = guard(|| {
            // SAFETY: the caller vouches that the tool is there.
            let this = unsafe { &*state.cast::<Self>() };
            // SAFETY: the caller vouches for the call.
            let call = unsafe { ToolCall::lent(call, this.host) };
            ask(&this.tool, &call)
        });
        // SAFETY: the caller vouches for the places.
        unsafe { reply.unwrap_or_else(Reply::Fault).write(out, fault) }
    }

    unsafe extern "C" fn is_parallel_safe(state: *const (), arguments: Str) -> u32 {
        let safe = guard(|| {
            // SAFETY: the tool is alive until `release`.
            let this = unsafe { &*state.cast::<Self>() };
            // SAFETY: the host lends valid UTF-8 during the call.
            this.tool.is_parallel_safe(unsafe { arguments.trusted() })
        });
        u32::from(safe.unwrap_or(false))
    }

    unsafe extern "C" fn release(state: *const ()) {
        // SAFETY: made by `Box::into_raw` above, and `release` is called once.
        let offered = unsafe { Box::from_raw(state.cast_mut().cast::<Self>()) };
        // A destructor that panics has been reported by the panic hook.
        let _ = guard(move || drop(offered));
    }
}
