//! From flags, environment and configuration file to a running host.

use std::env;
use std::path::PathBuf;

use super::approve::Approve;
use super::{Failure, PluginArgs, screen};
use crate::approval::Approvals;
use crate::config::Config;
use crate::host::Host;
use crate::options::HostOptions;
use crate::probe::Probe;
use crate::progress::ProgressSink;
use crate::trail::TrailSink;

/// The file, in the user's directory for state, of the builds that are shut out.
pub(super) const QUARANTINE: &str = "quarantine.json";

/// What the command line and the configuration file say together.
pub(super) struct Setup {
    pub(super) config: Config,
    pub(super) cwd: PathBuf,
    pub(super) options: HostOptions,
}

impl PluginArgs {
    /// Reads the configuration; flags and the environment win over it.
    pub(super) fn setup(self, trail: Option<TrailSink>) -> Result<Setup, Failure> {
        let here = env::current_dir()?;
        let search_from = self.cwd.clone().unwrap_or_else(|| here.clone());
        let config = Config::load(self.config.as_deref(), &here.join(search_from))?;
        let cwd = self.cwd.or_else(|| config.cwd.clone()).map_or(here.clone(), |it| here.join(it));
        let plugin_dirs =
            if self.plugins.is_empty() { config.plugin_dirs.clone() } else { self.plugins };
        let options = HostOptions {
            plugin_dirs,
            plugins: config.plugins.clone(),
            strict: self.strict || config.strict,
            probe: Probe::Command(env::current_exe()?),
            trail,
            quarantine: state_dir().map(|it| it.join(QUARANTINE)),
            progress: Some(ProgressSink::new(|it| screen::progress(&it))),
            ..HostOptions::default()
        };
        Ok(Setup { config, cwd, options })
    }
}

/// The user's directory for what this program keeps; none where there is no home.
pub(super) fn state_dir() -> Option<PathBuf> {
    let state = env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|it| it.is_absolute());
    let state = state.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".local/state")))?;
    Some(state.join("lockgate"))
}

impl Setup {
    /// What becomes of calls that somebody should be asked about: the flag, else the file.
    pub(super) fn approvals(&self, flag: Option<Approve>) -> Approvals {
        flag.map(Approvals::from).or(self.config.approve).unwrap_or_default()
    }

    /// Starts the host, and says which files it refused and why.
    pub(super) fn start(&self) -> Result<Host, Failure> {
        let host = Host::start(&self.options)?;
        for report in host.plugins() {
            if let Some(refusal) = report.state.refusal() {
                screen::refusal(&report.path, refusal);
            }
        }
        Ok(host)
    }
}
