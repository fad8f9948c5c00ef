//! A call made stage by stage, so that others of its step can run beside its body.
//!
//! Each stage is work of its own that may wedge. A thread that does costs the call its outcome and
//! no other call anything: who is left is told in the last stage, when the call's turn has come.

use std::sync::Arc;

use lockgate_plugin_api::ToolOutcome;

use super::call::Call;
use super::{Asks, CallRequest, Route};
use crate::registry::Snapshot;
use crate::watchdog::{Watch, Wedge};

/// A call of which everybody has been asked who decides whether it may run.
pub(crate) enum Prepared {
    /// It may.
    Admitted(Arc<Call>),
    /// It may not.
    Settled(Settled),
}

/// A call that is past its body, or will not get to it.
pub(crate) struct Settled {
    call: Arc<Call>,
    /// Where it goes on, unless a thread has stayed inside a plugin.
    route: Result<Route, Wedge>,
}

/// Creates a call that sees `snapshot` to its end.
pub(crate) fn create(snapshot: &Arc<Snapshot>, request: CallRequest) -> Arc<Call> {
    Call::new(snapshot, request, None)
}

/// Whether the call may run beside others of its step. A tool that fails to say so, or never
/// returns, has not.
pub(crate) async fn is_parallel(call: &Arc<Call>) -> bool {
    let this = Arc::clone(call);
    let work = async move |watch: Arc<Watch>| this.is_parallel(&watch);
    match call.snapshot.dispatcher.run(work).await {
        Ok(is_parallel) => is_parallel,
        Err(wedge) => {
            call.note(&wedge);
            false
        }
    }
}

/// Asks everybody who decides whether the call may run.
pub(crate) async fn prepare(call: Arc<Call>) -> Prepared {
    let this = Arc::clone(&call);
    let work = async move |watch: Arc<Watch>| this.prepare(Asks::Somebody, &watch).await;
    match call.snapshot.dispatcher.run(work).await {
        Ok(None) => Prepared::Admitted(call),
        Ok(Some(route)) => Prepared::Settled(Settled { call, route: Ok(route) }),
        Err(wedge) => Prepared::Settled(given_up(call, wedge)),
    }
}

/// Runs the body of a call that may run, inside those who stand around it.
pub(crate) async fn dispatch(call: Arc<Call>) -> Settled {
    let this = Arc::clone(&call);
    let work = async move |watch: Arc<Watch>| this.dispatch(&watch).await;
    match call.snapshot.dispatcher.run(work).await {
        Ok(route) => Settled { call, route: Ok(route) },
        Err(wedge) => given_up(call, wedge),
    }
}

/// The outcome, once the reviewers, the tool's last word and the observers have had it.
pub(crate) async fn finish(settled: Settled) -> Arc<ToolOutcome> {
    let Settled { call, route } = settled;
    let wedge = match route {
        Ok(route) => {
            let this = Arc::clone(&call);
            let work = async move |watch: Arc<Watch>| this.finish(route, &watch).await;
            match call.snapshot.dispatcher.run(work).await {
                Ok(outcome) => return outcome,
                Err(wedge) => {
                    call.give_up(&wedge);
                    wedge
                }
            }
        }
        Err(wedge) => wedge,
    };
    call.outlive(wedge).await
}

fn given_up(call: Arc<Call>, wedge: Wedge) -> Settled {
    call.give_up(&wedge);
    Settled { call, route: Err(wedge) }
}
