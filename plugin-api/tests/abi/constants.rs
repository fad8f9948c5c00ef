//! What crosses and stands in no layout: constants, the entry and the note, the header of tables.

use std::mem::offset_of;

use lockgate_plugin_api::abi::Prefixed;
use lockgate_plugin_api::abi::agent::SessionStartArgs;
use lockgate_plugin_api::abi::entry::{
    API_VERSION, Entry, MIN_HOST, NOTE_NAME, NOTE_SECTION, NOTE_TYPE, Note, SYMBOL_PREFIX,
};
use lockgate_plugin_api::abi::handle::{KEEP_INBOX, NEXT_STEP, NEXT_TURN};
use lockgate_plugin_api::abi::listener::{CRITICAL_FLAGS, REPLACES_CONTEXTS, REQUIRED};
use lockgate_plugin_api::abi::process::{CUT, MERGED, TIMED_OUT};
use lockgate_plugin_api::abi::tool::HAS_LAST_WORD;
use lockgate_plugin_api::abi::value::Status;
use lockgate_plugin_api::{Purpose, SessionSource};

/// The texts, under the names that the C header has for them.
pub(crate) fn texts() -> [(&'static str, &'static str); 6] {
    [
        ("LOCKGATE_API_VERSION", API_VERSION),
        ("LOCKGATE_MIN_HOST", MIN_HOST),
        ("LOCKGATE_MAGIC", str::from_utf8(&Entry::MAGIC).expect("the magic is text")),
        ("LOCKGATE_SYMBOL_PREFIX", SYMBOL_PREFIX),
        ("LOCKGATE_NOTE_NAME", NOTE_NAME),
        ("LOCKGATE_NOTE_SECTION", NOTE_SECTION),
    ]
}

/// The numbers, under the names that the C header has for them.
pub(crate) fn numbers() -> [(&'static str, u32); 25] {
    [
        ("LOCKGATE_EPOCH", Entry::EPOCH),
        ("LOCKGATE_NOTE_TYPE", NOTE_TYPE),
        ("LOCKGATE_READY", Status::READY.0),
        ("LOCKGATE_NEXT", Status::NEXT.0),
        ("LOCKGATE_PENDING", Status::PENDING.0),
        ("LOCKGATE_FAULT", Status::FAULT.0),
        ("LOCKGATE_CRITICAL_FLAGS", CRITICAL_FLAGS),
        ("LOCKGATE_REPLACES_CONTEXTS", REPLACES_CONTEXTS),
        ("LOCKGATE_REQUIRED", REQUIRED),
        ("LOCKGATE_HAS_LAST_WORD", HAS_LAST_WORD),
        ("LOCKGATE_MERGED", MERGED),
        ("LOCKGATE_CUT", CUT),
        ("LOCKGATE_TIMED_OUT", TIMED_OUT),
        ("LOCKGATE_NEXT_TURN", NEXT_TURN),
        ("LOCKGATE_NEXT_STEP", NEXT_STEP),
        ("LOCKGATE_KEEP_INBOX", KEEP_INBOX),
        ("LOCKGATE_PURPOSE_LIVE", Purpose::Live.number()),
        ("LOCKGATE_PURPOSE_PROBE", Purpose::Probe.number()),
        ("LOCKGATE_PURPOSE_VALIDATE", Purpose::Validate.number()),
        ("LOCKGATE_PURPOSE_SHADOW", Purpose::Shadow.number()),
        ("LOCKGATE_PURPOSE_WORKER", Purpose::Worker.number()),
        ("LOCKGATE_SESSION_STARTUP", SessionSource::Startup.number()),
        ("LOCKGATE_SESSION_RESUME", SessionSource::Resume.number()),
        ("LOCKGATE_SESSION_CLEAR", SessionSource::Clear.number()),
        ("LOCKGATE_SESSION_COMPACT", SessionSource::Compact.number()),
    ]
}

/// A type whose layout nobody compares.
pub(crate) struct Unchecked {
    /// Its name.
    pub(crate) name: &'static str,
    /// In bytes.
    pub(crate) size: usize,
    /// Its fields with their offsets, in order.
    pub(crate) fields: Vec<(&'static str, usize)>,
}

/// All of them.
pub(crate) fn unchecked() -> [Unchecked; 3] {
    macro_rules! unchecked {
        ($of:ty: $($field:ident),+) => {
            Unchecked {
                name: stringify!($of),
                size: size_of::<$of>(),
                fields: vec![$((stringify!($field), offset_of!($of, $field))),+],
            }
        };
    }
    [
        unchecked!(Entry: magic, size, epoch, root, layout, note),
        unchecked!(Note<4>: name_len, manifest_len, kind, name, manifest),
        // What stands in front of the value is tested where the type is named.
        unchecked!(Prefixed<SessionStartArgs>: value),
    ]
}
