//! Puts a file in its place as a whole: no reader ever sees half of it.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process;

use lockgate_plugin_api::ToolError;

use crate::failure::{self, Code, failed};
use crate::path::Place;

/// What was in the place before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Before {
    Nothing,
    File,
}

/// Writes `content` to `place`, with the mode of the file that it replaces, and creates the
/// directories above it.
///
/// The last step is a rename, which replaces a link in that place and does not follow it.
///
/// # Errors
/// What is in the place that is no writable file, more than `max` bytes, or what the system says.
pub(crate) fn replace(place: &Place, content: &str, max: u64) -> Result<Before, ToolError> {
    let told = |error: io::Error| failure::io("write", place.given, &error);
    if !u64::try_from(content.len()).is_ok_and(|it| it <= max) {
        return Err(failure::too_large(place, "would be", max));
    }
    let mode = match fs::symlink_metadata(&place.path) {
        Ok(seen) if seen.is_dir() => return Err(failure::is_directory(place)),
        Ok(seen) if !seen.is_file() => return Err(failure::is_special(place)),
        // A rename does not ask for this, but whoever made it read-only meant it.
        Ok(seen) if seen.permissions().readonly() => {
            let message = format!("`{}` is read-only; use another file", place.given);
            return Err(failed(Code::Permission, message));
        }
        Ok(seen) => Some(seen.permissions().mode() & 0o777),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(told(error)),
    };
    put(&place.path, content, mode).map_err(told)?;
    Ok(if mode.is_some() { Before::File } else { Before::Nothing })
}

/// Writes a new file and moves it to `path`; a failure leaves nothing but directories.
fn put(path: &Path, content: &str, mode: Option<u32>) -> io::Result<()> {
    let directory = path.parent().expect("only `/` has no parent, and it is a directory");
    fs::create_dir_all(directory)?;
    let (temporary, file) = create_in(directory, mode.unwrap_or(0o666))?;
    let put = fill(file, content, mode).and_then(|()| fs::rename(&temporary, path));
    if put.is_err() {
        // The first error is the one to tell; this one would only say that a file is left.
        drop(fs::remove_file(&temporary));
    }
    put
}

/// A new file under a name that is free. It never has more rights than `mode`.
fn create_in(directory: &Path, mode: u32) -> io::Result<(PathBuf, File)> {
    // What a killed process left behind may have its number, and another instance writes too.
    for attempt in 0..1000 {
        let path = directory.join(format!(".lockgate-{}-{attempt}.tmp", process::id()));
        match OpenOptions::new().write(true).create_new(true).mode(mode).open(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("no name is free for the temporary file; remove `.lockgate-*.tmp`"))
}

fn fill(mut file: File, content: &str, mode: Option<u32>) -> io::Result<()> {
    file.write_all(content.as_bytes())?;
    if let Some(mode) = mode {
        // The umask has taken rights away when the file was created.
        file.set_permissions(Permissions::from_mode(mode))?;
    }
    // Or a power cut could leave an empty file under the final name.
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::put;

    #[test]
    fn a_file_that_cannot_be_put_in_its_place_is_removed() {
        let tree = TempDir::new().unwrap();
        let path = tree.path().join("sub");
        fs::create_dir(&path).unwrap();
        let error = put(&path, "n", None).unwrap_err();
        assert_eq!(error.to_string(), "Is a directory (os error 21)");
        let left: Vec<_> =
            fs::read_dir(tree.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert_eq!(left, ["sub"]);
    }
}
