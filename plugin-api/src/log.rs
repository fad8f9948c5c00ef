//! Sends a plugin's panics and `tracing` events to the host's log.
//!
//! Every library has statics of its own, so a plugin's events would go nowhere and its panics to
//! the terminal. Both bridges are set once per library, by its first instance, and never taken
//! down: code of the library may run until the process ends.

use std::fmt::{self, Write as _};
use std::panic;
use std::sync::OnceLock;

use tracing_core::field::{Field, Visit};
use tracing_core::span::{Attributes, Id, Record};
use tracing_core::{Dispatch, Event, Level, LevelFilter, Metadata, Subscriber, dispatcher};

use crate::abi::host::Host;

/// Installs both bridges, once per library.
pub(crate) fn install(host: Host) {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        // No backtrace: each library would keep a symbol cache of its own, megabytes of it.
        panic::set_hook(Box::new(move |panic| host.log(1, "panic", &panic.to_string())));
        // A dispatcher that is there already is the author's own choice.
        let _ = dispatcher::set_global_default(Dispatch::new(Bridge { host }));
    });
}

struct Bridge {
    host: Host,
}

impl Subscriber for Bridge {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && number(*metadata.level()) <= self.host.max_level()
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(match self.host.max_level() {
            0 => LevelFilter::OFF,
            1 => LevelFilter::ERROR,
            2 => LevelFilter::WARN,
            3 => LevelFilter::INFO,
            4 => LevelFilter::DEBUG,
            _ => LevelFilter::TRACE,
        })
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        let metadata = event.metadata();
        self.host.log(number(*metadata.level()), metadata.target(), &line.finish());
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
