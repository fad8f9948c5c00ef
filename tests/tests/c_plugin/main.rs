//! Plugins in C, built against the header alone: what they do, and what becomes of each broken rule.
//!
//! Where there is no C compiler, that is said and nothing is tested.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod breaches;
mod guard;
mod never;
mod retired;
mod seams;
mod stage;
