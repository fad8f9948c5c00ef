//! A host for native plugins that interpose on an AI agent.

mod agent;
#[cfg(feature = "app")]
pub mod app;
mod approval;
pub mod artifact;
mod budget;
pub mod compat;
#[cfg(feature = "app")]
pub mod config;
pub mod discover;
mod dispatch;
mod generation;
mod host;
mod journal;
mod library;
mod loading;
pub mod model;
mod options;
mod probation;
mod probe;
mod process;
mod progress;
mod quarantine;
mod reach;
pub mod refusal;
mod registry;
mod roster;
mod schema;
mod seam;
pub mod session;
mod settings;
mod signal;
mod sys;
mod tools;
mod trail;
mod watch;
mod watchdog;

pub use agent::{
    Agent, AgentOptions, CallError, MAX_PARALLEL_TOOL_CALLS, SESSION_START_GRACE, Status,
};
pub use approval::{AnyApprover, ApprovalRequest, Approvals, Approver};
pub use dispatch::Dispatch;
pub use host::{Host, StartError, check};
pub use journal::{JournalSink, Phase, Transition};
pub use options::HostOptions;
pub use probe::Probe;
pub use progress::{Progress, ProgressSink};
pub use quarantine::{Quarantine, QuarantineError, ShutOut};
pub use registry::{PlaceReport, ScopeError, ToolRestriction};
pub use roster::{PluginReport, PluginState};
pub use seam::ListenerFailure;
pub use settings::{Deadlines, PluginScope, PluginSettings, Required};
pub use signal::Signal;
pub use tools::CallRequest;
pub use trail::{TrailEntry, TrailSink};
pub use watch::{WatchError, WatchOptions, Watching};
