//! A plugin with two listeners a seam, which do what the call's name says.

use std::future::pending;
use std::time::Duration;

use lockgate_plugin_api::*;
use serde_json::{Value, json};

/// The plugin.
pub(crate) struct Probe {
    host: Host,
    earlier: Option<State>,
    name: String,
}

impl Plugin for Probe {
    fn create(create: &Create) -> Result<Self, PluginError> {
        let config: Value = create.config()?;
        let name = config["name"].as_str().unwrap_or("probe").to_owned();
        match name.as_str() {
            "refuse" => return Err(PluginError::new("it was told to refuse")),
            "panic" => panic!("it was told to panic"),
            _ => {}
        }
        Ok(Self { host: create.host(), earlier: create.state().cloned(), name })
    }

    fn start(&self) -> Result<(), PluginError> {
        if self.name == "no-start" { Err(PluginError::new("nothing to have")) } else { Ok(()) }
    }

    fn tools(&self, tools: &mut Tools) {
        tools.add(Worker { host: self.host });
    }

    fn save_state(&self) -> Option<State> {
        self.earlier.clone().or_else(|| Some(State { version: 1, bytes: b"first".into() }))
    }

    fn quiesce(&self) {
        if self.name == "no-end" {
            panic!("it does not end");
        }
    }
}

impl Probe {
    fn inner(&self, call: &ToolCall) -> Result<Option<PreToolDecision>, PluginError> {
        match call.name() {
            "deny" => Ok(Some(PreToolDecision::deny(self.name.as_str()))),
            "fail" => Err(PluginError::new("the policy cannot be read")),
            "panic" => panic!("a slip"),
            _ => Ok(None),
        }
    }

    async fn outer(
        &self,
        call: &ToolCall,
        next: &mut Next<PreToolDecision>,
    ) -> Option<PreToolDecision> {
        match call.name() {
            "reach" => {
                self.reach(call).await.unwrap();
                None
            }
            "over" | "deny" | "fail" | "panic" => Some(next.run().await),
            "stuck" => pending().await,
            "tick" => loop {
                self.host.sleep(Duration::from_millis(1)).await.unwrap();
            },
            "late" => {
                self.host.sleep(Duration::from_secs(3600)).await.unwrap();
                Some(PreToolDecision::ask("an hour later"))
            }
            _ => None,
        }
    }

    /// Does to the agent what the arguments say, and tells it what came of that.
    async fn reach(&self, call: &ToolCall) -> Result<(), HostError> {
        let agent = call.agent().unwrap();
        let told = match call.args::<[String; 2]>().unwrap().each_ref().map(String::as_str) {
            ["cancel", why] => return agent.cancel(why).await,
            ["cancel-keeping", why] => return agent.cancel_keeping_inbox(why).await,
            ["append", kind] => match agent.append(kind, &json!({"by": "probe"})).await {
                Ok(()) => return Ok(()),
                Err(error) => error.to_string(),
            },
            ["inbox", _] => format!("{} wait", agent.inbox().await?.next_step.len()),
            ["events", _] => {
                let events = agent.events(1, 2).await?;
                let events = events.iter().map(|it| format!("{} {}", it.seq, it.kind));
                events.collect::<Vec<_>>().join(", ")
            }
            other => panic!("{other:?}"),
        };
        agent.inject(Message::from_plugin("probe", told)).await
    }

    fn never(&self, call: &ToolCall) -> Option<GuardDecision> {
        (call.name() == "deny").then(|| GuardDecision::deny("never"))
    }

    async fn twice(&self, call: &ToolCall, next: &mut Next) -> ToolOutcome {
        let outcome = next.run().await;
        if call.name() == "retry" && outcome.is_error() { next.run().await } else { outcome }
    }

    async fn hasty(&self, call: &ToolCall, next: &mut Next) -> ToolOutcome {
        let deadline = next.set_deadline(Duration::from_secs(2));
        let outcome = next.run().await;
        if call.name() == "linger" {
            self.host.sleep(Duration::from_secs(9)).await.unwrap();
        }
        if deadline.has_passed() { ToolOutcome::failure("too late") } else { outcome }
    }

    fn seen(&self, call: &ToolCall, outcome: &ToolOutcome) -> Result<(), PluginError> {
        match call.name() {
            "fail" => Err(PluginError::new(outcome.message())),
            _ => Ok(()),
        }
    }

    async fn revise(
        &self,
        step: &ProposedStep,
        next: &mut Next<PreStepDecision>,
    ) -> Result<PreStepDecision, PluginError> {
        let mut messages = step.messages()?;
        let note = format!("turn {} step {}", step.turn(), step.step());
        messages.push(Message::from_plugin("probe", note));
        Ok(match next.run().await {
            decision if matches!(decision.verdict(), Ok(PreStep::Reject { .. })) => decision,
            _ => PreStepDecision::enter(messages),
        })
    }

    async fn steer(&self, turn: &StoppingTurn) -> Result<(), HostError> {
        turn.agent().steer(Message::from_plugin("probe", format!("turn {}", turn.turn()))).await
    }

    async fn follow(&self, turn: &StoppingTurn) -> Result<(), HostError> {
        turn.agent().follow_up(Message::from_plugin("probe", "and then")).await
    }

    fn screen(&self, prompt: &SubmittedPrompt) -> Result<Option<PromptDecision>, PluginError> {
        let said = prompt.message()?.text();
        Ok((said == "bad").then(|| PromptDecision::block(format!("in turn {:?}", prompt.turn()))))
    }
}

struct Worker {
    host: Host,
}

impl Tool for Worker {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("work", "Works.").budget(Duration::from_secs(5)).last_word()
    }

    async fn execute(&self, run: &Run) -> Result<Value, ToolError> {
        let args: Value = run.call().args()?;
        match args["do"].as_str().unwrap_or_default() {
            "note" => run.defer_context(&Message::from_plugin("probe", "noted")),
            "conclude" => run.conclude_turn(),
            "progress" => run.progress_of(1, 3, "a third"),
            "change" => self.host.tools_changed()?,
            "panic" => panic!("a slip"),
            "spawn" => {
                let (host, agent) = (self.host, run.call().agent().unwrap());
                self.host.spawn(async move {
                    let tick = Duration::from_secs(10);
                    while host.sleep(tick).await.is_ok() {
                        agent.inject(Message::from_plugin("probe", "tick")).await.unwrap();
                    }
                })?;
            }
            "block" => return Ok(json!(self.host.spawn_blocking(|| 6 * 7).await?)),
            "call" => {
                let outcome = run.call_tool("other", &json!({"of": 1})).await?;
                return Ok(json!(outcome.message()));
            }
            "cancelled" => run.cancelled().await,
            "sleep" => self.host.sleep(Duration::from_secs(60)).await?,
            "process" => {
                let output = run.process(Command::new("date").arg("-u").env("TZ", "UTC")).await?;
                return Ok(json!(String::from_utf8_lossy(output.stdout())));
            }
            _ => {}
        }
        Ok(json!("done"))
    }

    fn render(&self, _: &ToolCall, value: &str) -> Option<Vec<Block>> {
        Some(vec![Block::text(format!("it is {value}"))])
    }

    fn finalize_content(&self, _: &ToolCall, outcome: &ToolOutcome) -> Option<Vec<Block>> {
        outcome.is_error().then(|| vec![Block::text("never mind")])
    }

    fn is_parallel_safe(&self, arguments: &str) -> bool {
        arguments == "{}"
    }
}

export_plugin!(Probe {
    events: ["probe/seen"],
    prompt_submit: screen,
    pre_step: async revise,
    turn_stopping: async follow,
    turn_stopping: async steer @ 1,
    pre_execute: inner,
    pre_execute: async outer @ 1,
    guard: never,
    execute: async hasty,
    execute: async twice @ 1,
    tool_result: seen,
    tools,
});
