//! The configuration file: where it is found, and what it says.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;

use crate::approval::Approvals;
use crate::session::SyncPolicy;
use crate::settings::PluginSettings;

pub use self::read::{Fault, Place};

mod key;
mod read;

/// The name of the file.
const NAME: &str = "lockgate.toml";

/// What the configuration file says; what it leaves out is `None` or empty.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Config {
    /// The file all this is from; `None` where there is none.
    pub file: Option<PathBuf>,
    /// `plugin_dirs`: where plugins are looked for; written relative to the file.
    pub plugin_dirs: Vec<PathBuf>,
    /// `strict`: whether a plugin that is refused stops the start. False unless it is set.
    pub strict: bool,
    /// `session_start_grace_ms`: how long the first request waits for those who are told that a
    /// session starts, in whole milliseconds; zero for not at all.
    pub session_start_grace: Option<Duration>,
    /// `approve`: what becomes of tool calls that somebody should be asked about: `ask`, `never`
    /// or `always`.
    pub approve: Option<Approvals>,
    /// `max_parallel_tool_calls`: how many bodies of a step's tool calls may run at once; at least
    /// one.
    pub max_parallel_tool_calls: Option<NonZeroUsize>,
    /// `session.sync`: when the lines of a session's log have to be on the disk: `always`,
    /// `checkpoint` or `never`.
    pub sync: Option<SyncPolicy>,
    /// `system`: the system prompt.
    pub system: Option<String>,
    /// `model`: the model, as the command line takes it.
    pub model: Option<String>,
    /// `base_url`: where a model is asked that is asked over HTTP, instead of where its provider is:
    /// the URL up to and without `/chat/completions`.
    pub base_url: Option<String>,
    /// `api_key_env`: the environment variable that holds the key for it.
    pub api_key_env: Option<String>,
    /// `request_idle_timeout_ms`: how long it may be silent, in whole milliseconds.
    pub request_idle_timeout: Option<Duration>,
    /// `cwd`: the directory that tools work in; written relative to the file.
    pub cwd: Option<PathBuf>,
    /// `[plugins.NAME]`, by the plugin's name.
    pub plugins: BTreeMap<String, PluginSettings>,
}

/// A configuration that cannot be had.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The search cannot start.
    #[error("cannot look for `{NAME}` from `{}` upwards", cwd.display())]
    Search {
        /// The directory to start from.
        cwd: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// The file cannot be read.
    #[error("cannot read the configuration `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// The file says something that it cannot say.
    #[error("`{}`, {place}: {fault}", path.display())]
    Says {
        /// The file.
        path: PathBuf,
        /// Where in it.
        place: Place,
        /// What.
        fault: Fault,
    },
}

impl Config {
    /// The configuration from `explicit`; else from the nearest `lockgate.toml` in `cwd` or above
    /// it; else from `lockgate/lockgate.toml` in the user's directory for configuration, which is
    /// `$XDG_CONFIG_HOME` or `~/.config`; else an empty one.
    ///
    /// An `explicit` that is relative is taken from `cwd`.
    ///
    /// # Errors
    ///
    /// If the file is there and cannot be read, if an explicit one is not there, or for the first
    /// thing in it that is not TOML, has an unknown key or has not the right type. Nothing in a
    /// file is passed over.
    pub fn load(explicit: Option<&Path>, cwd: &Path) -> Result<Self, ConfigError> {
        let file = match explicit {
            Some(path) => Some(cwd.join(path)),
            None => find(cwd, user_directory().as_deref())?,
        };
        let Some(path) = file else { return Ok(Self::default()) };
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(cause) => return Err(ConfigError::Read { path, cause }),
        };
        match read::read(&text, &path) {
            Ok(config) => Ok(config),
            Err((place, fault)) => Err(ConfigError::Says { path, place, fault }),
        }
    }
}

/// The file that is used where none is named.
fn find(cwd: &Path, user: Option<&Path>) -> Result<Option<PathBuf>, ConfigError> {
    // Resolved, because `..` in it would lead the way up astray.
    let start = fs::canonicalize(cwd)
        .map_err(|cause| ConfigError::Search { cwd: cwd.to_owned(), cause })?;
    let upwards = start.ancestors().map(|it| it.join(NAME));
    for path in upwards.chain(user.map(|it| it.join("lockgate").join(NAME))) {
        // A link that leads nowhere is there: it is an error, not a reason to look on.
        match fs::symlink_metadata(&path) {
            Ok(_) => return Ok(Some(path)),
            Err(cause) => match cause.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {}
                _ => return Err(ConfigError::Read { path, cause }),
            },
        }
    }
    Ok(None)
}

/// The user's directory for configuration. A relative `$XDG_CONFIG_HOME` does not count.
fn user_directory() -> Option<PathBuf> {
    env::var_os("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .filter(|it| it.is_absolute())
        .or_else(|| Some(env::home_dir()?.join(".config")))
}

#[cfg(test)]
mod tests;
