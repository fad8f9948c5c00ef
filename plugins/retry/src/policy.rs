//! Which failures are tried again, how often, and after which pauses.

use std::time::Duration;

use globset::{Glob, GlobSet};
use lockgate_plugin_api::ToolOutcome;
use serde::Deserialize;

/// Failures that are final whatever the configuration says: the caller gave up, nobody offers the
/// tool, or the arguments are wrong, which are sealed and stay so.
const FINAL: [&str; 4] = ["ABORTED", "ABORTED_BEFORE_DISPATCH", "INVALID_ARGS", "UNKNOWN_TOOL"];

/// What may be set under `[plugins.retry.config]`.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    /// Tools that are run again, by names with wildcards.
    tools: Vec<String>,
    /// Codes of failures that are tried again, with wildcards.
    codes: Vec<String>,
    /// How often a tool is run at most, the first time included.
    attempts: u32,
    /// The milliseconds between the first attempt and the second.
    initial_ms: u64,
    /// What every further pause is longer by.
    factor: f64,
    /// The milliseconds of the longest pause.
    max_ms: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            tools: Vec::new(),
            codes: vec!["*".into()],
            attempts: 3,
            initial_ms: 200,
            factor: 2.0,
            max_ms: 10_000,
        }
    }
}

/// Why a configuration is none to go by.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BadConfig {
    /// Never or far too often.
    #[error("`attempts` is {0}; it must be from 2 to 10, the first attempt included")]
    Attempts(u32),
    /// Pauses would shrink or explode.
    #[error("`factor` is {0}; it must be from 1 to 10")]
    Factor(f64),
    /// The first pause would be longer than the longest.
    #[error(
        "`initial_ms` is {initial} and `max_ms` is {max}; the first pause is at most the longest"
    )]
    Pauses {
        /// `initial_ms`.
        initial: u64,
        /// `max_ms`.
        max: u64,
    },
    /// A wildcard cannot be read.
    #[error("the entry of `{list}` cannot be read")]
    Wildcard {
        /// The list it stands in.
        list: &'static str,
        /// Why, with the entry.
        #[source]
        cause: globset::Error,
    },
}

/// A configuration that was checked.
#[derive(Debug)]
pub(crate) struct Policy {
    /// The tools that are run again.
    tools: GlobSet,
    /// The codes of the failures that are tried again.
    codes: GlobSet,
    /// How often a tool is run at most.
    attempts: u32,
    /// The first pause.
    initial: Duration,
    /// What every further pause is longer by.
    factor: f64,
    /// The longest pause.
    max: Duration,
}

impl Policy {
    /// Checks `config`.
    pub(crate) fn new(config: &Config) -> Result<Self, BadConfig> {
        let Config { tools, codes, attempts, initial_ms, factor, max_ms } = config;
        if !(2..=10).contains(attempts) {
            return Err(BadConfig::Attempts(*attempts));
        }
        if !(1.0..=10.0).contains(factor) {
            return Err(BadConfig::Factor(*factor));
        }
        if initial_ms > max_ms {
            return Err(BadConfig::Pauses { initial: *initial_ms, max: *max_ms });
        }
        Ok(Self {
            tools: wildcards("tools", tools)?,
            codes: wildcards("codes", codes)?,
            attempts: *attempts,
            initial: Duration::from_millis(*initial_ms),
            factor: *factor,
            max: Duration::from_millis(*max_ms),
        })
    }

    /// Whether a tool of this name may be run again at all.
    pub(crate) fn is_for(&self, tool: &str) -> bool {
        self.tools.is_match(tool)
    }

    /// How long to wait after this attempt, counted from 1, before the next; `None` where there
    /// is none.
    pub(crate) fn pause(&self, attempt: u32, outcome: &ToolOutcome) -> Option<Duration> {
        let is_over = attempt >= self.attempts || !self.is_retryable(outcome);
        (!is_over).then(|| {
            let longer = self.factor.powi(i32::try_from(attempt - 1).unwrap_or(i32::MAX));
            let pause = Duration::try_from_secs_f64(self.initial.as_secs_f64() * longer);
            pause.map_or(self.max, |it| it.min(self.max))
        })
    }

    fn is_retryable(&self, outcome: &ToolOutcome) -> bool {
        // The host's own code says that a policy refused or failed: that is an answer.
        let is_policy = || outcome.extras().map_or(true, |it| it.code.is_some());
        let code = outcome.code().unwrap_or_default();
        let is_final = FINAL.contains(&&*code);
        outcome.is_error() && !is_final && self.codes.is_match(code) && !is_policy()
    }
}

fn wildcards(list: &'static str, entries: &[String]) -> Result<GlobSet, BadConfig> {
    let bad = |cause| BadConfig::Wildcard { list, cause };
    let mut set = GlobSet::builder();
    for it in entries {
        set.add(Glob::new(it).map_err(bad)?);
    }
    set.build().map_err(bad)
}
