//! What becomes of plugins whose files change while the host runs.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod broken;
mod config;
mod handing_over;
mod load;
mod stage;
mod writers;
