//! Opens a plugin's library and checks that both sides mean the same tables.
//!
//! This room and those below it are where the host meets the plugin's code; above them
//! everything is safe.
#![expect(
    unsafe_code,
    reason = "calling into a library is unsafe; each block says what it rests on"
)]

pub(crate) mod body;
pub(crate) mod call;
pub(crate) mod facts;
mod fields;
pub(crate) mod frame;
mod host_table;
mod hosted;
pub(crate) mod instance;
pub(crate) mod listener;
mod next;
mod tasks;

use std::error::Error;
use std::ffi::{CStr, c_void};
use std::fmt::{self, Display};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use abi_stable::StableAbi;
use abi_stable::abi_stability::abi_checking::{
    AbiInstability, AbiInstabilityError, AbiInstabilityErrors, CheckingGlobals,
    check_layout_compatibility_with_globals,
};
use abi_stable::library::{AbiHeaderRef, LibHeader};
use abi_stable::type_layout::{TLField, TLFieldOrFunction};
use libloading::os::unix::{Library as Mapped, RTLD_LOCAL, RTLD_NOW};
use lockgate_plugin_api::abi::entry::Entry;
use lockgate_plugin_api::abi::root::PluginRootRef;

use crate::refusal::{Code, Refusal};

/// A library that is open for ever, and checked.
#[derive(Clone, Copy)]
pub(crate) struct Library {
    root: PluginRootRef,
}

// SAFETY: the root is a table in statics of a library that is never unmapped, and its functions may
// be called on any thread.
unsafe impl Send for Library {}
// SAFETY: as for `Send`.
unsafe impl Sync for Library {}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Library").finish_non_exhaustive()
    }
}

/// Keeps the library mapped whatever happens: libloading has no name for it.
const RTLD_NODELETE: i32 = 0x1000;

/// Maps the library at `path`, a private copy under a name never used before, for ever, and
/// returns it. Runs the library's constructors.
///
/// # Errors
/// `E-DLOPEN`, `E-ENTRY`, `E-SABI`, `E-LAYOUT` or `E-FIELDS`.
pub(crate) fn open(path: &Path, symbol: &str) -> Result<Library, Refusal> {
    // SAFETY: the file is a plugin by its note; what its constructors do is trusted as the
    // plugin is.
    let library = unsafe { Mapped::open(Some(path), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) }
        .map_err(|error| {
            // The error itself only says that it failed.
            let why = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            Refusal::new(Code::Dlopen, format!("the linker refused it: {why}"))
        })?;
    let entry = entry(&library, symbol);
    // Never unmapped: threads and destructors of the library may outlive every use of it.
    std::mem::forget(library);
    let entry = entry?;
    if !is_mapped_from(entry, path) {
        let message = "the linker answered with another library of the same name";
        return Err(Refusal::new(Code::Dlopen, message));
    }
    root(entry).map(|root| Library { root })
}

/// The entry that the note promised.
fn entry(library: &Mapped, symbol: &str) -> Result<&'static Entry, Refusal> {
    let bad = |message: String| Refusal::new(Code::Entry, message);
    // SAFETY: a plugin exports an `Entry` under this name; what it points to is checked below.
    let found = unsafe { library.get::<*const Entry>(symbol.as_bytes()) }.map_err(|_| {
        bad(format!("it does not export the symbol `{symbol}` that its note names"))
    })?;
    // SAFETY: a symbol that was found is not null, and the library is never unmapped.
    let entry: &'static Entry = unsafe { &**found };
    if entry.magic != Entry::MAGIC {
        return Err(bad("its entry does not begin with the magic bytes".into()));
    }
    if entry.epoch != Entry::EPOCH || (entry.size as usize) < size_of::<Entry>() {
        return Err(bad(format!(
            "its entry is of epoch {} and {} bytes, this host knows epoch {} and {} bytes",
            entry.epoch,
            entry.size,
            Entry::EPOCH,
            size_of::<Entry>()
        )));
    }
    Ok(entry)
}

/// Whether the linker mapped the entry from `path` and not from a library it had already.
fn is_mapped_from(entry: &'static Entry, path: &Path) -> bool {
    let mut info = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    let address: *const c_void = std::ptr::from_ref(entry).cast();
    // SAFETY: any address may be asked about, and `info` is a place to write to.
    let found = unsafe { libc::dladdr(address, &raw mut info) } != 0;
    if !found || info.dli_fname.is_null() {
        return false;
    }
    // SAFETY: `dladdr` gave a C string that lives as long as the library.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    name.to_bytes() == path.as_os_str().as_bytes()
}

/// The root table behind a good entry, once both sides agree about its layout, or all fields are
/// there where the plugin brings no layouts.
fn root(entry: &'static Entry) -> Result<PluginRootRef, Refusal> {
    if entry.layout.is_null() {
        // SAFETY: a plugin that is not Rust; by the entry's contract its root is in a static of the
        // library, behind a header.
        return unsafe { fields::root(entry.root) };
    }
    // SAFETY: not null, so by the entry's contract a header in a static of the library.
    let header = unsafe { header(entry.layout) };
    if !header.is_valid() {
        let message = format!(
            "it uses the layout checker {}.{}, which this host cannot read",
            header.abi_major, header.abi_minor
        );
        return Err(Refusal::new(Code::Sabi, message));
    }
    let unreadable =
        |error: String| Refusal::new(Code::Sabi, format!("its layouts cannot be read: {error}"));
    let header = header.upgrade().map_err(|error| unreadable(error.to_string()))?;
    let theirs = header.layout().ok_or_else(|| unreadable("there are none".into()))?;
    let ours = <PluginRootRef as StableAbi>::LAYOUT;
    // Globals of its own for each library: shared ones would keep pointers into all of them. And
    // both directions: the older side's tables are the beginning of the newer side's.
    let fits = |a, b| check_layout_compatibility_with_globals(a, b, &CheckingGlobals::new());
    if let Err(errors) = fits(ours, theirs)
        && let Err(reverse) = fits(theirs, ours)
    {
        return Err(Refusal::new(Code::Layout, difference(&errors, &reverse)));
    }
    // SAFETY: the layouts agree.
    let root = unsafe { header.unchecked_layout::<PluginRootRef>() };
    root.map_err(|error| unreadable(format!("{error:?}")))
}

/// # Safety
/// `header` points to a static of a library that is never unmapped.
unsafe fn header(header: *const LibHeader) -> AbiHeaderRef {
    // SAFETY: the reference type is a pointer to the header, which is what the caller has.
    unsafe { std::mem::transmute::<*const LibHeader, AbiHeaderRef>(header) }
}

/// The first place at which the two sides differ, in one line.
fn difference(errors: &AbiInstabilityErrors, reverse: &AbiInstabilityErrors) -> String {
    fn differing(of: &AbiInstabilityErrors) -> impl Iterator<Item = &AbiInstabilityError> {
        of.errors.iter().filter(|it| !it.errs.is_empty())
    }
    let expected = |it: &AbiInstabilityError| place(it.stack_trace.iter().map(|it| &it.expected));
    // A table that has only grown differs in one direction and is not what is wrong.
    let reverse: Vec<String> =
        differing(reverse).map(|it| place(it.stack_trace.iter().map(|it| &it.found))).collect();
    let wrong = differing(errors).find(|it| reverse.contains(&expected(it)));
    let Some(first) = wrong.or_else(|| differing(errors).next()) else {
        return "its tables differ from this host's".into();
    };
    let place = match expected(first) {
        root if root.is_empty() => "the root".into(),
        place => format!("`{place}`"),
    };
    let within = match first.stack_trace.last().map(|it| &it.expected) {
        Some(TLFieldOrFunction::Field(field)) => format!(" in `{}`", field.layout().name()),
        Some(TLFieldOrFunction::Function(_)) | None => String::new(),
    };
    // A name says more than a number of names, and that more than a size.
    let most_telling = first.errs.iter().min_by_key(|it| match it {
        AbiInstability::UnexpectedField(_) => 0,
        AbiInstability::MismatchedPrefixSize(_) | AbiInstability::FieldCountMismatch(_) => 1,
        _ => 2,
    });
    let what = most_telling.map(mismatch).unwrap_or_default();
    format!("its tables differ from this host's at {place}{within}: {what}")
}

/// The way from the root table to a place, by the names of fields and parameters.
fn place<'a>(way: impl Iterator<Item = &'a TLFieldOrFunction>) -> String {
    let mut names = Vec::new();
    let mut parameters: Vec<&str> = Vec::new();
    for step in way {
        match step {
            TLFieldOrFunction::Function(function) => {
                // The checker parts the names by one sign and joins them by another, so that it
                // takes all for the name of the first, and the others for `param_1` and so on.
                parameters = function.param_names.as_str().split([',', ';']).collect();
            }
            TLFieldOrFunction::Field(field) => {
                let name = field.name();
                let number = name.strip_prefix("param_").and_then(|it| it.parse().ok());
                let number = number.or(name.contains(',').then_some(0_usize));
                names.push(match number.and_then(|it| parameters.get(it)) {
                    Some(parameter) => parameter,
                    None if name == "__returns" => "its return",
                    None => name,
                });
            }
        }
    }
    // Fields of wrappers, the checker's and those of lists, say nothing to anybody.
    names.retain(|it| !matches!(*it, "0" | "ptr"));
    names.join(".")
}

/// One thing that differs: what this host has, and what the plugin.
fn mismatch(of: &AbiInstability) -> String {
    fn told(expected: impl Display, found: impl Display) -> String {
        shortened(&format!("expected {expected}, found {found}"))
    }
    let named = |it: &TLField| match it.name() {
        "__returns" => "no more parameters".to_owned(),
        name if name.contains(',') => {
            format!("the parameters `{}`", name.trim_end_matches(',').replace(',', ", "))
        }
        name => format!("the field `{name}`"),
    };
    match of {
        AbiInstability::UnexpectedField(it) => told(named(&it.expected), named(&it.found)),
        AbiInstability::FieldCountMismatch(it) => {
            told(format_args!("{} fields", it.expected), it.found)
        }
        AbiInstability::MismatchedPrefixSize(it) => {
            told(format_args!("{} fields that are always there", it.expected), it.found)
        }
        AbiInstability::Name(it) => told(it.expected, it.found),
        AbiInstability::Size(it) => told(format_args!("{} bytes", it.expected), it.found),
        AbiInstability::TagError { err } => {
            // Its parts are private; its text has them under these headings.
            let text = err.to_string();
            let found = text.split_once("Found:").and_then(|it| it.1.split_once("Errors:"));
            let expected = text.split_once("Expected:").and_then(|it| it.1.split_once("Found:"));
            match (expected, found) {
                (Some((expected, _)), Some((found, _))) => told(expected.trim(), found.trim()),
                _ => shortened(&text),
            }
        }
        other => shortened(&format!("{other:?}")),
    }
}

fn shortened(text: &str) -> String {
    const MOST: usize = 200;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
