//! An exported listener: one table for every seam.

use abi_stable::StableAbi;

use super::future::SeamFuture;
use super::value::{Buf, Instance, Status, Str};
use crate::decision::BadDecision;

/// A listener that a plugin exports: asked with `A`, answering with `D`.
#[repr(C)]
#[derive(StableAbi)]
#[sabi(kind(Prefix(prefix_ref = ListenerRef, prefix_fields = ListenerPrefix)))]
pub struct Listener<A: 'static, D: 'static> {
    /// What the author calls it; unique among the plugin's listeners of the seam.
    pub name: Str,
    /// Higher stands further out: asked first, answering last.
    pub priority: i32,
    /// [`REQUIRED`].
    pub flags: u32,
    /// The entry. The host empties `out`, `future` and `fault` first, and the entry writes the
    /// one that its status names: [`READY`](Status::READY) `out`, [`NEXT`](Status::NEXT) none,
    /// [`PENDING`](Status::PENDING) `future`, [`FAULT`](Status::FAULT) `fault`. What `args` lends
    /// is valid until the answer, or until the future was dropped.
    /// [any thread, concurrent, must not block]
    #[sabi(last_prefix_field)]
    pub call: unsafe extern "C" fn(
        instance: *const Instance,
        args: A,
        out: *mut D,
        future: *mut SeamFuture<D>,
        fault: *mut Buf,
    ) -> Status,
}

/// A flag of a [`Listener`]: while it is not there, its place answers that it is unavailable.
pub const REQUIRED: u32 = 1;

/// The flags of a Decision that its reader must know: an unknown one of these makes the whole
/// Decision unreadable, so that a restriction is never overlooked. The lower half may be ignored.
pub const CRITICAL_FLAGS: u32 = 0xFFFF_0000;

/// A flag of a [`PostToolDecision`](crate::PostToolDecision): its contexts are all that is left; the
/// outcome's own are dropped.
pub const REPLACES_CONTEXTS: u32 = 0x0001_0000;

/// Stands for a Decision on the seams that have none.
#[repr(C)]
#[derive(StableAbi, Debug)]
pub struct Noted {
    noted: u32,
}

impl Noted {
    /// The listener took note.
    pub const DONE: Self = Self { noted: 1 };
}

impl super::future::Out for Noted {
    const EMPTY: Self = Self { noted: 0 };

    fn is_empty(&self) -> bool {
        self.noted == 0
    }

    fn known(&self) -> Result<(), BadDecision> {
        if self.noted == 1 { Ok(()) } else { Err(BadDecision::Verdict(self.noted)) }
    }
}
