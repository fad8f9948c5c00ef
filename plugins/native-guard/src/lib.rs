//! A policy on four seams: greets, refuses a forbidden prompt, denies a dangerous tool call, and
//! annotates results.

use lockgate_plugin_api::{
    Create, HostError, Message, Next, Plugin, PluginError, PostToolDecision, PreStepDecision,
    PreToolDecision, ProposedStep, SessionStart, Source, ToolCall, ToolOutcome, export_plugin,
};
use serde::Deserialize;

/// The plugin.
#[derive(Debug)]
pub struct NativeGuard {
    config: Config,
}

/// What may be set under `[plugins.native-guard.config]`.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Config {
    /// A prompt that contains one of these is refused.
    forbidden_prompts: Vec<String>,
    /// Tools that may be called without asking the listeners further in.
    allowed_tools: Vec<String>,
    /// Tools that are never called.
    denied_tools: Vec<String>,
    /// A call whose arguments contain one of these is denied.
    denied_arguments: Vec<String>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            forbidden_prompts: vec!["rm -rf".into()],
            allowed_tools: Vec::new(),
            denied_tools: Vec::new(),
            denied_arguments: vec!["rm -rf".into()],
        }
    }
}

impl Plugin for NativeGuard {
    fn create(create: &Create) -> Result<Self, PluginError> {
        Ok(Self { config: create.config()? })
    }
}

impl NativeGuard {
    /// Tells the model that a policy is at work.
    async fn greet(&self, start: &SessionStart) -> Result<(), HostError> {
        let greeting = format!("policy active (started: {})", start.source().as_str());
        start.agent().inject(message(&greeting)).await
    }

    /// Refuses a step into which the person brings something forbidden.
    fn admit(&self, step: &ProposedStep) -> Result<Option<PreStepDecision>, PluginError> {
        let messages = step.messages()?;
        let said = messages.iter().filter(|it| it.source == Source::User).map(Message::text);
        let forbidden = found_in(said, &self.config.forbidden_prompts);
        Ok(forbidden.map(|it| PreStepDecision::reject(format!("the prompt contains `{it}`"))))
    }

    /// Denies the tools on the one list and arguments that contain something denied, and allows
    /// what is left of the tools on the other.
    fn gate(&self, call: &ToolCall) -> Option<PreToolDecision> {
        if self.config.denied_tools.iter().any(|it| it == call.name()) {
            let reason = format!("the tool `{}` is not allowed here", call.name());
            return Some(PreToolDecision::deny(reason));
        }
        if let Some(denied) = found_in([call.arguments()], &self.config.denied_arguments) {
            let reason = format!("arguments with `{denied}` are not allowed here");
            return Some(PreToolDecision::deny(reason));
        }
        let allowed = self.config.allowed_tools.iter().any(|it| it == call.name());
        allowed.then(PreToolDecision::allow)
    }

    /// Adds a note to whatever the listeners further in decide.
    async fn annotate(
        &self,
        call: &ToolCall,
        _: &ToolOutcome,
        next: &mut Next<PostToolDecision>,
    ) -> PostToolDecision {
        let note = message(&format!("audited {}", call.name()));
        next.run().await.with_context(note)
    }
}

fn message(text: &str) -> Message {
    Message::from_plugin(env!("CARGO_PKG_NAME"), text)
}

/// The first of `needles` that occurs in one of `texts`.
fn found_in<T: AsRef<str>>(texts: impl IntoIterator<Item = T>, needles: &[String]) -> Option<&str> {
    texts
        .into_iter()
        .find_map(|text| needles.iter().find(|it| text.as_ref().contains(it.as_str())))
        .map(String::as_str)
}

export_plugin!(NativeGuard {
    description: "Greets, refuses a forbidden prompt, denies a dangerous tool call, annotates results",
    config_schema: include_str!("config_schema.json"),
    session_start: async greet,
    pre_step: admit @ 10,
    pre_execute: gate @ 10,
    post_execute: async annotate,
});
