//! What `export_plugin!` makes of a type, for whoever links it instead of loading it.

use crate::abi::root::PluginRootRef;

/// An exported plugin, by its type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not exported as a plugin",
    note = "`export_plugin!` exports it, in the crate that defines it"
)]
pub trait Linked {
    /// The root table that the host gets.
    fn root() -> PluginRootRef;

    /// The manifest, JSON in UTF-8, as it stands in the note.
    fn manifest() -> &'static [u8];
}
