//! A listener in its place, asked once and for its first answer.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use lockgate_plugin_api::SeamName;
use lockgate_plugin_api::abi::future::{Out, Reply, SeamFuture};
use lockgate_plugin_api::abi::listener::{ListenerRef, REQUIRED};
use lockgate_plugin_api::abi::seam::Seam;
use lockgate_plugin_api::abi::value::{Buf, Status};

use super::facts::Lend;
use super::instance::Instance;
use crate::probation::Probation;
use crate::refusal::{Code, Refusal};
use crate::settings::Deadlines;
use crate::watchdog::{Watched, Wedge};

/// A place in the chain of a seam.
pub(crate) struct Place<S: Seam> {
    /// The plugin whose place it is.
    pub(crate) plugin: Arc<str>,
    /// The listener's name.
    pub(crate) name: Arc<str>,
    /// Higher stands further out.
    pub(crate) priority: i32,
    /// Whether the place stays when its plugin is not there.
    pub(crate) required: bool,
    /// Its number for the watchdog.
    pub(crate) number: u16,
    /// How long an answer that comes later may take, of the listener's own time.
    pub(crate) patience: Deadlines,
    /// Who stands there.
    pub(crate) held: Held<S>,
}

/// Who stands in a place.
pub(crate) enum Held<S: Seam> {
    /// A listener.
    Live(Bound<S>),
    /// Nobody, though somebody must: why.
    Lost(Arc<Refusal>),
}

/// A listener of a live instance.
pub(crate) struct Bound<S: Seam> {
    table: ListenerRef<S::Args, S::Answer>,
    instance: Arc<Instance>,
}

// SAFETY: the table is in a static of a library that is never unmapped; its entry may be called
// on any thread.
unsafe impl<S: Seam> Send for Bound<S> {}
// SAFETY: as for `Send`, by several threads at once.
unsafe impl<S: Seam> Sync for Bound<S> {}

impl<S: Seam> Place<S> {
    /// Whoever stands in it has failed.
    pub(super) fn blame(&self) {
        match &self.held {
            Held::Live(bound) => bound.instance.probation().fault(),
            Held::Lost(_) => {}
        }
    }

    /// The first time of whoever stands in it.
    pub(crate) fn probation(&self) -> Option<Arc<Probation>> {
        match &self.held {
            Held::Live(bound) => Some(Arc::clone(bound.instance.probation())),
            Held::Lost(_) => None,
        }
    }

    /// The failure that the place answers with, where nobody stands in it.
    pub(crate) fn lost(&self) -> Option<ListenerFailure> {
        match &self.held {
            Held::Live(_) => None,
            Held::Lost(refusal) => Some(ListenerFailure::unavailable(self, refusal)),
        }
    }
}

/// A first answer.
pub(super) enum Asked<D> {
    /// The answer itself.
    Now(Reply<D>),
    /// Later, from this future.
    Later(SeamFuture<D>),
}

impl<S: Lend> Bound<S> {
    /// The places of the listeners that `instance` exports for this seam.
    ///
    /// # Errors
    /// `E-MANIFEST` when a name is not UTF-8.
    pub(crate) fn places(instance: &Arc<Instance>) -> Result<Vec<Place<S>>, Refusal> {
        // SAFETY: the list is in a static of a library that is never unmapped.
        let tables = unsafe { S::exports(instance.root()).read() };
        let place = |table: &ListenerRef<S::Args, S::Answer>| {
            // SAFETY: the name is in a static too.
            let name = unsafe { table.name().read() }.map_err(|_| {
                let message = format!("a {} listener's name is not UTF-8", S::NAME.as_str());
                Refusal::new(Code::Manifest, message)
            })?;
            Ok(Place {
                plugin: Arc::clone(instance.plugin()),
                name: name.into(),
                priority: table.priority(),
                required: table.flags() & REQUIRED != 0,
                number: 0,
                patience: Deadlines::default(),
                held: Held::Live(Self { table: *table, instance: Arc::clone(instance) }),
            })
        };
        tables.iter().map(place).collect()
    }

    /// Calls the entry.
    ///
    /// # Safety
    /// What `args` lends outlives the answer, and the future if there is one.
    pub(super) unsafe fn ask(&self, args: S::Args) -> Asked<S::Answer> {
        let mut out = S::Answer::EMPTY;
        let mut future = SeamFuture::EMPTY;
        let mut fault = Buf::EMPTY;
        // SAFETY: the entry of a live instance, with empty places to write to; the caller vouches
        // for `args`.
        let status = unsafe {
            self.table.call()(
                self.instance.opaque(),
                args,
                &raw mut out,
                &raw mut future,
                &raw mut fault,
            )
        };
        match status {
            Status::PENDING => Asked::Later(future),
            status => Asked::Now(Reply::from_parts(status, out, &fault)),
        }
    }
}

/// A listener that should have answered and did not, or not as it must.
#[derive(Debug, Clone)]
pub struct ListenerFailure {
    plugin: Arc<str>,
    listener: Arc<str>,
    seam: SeamName,
    kind: FailureKind,
}

#[derive(Debug, Clone)]
pub(crate) enum FailureKind {
    /// It failed, and said how.
    Fault(String),
    /// It answered against the rules.
    Protocol(String),
    /// It is not there.
    Unavailable(Arc<Refusal>),
    /// It took too long.
    Timeout(Duration),
}

impl ListenerFailure {
    pub(crate) fn new<S: Seam>(place: &Place<S>, kind: FailureKind) -> Self {
        Self {
            plugin: Arc::clone(&place.plugin),
            listener: Arc::clone(&place.name),
            seam: S::NAME,
            kind,
        }
    }

    /// What a wedge is to whoever asked. `seam` is where it happened.
    pub(crate) fn wedged(wedge: &Wedge, seam: SeamName) -> Self {
        let Watched { plugin, listener, deadline, .. } = &wedge.place;
        let kind = FailureKind::Timeout(deadline.unwrap_or_default());
        Self { plugin: Arc::clone(plugin), listener: Arc::clone(listener), seam, kind }
    }

    /// A listener whose own time is over.
    pub(crate) fn too_slow<S: Seam>(place: &Place<S>) -> Self {
        Self::new(place, FailureKind::Timeout(place.patience.answer))
    }

    /// A listener that came back after somebody had answered for it: nobody reads this.
    pub(crate) fn overtaken<S: Seam>(place: &Place<S>) -> Self {
        Self::new(place, FailureKind::Timeout(Duration::ZERO))
    }

    pub(crate) fn unavailable<S: Seam>(place: &Place<S>, refusal: &Arc<Refusal>) -> Self {
        Self::new(place, FailureKind::Unavailable(Arc::clone(refusal)))
    }

    /// The stable code: `LISTENER_FAULT`, `LISTENER_PROTOCOL`, `LISTENER_TIMEOUT` or
    /// `LISTENER_UNAVAILABLE`.
    pub fn code(&self) -> &'static str {
        match self.kind {
            FailureKind::Fault(_) => "LISTENER_FAULT",
            FailureKind::Protocol(_) => "LISTENER_PROTOCOL",
            FailureKind::Unavailable(_) => "LISTENER_UNAVAILABLE",
            FailureKind::Timeout(_) => "LISTENER_TIMEOUT",
        }
    }

    /// Whether there was nobody to ask, as opposed to somebody who failed.
    pub(crate) fn is_unavailable(&self) -> bool {
        matches!(self.kind, FailureKind::Unavailable(_))
    }

    /// The word for it in a trail.
    pub(crate) fn verdict(&self) -> &'static str {
        match self.kind {
            FailureKind::Fault(_) => "fault",
            FailureKind::Protocol(_) => "protocol",
            FailureKind::Unavailable(_) => "unavailable",
            FailureKind::Timeout(_) => "timeout",
        }
    }
}

impl fmt::Display for ListenerFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { plugin, listener, seam, kind } = self;
        write!(f, "the {} listener `{listener}` of the plugin `{plugin}` ", seam.as_str())?;
        match kind {
            FailureKind::Fault(message) => write!(f, "failed: {message}"),
            FailureKind::Protocol(message) => write!(f, "broke the protocol: {message}"),
            FailureKind::Unavailable(refusal) => {
                write!(f, "is not there: {refusal}; {}", refusal.remedy())
            }
            FailureKind::Timeout(limit) => write!(f, "took more than {} ms", limit.as_millis()),
        }
    }
}

impl Error for ListenerFailure {}
