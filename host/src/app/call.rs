//! `lockgate call`: one tool call through every phase.

use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use lockgate_plugin_api::{Block, ToolOutcome};
use serde::Serialize;
use serde_json::value::RawValue;

use super::approve::{self, Approve};
use super::host_setup::Setup;
use super::typed::Typed;
use super::{Ending, Failure, PluginArgs, screen};
use crate::agent::{Agent, AgentOptions};
use crate::approval::Approvals;
use crate::host::Host;
use crate::model::{Chunks, Model, ModelName, Request};
use crate::session::{AbortCause, Header, LlmFailure, SessionLog, unix_millis};
use crate::signal::Signal;
use crate::tools::CallRequest;
use crate::trail::{TrailEntry, TrailSink};

#[derive(Debug, Args)]
pub(super) struct CallArgs {
    /// The tool.
    tool: String,
    /// Its arguments, as JSON.
    #[arg(value_name = "JSON", default_value = "{}")]
    arguments: String,
    /// Says who was asked, what each answered, why, and in how long.
    #[arg(long)]
    explain: bool,
    /// Asks everybody who decides, and runs nothing.
    #[arg(long)]
    dry_run: bool,
    /// What becomes of the call where somebody should be asked about it.
    #[arg(long, value_enum, env = "LOCKGATE_APPROVE")]
    approve: Option<Approve>,
    /// Prints the outcome and the trail as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    plugins: PluginArgs,
}

/// What `--json` prints.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    is_error: bool,
    content: Vec<Block>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    trail: Vec<TrailEntry>,
}

/// The codes of a policy's no, as opposed to a failure.
const REFUSALS: [&str; 6] = [
    "DENIED",
    "DENIED_BY_GUARD",
    "APPROVAL_REJECTED",
    "APPROVAL_CANCELLED",
    "APPROVAL_UNAVAILABLE",
    "BLOCKED",
];

/// The model of an agent that makes one call and is asked nothing.
struct Nobody;

impl Model for Nobody {
    fn name(&self) -> ModelName {
        ModelName { provider: "none".into(), model: "none".into() }
    }

    fn request(&self, _: Request) -> Chunks {
        let failure = LlmFailure::new("NO_ADAPTER", "there is no model for one call alone");
        Box::pin(futures_util::stream::iter([Err(failure)]))
    }
}

pub(super) async fn call(args: CallArgs) -> Result<Ending, Failure> {
    if let Err(error) = serde_json::from_str::<&RawValue>(&args.arguments) {
        return Err(format!("the arguments of `{}` are not JSON: {error}", args.tool).into());
    }
    let trail: Arc<Mutex<Vec<TrailEntry>>> = Arc::default();
    let sink = Arc::clone(&trail);
    let sink = TrailSink::new(move |entry| {
        // Not what the agent's own seams answer: it is there for the call only.
        if entry.call.is_some() {
            sink.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
        }
    });
    let wants_trail = args.explain || args.json;
    let mut setup = args.plugins.setup(wants_trail.then_some(sink))?;
    setup.options.approver = Some(approve::person(Arc::new(Typed::new())));
    let approvals = setup.approvals(args.approve);
    let host = setup.start()?;
    let (outcome, interrupted) = if args.dry_run {
        let request = CallRequest {
            call_id: "call_1".into(),
            name: args.tool,
            arguments: args.arguments,
            agent: None,
            cwd: Some(setup.cwd.clone()),
            signal: Signal::new(),
        };
        let signal = request.signal.clone();
        let outcome = host.rehearse(request);
        let (outcome, interrupted) = until_interrupted(outcome, || signal.fire()).await;
        (outcome.map(Arc::new), interrupted)
    } else {
        let agent = ephemeral(&host, &setup, approvals)?;
        let outcome = agent.call_tool(&args.tool, &args.arguments);
        let cancel = || {
            // Its log is in no file, so that nothing can go wrong with it.
            let _ = agent.cancel(AbortCause::User);
        };
        let (outcome, interrupted) = until_interrupted(outcome, cancel).await;
        (Some(outcome?), interrupted)
    };
    let trail = std::mem::take(&mut *trail.lock().unwrap_or_else(PoisonError::into_inner));
    if args.explain && !args.json {
        trail.iter().for_each(screen::decision);
    }
    show(outcome.as_deref(), trail, args.json)?;
    Ok(if interrupted { Ending::Interrupted } else { ending(outcome.as_deref()) })
}

/// An agent for one call, which leaves nothing behind.
pub(super) fn ephemeral(
    host: &Host,
    setup: &Setup,
    approvals: Approvals,
) -> Result<Agent, Failure> {
    let log =
        SessionLog::ephemeral(Header::new(Some(setup.cwd.clone()), unix_millis()), unix_millis);
    let options = AgentOptions {
        cwd: Some(setup.cwd.clone()),
        approvals,
        plugins: host.plugins_per_agent(),
        ..AgentOptions::default()
    };
    Ok(host.agent(Arc::new(Nobody), log, options)?)
}

/// Waits for `outcome`. Ctrl-C cancels it, and a body is still waited for.
async fn until_interrupted<T>(outcome: impl Future<Output = T>, cancel: impl Fn()) -> (T, bool) {
    let mut outcome = std::pin::pin!(outcome);
    tokio::select! {
        outcome = &mut outcome => return (outcome, false),
        _ = tokio::signal::ctrl_c() => {}
    }
    cancel();
    (outcome.await, true)
}

/// Prints what became of a call.
pub(super) fn show(
    outcome: Option<&ToolOutcome>,
    trail: Vec<TrailEntry>,
    json: bool,
) -> Result<(), Failure> {
    let content = outcome.map(ToolOutcome::content).transpose()?.unwrap_or_default();
    if json {
        let is_error = outcome.is_some_and(ToolOutcome::is_error);
        let code = outcome.and_then(ToolOutcome::code);
        return Ok(screen::json(&Report { is_error, content, code, trail })?);
    }
    if outcome.is_none() {
        screen::line("nothing stands in its way: the tool would run");
    }
    for block in content {
        let text = match block {
            Block::Text { text } => text,
            other => serde_json::to_string(&other)?,
        };
        let newline = if text.ends_with('\n') { "" } else { "\n" };
        screen::out(&format!("{text}{newline}"))?;
    }
    Ok(())
}

fn ending(outcome: Option<&ToolOutcome>) -> Ending {
    let Some(outcome) = outcome.filter(|it| it.is_error()) else { return Ending::Done };
    match outcome.code() {
        Some(code) if REFUSALS.contains(&code.as_str()) => Ending::Refused,
        Some(_) | None => Ending::Failed,
    }
}
