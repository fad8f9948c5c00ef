//! The tools `read`, `write` and `edit`: text files in the directory of the session.

mod edit;
mod failure;
mod path;
mod read;
mod replace;
mod text;
mod write;

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use lockgate_plugin_api::{Create, Plugin, PluginError, Tools, export_plugin};
use serde::Deserialize;

/// The plugin.
#[derive(Debug)]
pub struct ToolFiles {
    config: Arc<Config>,
    /// Held while a file is changed, so that two calls that change one file do so one after the
    /// other. Never held across an `await`.
    changing: Arc<Mutex<()>>,
}

/// What may be set under `[plugins.tool-files.config]`.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Config {
    /// Directories whose files may be used besides those of the session. Absolute.
    roots: Vec<PathBuf>,
    /// The bytes of the largest file that is read or written.
    max_file_size: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self { roots: Vec::new(), max_file_size: 10 << 20 }
    }
}

impl Plugin for ToolFiles {
    fn create(create: &Create) -> Result<Self, PluginError> {
        let config: Config = create.config()?;
        if let Some(root) = config.roots.iter().find(|it| !it.is_absolute()) {
            let message = format!("the root `{}` is not an absolute path", root.display());
            return Err(PluginError::new(message));
        }
        Ok(Self { config: Arc::new(config), changing: Arc::default() })
    }

    fn start(&self) -> Result<(), PluginError> {
        for root in &self.config.roots {
            if !fs::metadata(root).is_ok_and(|it| it.is_dir()) {
                let message = format!("the root `{}` is not a directory", root.display());
                return Err(PluginError::new(message));
            }
        }
        Ok(())
    }

    // The bodies of the tools use blocking `std::fs` on the thread that polls them: files are
    // capped at `max_file_size`, and a trip to another thread would cost more than most of them.
    fn tools(&self, tools: &mut Tools) {
        tools.add(read::Read { config: Arc::clone(&self.config) });
        tools.add(write::Write {
            config: Arc::clone(&self.config),
            changing: Arc::clone(&self.changing),
        });
        tools.add(edit::Edit {
            config: Arc::clone(&self.config),
            changing: Arc::clone(&self.changing),
        });
    }
}

export_plugin!(ToolFiles {
    description: "The tools read, write and edit: text files in the directory of the session",
    config_schema: include_str!("config_schema.json"),
    tools,
});
