//! The host's side of the boundary for a plugin that is linked into a test.
//!
//! Safe from outside: what is lent to the plugin stands on the stack of the function that lends
//! it, and that function drops the plugin's future before it returns.

pub(crate) mod chain;
pub(crate) mod instance;
pub(crate) mod lend;
mod table;
pub(crate) mod tool;
