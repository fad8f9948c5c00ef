//! The bench, on plugins that do what plugins do, and what they should not.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod answers;
mod faults;
mod life;
mod probe;
