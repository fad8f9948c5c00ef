//! Looks through the plugin directories for files that have changed and come to rest.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use super::WatchOptions;
use super::settling::Settling;
use crate::discover;
use crate::journal::{Journal, Phase, Step};
use crate::loading::Read;
use crate::roster::Seen;

/// The files of the plugin directories, as they were last seen.
#[derive(Debug)]
pub(super) struct Scanner {
    dirs: Vec<PathBuf>,
    options: WatchOptions,
    journal: Arc<Journal>,
    files: BTreeMap<PathBuf, Settling>,
}

impl Scanner {
    /// A scanner of `dirs`, of whose files these were taken already.
    pub(super) fn new(
        dirs: &[PathBuf],
        options: WatchOptions,
        taken: Vec<(PathBuf, Seen)>,
        journal: Arc<Journal>,
    ) -> Self {
        let files = taken.into_iter().map(|(path, it)| (path, Settling::new(Some(it)))).collect();
        Self { dirs: dirs.to_vec(), options, journal, files }
    }

    /// Looks at every file. Returns what came to rest, or is gone. The files of a directory that
    /// is not there stay as they are.
    ///
    /// `written` says when somebody was last seen to write to a file who was not seen to end.
    pub(super) fn scan(&mut self, written: &HashMap<PathBuf, Instant>) -> Vec<(PathBuf, Read)> {
        let mut settled = Vec::new();
        for dir in self.dirs.clone() {
            if let Ok(found) = discover::scan(std::slice::from_ref(&dir)) {
                self.look(&dir, &found, written, &mut settled);
            }
        }
        settled
    }

    fn look(
        &mut self,
        dir: &Path,
        found: &[PathBuf],
        written: &HashMap<PathBuf, Instant>,
        settled: &mut Vec<(PathBuf, Read)>,
    ) {
        for path in found {
            self.files.entry(path.clone()).or_insert_with(|| {
                self.journal.discover(path);
                Settling::new(None)
            });
        }
        let found: HashSet<&PathBuf> = found.iter().collect();
        let mut gone = Vec::new();
        for (path, file) in self.files.iter_mut().filter(|it| it.0.parent() == Some(dir)) {
            // Asked each time anew: reading a file takes a while.
            let now = Instant::now();
            if found.contains(path) {
                let written = written.get(path).copied();
                let read = file.is_there(path, now, self.options.quiet, written);
                match (&read, file.is_settling()) {
                    (Some(_), _) => {}
                    (None, true) => self.journal.file(path, Phase::Settling, Step::default()),
                    (None, false) => self.journal.unchanged(path),
                }
                settled.extend(read.map(|it| (path.clone(), it)));
            } else if let Some(read) = file.is_gone(now, self.options.grace) {
                gone.push(path.clone());
                settled.push((path.clone(), read));
            }
        }
        for path in gone {
            self.files.remove(&path);
        }
    }

    /// From now on nothing is known of these files.
    pub(super) fn look_again(&mut self, paths: &[PathBuf]) {
        for path in paths {
            self.files.insert(path.clone(), Settling::new(None));
        }
    }

    /// When to look again, even if nothing happens.
    pub(super) fn next_look(&self) -> Option<Instant> {
        self.files
            .values()
            .filter_map(|it| it.next_look(self.options.quiet, self.options.grace))
            .min()
    }
}
