//! `lockgate call`: one tool call through every phase.

use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use lockgate_plugin_api::{Block, ToolOutcome};
use serde::Serialize;
use serde_json::value::RawValue;

use super::{Ending, Failure, PluginArgs, screen};
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
const REFUSALS: [&str; 4] = ["DENIED", "DENIED_BY_GUARD", "APPROVAL_UNAVAILABLE", "BLOCKED"];

pub(super) async fn call(args: CallArgs) -> Result<Ending, Failure> {
    if let Err(error) = serde_json::from_str::<&RawValue>(&args.arguments) {
        return Err(format!("the arguments of `{}` are not JSON: {error}", args.tool).into());
    }
    let trail: Arc<Mutex<Vec<TrailEntry>>> = Arc::default();
    let sink = Arc::clone(&trail);
    let sink = TrailSink::new(move |entry| {
        sink.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
    });
    let wants_trail = args.explain || args.json;
    let setup = args.plugins.setup(wants_trail.then_some(sink))?;
    let host = setup.start()?;
    let request = CallRequest {
        call_id: "call_1".into(),
        name: args.tool,
        arguments: args.arguments,
        agent: None,
        cwd: Some(setup.cwd.clone()),
        signal: Signal::new(),
    };
    let signal = request.signal.clone();
    let outcome = async {
        if args.dry_run {
            host.rehearse(request).await.map(Arc::new)
        } else {
            Some(host.execute(request).await)
        }
    };
    let (outcome, interrupted) = until_interrupted(outcome, &signal).await;
    let trail = std::mem::take(&mut *trail.lock().unwrap_or_else(PoisonError::into_inner));
    if args.explain && !args.json {
        trail.iter().for_each(screen::decision);
    }
    show(outcome.as_deref(), trail, args.json)?;
    Ok(if interrupted { Ending::Interrupted } else { ending(outcome.as_deref()) })
}

/// Waits for `outcome`. Ctrl-C fires the signal, and the body is still waited for.
async fn until_interrupted<T>(outcome: impl Future<Output = T>, signal: &Signal) -> (T, bool) {
    let mut outcome = std::pin::pin!(outcome);
    tokio::select! {
        outcome = &mut outcome => return (outcome, false),
        _ = tokio::signal::ctrl_c() => {}
    }
    signal.fire();
    (outcome.await, true)
}

fn show(outcome: Option<&ToolOutcome>, trail: Vec<TrailEntry>, json: bool) -> Result<(), Failure> {
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
