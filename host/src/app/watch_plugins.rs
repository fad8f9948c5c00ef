//! What a person sees of plugins that change while the program runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::host_setup::Setup;
use super::{Ending, Failure, screen};
use crate::journal::{JournalSink, Phase, Transition};
use crate::watch::WatchOptions;

/// A sink that shows steps with `show` once `begun` is so: what happens at the start is told
/// otherwise.
pub(super) fn later(
    begun: &Arc<AtomicBool>,
    show: impl Fn(Transition) + Send + Sync + 'static,
) -> JournalSink {
    let begun = Arc::clone(begun);
    JournalSink::new(move |step| {
        if begun.load(Ordering::Relaxed) {
            show(step);
        }
    })
}

/// Starts the host, has `list` show what is there, and shows each step until the person stops it.
pub(super) async fn until_stopped(
    setup: &mut Setup,
    json: bool,
    list: impl FnOnce(&Setup, &crate::host::Host) -> Result<(), Failure>,
) -> Result<Ending, Failure> {
    let begun = Arc::new(AtomicBool::new(false));
    setup.options.journal = Some(later(&begun, move |step| {
        if !json {
            screen::every_step(&step);
        } else if let Err(error) = screen::json(&step) {
            // Nobody reads any more; the person ends the program, or the pipe has.
            tracing::info!(%error, "a step was not printed");
        }
    }));
    let host = setup.start()?;
    list(setup, &host)?;
    begun.store(true, Ordering::Relaxed);
    let _watching = host.watch(WatchOptions::default())?;
    tokio::signal::ctrl_c().await?;
    Ok(Ending::Interrupted)
}

/// Whether a step is news to somebody who does not look at plugins all the time.
pub(super) fn is_news(step: &Transition) -> bool {
    match step.to {
        Phase::Live | Phase::Refused | Phase::Quarantined | Phase::Removed => true,
        Phase::Disabled | Phase::Superseded => true,
        Phase::Discovered | Phase::Settling | Phase::Inspected | Phase::Loading => false,
        Phase::Draining | Phase::Retired => false,
    }
}
