//! The contract between Lockgate and its plugins.
//!
//! A plugin is one type that implements [`Plugin`], and [`export_plugin!`], which names the
//! methods that listen:
//!
//! ```
//! use lockgate_plugin_api::{Create, Plugin, PluginError, PreToolDecision, ToolCall, export_plugin};
//!
//! struct NoRm;
//! impl Plugin for NoRm {
//!     fn create(_: &Create) -> Result<Self, PluginError> {
//!         Ok(Self)
//!     }
//! }
//! impl NoRm {
//!     fn gate(&self, call: &ToolCall) -> Option<PreToolDecision> {
//!         (call.name() == "rm").then(|| PreToolDecision::deny("agents do not delete files"))
//!     }
//! }
//! export_plugin!(NoRm { pre_execute: gate });
//! ```
//!
//! Built as a `cdylib`, that is a plugin. The crate has two layers: [`abi`] is what crosses the
//! boundary, readable like a header; everything else is what authors write with. Where a type is
//! both, there is one.

pub mod abi;
mod decision;
#[doc(hidden)]
pub mod export;
mod log;
mod manifest;
mod message;
mod outcome;
mod plugin;
#[cfg(feature = "testing")]
pub mod testing;
mod tool;

pub use abi::agent::{ProposedStep, SessionSource, SessionStart, StoppingTurn, SubmittedPrompt};
pub use abi::asked::HostError;
pub use abi::call::ToolCall;
pub use abi::handle::{Agent, Inbox, LoggedEvent};
pub use abi::host::{Cancelled, Host};
pub use abi::next::{Deadline, Next};
pub use abi::process::{Command, ProcessOutput};
pub use abi::root::Purpose;
pub use abi::tool::{Run, Tools};
pub use decision::{
    BadDecision, Guard, GuardDecision, PostTool, PostToolDecision, PreStep, PreStepDecision,
    PreTool, PreToolDecision, Prompt, PromptDecision,
};
pub use manifest::{ListenerExport, Manifest, SeamName};
pub use message::{Block, Message, Role, Source};
pub use outcome::{ErrorInfo, Extras, ToolOutcome};
pub use plugin::{Create, Plugin, PluginError, State, error_chain};
pub use tool::{Tool, ToolError, ToolSpec};

/// The README's plugin, compiled.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
