//! A whole call: what it owns, its run, and what becomes of it when a thread is wedged.

use std::sync::{Arc, OnceLock};

use lockgate_plugin_api::ToolOutcome;
use serde_json::value::RawValue;

use super::{Asks, CallRequest, Origin, Pipeline, Route, body, failure, seal};
use crate::library::call::LentCall;
use crate::library::listener::Place;
use crate::registry::{Offer, Snapshot};
use crate::seam::{self, Asking};
use crate::watchdog::{Watch, Wedge};

/// A call and everything it needs, which outlives whoever waits for it.
pub(super) struct Call {
    snapshot: Arc<Snapshot>,
    call: LentCall,
    /// The tool as it was when the call began.
    tool: Option<Offer>,
    is_json: bool,
    /// The outcome, once nothing can change it any more.
    decided: OnceLock<Arc<ToolOutcome>>,
}

impl Call {
    pub(super) fn new(
        snapshot: &Arc<Snapshot>,
        request: CallRequest,
        origin: Option<&Origin>,
    ) -> Arc<Self> {
        let tool = snapshot.tools.get(&request.name).cloned();
        let is_json = serde_json::from_str::<&RawValue>(&request.arguments).is_ok();
        let call = LentCall::new(seal(request, tool.as_ref().map(|it| &*it.tool), origin));
        let snapshot = Arc::clone(snapshot);
        Arc::new(Self { snapshot, call, tool, is_json, decided: OnceLock::new() })
    }

    fn pipeline<'a>(&'a self, watch: &'a Watch) -> Pipeline<'a> {
        let asking = Asking::of_call(&self.snapshot, watch, &self.call);
        Pipeline { asking, call: &self.call, tool: self.tool.as_ref() }
    }

    /// Every phase, to the last observer. Where somebody else has answered meanwhile, it ends
    /// where it is, and nobody reads what it returns.
    pub(super) async fn run(&self, watch: &Watch) -> Arc<ToolOutcome> {
        let outcome =
            if self.is_json { self.pipeline(watch).run().await } else { failure::arguments() };
        self.finish(outcome, watch).await
    }

    /// The tool's last word, and the observers.
    async fn finish(&self, outcome: ToolOutcome, watch: &Watch) -> Arc<ToolOutcome> {
        let outcome = match &self.tool {
            Some(offer) if watch.is_open() => body::finalized(offer, &self.call, outcome, watch),
            Some(_) | None => outcome,
        };
        let outcome = Arc::new(outcome);
        if watch.is_open() {
            let _ = self.decided.set(Arc::clone(&outcome));
            self.tell(&outcome, 0, None, watch).await;
        }
        outcome
    }

    /// Tells the observers from `first` on, except those of the plugin `but`.
    async fn tell(
        &self,
        outcome: &ToolOutcome,
        first: usize,
        but: Option<&Arc<str>>,
        watch: &Watch,
    ) {
        let asking = Asking::of_call(&self.snapshot, watch, &self.call);
        seam::tool_result(asking, &self.call, outcome, first, but).await;
    }

    /// As [`run`](Self::run) up to the body, which is not run: the outcome where it may not be.
    pub(super) async fn rehearse(&self, watch: &Watch) -> Option<ToolOutcome> {
        let pipeline = self.pipeline(watch);
        if !self.is_json {
            return Some(failure::arguments());
        }
        if pipeline.is_cancelled() {
            return Some(failure::aborted(false));
        }
        match pipeline.admit(Asks::Nobody).await {
            Some(Route::Reviewed { outcome, .. } | Route::Final(outcome)) => Some(outcome),
            // Somebody who must stand around the body and does not keeps it from running too.
            None => {
                let lost = self.snapshot.execute.iter().find_map(Place::lost);
                lost.map(|it| failure::listener(&it)).or_else(|| self.unfit())
            }
        }
    }

    /// The failure of a call that fits no tool, or not the one it names.
    fn unfit(&self) -> Option<ToolOutcome> {
        let call = self.call.call();
        let Some(offer) = &self.tool else { return Some(failure::unknown_tool(&call.name)) };
        let checked = offer.tool.check_arguments(&call.arguments);
        checked.err().map(|why| failure::invalid_arguments(&why))
    }

    /// What becomes of the call when a thread stays inside a plugin: the failure of whoever is
    /// there, with the last word and the observers of everybody else.
    pub(super) async fn outlive(self: Arc<Self>, wedge: Wedge) -> Arc<ToolOutcome> {
        // Whatever of the call still runs is told to end.
        let signal = self.call.call().signal.clone();
        self.snapshot.dispatcher.aside(move || signal.fire());
        let outcome = failure::wedged(&wedge);
        let call_id = Some(self.call.call().call_id.as_str());
        seam::report_wedge(&self.snapshot, &wedge, &outcome.message(), call_id);
        let (this, wedged) = (Arc::clone(&self), wedge);
        let work = async move |watch: Arc<Watch>| this.go_on(outcome, &wedged, &watch).await;
        match self.snapshot.dispatcher.run(work).await {
            Ok(outcome) => outcome,
            // Wedged a second time, by an observer or a last word: that is enough.
            Err(wedge) => {
                let failure = failure::wedged(&wedge);
                seam::report_wedge(&self.snapshot, &wedge, &failure.message(), call_id);
                match self.decided.get() {
                    Some(outcome) => Arc::clone(outcome),
                    None => Arc::new(failure),
                }
            }
        }
    }

    async fn go_on(&self, outcome: ToolOutcome, wedge: &Wedge, watch: &Watch) -> Arc<ToolOutcome> {
        // Wedged in an observer: the outcome stands, and the observers behind it are told.
        if let Some(decided) = self.decided.get() {
            let there = self.snapshot.tool_result.iter().position(|it| it.number == wedge.number);
            let first = there.map_or(0, |it| it + 1);
            self.tell(decided, first, Some(&wedge.place.plugin), watch).await;
            return Arc::clone(decided);
        }
        let outcome = match &self.tool {
            Some(offer) if *offer.tool.plugin() != wedge.place.plugin => {
                body::finalized(offer, &self.call, outcome, watch)
            }
            Some(_) | None => outcome,
        };
        let outcome = Arc::new(outcome);
        if watch.is_open() {
            let _ = self.decided.set(Arc::clone(&outcome));
            self.tell(&outcome, 0, Some(&wedge.place.plugin), watch).await;
        }
        outcome
    }
}
