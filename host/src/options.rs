//! How a host is to be made.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::approval::AnyApprover;
use crate::dispatch::Dispatch;
use crate::journal::JournalSink;
use crate::probe::Probe;
use crate::progress::ProgressSink;
use crate::settings::{Deadlines, PluginSettings};
use crate::trail::TrailSink;

/// How a host is to be made.
#[derive(Debug, Clone, Default)]
pub struct HostOptions {
    /// The directories that are searched for plugins, not recursively.
    pub plugin_dirs: Vec<PathBuf>,
    /// What is set for each plugin, by name.
    pub plugins: BTreeMap<String, PluginSettings>,
    /// Whether one refused file stops the start.
    pub strict: bool,
    /// Whether plugins are loaded in a child process first.
    pub probe: Probe,
    /// Where plugins are asked.
    pub dispatch: Dispatch,
    /// How long they may take, where nothing is set for a plugin of its own.
    pub deadlines: Deadlines,
    /// Who is told every answer of every listener. Costs time for each, so none by default.
    pub trail: Option<TrailSink>,
    /// Who is asked where a listener says that somebody should be. Without it such a call is
    /// denied.
    pub approver: Option<AnyApprover>,
    /// Who is told how far the bodies of tools are.
    pub progress: Option<ProgressSink>,
    /// The file in which builds are kept that misbehaved and are not loaded again; without one they
    /// are forgotten with the host.
    pub quarantine: Option<PathBuf>,
    /// Who is told each step of plugin files and of what is loaded from them.
    pub journal: Option<JournalSink>,
}
