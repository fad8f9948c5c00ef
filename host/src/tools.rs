//! One tool call, from its arguments to its final outcome: every phase in its fixed order.
//!
//! create → pre-execute → guards → execute (around) → body → post-execute → tool-result.
//! Whatever fails on the way becomes the outcome; nothing escapes as an error.

mod around;
mod asked;
mod body;
mod call;
mod failure;
mod nested;
mod post;
mod stages;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lockgate_plugin_api::{Extras, Message, PreTool, ToolOutcome};

use crate::library::body::BoundTool;
use crate::library::call::{LentCall, SealedCall};
use crate::model::ToolSchema;
use crate::registry::{Offer, Snapshot};
use crate::seam::{self, Asking};
use crate::signal::Signal;
use crate::watchdog::Watch;
use call::Call;

pub(crate) use self::stages::{Prepared, Settled, create, dispatch, finish, is_parallel, prepare};

/// A tool call to be made.
#[derive(Debug, Clone)]
pub struct CallRequest {
    /// The model's id for the call; need not be unique.
    pub call_id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments: one JSON text.
    pub arguments: String,
    /// The agent it runs for, by its number for plugins.
    pub agent: Option<u64>,
    /// The directory the session works in.
    pub cwd: Option<PathBuf>,
    /// Tells the call to end. A body that runs is told too, and waited for.
    pub signal: Signal,
}

/// How a call goes on once its outcome is known.
enum Route {
    /// To the reviewers and then to the observers.
    Reviewed {
        outcome: ToolOutcome,
        /// Whether the body has run.
        has_run: bool,
    },
    /// Straight to the observers: something failed that must not be covered up.
    Final(ToolOutcome),
}

/// Whether somebody is asked where a listener says so.
#[derive(Debug, Clone, Copy)]
enum Asks {
    Somebody,
    /// A question counts as not answered.
    Nobody,
}

/// A call under way.
struct Pipeline<'a> {
    asking: Asking<'a>,
    call: &'a LentCall,
    tool: Option<&'a Offer>,
}

/// Makes the call and returns its outcome. A body that was started is always awaited to its end,
/// unless a thread is wedged in it.
pub(crate) async fn execute(snapshot: &Arc<Snapshot>, request: CallRequest) -> Arc<ToolOutcome> {
    make(snapshot, request, None).await
}

/// Where a call comes from that a body makes.
#[derive(Debug, Clone)]
struct Origin {
    /// The `id` of the call whose body it is.
    parent: u64,
    /// The `call_id` of the outermost call.
    root_call_id: String,
}

async fn make(
    snapshot: &Arc<Snapshot>,
    request: CallRequest,
    origin: Option<&Origin>,
) -> Arc<ToolOutcome> {
    let call = Call::new(snapshot, request, origin);
    let work = {
        let call = Arc::clone(&call);
        async move |watch: Arc<Watch>| call.run(&watch).await
    };
    match snapshot.dispatcher.run(work).await {
        Ok(outcome) => outcome,
        Err(wedge) => {
            call.give_up(&wedge);
            call.outlive(wedge).await
        }
    }
}

/// Asks everybody who decides whether the call may run, and runs nothing. The outcome where it
/// may not; `None` where the body would run.
pub(crate) async fn rehearse(
    snapshot: &Arc<Snapshot>,
    request: CallRequest,
) -> Option<ToolOutcome> {
    let call = Call::new(snapshot, request, None);
    let work = {
        let call = Arc::clone(&call);
        async move |watch: Arc<Watch>| call.rehearse(&watch).await
    };
    match snapshot.dispatcher.run(work).await {
        Ok(outcome) => outcome,
        Err(wedge) => Some(failure::wedged(&wedge)),
    }
}

/// The tools as models are told of them.
pub(crate) fn schemas(snapshot: &Snapshot) -> Vec<ToolSchema> {
    let schema = |Offer { tool, .. }: &Offer| ToolSchema {
        name: tool.name.clone(),
        description: tool.description.clone(),
        parameters: tool.parameters.clone(),
    };
    snapshot.tools.values().map(schema).collect()
}

fn seal(request: CallRequest, tool: Option<&BoundTool>, origin: Option<&Origin>) -> SealedCall {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let budget = tool.and_then(|it| it.budget);
    SealedCall {
        id: NEXT.fetch_add(1, Ordering::Relaxed),
        parent: origin.map_or(0, |it| it.parent),
        agent: request.agent.unwrap_or(0),
        budget_ms: budget.map_or(0, |it| u64::try_from(it.as_millis()).unwrap_or(u64::MAX)),
        root_call_id: origin.map_or(&request.call_id, |it| &it.root_call_id).clone(),
        call_id: request.call_id,
        name: request.name,
        arguments: request.arguments,
        cwd: request.cwd.map_or_else(String::new, |it| it.to_string_lossy().into_owned()),
        // Its own, so that it can be told to end when nobody waits for it any more.
        signal: request.signal.child(),
    }
}

impl Pipeline<'_> {
    /// Whether the call may run: `None` if so.
    async fn admit(&self, asks: Asks) -> Option<Route> {
        let decision = match seam::pre_execute(self.asking, self.call).await {
            Ok(decision) => decision,
            Err(failure) => return Some(Route::Final(failure::listener(&failure))),
        };
        let denied = match decision.verdict() {
            Ok(PreTool::Allow) => None,
            Ok(PreTool::Deny { reason }) => Some(failure::denied(reason, "DENIED")),
            Ok(PreTool::Ask { reason }) => match asks {
                Asks::Somebody => match self.ask(reason).await {
                    None => None,
                    route => return route,
                },
                Asks::Nobody => Some(failure::unasked(&self.call.call().name, reason)),
            },
            // What cannot be read has been refused on its way out; not a yes in any case.
            Err(error) => Some(failure::denied(&error.to_string(), "LISTENER_PROTOCOL")),
        };
        if let Some(denied) = denied {
            return Some(refused(denied));
        }
        match seam::guard(self.asking, self.call).await {
            Ok(None) => None,
            Ok(Some(reason)) => Some(refused(failure::denied(&reason, "DENIED_BY_GUARD"))),
            Err(failure) => Some(Route::Final(failure::listener(&failure))),
        }
    }

    fn is_cancelled(&self) -> bool {
        self.call.call().signal.has_fired()
    }

    /// What stands of a success once the caller has given up; failures stand as they are.
    fn unless_cancelled(&self, outcome: ToolOutcome, has_run: bool) -> ToolOutcome {
        if outcome.is_error() || !self.is_cancelled() {
            return outcome;
        }
        with_contexts(failure::aborted(has_run), contexts(&outcome))
    }
}

/// A call that was refused before its body ran: reviewers see that too.
fn refused(outcome: ToolOutcome) -> Route {
    Route::Reviewed { outcome, has_run: false }
}

/// The messages that ride along with an outcome.
fn contexts(outcome: &ToolOutcome) -> Vec<Message> {
    // Read and checked when the outcome was made or taken from a plugin.
    outcome.extras().map(|it| it.contexts).unwrap_or_default()
}

/// The outcome with exactly these messages.
fn with_contexts(outcome: ToolOutcome, contexts: Vec<Message>) -> ToolOutcome {
    if contexts.is_empty() && outcome.is_plain() {
        return outcome;
    }
    let extras = outcome.extras().unwrap_or_default();
    outcome.with_extras(&Extras { contexts, ..extras })
}
