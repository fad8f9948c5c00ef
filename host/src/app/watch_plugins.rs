//! What a person sees of plugins that change while the program runs.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lockgate_plugin_api::error_chain;
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;

use super::host_setup::Setup;
use super::{Ending, Failure, screen};
use crate::config::Config;
use crate::host::Host;
use crate::journal::{JournalSink, Phase, Transition};
use crate::watch::WatchOptions;

/// How long the configuration must not have changed.
const QUIET: Duration = Duration::from_millis(50);

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
    list: impl FnOnce(&Setup, &Host) -> Result<(), Failure>,
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

/// Has `host` take over what the configuration `file` says of plugins whenever that changes, until
/// what is returned is dropped. What cannot be read leaves everything as it is.
pub(super) fn watch_config(
    file: &Path,
    host: &Arc<Host>,
) -> Result<RecommendedWatcher, notify::Error> {
    let (tell, mut changed) = mpsc::channel(1);
    let name = file.file_name().map(OsStr::to_owned);
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        let is_ours = event.map_or(true, |event| {
            !matches!(event.kind, EventKind::Access(_))
                && event.paths.iter().any(|it| it.file_name() == name.as_deref())
        });
        if is_ours {
            // Full: it is going to be read already.
            let _ = tell.try_send(());
        }
    })?;
    watcher.watch(file.parent().unwrap_or(Path::new(".")), RecursiveMode::NonRecursive)?;
    let (file, host) = (file.to_owned(), Arc::downgrade(host));
    tokio::spawn(async move {
        while changed.recv().await.is_some() {
            // Editors write a file in steps.
            while tokio::time::timeout(QUIET, changed.recv()).await.is_ok_and(|it| it.is_some()) {}
            let Some(host) = host.upgrade() else { return };
            match Config::load(Some(&file), Path::new(".")) {
                Ok(config) => {
                    let taken =
                        tokio::task::spawn_blocking(move || host.reconfigure(config.plugins));
                    match taken.await {
                        Ok(()) => screen::aside(&format!("took over {}", file.display())),
                        Err(error) => screen::error(&error.to_string()),
                    }
                }
                Err(error) => {
                    screen::error(&error_chain(&error));
                    screen::aside("the configuration stays as it was");
                }
            }
        }
    });
    Ok(watcher)
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
