//! What tells one content of a file from another without reading it.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Which file it is, how large, and when it changed. The time of the change itself is among it: a
/// file that took the place of another may have its size, its times and even its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    device: u64,
    inode: u64,
    size: u64,
    /// Seconds and nanoseconds.
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Fingerprint {
    /// That of the file at `path`, through symbolic links.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let it = fs::metadata(path)?;
        Ok(Self {
            device: it.dev(),
            inode: it.ino(),
            size: it.size(),
            modified: (it.mtime(), it.mtime_nsec()),
            changed: (it.ctime(), it.ctime_nsec()),
        })
    }
}

/// Which directory stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    /// That of the directory at `path`; none where there is none.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let it = fs::metadata(path).ok().filter(fs::Metadata::is_dir)?;
        Some(Self { device: it.dev(), inode: it.ino() })
    }
}
