//! Sends a plugin's panics and `tracing` events to the host's log.
//!
//! Every library has statics of its own, so a plugin's events would go nowhere and its panics to
//! the terminal. Both bridges are set once per library, by its first instance, and never taken
//! down: code of the library may run until the process ends.

use std::fmt::{self, Write as _};
use std::panic;
use std::sync::{OnceLock, PoisonError, RwLock};

use tracing_core::field::{Field, Visit};
use tracing_core::span::{Attributes, Id, Record};
use tracing_core::{Dispatch, Event, Interest, Level, Metadata, Subscriber, dispatcher};

use crate::abi::host::Host;

/// The host as the newest instance knows it: what a library says outlives its first instance.
static NEWEST: RwLock<Option<Host>> = RwLock::new(None);

/// Installs both bridges, once per library, and has them speak for this instance from now on.
pub(crate) fn install(host: Host) {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    *NEWEST.write().unwrap_or_else(PoisonError::into_inner) = Some(host);
    INSTALLED.get_or_init(|| {
        // No backtrace: each library would keep a symbol cache of its own, megabytes of it.
        panic::set_hook(Box::new(|panic| log(1, "panic", &panic.to_string())));
        // A dispatcher that is there already is the author's own choice.
        let _ = dispatcher::set_global_default(Dispatch::new(Bridge));
    });
}

fn newest() -> Option<Host> {
    *NEWEST.read().unwrap_or_else(PoisonError::into_inner)
}

fn log(level: u32, target: &str, message: &str) {
    if let Some(host) = newest() {
        host.log(level, target, message);
    }
}

struct Bridge;

impl Subscriber for Bridge {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let read = newest().map_or(0, |it| it.max_level());
        metadata.is_event() && number(*metadata.level()) <= read
    }

    // Not cached: the host may come to read more, or less, at any time.
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        let metadata = event.metadata();
        log(number(*metadata.level()), metadata.target(), &line.finish());
    }

    // Spans carry no facts of their own across: `enabled` refuses them all.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

fn number(level: Level) -> u32 {
    match level {
        Level::ERROR => 1,
        Level::WARN => 2,
        Level::INFO => 3,
        Level::DEBUG => 4,
        Level::TRACE => 5,
    }
}

/// An event as one line: the message, then the fields.
#[derive(Default)]
struct Line {
    message: String,
    fields: String,
}

impl Line {
    fn finish(self) -> String {
        self.message + &self.fields
    }
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let written = if field.name() == "message" {
            write!(self.message, "{value:?}")
        } else {
            write!(self.fields, " {}={value:?}", field.name())
        };
        written.expect("writing to a String succeeds");
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            self.message.push_str(value);
        } else {
            self.record_debug(field, &value);
        }
    }
}
