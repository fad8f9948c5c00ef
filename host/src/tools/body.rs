//! A tool's body, run once, and its value put in order.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Instant;

use lockgate_plugin_api::abi::future::Reply;
use lockgate_plugin_api::abi::json::Json;
use lockgate_plugin_api::{Block, Extras, ToolOutcome};
use serde_json::value::RawValue;

use super::{Pipeline, failure};
use crate::library::body::RunState;
use crate::library::call::LentCall;
use crate::registry::Offer;
use crate::signal::Signal;
use crate::trail::TrailEntry;
use crate::watchdog::Watch;

/// Runs the body with what its listeners have left of the signal, if the arguments are what it
/// takes. Its failure is an outcome like any other.
pub(super) async fn dispatch(
    pipeline: &Pipeline<'_>,
    state: &RunState,
    signal: &Signal,
) -> ToolOutcome {
    let Some(offer) = pipeline.tool else {
        return failure::unknown_tool(&pipeline.call.call().name);
    };
    let (tool, watch) = (&offer.tool, pipeline.asking.watch);
    if let Err(why) = tool.check_arguments(&pipeline.call.call().arguments) {
        return failure::invalid_arguments(&why);
    }
    let begun = pipeline.asking.snapshot.trail.as_ref().map(|sink| (sink, Instant::now()));
    let running = watched(tool.run(pipeline.call, state), offer.number, watch);
    let outcome = match running.await {
        Reply::Ready(outcome) => match checked(outcome) {
            Ok(outcome) if outcome.is_error() => outcome,
            Ok(outcome) => canonical(offer, pipeline.call, outcome, watch),
            Err(why) => failure::protocol(tool, "execute", &why),
        },
        Reply::Fault(message) => ToolOutcome::failure(message),
        Reply::Protocol(why) => failure::protocol(tool, "execute", &why),
        Reply::Next => failure::protocol(tool, "execute", "it gave no answer"),
    };
    let aborted = !outcome.is_error() && signal.has_fired();
    let outcome = if aborted { failure::aborted(true) } else { outcome };
    if let Some((sink, begun)) = begun {
        sink.put(TrailEntry {
            plugin: tool.plugin().clone(),
            listener: tool.name.as_str().into(),
            seam: "body",
            verdict: if outcome.is_error() { "failure" } else { "success" },
            reason: Some(outcome.message().into_owned()).filter(|it| !it.is_empty()),
            ns: u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX),
            call: Some(pipeline.call.call().call_id.clone()),
        });
    }
    outcome
}

/// The success that the value of `outcome` makes: checked, and with the content that follows from
/// it. A failure where it makes none.
pub(super) fn canonical(
    offer: &Offer,
    call: &LentCall,
    outcome: ToolOutcome,
    watch: &Watch,
) -> ToolOutcome {
    let tool = &offer.tool;
    let success = outcome.bare_success();
    let value = success.value_str().ok();
    let Some(value) = value.filter(|it| serde_json::from_str::<&RawValue>(it).is_ok()) else {
        return failure::invalid_output(&tool.name, "value is not lossless JSON");
    };
    if let Err(why) = tool.check_value(value) {
        return failure::invalid_output(&tool.name, &why);
    }
    let content = match inside(offer, watch, || tool.render(call, value)) {
        Reply::Next => vec![shown(value)],
        Reply::Ready(json) => match serde_json::from_slice::<Vec<Block>>(json.text.as_bytes()) {
            Ok(content) => content,
            Err(error) => {
                let why = format!("output.render returned no list of blocks: {error}");
                return failure::invalid_output(&tool.name, &why);
            }
        },
        Reply::Fault(why) => {
            return failure::invalid_output(&tool.name, &format!("output.render failed: {why}"));
        }
        Reply::Protocol(why) => return failure::protocol(tool, "render", &why),
    };
    // Nobody presents what a call inside another one came to.
    let presented = match call.call().parent {
        0 => inside(offer, watch, || tool.present(call, value)),
        _ => Reply::Next,
    };
    let outcome = success.with_content(&content);
    match presented {
        Reply::Next => outcome,
        Reply::Ready(json) => match serde_json::from_slice(json.text.as_bytes()) {
            Ok(meta) => outcome.with_extras(&Extras { meta: Some(meta), ..Extras::default() }),
            Err(_) => {
                let why = "output.presentationMeta returned non-lossless JSON";
                failure::invalid_output(&tool.name, why)
            }
        },
        Reply::Fault(why) => {
            let why = format!("output.presentationMeta failed: {why}");
            failure::invalid_output(&tool.name, &why)
        }
        Reply::Protocol(why) => failure::protocol(tool, "present", &why),
    }
}

/// The outcome after its tool's last word, which changes the content alone. A last word that
/// fails is the whole outcome.
pub(super) fn finalized(
    offer: &Offer,
    call: &LentCall,
    outcome: ToolOutcome,
    watch: &Watch,
) -> ToolOutcome {
    match inside(offer, watch, || offer.tool.finalize(call, &outcome)) {
        Reply::Next => outcome,
        Reply::Ready(json) => match serde_json::from_slice::<Vec<Block>>(json.text.as_bytes()) {
            Ok(content) => outcome.with_content(&content),
            Err(_) => failure::lossy_result(),
        },
        Reply::Fault(why) => ToolOutcome::failure(why),
        Reply::Protocol(why) => failure::protocol(&offer.tool, "finalize", &why),
    }
}

/// Whether the tool says that the call may run beside others.
pub(super) fn is_parallel_safe(offer: &Offer, call: &LentCall, watch: &Watch) -> bool {
    if !watch.enter(offer.classifier) {
        return false;
    }
    let is_safe = offer.tool.is_parallel_safe(call);
    watch.leave() && is_safe
}

/// Calls one of the tool's functions under the watchdog's eyes.
fn inside(offer: &Offer, watch: &Watch, f: impl FnOnce() -> Reply<Json>) -> Reply<Json> {
    if !watch.enter(offer.functions) {
        return Reply::Fault("somebody has answered already".into());
    }
    let reply = f();
    // Whether anybody has answered meanwhile is seen at the next entry.
    let _ = watch.leave();
    reply
}

/// The same future, each poll of it under the watchdog's eyes.
async fn watched<F: Future>(future: F, number: u16, watch: &Watch) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|cx| {
        if !watch.enter(number) {
            return Poll::Pending;
        }
        let polled = future.as_mut().poll(cx);
        // Where somebody has answered, the task ends, and all of this with it.
        if watch.leave() { polled } else { Poll::Pending }
    })
    .await
}

/// What the host shows of a value: a text as it is, anything else as JSON.
fn shown(value: &str) -> Block {
    Block::text(serde_json::from_str::<String>(value).unwrap_or_else(|_| value.to_owned()))
}

/// An outcome from a plugin, once everything in it that counts has been read, but for the value of
/// a success.
///
/// # Errors
/// What cannot be read.
pub(super) fn checked(outcome: ToolOutcome) -> Result<ToolOutcome, String> {
    let extras = outcome.extras().map_err(|error| format!("its data cannot be read: {error}"))?;
    if !outcome.is_error() {
        return Ok(outcome);
    }
    let content = outcome.content();
    let content = content.map_err(|error| format!("its content cannot be read: {error}"))?;
    // The host's own codes are the host's to give.
    let extras = Extras { code: None, ..extras };
    let message = outcome.message().into_owned();
    let failure = ToolOutcome::failure(message).with_extras(&extras);
    // One that shows nothing shows its message.
    Ok(if content.is_empty() { failure } else { failure.with_content(&content) })
}
