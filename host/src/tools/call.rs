//! A whole call: what it owns, its stages, and what becomes of it when a thread is wedged.

use std::sync::{Arc, OnceLock};

use lockgate_plugin_api::ToolOutcome;
use serde_json::value::RawValue;

use super::{Asks, CallRequest, Origin, Pipeline, Route, body, failure, refused, seal};
use crate::library::call::LentCall;
use crate::library::listener::Place;
use crate::registry::{Offer, Snapshot};
use crate::seam::{self, Asking};
use crate::watchdog::{Watch, Wedge};

/// A call and everything it needs, which outlives whoever waits for it.
pub(crate) struct Call {
    pub(super) snapshot: Arc<Snapshot>,
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

    /// Every stage, to the last observer. Where somebody else has answered meanwhile, it ends
    /// where it is, and nobody reads what it returns.
    pub(super) async fn run(&self, watch: &Watch) -> Arc<ToolOutcome> {
        let route = match self.prepare(Asks::Somebody, watch).await {
            Some(route) => route,
            None => self.dispatch(watch).await,
        };
        self.finish(route, watch).await
    }

    /// Whether it may run beside other calls of its step: only where its tool says so.
    pub(super) fn is_parallel(&self, watch: &Watch) -> bool {
        let fits = self.is_json && self.unfit().is_none();
        let offer = self.tool.as_ref().filter(|_| fits);
        offer.is_some_and(|it| body::is_parallel_safe(it, &self.call, watch))
    }

    /// Asks everybody who decides whether the call may run: `None` if so.
    pub(super) async fn prepare(&self, asks: Asks, watch: &Watch) -> Option<Route> {
        let pipeline = self.pipeline(watch);
        if !self.is_json {
            return Some(Route::Final(failure::arguments()));
        }
        // A call cancelled before it began is seen by nobody who decides.
        if pipeline.is_cancelled() {
            return Some(Route::Final(failure::aborted(false)));
        }
        pipeline.admit(asks).await
    }

    /// Runs the body inside those who stand around it.
    pub(super) async fn dispatch(&self, watch: &Watch) -> Route {
        let pipeline = self.pipeline(watch);
        if pipeline.is_cancelled() {
            return refused(failure::aborted(false));
        }
        pipeline.around().await
    }

    /// The reviewers, where they are to be asked, the tool's last word, and the observers.
    pub(super) async fn finish(&self, route: Route, watch: &Watch) -> Arc<ToolOutcome> {
        let outcome = match route {
            Route::Final(outcome) => outcome,
            Route::Reviewed { outcome, has_run } => {
                self.pipeline(watch).review(outcome, has_run).await
            }
        };
        self.conclude(outcome, watch).await
    }

    /// The tool's last word, and the observers.
    async fn conclude(&self, outcome: ToolOutcome, watch: &Watch) -> Arc<ToolOutcome> {
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
        match self.prepare(Asks::Nobody, watch).await {
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

    /// A thread stays inside a plugin: tells whatever of the call still runs to end.
    pub(super) fn give_up(&self, wedge: &Wedge) {
        let signal = self.call.call().signal.clone();
        self.snapshot.dispatcher.aside(move || signal.fire());
        self.note(wedge);
    }

    /// What becomes of the call that was given up: the failure of whoever is wedged, with the last
    /// word and the observers of everybody else.
    pub(super) async fn outlive(self: Arc<Self>, wedge: Wedge) -> Arc<ToolOutcome> {
        let this = Arc::clone(&self);
        let work = async move |watch: Arc<Watch>| this.go_on(&wedge, &watch).await;
        match self.snapshot.dispatcher.run(work).await {
            Ok(outcome) => outcome,
            // Wedged a second time, by an observer or a last word: that is enough.
            Err(wedge) => {
                self.note(&wedge);
                let decided = self.decided.get().map(Arc::clone);
                decided.unwrap_or_else(|| Arc::new(failure::wedged(&wedge)))
            }
        }
    }

    /// Puts a wedge into the trail, for whoever cannot.
    pub(super) fn note(&self, wedge: &Wedge) {
        let why = failure::wedged(wedge);
        let call_id = Some(self.call.call().call_id.as_str());
        seam::report_wedge(&self.snapshot, wedge, &why.message(), call_id);
    }

    async fn go_on(&self, wedge: &Wedge, watch: &Watch) -> Arc<ToolOutcome> {
        // Wedged in an observer: the outcome stands, and the observers behind it are told.
        if let Some(decided) = self.decided.get() {
            let there = self.snapshot.tool_result.iter().position(|it| it.number == wedge.number);
            let first = there.map_or(0, |it| it + 1);
            self.tell(decided, first, Some(&wedge.place.plugin), watch).await;
            return Arc::clone(decided);
        }
        let outcome = failure::wedged(wedge);
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
