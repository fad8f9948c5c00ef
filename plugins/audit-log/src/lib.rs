//! Appends one JSON line to a file for every tool call.

mod file;
mod record;
mod time;

use std::fs::File;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::SystemTime;

use lockgate_plugin_api::{Create, Plugin, PluginError, ToolCall, ToolOutcome, export_plugin};
use serde::Deserialize;

use record::Arguments;

/// The plugin.
#[derive(Debug)]
pub struct AuditLog {
    config: Config,
    /// Opened by `start`.
    file: OnceLock<File>,
}

/// What may be set under `[plugins.audit-log.config]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    /// The file that lines are appended to. Absolute.
    file: PathBuf,
    /// What is kept of the arguments of a call.
    #[serde(default = "all")]
    arguments: Arguments,
    /// The bytes of arguments that are kept in full.
    #[serde(default = "sixteen_kib")]
    arguments_limit: usize,
}

fn all() -> Arguments {
    Arguments::Full
}

fn sixteen_kib() -> usize {
    16 << 10
}

impl Plugin for AuditLog {
    fn create(create: &Create) -> Result<Self, PluginError> {
        let config: Config = create.config()?;
        if !config.file.is_absolute() {
            let message = format!("the file `{}` is not an absolute path", config.file.display());
            return Err(PluginError::new(message));
        }
        Ok(Self { config, file: OnceLock::new() })
    }

    fn start(&self) -> Result<(), PluginError> {
        let file = file::open(&self.config.file)?;
        // Started once only, so nothing is lost.
        self.file.get_or_init(|| file);
        Ok(())
    }
}

impl AuditLog {
    /// Writes the line of a call. That it cannot be written is told and changes nothing: the call
    /// has been made.
    fn note(&self, call: &ToolCall, outcome: &ToolOutcome) {
        let Config { arguments, arguments_limit, .. } = self.config;
        let line = record::line(SystemTime::now(), call, outcome, arguments, arguments_limit);
        let file = self.file.get().expect("listeners are asked after `start`");
        let written = match line {
            Ok(line) => file::append(file, &line),
            Err(error) => Err(error.into()),
        };
        if let Err(error) = written {
            tracing::error!(
                file = %self.config.file.display(),
                call = call.call_id(),
                tool = call.name(),
                %error,
                "a tool call is missing from the audit log"
            );
        }
    }
}

export_plugin!(AuditLog {
    description: "Appends one JSON line to a file for every tool call",
    config_schema: include_str!("config_schema.json"),
    tool_result: note,
});
