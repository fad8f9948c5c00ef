//! When a file that changes has come to rest: one file, and what was last taken of it.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant};

use super::fingerprint::Fingerprint;
use crate::artifact::Artifact;
use crate::loading::{self, Read};
use crate::refusal::Code;
use crate::roster::{Found, Seen};
use crate::sys::{self, Writers};

/// How long a file that is not whole may take to become so, before it is refused.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long a change counts as one that goes on, where the system does not say who writes.
const WRITING: Duration = Duration::from_secs(10);

/// One file of a watched directory.
#[derive(Debug)]
pub(super) struct Settling {
    taken: Option<Taken>,
    candidate: Option<Candidate>,
    gone: Option<Instant>,
}

/// What was taken last.
#[derive(Debug, PartialEq)]
struct Taken {
    /// None where that is not known, so that the file is looked at once.
    fingerprint: Option<Fingerprint>,
    content: Seen,
}

#[derive(Debug)]
struct Candidate {
    fingerprint: Fingerprint,
    /// Since when it is so.
    since: Instant,
    /// Whether this content was looked at, and was not whole.
    incomplete: bool,
}

impl Settling {
    /// A file of which nothing was taken, or this.
    pub(super) fn new(content: Option<Seen>) -> Self {
        let taken = content.map(|content| Taken { fingerprint: None, content });
        Self { taken, candidate: None, gone: None }
    }

    /// The file is not there. Something, once it has not been for `grace` and something was taken
    /// of it.
    pub(super) fn is_gone(&mut self, now: Instant, grace: Duration) -> Option<Read> {
        self.candidate = None;
        let since = *self.gone.get_or_insert(now);
        (self.taken.is_none() || now.duration_since(since) >= grace).then_some(Found::Gone)
    }

    /// The file at `path` is there. What stands in it, once that is at rest and something new.
    ///
    /// `written` is when somebody was last seen to write to it who was not seen to end.
    pub(super) fn is_there(
        &mut self,
        path: &Path,
        now: Instant,
        quiet: Duration,
        written: Option<Instant>,
    ) -> Option<Read> {
        self.gone = None;
        // Gone between two looks: the next one will say so.
        let fingerprint = Fingerprint::of(path).ok()?;
        if self.taken.as_ref().is_some_and(|it| it.fingerprint == Some(fingerprint)) {
            self.candidate = None;
            return None;
        }
        let candidate = match &mut self.candidate {
            Some(candidate) if candidate.fingerprint == fingerprint => candidate,
            other => {
                *other = Some(Candidate { fingerprint, since: now, incomplete: false });
                return None;
            }
        };
        let patient = now.duration_since(candidate.since) < PATIENCE;
        if now.duration_since(candidate.since) < quiet || (candidate.incomplete && patient) {
            return None;
        }
        let is_written = match writers(path) {
            Writers::None => false,
            Writers::Some => true,
            Writers::Unknown => written.is_some_and(|it| now.duration_since(it) < WRITING),
        };
        if is_written {
            candidate.since = now;
            return None;
        }
        let read = loading::read(path);
        if Fingerprint::of(path).ok() != Some(fingerprint) {
            candidate.since = now;
            return None;
        }
        if patient && is_incomplete(&read) {
            candidate.incomplete = true;
            return None;
        }
        self.take(fingerprint, read)
    }

    /// Whether it changes, or has just changed.
    pub(super) fn is_settling(&self) -> bool {
        self.candidate.is_some()
    }

    /// When the file is to be looked at again, if it does not change: at once where that is past.
    pub(super) fn next_look(&self, quiet: Duration, grace: Duration) -> Option<Instant> {
        match (&self.candidate, self.gone) {
            (Some(it), _) if it.incomplete => Some(it.since + PATIENCE),
            (Some(it), _) => Some(it.since + quiet),
            (None, Some(gone)) => Some(gone + grace),
            (None, None) => None,
        }
    }

    fn take(&mut self, fingerprint: Fingerprint, read: Read) -> Option<Read> {
        let content = match &read {
            Found::Plugin(Artifact { hash, .. }) => Seen::Plugin(*hash),
            Found::Refused(refusal) => Seen::Refused(refusal.clone()),
            Found::Gone => return None,
        };
        let is_same = self.taken.as_ref().is_some_and(|it| it.content == content);
        self.taken = Some(Taken { fingerprint: Some(fingerprint), content });
        self.candidate = None;
        (!is_same).then_some(read)
    }
}

/// Who can write to the file at `path`. What is not a file is never opened: a pipe would not answer.
fn writers(path: &Path) -> Writers {
    let is_file = fs::metadata(path).is_ok_and(|it| it.is_file());
    let file = is_file.then(|| File::open(path)).and_then(Result::ok);
    file.map_or(Writers::Unknown, |it| sys::writers(&it))
}

/// Whether what was read is the beginning of something.
fn is_incomplete(read: &Read) -> bool {
    match read {
        Found::Refused(refusal) => refusal.code() == Code::Truncated,
        Found::Plugin(_) | Found::Gone => false,
    }
}
