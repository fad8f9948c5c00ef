//! One step: what entered, one request to the model, and the tools it calls.

use futures_util::StreamExt;
use lockgate_plugin_api::{Message, Role, Source};
use uuid::Uuid;

use super::assemble::Answer;
use super::inbox::identified;
use super::turn::{TurnError, uncancelled};
use super::{Core, batch};
use crate::model::{ModelName, Request};
use crate::session::{
    CallConfig, Chunk, Fact, FinishReason, LogError, RequestHeader, TurnEndReason, messages,
};
use crate::signal::Signal;
use crate::tools;

/// Where in the session something happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) turn: u32,
    pub(super) step: u32,
}

/// Takes a step that begins with `entered`. Returns why the turn could end after it, if it could.
pub(super) async fn run(
    core: &Core,
    place: Place,
    signal: &Signal,
    entered: Vec<Message>,
) -> Result<Option<TurnEndReason>, TurnError> {
    let Place { turn, step } = place;
    core.state().append(Fact::StepStart { turn, step })?;
    let result = take(core, place, signal, entered).await;
    let closed = core.state().log.close_step();
    let reason = result?;
    closed?;
    Ok(reason)
}

async fn take(
    core: &Core,
    place: Place,
    signal: &Signal,
    entered: Vec<Message>,
) -> Result<Option<TurnEndReason>, TurnError> {
    for message in entered {
        core.state().append(Fact::UserMessage(identified(message)))?;
    }
    uncancelled(signal)?;
    let (mut answer, chunks) = listen(core, place, signal).await?;
    if answer.finish == Some(FinishReason::MaxTokens) {
        answer.drop_calls();
        say(core, place, answer, chunks, false)?;
        return Ok(Some(TurnEndReason::MaxTokens));
    }
    let content = answer.content();
    say(core, place, answer, chunks, false)?;
    let concluded = batch::run(core, place, signal, content).await?;
    Ok(concluded.unwrap_or(true).then_some(TurnEndReason::Completed))
}

/// Asks the model. Returns its whole answer and the events of which it was made.
async fn listen(
    core: &Core,
    place: Place,
    signal: &Signal,
) -> Result<(Answer, Vec<u64>), TurnError> {
    let Place { turn, step } = place;
    let request = request(core, signal)?;
    core.checkpoint().await?;
    let mut chunks = core.model.request(request);
    let (mut answer, mut events) = (Answer::default(), Vec::new());
    let failure = loop {
        let chunk = tokio::select! {
            biased;
            () = signal.fired() => break None,
            chunk = chunks.next() => chunk,
        };
        let Some(chunk) = chunk else { return Ok((answer, events)) };
        let chunk = chunk.unwrap_or_else(|failure| Chunk::Finish {
            reason: FinishReason::Error { failure },
            replay_state: None,
        });
        let fact = Fact::AssistantChunk { turn, step, chunk: chunk.clone() };
        events.push(core.state().append(fact)?);
        answer.add(chunk);
        match &answer.finish {
            None => {}
            Some(FinishReason::Stop | FinishReason::ToolCalls | FinishReason::MaxTokens) => {
                return Ok((answer, events));
            }
            Some(FinishReason::Error { failure } | FinishReason::Aborted { failure }) => {
                break Some(failure.clone());
            }
        }
    };
    // A cancelled stream may fail for that reason alone.
    match failure {
        Some(failure) if !signal.has_fired() => Err(TurnError::Model(failure)),
        Some(_) | None => {
            if answer.keep_readable() {
                say(core, place, answer, events, true)?;
            }
            Err(TurnError::Cancelled)
        }
    }
}

/// The request for the next answer; what is new of it is in the log.
fn request(core: &Core, signal: &Signal) -> Result<Request, LogError> {
    let ModelName { provider, model } = core.model.name();
    let config = CallConfig {
        provider,
        model,
        reasoning_effort: None,
        temperature: None,
        max_tokens: None,
        stop: None,
    };
    let system = core.options.system.clone().filter(|it| !it.is_empty());
    let tools = tools::schemas(&core.registry.snapshot());
    let schemas = serde_json::to_value(&tools).expect("schemas are JSON");
    let header = RequestHeader {
        config: config.clone(),
        adapter_defaults: None,
        system: system.clone(),
        tools: (!tools.is_empty()).then_some(schemas),
    };
    let mut state = core.state();
    state.announce(header)?;
    let messages = messages(state.log.events());
    Ok(Request { config, system, messages, tools, signal: signal.token().child_token() })
}

/// Appends what the model said.
fn say(
    core: &Core,
    place: Place,
    answer: Answer,
    events: Vec<u64>,
    interrupted: bool,
) -> Result<(), LogError> {
    let ModelName { provider, model } = core.model.name();
    let message = Message {
        id: Uuid::new_v4().to_string(),
        role: Role::Assistant,
        content: answer.content(),
        source: Source::Model { provider, model, replay_state: answer.replay_state },
    };
    let Place { turn, step } = place;
    let usage = answer.usage;
    let fact = Fact::AssistantMessage { turn, step, message, usage, interrupted };
    core.state().log.append_from(fact, events)?;
    Ok(())
}
