//! How a log is gone on with, and what its events keep to.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod forks;
mod repair;
mod rows;
mod rules;
