//! The tables of a plugin that brings no layouts: which fields are there, before one is used.
//!
//! Everything is read as plain words here: to read a null as the function or the reference that
//! the table's type has in its place would be undefined.

use std::mem::{self, offset_of};

use lockgate_plugin_api::abi::call::GuardArgsRef;
use lockgate_plugin_api::abi::listener::Listener;
use lockgate_plugin_api::abi::root::{PluginRoot, PluginRootRef};
use lockgate_plugin_api::abi::tool::{ToolEntry, ToolEntryRef};
use lockgate_plugin_api::abi::value::Slice;
use lockgate_plugin_api::{GuardDecision, SeamName};

use crate::refusal::{Code, Refusal};

/// What stands in front of every table.
#[repr(C)]
struct Header {
    /// One bit a field that is there, the lowest for the first one.
    present: u64,
    /// The layout checker's, and null in a plugin that has none.
    layout: *const (),
}

/// A field that every table of a kind must have.
struct Field {
    name: &'static str,
    /// From the end of the header.
    offset: usize,
    is_function: bool,
}

/// The fields of `$of` in order, each a `value` or a `function`. One that is left out does not
/// compile.
macro_rules! fields {
    ($of:ident { $($field:ident: $kind:ident),+ $(,)? }) => {{
        const _: fn(&$of) = |it| {
            let $of { $($field: _),+ } = it;
        };
        &[$(Field {
            name: stringify!($field),
            offset: offset_of!($of, $field),
            is_function: fields!(@is_function $kind),
        }),+]
    }};
    (@is_function value) => { false };
    (@is_function function) => { true };
}

const ROOT: &[Field] = fields!(PluginRoot {
    name: value,
    version: value,
    create: function,
    start: function,
    tools: function,
    quiesce: function,
    destroy: function,
    save_state: function,
    extension: function,
    session_start: value,
    prompt_submit: value,
    pre_step: value,
    turn_stopping: value,
    pre_execute: value,
    guard: value,
    execute: value,
    post_execute: value,
    tool_result: value,
});

/// Stands for the listeners of all seams: which types their entries have makes no field larger.
type AnyListener = Listener<GuardArgsRef, GuardDecision>;

const LISTENER: &[Field] =
    fields!(AnyListener { name: value, priority: value, flags: value, call: function });

const TOOL: &[Field] = fields!(ToolEntry {
    state: value,
    name: value,
    description: value,
    parameters: value,
    output: value,
    budget_ms: value,
    flags: value,
    execute: function,
    render: function,
    present: function,
    finalize: function,
    is_parallel_safe: function,
    release: function,
});

/// The lists of listeners are the last fields of the root, one a seam.
const LISTS: &[Field] = ROOT.split_at(ROOT.len() - SeamName::ALL.len()).1;

/// The root table at `root`, once everything that it leads to is there.
///
/// # Errors
/// `E-FIELDS` that names the table and the field.
///
/// # Safety
/// What is not null is what the entry's contract says, in statics of a library that is never
/// unmapped.
pub(super) unsafe fn root(root: *const ()) -> Result<PluginRootRef, Refusal> {
    // SAFETY: as the caller vouches.
    unsafe { check(root, "root", ROOT) }?;
    for list in LISTS {
        // SAFETY: all fields of the root are there.
        let tables = unsafe { field::<Slice<*const ()>>(root, list) };
        // SAFETY: one of its lists: a pointer to pointers and a count, whatever is behind them.
        let tables = unsafe { tables.read() };
        // SAFETY: the list is in a static of the library, as its root is.
        let tables = unsafe { tables.read() };
        for (index, table) in tables.iter().enumerate() {
            // SAFETY: as the caller vouches.
            unsafe { check(*table, &format!("{}[{index}]", list.name), LISTENER) }?;
        }
    }
    // SAFETY: a reference to a table is the pointer to its header, and this one is not null; all
    // fields are there, so that nobody asks for the layout.
    Ok(unsafe { mem::transmute::<*const (), PluginRootRef>(root) })
}

/// The entry at `tool`, the `index`th that was listed, once everything in it is there.
///
/// # Errors
/// `E-FIELDS` that names the entry and the field.
///
/// # Safety
/// Where it is not null, `tool` is a table that lives until its `release`.
pub(super) unsafe fn tool(tool: *const (), index: usize) -> Result<ToolEntryRef, Refusal> {
    // SAFETY: as the caller vouches.
    unsafe { check(tool, &format!("tools[{index}]"), TOOL) }?;
    // SAFETY: as in `root`.
    Ok(unsafe { mem::transmute::<*const (), ToolEntryRef>(tool) })
}

/// Checks that the table `name` has its `fields`, and that those which are functions are not null.
///
/// # Safety
/// Where it is not null and aligned, `table` is a header with the fields behind it that it says
/// are there.
unsafe fn check(table: *const (), name: &str, fields: &[Field]) -> Result<(), Refusal> {
    let bad = |what: String| Err(Refusal::new(Code::Fields, what));
    let header = table.cast::<Header>();
    if header.is_null() {
        return bad(format!("its table `{name}` is null"));
    }
    if !header.is_aligned() {
        return bad(format!("its table `{name}` is not aligned"));
    }
    // SAFETY: the caller vouches for the header.
    let present = unsafe { (*header).present };
    for (index, it) in fields.iter().enumerate() {
        if present >> index & 1 == 0 {
            return bad(format!("its table `{name}` has no field `{}`", it.name));
        }
        if it.is_function {
            // SAFETY: the field is there.
            let function = unsafe { field::<*const ()>(table, it) };
            // SAFETY: a function pointer is as large as a data pointer, which any bits are.
            let function = unsafe { function.read() };
            if function.is_null() {
                return bad(format!("the function `{}` of its table `{name}` is null", it.name));
            }
        }
    }
    Ok(())
}

/// Where `field` of a table is.
///
/// # Safety
/// The field is there.
unsafe fn field<T>(table: *const (), field: &Field) -> *const T {
    // SAFETY: the field is inside of the table, which stands behind its header.
    unsafe { table.byte_add(size_of::<Header>() + field.offset) }.cast()
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;

    /// What is said of a table of the fields `TOOL`, as words behind a header with these bits.
    #[track_caller]
    fn check_tool(present: u64, null: usize, expected: &str) {
        assert_eq!(size_of::<ToolEntry>(), 17 * size_of::<usize>(), "the words below");
        let mut words = [1_usize; 2 + 17];
        words[0] = usize::try_from(present).unwrap();
        words[null] = 0;
        // SAFETY: a table of words, as many as a header and an entry have.
        let answer = unsafe { check(ptr::from_ref(&words).cast(), "tools[3]", TOOL) };
        assert_eq!(answer.map_or_else(|it| it.to_string(), |()| String::new()), expected);
    }

    #[test]
    fn every_field_is_there_and_no_function_is_null() {
        let (all, elsewhere) = ((1 << 13) - 1, 1);
        check_tool(all, elsewhere, "");
        check_tool(u64::MAX, elsewhere, "");
        check_tool(all >> 1, elsewhere, "E-FIELDS: its table `tools[3]` has no field `release`");
        check_tool(all - 1, elsewhere, "E-FIELDS: its table `tools[3]` has no field `state`");
        // The state may be null, as any value may.
        check_tool(all, 2, "");
        let null =
            |name| format!("E-FIELDS: the function `{name}` of its table `tools[3]` is null");
        check_tool(all, 2 + 11, &null("execute"));
        check_tool(all, 2 + 16, &null("release"));
    }

    #[test]
    fn a_table_is_where_a_table_can_be() {
        let say = |table: *const ()| {
            // SAFETY: neither is looked into.
            unsafe { tool(table, 0) }.map_or_else(|it| it.to_string(), |_| String::new())
        };
        assert_eq!(say(ptr::null()), "E-FIELDS: its table `tools[0]` is null");
        assert_eq!(
            say(ptr::without_provenance(12)),
            "E-FIELDS: its table `tools[0]` is not aligned"
        );
    }

    #[test]
    fn the_last_fields_of_the_root_are_the_seams() {
        let names: Vec<_> = LISTS.iter().map(|it| it.name.replace('_', "-")).collect();
        assert_eq!(names, SeamName::ALL.map(SeamName::as_str));
    }
}
