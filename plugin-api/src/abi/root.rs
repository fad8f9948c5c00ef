//! What a plugin's library is: its root table, and what an instance is created from.

use abi_stable::StableAbi;
use abi_stable::declare_root_module_statics;
use abi_stable::library::RootModule;
use abi_stable::package_version_strings;
use abi_stable::sabi_types::VersionStrings;

use super::agent::{PreStepArgsRef, SessionStartArgsRef, TurnStoppingArgsRef};
use super::call::{
    ExecuteArgsRef, GuardArgsRef, PostExecuteArgsRef, PreExecuteArgsRef, ToolResultArgsRef,
};
use super::host::HostTableRef;
use super::listener::{ListenerRef, Noted};
use super::tool::ToolSinkRef;
use super::value::{Buf, Instance, Slice, Status, Str};
use crate::decision::{GuardDecision, PostToolDecision, PreStepDecision, PreToolDecision};
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
    /// Listeners of *session-start*: told, not asked.
    pub session_start: Slice<ListenerRef<SessionStartArgsRef, Noted>>,
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
    /// The plugin's configuration: one JSON text.
    #[sabi(last_prefix_field)]
    pub config: Str,
}
