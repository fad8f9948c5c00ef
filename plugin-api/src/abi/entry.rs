//! How a library is recognised: one exported symbol, and one note that is read before anything runs.
//!
//! The symbol's name is [`SYMBOL_PREFIX`] and the crate's name, so that two plugins can be linked
//! into one binary; the note says which. The note is an ELF note called [`NOTE_NAME`] in
//! [`NOTE_SECTION`] whose description is the manifest, JSON in UTF-8.

use abi_stable::library::{CheckTypeLayout, LibHeader, RootModuleResult};
use abi_stable::marker_type::ErasedPrefix;
use abi_stable::prefix_type::PrefixRefTrait;
use abi_stable::std_types::ROk;

use super::root::PluginRootRef;

/// The version of the plugin API that this crate is.
pub const API_VERSION: &str = env!("CARGO_PKG_VERSION");
/// The first release of this line of the API: the oldest host a plugin built with it works with.
pub const MIN_HOST: &str = "0.1.0";
/// The compiler that built this crate.
pub const RUSTC: &str = env!("LOCKGATE_RUSTC");
/// The target this crate was built for.
pub const TARGET: &str = env!("LOCKGATE_TARGET");

/// What the exported symbol's name begins with; the crate's name follows.
pub const SYMBOL_PREFIX: &str = "LOCKGATE_PLUGIN_V1__";
/// The name of the ELF note.
pub const NOTE_NAME: &str = "LOCKGATE";
/// The section that holds the note.
pub const NOTE_SECTION: &str = ".note.lockgate";
/// The type of the ELF note.
pub const NOTE_TYPE: u32 = 1;

/// What the exported symbol points to. Read before anything else, so it never changes.
#[repr(C)]
#[derive(Debug)]
pub struct Entry {
    /// [`Entry::MAGIC`].
    pub magic: [u8; 8],
    /// The size of this struct where the plugin was built.
    pub size: u32,
    /// 1: the epoch of the boundary.
    pub epoch: u32,
    /// The root table, behind its prefix header.
    pub root: *const (),
    /// What the layout checker needs; null in a plugin that is not Rust.
    pub layout: *const LibHeader,
    /// The note, so that the linker keeps it.
    pub note: *const u8,
}

// SAFETY: it points to statics only, and nobody writes to them.
unsafe impl Sync for Entry {}

impl Entry {
    /// How an entry begins.
    pub const MAGIC: [u8; 8] = *b"LOCKGATE";
    /// The epoch of the boundary that this crate describes.
    pub const EPOCH: u32 = 1;
}

/// The manifest as an ELF note of `N` bytes.
#[repr(C, align(4))]
#[derive(Debug)]
pub struct Note<const N: usize> {
    /// The bytes of [`NOTE_NAME`], and one for the zero behind it.
    pub name_len: u32,
    /// `N`.
    pub manifest_len: u32,
    /// [`NOTE_TYPE`].
    pub kind: u32,
    /// [`NOTE_NAME`], filled up with zeroes.
    pub name: [u8; 12],
    /// The manifest, JSON in UTF-8.
    pub manifest: [u8; N],
}

impl<const N: usize> Note<N> {
    /// The note that holds `manifest`.
    pub const fn new(manifest: [u8; N]) -> Self {
        Self {
            name_len: NOTE_NAME.len() as u32 + 1,
            manifest_len: N as u32,
            kind: NOTE_TYPE,
            name: *b"LOCKGATE\0\0\0\0",
            manifest,
        }
    }

    /// The manifest in it.
    pub const fn manifest(&self) -> &[u8] {
        &self.manifest
    }
}

/// What the layout checker needs of a Rust plugin; `root` answers with the root table.
pub const fn layout(root: extern "C" fn() -> RootModuleResult) -> LibHeader {
    // SAFETY: `root` answers with a `PluginRootRef`, as `export_plugin!` writes it.
    unsafe { LibHeader::from_constructor::<PluginRootRef>(root, CheckTypeLayout::Yes) }
}

/// The root table in the form that the layout checker hands on.
pub fn erased(root: PluginRootRef) -> RootModuleResult {
    // SAFETY: the erased form is only ever cast back to what it was.
    ROk(unsafe { root.to_prefix_ref().cast::<ErasedPrefix>() })
}
