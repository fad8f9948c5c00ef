//! An agent with a scripted model, and a real plugin on its seams that does as it is told.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod approval;
mod beside;
mod broken_off;
mod calls;
mod entering;
mod failing;
mod gone;
mod lanes;
mod reach;
mod stage;
mod start;
mod stopping;
