//! A plugin's file, read once: the bytes that are examined are the bytes that are loaded.

pub mod elf;

mod copies;

use std::fs::{self, File, FileType};
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use lockgate_plugin_api::Manifest;

pub use self::copies::{Copies, CopyError};
use self::elf::Facts;
use crate::refusal::{Code, Refusal};

/// The size in bytes over which a file is no plugin: 512 MiB.
pub const MAX_SIZE: u64 = 512 << 20;

/// What stood in a file at one moment, and what it says of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Artifact {
    /// Where it was read; the file there may have changed since.
    pub path: PathBuf,
    /// The file's content.
    pub bytes: Vec<u8>,
    /// BLAKE3 of the content.
    pub hash: blake3::Hash,
    /// What the content says of itself.
    pub manifest: Manifest,
    /// Whether it has static thread-local storage: such a library can be loaded once only.
    pub static_tls: bool,
}

impl Artifact {
    /// Reads the file at `path`, through symbolic links, without running any of it.
    ///
    /// What is not a file is never opened: a pipe would not answer, a device might act.
    ///
    /// # Errors
    ///
    /// `E-IO` where there is nothing to read, `E-FILE` for what is not a file or has more than
    /// [`MAX_SIZE`] bytes, and what [`elf::inspect`] finds.
    pub fn read(path: &Path) -> Result<Self, Refusal> {
        let found = fs::metadata(path).map_err(|error| unreadable(&error))?;
        if !found.is_file() {
            let message = format!("the path leads to {}, not to a file", kind(found.file_type()));
            return Err(Refusal::new(Code::File, message));
        }
        within_limit(found.len())?;
        let bytes = content(path, found.len()).map_err(|error| unreadable(&error))?;
        within_limit(bytes.len() as u64)?;
        let Facts { manifest, static_tls } = elf::inspect(&bytes)?;
        let hash = blake3::hash(&bytes);
        Ok(Self { path: path.to_owned(), bytes, hash, manifest, static_tls })
    }
}

/// A file that grows meanwhile is read one byte past the limit at most.
fn content(path: &Path, size: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(usize::try_from(size).map_err(io::Error::other)?)?;
    File::open(path)?.take(MAX_SIZE + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn within_limit(size: u64) -> Result<(), Refusal> {
    if size <= MAX_SIZE {
        return Ok(());
    }
    let message = format!("the file has {size} bytes or more, and a plugin at most {MAX_SIZE}");
    Err(Refusal::new(Code::File, message))
}

fn unreadable(error: &io::Error) -> Refusal {
    Refusal::new(Code::Io, format!("the file cannot be read: {error}"))
}

fn kind(of: FileType) -> &'static str {
    if of.is_dir() {
        "a directory"
    } else if of.is_fifo() {
        "a named pipe"
    } else if of.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    use tempfile::TempDir;

    use super::*;

    /// What is said of the file that `make` makes.
    #[track_caller]
    fn check(make: impl FnOnce(&Path), expected: &str) {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("plugin.so");
        make(&path);
        assert_eq!(Artifact::read(&path).unwrap_err().to_string(), expected);
    }

    #[test]
    fn only_a_file_is_opened() {
        check(
            |it| fs::create_dir(it).unwrap(),
            "E-FILE: the path leads to a directory, not to a file",
        );
        check(
            |it| assert!(Command::new("mkfifo").arg(it).status().unwrap().success()),
            "E-FILE: the path leads to a named pipe, not to a file",
        );
        check(
            |it| drop(UnixListener::bind(it).unwrap()),
            "E-FILE: the path leads to a socket, not to a file",
        );
        check(
            |it| symlink("/dev/null", it).unwrap(),
            "E-FILE: the path leads to a device, not to a file",
        );
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let missing = "E-IO: the file cannot be read: No such file or directory (os error 2)";
        check(|_| (), missing);
        check(|it| symlink("nowhere", it).unwrap(), missing);
        check(
            |it| symlink(it, it).unwrap(),
            "E-IO: the file cannot be read: Too many levels of symbolic links (os error 40)",
        );
    }

    #[test]
    fn a_plugin_has_at_most_512_mib() {
        let sized = |size| move |it: &Path| File::create(it).unwrap().set_len(size).unwrap();
        check(
            sized(MAX_SIZE + 9),
            "E-FILE: the file has 536870921 bytes or more, and a plugin at most 536870912",
        );
        check(
            sized(4),
            "E-FORMAT: the file is data that begins with 00 00 00 00, not an ELF library",
        );
    }
}
