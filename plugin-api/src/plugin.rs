//! What every plugin is: made from its configuration, started, asked for its tools, and ended.

use std::error::Error;
use std::fmt;

use serde::de::DeserializeOwned;

use crate::abi::host::Host;
use crate::abi::root::Purpose;
use crate::abi::tool::Tools;

/// A plugin. Exported with [`export_plugin!`](crate::export_plugin), which names the methods that
/// listen.
///
/// Listeners run on any thread, several at once, so state that changes needs a lock or an atomic.
/// A library may be instantiated several times: keep nothing in statics.
pub trait Plugin: Sized + Send + Sync + 'static {
    /// Makes an instance. Called once for each, before anything else, and also only to see
    /// whether it would work: it reads the configuration and touches nothing outside.
    ///
    /// # Errors
    /// What is wrong with the configuration. The plugin is refused with it.
    fn create(create: &Create) -> Result<Self, PluginError>;

    /// Acquires what the instance needs outside. Called once, after `create`, before the first
    /// listener is asked.
    ///
    /// # Errors
    /// What cannot be had. The plugin is refused with it.
    fn start(&self) -> Result<(), PluginError> {
        Ok(())
    }

    /// Lists the instance's tools. Called after `start`.
    fn tools(&self, _tools: &mut Tools) {}

    /// What another instance may go on from when this one is replaced. Called while no listener is
    /// inside and before `quiesce`, where [`export_plugin!`](crate::export_plugin) says `state`;
    /// this instance may have to go on afterwards. `None`, the default, is nothing.
    fn save_state(&self) -> Option<State> {
        None
    }

    /// Gives back what `start` acquired. Called once, after the last listener has answered;
    /// then the instance is dropped.
    fn quiesce(&self) {}
}

/// What one instance leaves for the next. The bytes mean what the plugin says they mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// The version of what follows, from 1, so that an instance knows what it can read.
    pub version: u32,
    /// At most 16 MiB.
    pub bytes: Vec<u8>,
}

/// What an instance is made from.
#[derive(Debug)]
pub struct Create<'a> {
    pub(crate) config: &'a str,
    pub(crate) purpose: Purpose,
    pub(crate) state: Option<State>,
    pub(crate) host: Host,
}

impl Create<'_> {
    /// The plugin's configuration, `{}` where there is none.
    ///
    /// # Errors
    /// When it is not a `T`; the message says where.
    pub fn config<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::from_str(self.config)
    }

    /// What the instance is for.
    pub fn purpose(&self) -> Purpose {
        self.purpose
    }

    /// What an earlier instance saved, where this one replaces it.
    pub fn state(&self) -> Option<&State> {
        self.state.as_ref()
    }

    /// The host. May be kept.
    pub fn host(&self) -> Host {
        self.host
    }
}

/// Why an instance cannot be made or started. Any error becomes one, with the messages of its
/// causes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginError {
    message: String,
}

impl PluginError {
    /// For what no error type says.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

impl fmt::Display for PluginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl<E: Error> From<E> for PluginError {
    fn from(error: E) -> Self {
        Self::new(error_chain(&error))
    }
}

/// The message of an error and those of its causes, in one line.
pub fn error_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
