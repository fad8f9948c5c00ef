//! What the system says of the plugin directories, as a reason to look and as nothing more.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use notify::event::{AccessKind, AccessMode, ModifyKind};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use super::fingerprint::Identity;

/// When somebody was last seen to write to a file who was not seen to end.
pub(super) type Written = Arc<Mutex<HashMap<PathBuf, Instant>>>;

/// The watched directories.
pub(super) struct Events {
    watcher: Option<RecommendedWatcher>,
    roots: Vec<Root>,
}

struct Root {
    dir: PathBuf,
    /// Which directory is watched; none where none is.
    watched: Option<Identity>,
}

impl Events {
    /// Watches `dirs`, as far as that goes: whatever happens there is sent to `wake`.
    pub(super) fn new(dirs: &[PathBuf], wake: SyncSender<()>, written: Written) -> Self {
        let watcher = notify::recommended_watcher(move |event| heard(&event, &wake, &written));
        let watcher = watcher
            .inspect_err(|error| tracing::warn!(%error, "plugin directories cannot be watched"))
            .ok();
        let root = |dir: &PathBuf| Root { dir: dir.clone(), watched: None };
        let mut events = Self { watcher, roots: dirs.iter().map(root).collect() };
        events.follow();
        events
    }

    /// Watches what stands at the paths of the directories now: a watch stays with a directory
    /// that was moved away, and dies with one that was removed.
    pub(super) fn follow(&mut self) {
        let Some(watcher) = &mut self.watcher else { return };
        for root in &mut self.roots {
            let identity = Identity::of(&root.dir);
            if identity == root.watched {
                continue;
            }
            if root.watched.take().is_some() {
                // What was watched is gone, and its watch may be too.
                let _ = watcher.unwatch(&root.dir);
            }
            if identity.is_some() && watch(watcher, &root.dir) {
                root.watched = identity;
            }
        }
    }

    /// Whether something that happens in any of the directories is heard of.
    pub(super) fn are_heard(&self) -> bool {
        self.watcher.is_some()
            && self.roots.iter().all(|it| it.watched.is_some() && !is_remote(&it.dir))
    }
}

fn watch(watcher: &mut RecommendedWatcher, dir: &Path) -> bool {
    let watched = watcher.watch(dir, RecursiveMode::NonRecursive);
    if let Err(error) = &watched {
        tracing::warn!(dir = %dir.display(), %error, "the plugin directory cannot be watched");
    }
    watched.is_ok()
}

/// Whether files of `dir` may change without a word: those of other machines, and those that a
/// program serves.
fn is_remote(dir: &Path) -> bool {
    /// NFS, SMB, CIFS, SMB 2, FUSE, 9P, Ceph, AFS.
    const REMOTE: [u32; 8] = [
        0x6969,
        0x517b,
        0xff53_4d42,
        0xfe53_4d42,
        0x6573_5546,
        0x0102_1997,
        0x00c3_6400,
        0x5346_414f,
    ];
    let kind = rustix::fs::statfs(dir).ok().and_then(|it| u32::try_from(it.f_type).ok());
    kind.is_some_and(|it| REMOTE.contains(&it))
}

/// On a thread of the watcher's.
fn heard(event: &notify::Result<Event>, wake: &SyncSender<()>, written: &Written) {
    if let Ok(event) = event {
        let mut written = written.lock().unwrap_or_else(PoisonError::into_inner);
        match event.kind {
            // Whoever reads, this host too, changes nothing.
            EventKind::Access(AccessKind::Close(AccessMode::Write)) => {
                written.retain(|it, _| !event.paths.contains(it));
            }
            EventKind::Access(_) => return,
            EventKind::Modify(ModifyKind::Data(_)) => {
                let now = Instant::now();
                written.extend(event.paths.iter().map(|it| (it.clone(), now)));
            }
            EventKind::Modify(ModifyKind::Name(_))
            | EventKind::Create(_)
            | EventKind::Remove(_) => {
                written.retain(|it, _| !event.paths.contains(it));
            }
            EventKind::Modify(_) | EventKind::Any | EventKind::Other => {}
        }
    }
    super::wake(wake);
}
