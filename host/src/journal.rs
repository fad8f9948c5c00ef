//! The way of plugin files and of what is loaded from them, step by step, for whoever watches.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use serde::Serialize;

/// Where a plugin file is on its way, or what is loaded from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// There is a file.
    Discovered,
    /// It changes, or has just changed.
    Settling,
    /// It is at rest, and says what plugin it is.
    Inspected,
    /// A copy of it is loaded: in a child process, where that is asked for, and then here.
    Loading,
    /// Calls that begin now are answered by it.
    Live,
    /// Another one is live; calls that began with this one go on.
    Draining,
    /// The last of them has ended.
    Retired,
    /// It is not loaded.
    Refused,
    /// It misbehaved, and is not loaded any more.
    Quarantined,
    /// The configuration says not to load it.
    Disabled,
    /// A higher version of it is live.
    Superseded,
    /// The file is gone.
    Removed,
}

impl Phase {
    /// The phase as it is printed.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Discovered => "discovered",
            Self::Settling => "settling",
            Self::Inspected => "inspected",
            Self::Loading => "loading",
            Self::Live => "live",
            Self::Draining => "draining",
            Self::Retired => "retired",
            Self::Refused => "refused",
            Self::Quarantined => "quarantined",
            Self::Disabled => "disabled",
            Self::Superseded => "superseded",
            Self::Removed => "removed",
        }
    }

    /// Whether this can come after `before`; with `None`, whether it can come first.
    pub fn may_follow(self, before: Option<Self>) -> bool {
        use Phase::{
            Disabled, Discovered, Draining, Inspected, Live, Loading, Quarantined, Refused,
            Removed, Retired, Settling, Superseded,
        };
        let Some(before) = before else { return matches!(self, Discovered | Draining) };
        match self {
            Discovered => before == Removed,
            Settling => !matches!(before, Removed | Retired),
            Inspected => matches!(before, Discovered | Settling),
            Loading => {
                matches!(before, Inspected | Superseded | Refused | Quarantined | Live | Disabled)
            }
            // Without a load where it is what is live already.
            Live => !matches!(before, Discovered | Draining | Retired | Removed),
            Refused | Quarantined => !matches!(before, Draining | Retired | Removed),
            Disabled | Superseded => !matches!(before, Loading | Draining | Retired | Removed),
            Removed => !matches!(before, Draining | Retired | Removed),
            Draining => before == Live,
            Retired => before == Draining,
        }
    }
}

/// One step of a plugin file, or of a generation of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Transition {
    /// The file.
    pub path: PathBuf,
    /// The plugin, where that is known.
    pub plugin: Option<String>,
    /// The generation, from [`Phase::Live`] on.
    pub generation: Option<u64>,
    /// Where it was before.
    pub from: Option<Phase>,
    /// Where it is now.
    pub to: Phase,
    /// Why, where that is not plain.
    pub reason: Option<String>,
    /// How long it was where it was before, in microseconds.
    pub after_us: u64,
}

/// Takes each step as it is made. Called on the thread that makes it, which may be any; must not
/// block.
#[derive(Clone)]
pub struct JournalSink {
    take: Arc<dyn Fn(Transition) + Send + Sync>,
}

impl JournalSink {
    /// A sink that hands on to `take`.
    pub fn new(take: impl Fn(Transition) + Send + Sync + 'static) -> Self {
        Self { take: Arc::new(take) }
    }
}

impl fmt::Debug for JournalSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JournalSink").finish_non_exhaustive()
    }
}

/// Where everything is, so that each step is told with where it comes from.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    sink: Option<JournalSink>,
    last: Mutex<BTreeMap<Subject, Last>>,
}

/// Where a subject is, since when, and where it was before.
#[derive(Debug, Clone, Copy)]
struct Last {
    phase: Phase,
    since: Instant,
    before: Option<Phase>,
}

/// Whose way it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    File(PathBuf),
    /// One that another one has taken the place of.
    Generation(u64),
}

/// What is told of a step besides where it leads.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Step<'a> {
    pub(crate) plugin: Option<&'a str>,
    pub(crate) generation: Option<u64>,
    pub(crate) reason: Option<&'a str>,
}

impl Journal {
    /// A journal that tells `sink`.
    pub(crate) fn new(sink: Option<JournalSink>) -> Self {
        Self { sink, last: Mutex::default() }
    }

    /// There is a file at `path`, which may be known.
    pub(crate) fn discover(&self, path: &Path) {
        let subject = Subject::File(path.to_owned());
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = last.contains_key(&subject);
        drop(last);
        if !is_known {
            self.step(subject, path, Phase::Discovered, Step::default());
        }
    }

    /// What changed in the file at `path` came to nothing: it is where it was before.
    pub(crate) fn unchanged(&self, path: &Path) {
        let subject = Subject::File(path.to_owned());
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let known = last.get(&subject).copied();
        drop(last);
        if let Some(Last { phase: Phase::Settling, before: Some(before), .. }) = known {
            self.step(subject, path, before, Step::default());
        }
    }

    /// The file at `path` is there now. Where it is already, nothing is told.
    pub(crate) fn file(&self, path: &Path, to: Phase, step: Step<'_>) {
        self.step(Subject::File(path.to_owned()), path, to, step);
    }

    /// The generation is there now; its file is another matter.
    pub(crate) fn generation(&self, path: &Path, to: Phase, step: Step<'_>) {
        let number = step.generation.unwrap_or_default();
        self.step(Subject::Generation(number), path, to, step);
    }

    fn step(&self, subject: Subject, path: &Path, to: Phase, step: Step<'_>) {
        let now = Instant::now();
        let is_over = matches!(to, Phase::Retired | Phase::Removed);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let known = last.get(&subject).copied();
        let from = known.map(|it| it.phase);
        if from == Some(to) {
            return;
        }
        if is_over {
            last.remove(&subject);
        } else {
            last.insert(subject, Last { phase: to, since: now, before: from });
        }
        drop(last);
        debug_assert!(
            to.may_follow(from.or(implied(to))),
            "{from:?} to {to:?} at {}",
            path.display()
        );
        let after = known.map_or(0, |it| now.duration_since(it.since).as_micros());
        let Step { plugin, generation, reason } = step;
        tracing::info!(path = %path.display(), plugin, generation, ?from, ?to, reason);
        let Some(sink) = &self.sink else { return };
        (sink.take)(Transition {
            path: path.to_owned(),
            plugin: plugin.map(str::to_owned),
            generation,
            from,
            to,
            reason: reason.map(str::to_owned),
            after_us: u64::try_from(after).unwrap_or(u64::MAX),
        });
    }
}

/// What a subject that was not heard of before was until now.
fn implied(to: Phase) -> Option<Phase> {
    (to == Phase::Draining).then_some(Phase::Live)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_is_told_once_with_where_it_comes_from() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&told);
        let sink = JournalSink::new(move |it| sink.lock().unwrap().push((it.from, it.to)));
        let journal = Journal::new(Some(sink));
        let path = Path::new("a.so");
        for to in [Phase::Discovered, Phase::Settling, Phase::Settling, Phase::Inspected] {
            journal.file(path, to, Step::default());
        }
        let generation = Step { generation: Some(1), ..Step::default() };
        journal.generation(path, Phase::Draining, generation);
        journal.generation(path, Phase::Retired, generation);
        journal.file(path, Phase::Refused, Step::default());
        let expected = [
            (None, Phase::Discovered),
            (Some(Phase::Discovered), Phase::Settling),
            (Some(Phase::Settling), Phase::Inspected),
            (None, Phase::Draining),
            (Some(Phase::Draining), Phase::Retired),
            (Some(Phase::Inspected), Phase::Refused),
        ];
        assert_eq!(*told.lock().unwrap(), expected);
    }

    #[test]
    fn nothing_is_live_that_was_not_looked_at() {
        assert!(!Phase::Live.may_follow(None));
        assert!(!Phase::Live.may_follow(Some(Phase::Discovered)));
        assert!(!Phase::Live.may_follow(Some(Phase::Retired)));
        assert!(Phase::Live.may_follow(Some(Phase::Loading)));
    }
}
