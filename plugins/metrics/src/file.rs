//! Puts the file in its place as a whole: nobody who reads it sees half of it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process;

/// The file could not be written.
#[derive(Debug, thiserror::Error)]
#[error(
    "the metrics cannot be written to `{}`; its directory must exist and be writable",
    path.display()
)]
pub(crate) struct Unwritten {
    path: PathBuf,
    #[source]
    cause: io::Error,
}

/// Replaces what is in `path` by `text`.
pub(crate) fn replace(path: &Path, text: &str) -> Result<(), Unwritten> {
    put(path, text).map_err(|cause| Unwritten { path: path.to_owned(), cause })
}

fn put(path: &Path, text: &str) -> io::Result<()> {
    let (temporary, mut file) = create_beside(path)?;
    let put = file.write_all(text.as_bytes()).and_then(|()| fs::rename(&temporary, path));
    if put.is_err() {
        // The first error is the one to tell; this one would only say that a file is left.
        drop(fs::remove_file(&temporary));
    }
    put
}

/// A new file in the same directory, under a name that is free and that no collector reads.
fn create_beside(path: &Path) -> io::Result<(PathBuf, File)> {
    // What a killed process left behind may have its number, and another instance writes too.
    for attempt in 0..100 {
        let name = format!(".lockgate-metrics-{}-{attempt}.tmp", process::id());
        let temporary = path.with_file_name(name);
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            Ok(file) => return Ok((temporary, file)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("no name is free beside it; remove `.lockgate-metrics-*.tmp`"))
}
