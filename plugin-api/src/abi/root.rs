//! What a plugin's library is: its root table, and what an instance is created from.

use abi_stable::StableAbi;
use abi_stable::declare_root_module_statics;
use abi_stable::library::RootModule;
use abi_stable::package_version_strings;
use abi_stable::sabi_types::VersionStrings;

use super::agent::{PreStepArgsRef, PromptSubmitArgsRef, SessionStartArgsRef, TurnStoppingArgsRef};
use super::call::{
    ExecuteArgsRef, GuardArgsRef, PostExecuteArgsRef, PreExecuteArgsRef, ToolResultArgsRef,
};
use super::future::Out;
use super::host::HostTableRef;
use super::listener::{ListenerRef, Noted};
use super::tool::ToolSinkRef;
use super::value::{Buf, Instance, Slice, Status, Str};
use crate::decision::{
    GuardDecision, PostToolDecision, PreStepDecision, PreToolDecision, PromptDecision,
};
use crate::outcome::ToolOutcome;

/// The root of a plugin's library, valid as long as the library is loaded, which is for ever.
///
/// The life of an instance: `create` → `start` → `tools` → listeners → `quiesce` → `destroy`.
#[repr(C)]
#[derive(StableAbi)]
#[sabi(kind(Prefix(prefix_ref = PluginRootRef, prefix_fields = PluginRootPrefix)))]
pub struct PluginRoot {
    /// The plugin's name, as in its manifest.
    pub name: Str,
    /// The plugin's version, as in its manifest.
    pub version: Str,
    /// Makes an instance without touching anything outside. [any thread]
    pub create: unsafe extern "C" fn(
        args: CreateArgsRef,
        instance: *mut *const Instance,
        fault: *mut Buf,
    ) -> Status,
    /// Acquires what the instance needs. [any thread, once]
    pub start: unsafe extern "C" fn(instance: *const Instance, fault: *mut Buf) -> Status,
    /// Lists the instance's tools. [any thread]
    pub tools: unsafe extern "C" fn(
        instance: *const Instance,
        sink: ToolSinkRef,
        fault: *mut Buf,
    ) -> Status,
    /// Gives back what `start` acquired; no listener is inside, and none will be asked.
    /// [any thread, once]
    pub quiesce: unsafe extern "C" fn(instance: *const Instance, fault: *mut Buf) -> Status,
    /// Frees the instance. [any thread, once]
    pub destroy: unsafe extern "C" fn(instance: *const Instance),
    /// What another instance may go on from, or [`Status::NEXT`] where there is nothing.
    /// No listener is inside. [any thread]
    pub save_state: unsafe extern "C" fn(
        instance: *const Instance,
        out: *mut SavedState,
        fault: *mut Buf,
    ) -> Status,
    /// A table of the plugin's that is not in this one, by its id; null where it has none.
    /// [any thread, concurrent, must not block]
    pub extension: unsafe extern "C" fn(id: Str) -> *const (),
    /// Listeners of *session-start*: told, not asked.
    pub session_start: Slice<ListenerRef<SessionStartArgsRef, Noted>>,
    /// Listeners of *prompt-submit*.
    pub prompt_submit: Slice<ListenerRef<PromptSubmitArgsRef, PromptDecision>>,
    /// Listeners of *pre-step*.
    pub pre_step: Slice<ListenerRef<PreStepArgsRef, PreStepDecision>>,
    /// Listeners of *turn-stopping*: told, and waited for.
    pub turn_stopping: Slice<ListenerRef<TurnStoppingArgsRef, Noted>>,
    /// Listeners of *pre-execute*.
    pub pre_execute: Slice<ListenerRef<PreExecuteArgsRef, PreToolDecision>>,
    /// Guards: synchronous.
    pub guard: Slice<ListenerRef<GuardArgsRef, GuardDecision>>,
    /// Listeners of *execute*, around the body.
    pub execute: Slice<ListenerRef<ExecuteArgsRef, ToolOutcome>>,
    /// Listeners of *post-execute*.
    pub post_execute: Slice<ListenerRef<PostExecuteArgsRef, PostToolDecision>>,
    /// Listeners of *tool-result*: synchronous, told and not asked.
    #[sabi(last_prefix_field)]
    pub tool_result: Slice<ListenerRef<ToolResultArgsRef, Noted>>,
}

impl RootModule for PluginRootRef {
    declare_root_module_statics! {PluginRootRef}

    const BASE_NAME: &'static str = "lockgate_plugin";
    const NAME: &'static str = "lockgate_plugin";
    const VERSION_STRINGS: VersionStrings = package_version_strings!();
}

/// What an instance is created from. Lent for the call.
#[repr(C)]
#[derive(StableAbi)]
#[sabi(kind(Prefix(prefix_ref = CreateArgsRef, prefix_fields = CreateArgsPrefix)))]
pub struct CreateArgs {
    /// The host's functions.
    pub host: HostTableRef,
    /// The number of this instance, for the host's functions; never used twice.
    pub instance: u64,
    /// What the instance is for: a [`Purpose`] as its number.
    pub purpose: u32,
    /// The version of `state`; 0 where there is none.
    pub state_version: u32,
    /// What an earlier instance saved.
    pub state: Slice<u8>,
    /// The plugin's configuration: one JSON text.
    #[sabi(last_prefix_field)]
    pub config: Str,
}

/// What an instance saved, at most 16 MiB.
#[repr(C)]
#[derive(StableAbi, Debug)]
pub struct SavedState {
    /// The version of the bytes, from 1.
    pub version: u32,
    /// None yet.
    pub flags: u32,
    /// The bytes, whatever they mean to the plugin.
    pub bytes: Buf,
}

impl Out for SavedState {
    const EMPTY: Self = Self { version: 0, flags: 0, bytes: Buf::EMPTY };

    fn is_empty(&self) -> bool {
        self.version == 0
    }
}

/// What an instance is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Purpose {
    /// To decide.
    Live,
    /// To see whether it can be made: it is never started.
    Probe,
    /// To be put through its vendor's tests.
    Validate,
    /// To be asked without being heard.
    Shadow,
    /// To decide, in a process of its own.
    Worker,
    /// One this API does not know.
    Unknown(u32),
}

impl Purpose {
    /// The number that crosses.
    pub fn number(self) -> u32 {
        match self {
            Self::Live => 1,
            Self::Probe => 2,
            Self::Validate => 3,
            Self::Shadow => 4,
            Self::Worker => 5,
            Self::Unknown(number) => number,
        }
    }

    /// The purpose of this number.
    pub fn from_number(number: u32) -> Self {
        match number {
            1 => Self::Live,
            2 => Self::Probe,
            3 => Self::Validate,
            4 => Self::Shadow,
            5 => Self::Worker,
            other => Self::Unknown(other),
        }
    }
}
