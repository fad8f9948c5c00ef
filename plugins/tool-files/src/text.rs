//! The text of a file: capped, and read from the file that was looked at.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use lockgate_plugin_api::ToolError;

use crate::failure::{self, Code, failed};
use crate::path::Place;

/// The text of the file at `place`.
///
/// # Errors
/// What it is instead of a text file of at most `max` bytes, or what the system says.
pub(crate) fn text(place: &Place, max: u64) -> Result<String, ToolError> {
    let told = |error: io::Error| failure::io("read", place.given, &error);
    let seen = fs::symlink_metadata(&place.path).map_err(told)?;
    if seen.is_dir() {
        return Err(failure::is_directory(place));
    }
    // Also a symbolic link, which can only have come here since the path was resolved. Opening a
    // pipe would wait for a writer.
    if !seen.is_file() {
        return Err(failure::is_special(place));
    }
    let Some(file) = open_seen(&place.path, &seen).map_err(told)? else {
        let message = format!("`{}` was replaced while it was opened; try again", place.given);
        return Err(failed(Code::Io, message));
    };
    let mut bytes = Vec::new();
    // The size that the system tells is not to be relied on: the file may grow, or be in /proc.
    let read = file.take(max.saturating_add(1)).read_to_end(&mut bytes).map_err(told)?;
    if u64::try_from(read).is_ok_and(|it| it <= max) {
        return String::from_utf8(bytes).ok().filter(|it| !it.contains('\0')).ok_or_else(|| {
            let message = format!("`{}` is not a text in UTF-8 and cannot be shown", place.given);
            failed(Code::NotText, message)
        });
    }
    Err(failure::too_large(place, "is", max))
}

/// Opens the file at `path` if it still is the one that was `seen` there; a link that has taken
/// its place leads to another one. Std has no portable way to open without following.
fn open_seen(path: &Path, seen: &Metadata) -> io::Result<Option<File>> {
    let file = File::open(path)?;
    let opened = file.metadata()?;
    let is_seen = (opened.dev(), opened.ino()) == (seen.dev(), seen.ino());
    Ok(is_seen.then_some(file))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::open_seen;

    #[test]
    fn only_the_file_that_was_seen_is_opened() {
        let tree = TempDir::new().unwrap();
        let [path, other] = ["a", "b"].map(|it| tree.path().join(it));
        fs::write(&path, "a").unwrap();
        fs::write(&other, "b").unwrap();
        let seen = fs::symlink_metadata(&path).unwrap();
        assert!(open_seen(&path, &seen).unwrap().is_some());
        fs::rename(&path, tree.path().join("away")).unwrap();
        symlink(&other, &path).unwrap();
        assert!(open_seen(&path, &seen).unwrap().is_none());
    }
}
