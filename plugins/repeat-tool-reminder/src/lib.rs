//! Tells a model that it keeps making the same tool call.

mod chain;
mod notice;

use std::sync::{Mutex, MutexGuard, PoisonError};

use globset::{Glob, GlobSet};
use lockgate_plugin_api::{
    Create, Message, Next, Plugin, PluginError, PostToolDecision, PreStepDecision, ProposedStep,
    Source, ToolCall, ToolOutcome, export_plugin,
};
use serde::Deserialize;

use chain::{Chains, identity};

/// The plugin.
#[derive(Debug)]
pub struct RepeatToolReminder {
    /// How many calls in a row the model is told of.
    thresholds: Vec<u64>,
    /// The tools that are watched.
    include: GlobSet,
    /// The tools that are not, whatever `include` says.
    exclude: GlobSet,
    /// What each agent does. Never held across an `await`.
    chains: Mutex<Chains>,
}

/// What may be set under `[plugins.repeat-tool-reminder.config]`.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Config {
    /// How many calls in a row the model is told of, ascending.
    thresholds: Vec<u64>,
    /// Tools that are watched, by names with wildcards.
    include: Vec<String>,
    /// Tools that are not, likewise.
    exclude: Vec<String>,
}

impl Default for Config {
    fn default() -> Self {
        Self { thresholds: vec![3, 5, 8], include: vec!["*".into()], exclude: Vec::new() }
    }
}

/// Why a configuration is none to go by.
#[derive(Debug, thiserror::Error)]
enum BadConfig {
    /// The model would never be told.
    #[error("`thresholds` is empty; name at least one number of calls")]
    NoThresholds,
    /// A single call is no repetition.
    #[error("`thresholds` has a {0}; a call is repeated from the second time on")]
    TooFew(u64),
    /// The order says which notice is the gentle one.
    #[error("`thresholds` has {after} after {before}; let them ascend")]
    NotAscending {
        /// The one that should be smaller.
        before: u64,
        /// The one that should be larger.
        after: u64,
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

impl Plugin for RepeatToolReminder {
    fn create(create: &Create) -> Result<Self, PluginError> {
        let Config { thresholds, include, exclude } = create.config()?;
        check(&thresholds)?;
        let (include, exclude) = (wildcards("include", &include)?, wildcards("exclude", &exclude)?);
        Ok(Self { thresholds, include, exclude, chains: Mutex::default() })
    }
}

impl RepeatToolReminder {
    /// Begins anew where the person says something: what they ask for may well be the same call.
    fn listen(&self, step: &ProposedStep) -> Option<PreStepDecision> {
        // Messages that cannot be read are somebody else's matter: nothing here stops a step.
        let messages = step.messages().unwrap_or_default();
        if messages.iter().any(|it| it.source == Source::User) {
            self.chains().reset(step.agent().id());
        }
        None
    }

    /// Counts the call, whatever became of it, and adds a notice to what the listeners further in
    /// decide.
    async fn remind(
        &self,
        call: &ToolCall,
        _: &ToolOutcome,
        next: &mut Next<PostToolDecision>,
    ) -> PostToolDecision {
        let notice = self.notice(call);
        let decided = next.run().await;
        match notice {
            Some(notice) => decided.with_context(notice),
            None => decided,
        }
    }

    fn notice(&self, call: &ToolCall) -> Option<Message> {
        let agent = call.agent()?;
        let tool = call.name();
        // A call from inside another one is not the model's.
        let is_watched = self.include.is_match(tool) && !self.exclude.is_match(tool);
        if !is_watched || call.parent().is_some() {
            return None;
        }
        let times = self.chains().grow(agent.id(), identity(tool, call.arguments()));
        match self.thresholds.iter().position(|it| *it == times)? {
            0 => Some(notice::gentle(tool, times)),
            _ => Some(notice::detailed(tool, times, call.arguments())),
        }
    }

    fn chains(&self) -> MutexGuard<'_, Chains> {
        self.chains.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn check(thresholds: &[u64]) -> Result<(), BadConfig> {
    let first = *thresholds.first().ok_or(BadConfig::NoThresholds)?;
    if first < 2 {
        return Err(BadConfig::TooFew(first));
    }
    match thresholds.windows(2).find(|it| it[0] >= it[1]) {
        Some(pair) => Err(BadConfig::NotAscending { before: pair[0], after: pair[1] }),
        None => Ok(()),
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

// Optional: a model that is not reminded does nothing that it could not do before. Far out, so that
// calls are counted whose outcome somebody else blocks.
export_plugin!(RepeatToolReminder {
    description: "Tells a model that it keeps making the same tool call",
    config_schema: include_str!("config_schema.json"),
    optional pre_step: listen @ 1000,
    optional post_execute: async remind @ 1000,
});
