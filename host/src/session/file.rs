//! The file of a log: one writer, whole lines, and when they are on the disk.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

use super::LogError;

/// When the lines of a log have to be on the disk, and not only with the operating system.
///
/// What a program has written survives the end of that program in any case. This is about the end
/// of the machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SyncPolicy {
    /// Each one before it counts as appended.
    Always,
    /// Before a step is proposed, a model is asked and the body of a tool runs: what led there.
    #[default]
    Checkpoint,
    /// When the operating system likes.
    Never,
}

/// A file that this process alone appends to.
pub(super) struct LogFile {
    pub(super) path: PathBuf,
    pub(super) sync: SyncPolicy,
    file: Arc<File>,
    /// The length of its whole lines, in bytes.
    length: u64,
    /// Whether part of a line may stand after them.
    torn: bool,
    /// How many bytes are known to be on the disk.
    synced: Arc<AtomicU64>,
}

/// Lines that may not be on the disk.
pub(crate) struct Unsynced {
    path: PathBuf,
    file: Arc<File>,
    length: u64,
    synced: Arc<AtomicU64>,
}

impl LogFile {
    /// A new file at `path`.
    pub(super) fn create(path: &Path) -> Result<Self, LogError> {
        let failed = |cause| LogError::Create { path: path.to_owned(), cause };
        let file = OpenOptions::new().append(true).create_new(true).open(path).map_err(failed)?;
        lock(&file, path, failed)?;
        Ok(Self::of(path, file, 0))
    }

    /// The file at `path`, and what is in it.
    pub(super) fn open(path: &Path) -> Result<(Self, Vec<u8>), LogError> {
        let failed = |cause| LogError::Open { path: path.to_owned(), cause };
        let mut file = OpenOptions::new().read(true).append(true).open(path).map_err(failed)?;
        lock(&file, path, failed)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        let length = length(&bytes);
        Ok((Self::of(path, file, length), bytes))
    }

    /// Ends a last line that is whole but for its line break.
    pub(super) fn end_line(&mut self) -> io::Result<()> {
        (&*self.file).write_all(b"\n")?;
        self.length += 1;
        Ok(())
    }

    /// Cuts `end` off, all that comes after `kept` bytes, once the file at `torn` has it.
    pub(super) fn cut(&mut self, kept: &[u8], end: &[u8], torn: &Path) -> io::Result<()> {
        let mut other = OpenOptions::new().append(true).create(true).open(torn)?;
        other.write_all(end)?;
        other.write_all(b"\n")?;
        other.sync_all()?;
        self.length = length(kept);
        self.file.set_len(self.length)
    }

    fn of(path: &Path, file: File, length: u64) -> Self {
        Self {
            path: path.to_owned(),
            sync: SyncPolicy::default(),
            file: Arc::new(file),
            length,
            torn: false,
            synced: Arc::default(),
        }
    }

    /// Appends `value` as a line. If that fails nothing of it is left, at the latest when the next
    /// one is written.
    pub(super) fn write_line(&mut self, value: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        if self.torn {
            self.file.set_len(self.length)?;
            self.torn = false;
        }
        let length = self.length + length(&line);
        if let Err(error) = self.write(&line, length) {
            self.torn = self.file.set_len(self.length).is_err();
            return Err(error);
        }
        self.length = length;
        Ok(())
    }

    fn write(&self, line: &[u8], length: u64) -> io::Result<()> {
        (&*self.file).write_all(line)?;
        match self.sync {
            SyncPolicy::Always => self.unsynced_to(length).bring_to_disk(),
            SyncPolicy::Checkpoint | SyncPolicy::Never => Ok(()),
        }
    }

    /// What may not be on the disk; none where everything is.
    pub(super) fn unsynced(&self) -> Option<Unsynced> {
        let is_synced = self.synced.load(Ordering::Acquire) >= self.length;
        (!is_synced).then(|| self.unsynced_to(self.length))
    }

    fn unsynced_to(&self, length: u64) -> Unsynced {
        let Self { path, file, synced, .. } = self;
        Unsynced { path: path.clone(), file: Arc::clone(file), length, synced: Arc::clone(synced) }
    }

    /// Writes to `file` from now on.
    #[cfg(test)]
    pub(super) fn swap(&mut self, file: File) -> Arc<File> {
        std::mem::replace(&mut self.file, Arc::new(file))
    }
}

impl Unsynced {
    /// Waits until they are. Blocks as long as the disk takes.
    ///
    /// # Errors
    ///
    /// [`LogError::Flush`] if the system says that they are not.
    pub(crate) fn sync(self) -> Result<(), LogError> {
        self.bring_to_disk().map_err(|cause| LogError::Flush { path: self.path, cause })
    }

    fn bring_to_disk(&self) -> io::Result<()> {
        if self.synced.load(Ordering::Acquire) == 0 {
            sync_name(&self.path)?;
        }
        self.file.sync_data()?;
        self.synced.fetch_max(self.length, Ordering::AcqRel);
        Ok(())
    }
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).expect("a length is at most 64 bits wide")
}

/// Waits until the directory of `path` has it on the disk: a file is lost with its name.
fn sync_name(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|it| !it.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

/// Keeps every other writer out until `file` is closed.
///
/// The log itself is locked and no file beside it: nothing is left over for a person to remove,
/// also where the process is killed, and readers are not kept out.
fn lock(
    file: &File,
    path: &Path,
    failed: impl FnOnce(io::Error) -> LogError,
) -> Result<(), LogError> {
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => LogError::Locked { path: path.to_owned() },
        TryLockError::Error(cause) => failed(cause),
    })
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn lines_are_unsynced_until_they_are_brought_to_the_disk() {
        #[track_caller]
        fn check(sync: SyncPolicy, expected: bool) {
            let directory = TempDir::new().unwrap();
            let mut file = LogFile::create(&directory.path().join("log")).unwrap();
            file.sync = sync;
            file.write_line(&1).unwrap();
            let unsynced = file.unsynced();
            assert_eq!(unsynced.is_some(), expected);
            if let Some(unsynced) = unsynced {
                file.write_line(&2).unwrap();
                unsynced.sync().unwrap();
                file.unsynced().expect("the second line came later").sync().unwrap();
                assert!(file.unsynced().is_none());
            }
        }
        check(SyncPolicy::Always, false);
        check(SyncPolicy::Checkpoint, true);
        check(SyncPolicy::Never, true);
    }

    #[test]
    fn a_line_that_is_not_on_the_disk_where_it_has_to_be_is_not_written() {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("log");
        let mut file = LogFile::create(&path).unwrap();
        file.sync = SyncPolicy::Always;
        file.write_line(&1).unwrap();
        let (_reader, writer) = std::io::pipe().unwrap();
        let good = file.swap(std::os::fd::OwnedFd::from(writer).into());
        file.write_line(&2).unwrap_err();
        file.swap(good.try_clone().unwrap());
        file.write_line(&3).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "1\n3\n");
    }
}
