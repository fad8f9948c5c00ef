//! What the system can say and no crate asks it.
#![expect(unsafe_code, reason = "no crate wraps these calls; each block says what it rests on")]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Which signal a descriptor sends: the crate `libc` has no name for it.
const F_SETSIG: libc::c_int = 10;

/// Whether somebody can write to a file at this moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writers {
    /// Nobody has it open for writing, or mapped so.
    None,
    /// Somebody has.
    Some,
    /// The system does not say, of this file or to this user.
    Unknown,
}

/// Asks the kernel for a read lease of `file`, which it grants where there are no writers, and
/// gives it back at once.
pub(crate) fn writers(file: &File) -> Writers {
    let fd = file.as_raw_fd();
    // First: whoever opens the file for writing while there is a lease has a signal sent, and the
    // usual one ends the process. This one is ignored unless somebody asked for it.
    // SAFETY: the descriptor is open, and the call changes nothing but its signal.
    if unsafe { libc::fcntl(fd, F_SETSIG, libc::SIGURG) } == -1 {
        return Writers::Unknown;
    }
    // SAFETY: as above; the lease ends below, or with the descriptor.
    if unsafe { libc::fcntl(fd, libc::F_SETLEASE, libc::F_RDLCK) } == -1 {
        return match io::Error::last_os_error().raw_os_error() {
            Some(libc::EAGAIN) => Writers::Some,
            _ => Writers::Unknown,
        };
    }
    // SAFETY: as above.
    unsafe { libc::fcntl(fd, libc::F_SETLEASE, libc::F_UNLCK) };
    Writers::None
}

/// Whether this process has `count` more keys for thread-local values. A plugin that uses threads
/// takes one for ever, and one that finds none ends the process.
pub(crate) fn has_thread_keys(count: usize) -> bool {
    let mut keys: Vec<libc::pthread_key_t> = Vec::with_capacity(count);
    while keys.len() < count {
        let mut key = 0;
        // SAFETY: a place to write to; the key is deleted below and used by nobody.
        if unsafe { libc::pthread_key_create(&raw mut key, None) } != 0 {
            break;
        }
        keys.push(key);
    }
    let has = keys.len() == count;
    for key in keys {
        // SAFETY: created above, once.
        unsafe { libc::pthread_key_delete(key) };
    }
    has
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;

    use super::*;

    #[test]
    fn a_file_that_is_open_for_writing_has_writers() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let read = || File::open(file.path()).unwrap();
        assert_eq!(writers(&read()), Writers::Some, "the temporary file itself");
        let path = file.into_temp_path();
        assert_eq!(writers(&File::open(&path).unwrap()), Writers::None);
        let writer = OpenOptions::new().append(true).open(&path).unwrap();
        assert_eq!(writers(&File::open(&path).unwrap()), Writers::Some);
        drop(writer);
        assert_eq!(writers(&File::open(&path).unwrap()), Writers::None);
    }

    #[test]
    fn there_are_some_thread_keys_and_not_more_than_the_system_has() {
        assert!(has_thread_keys(16));
        assert!(!has_thread_keys(100_000));
    }
}
