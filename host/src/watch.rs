//! Watches plugin directories, and says which files have changed once they have come to rest.

mod events;
mod fingerprint;
mod scan;
mod settling;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use thiserror::Error;

use self::events::{Events, Written};
use self::scan::Scanner;
use crate::journal::Journal;
use crate::loading::Read;
use crate::roster::Seen;

/// The time after which everything is looked at even if nothing was heard.
const TICK: Duration = Duration::from_secs(2);

/// The same where nothing is ever heard.
const DEAF_TICK: Duration = Duration::from_millis(200);

/// The time between two looks, at least.
const PACE: Duration = Duration::from_millis(5);

/// How plugin directories are watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchOptions {
    /// How long a file must not have changed before it is looked at. 50 ms unless it is set; less
    /// than 20 ms may be less than the steps in which a file system counts time.
    pub quiet: Duration,
    /// How long a file may be missing before its plugin is let go, since many tools remove a file
    /// before they write the next one. 5 s unless it is set.
    pub grace: Duration,
}

impl Default for WatchOptions {
    fn default() -> Self {
        Self { quiet: Duration::from_millis(50), grace: Duration::from_secs(5) }
    }
}

/// The watch on plugin directories, until this is dropped.
#[derive(Debug)]
pub struct Watching {
    over: Arc<AtomicBool>,
    wake: SyncSender<()>,
}

/// Plugin directories that cannot be watched.
#[derive(Debug, Error)]
#[error("no thread could be started that watches the plugin directories")]
pub struct WatchError(#[source] std::io::Error);

impl Drop for Watching {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        wake(&self.wake);
    }
}

/// Has the watch look, now or at once again.
fn wake(wake: &SyncSender<()>) {
    match wake.try_send(()) {
        // Full: it is going to look already. Or nobody looks any more.
        Ok(()) | Err(TrySendError::Full(()) | TrySendError::Disconnected(())) => {}
    }
}

/// Watches `dirs`, of whose files `taken` were taken already. What has changed since is told to
/// `settled` once it has come to rest, and every step to `journal`, on a thread of its own that may block.
///
/// What `settled` returns is told to it again as if it had changed once more.
///
/// # Errors
/// When there can be no such thread.
pub(crate) fn watch(
    dirs: &[PathBuf],
    options: WatchOptions,
    taken: Vec<(PathBuf, Seen)>,
    journal: Arc<Journal>,
    settled: impl FnMut(Vec<(PathBuf, Read)>) -> Vec<PathBuf> + Send + 'static,
) -> Result<Watching, WatchError> {
    let (wake, woken) = sync_channel(1);
    let written = Written::default();
    let scanner = Scanner::new(dirs, options, taken, journal);
    // Before the first look, so that nothing falls between.
    let events = Events::new(dirs, wake.clone(), Arc::clone(&written));
    let over = Arc::new(AtomicBool::new(false));
    let watch = Watch { scanner, events, written, woken, over: Arc::clone(&over) };
    let run = move || watch.look_until_over(settled);
    thread::Builder::new().name("lockgate-watch".into()).spawn(run).map_err(WatchError)?;
    Ok(Watching { over, wake })
}

struct Watch {
    scanner: Scanner,
    events: Events,
    written: Written,
    woken: Receiver<()>,
    over: Arc<AtomicBool>,
}

impl Watch {
    fn look_until_over(mut self, mut settled: impl FnMut(Vec<(PathBuf, Read)>) -> Vec<PathBuf>) {
        while !self.over.load(Ordering::Acquire) {
            let begun = Instant::now();
            self.events.follow();
            let written = self.written.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let changes = self.scanner.scan(&written);
            if !changes.is_empty() {
                self.scanner.look_again(&settled(changes));
            }
            let tick = if self.events.are_heard() { TICK } else { DEAF_TICK };
            let next = self.scanner.next_look().map_or(begun + tick, |it| it.min(begun + tick));
            // Somebody who writes is heard a thousand times a second, which is no reason to look
            // as often.
            thread::sleep(PACE.saturating_sub(begun.elapsed()));
            match self.woken.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Ok(()) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }
}
