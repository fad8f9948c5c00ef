//! Finds the files in the plugin directories that may be plugins.

use std::env::consts::DLL_SUFFIX;
use std::ffi::OsStr;
use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// A plugin directory that cannot be listed, a missing one included.
#[derive(Debug, Error)]
#[error("cannot list the plugin directory `{}`", path.display())]
pub struct ScanError {
    /// The directory.
    pub path: PathBuf,
    /// Why.
    #[source]
    pub cause: io::Error,
}

/// The candidates in `dirs`, not below them, by file name; under one name, by the order of `dirs`.
///
/// A candidate is anything but a directory that is named as this platform names its shared
/// libraries, so that what cannot be loaded is refused by name and not passed over. Hidden files
/// and those that editors write on the side are passed over.
///
/// # Errors
///
/// For the first directory that cannot be listed.
pub fn scan(dirs: &[impl AsRef<Path>]) -> Result<Vec<PathBuf>, ScanError> {
    let mut found = Vec::new();
    for dir in dirs {
        let dir = dir.as_ref();
        list(dir, &mut found).map_err(|cause| ScanError { path: dir.to_owned(), cause })?;
    }
    found.sort_by(|a, b| a.file_name().cmp(&b.file_name()));
    Ok(found)
}

fn list(dir: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let path = entry.path();
        if is_candidate(&entry.file_name()) && !is_dir(&entry, &path)? {
            found.push(path);
        }
    }
    Ok(())
}

/// The list says what stands in it, and only where a link leads has to be asked.
fn is_dir(entry: &DirEntry, path: &Path) -> io::Result<bool> {
    let kind = entry.file_type()?;
    Ok(if kind.is_symlink() { path.is_dir() } else { kind.is_dir() })
}

fn is_candidate(name: &OsStr) -> bool {
    let Some(stem) = name.as_encoded_bytes().strip_suffix(DLL_SUFFIX.as_bytes()) else {
        return false;
    };
    !matches!(stem, [] | [b'.' | b'#' | b'~', ..] | [.., b'~'])
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;

    /// What a directory with these files and directories holds.
    #[track_caller]
    fn check(names: &[&str], expected: &[&str]) {
        let dir = TempDir::new().unwrap();
        for name in names {
            let path = dir.path().join(format!("{name}{DLL_SUFFIX}"));
            match name.split_once(':') {
                Some(("dir", _)) => fs::create_dir(path).unwrap(),
                Some(("dir-link", _)) => symlink(dir.path(), path).unwrap(),
                Some(("dangling", _)) => symlink("nowhere", path).unwrap(),
                _ => fs::write(path, "").unwrap(),
            }
        }
        fs::write(dir.path().join("plain.txt"), "").unwrap();
        fs::write(dir.path().join(format!("saved{DLL_SUFFIX}~")), "").unwrap();
        let expected: Vec<_> =
            expected.iter().map(|it| dir.path().join(format!("{it}{DLL_SUFFIX}"))).collect();
        assert_eq!(scan(&[dir.path()]).unwrap(), expected);
    }

    #[test]
    fn a_candidate_is_named_as_a_library_and_is_no_directory() {
        check(&[], &[]);
        check(&["libb", "liba"], &["liba", "libb"]);
        check(&["dir:a", "dir-link:a", "dangling:a"], &["dangling:a"]);
    }

    #[test]
    fn what_is_hidden_or_temporary_is_passed_over() {
        check(&["", ".hidden", ".#lock", "#autosave", "~old", "older~", "a"], &["a"]);
    }

    #[test]
    fn one_name_in_two_directories_comes_in_the_order_of_the_directories() {
        let root = TempDir::new().unwrap();
        let (one, two) = (root.path().join("1"), root.path().join("2"));
        let names = ["a", "b"].map(|it| format!("{it}{DLL_SUFFIX}"));
        let path = |dir: &Path, name: usize| dir.join(&names[name]);
        fs::create_dir(&one).unwrap();
        fs::create_dir(&two).unwrap();
        for file in [path(&one, 1), path(&one, 0), path(&two, 0)] {
            fs::write(file, "").unwrap();
        }
        assert_eq!(scan(&[&two, &one]).unwrap(), [path(&two, 0), path(&one, 0), path(&one, 1)]);
    }

    #[test]
    fn a_missing_directory_is_named() {
        let error = scan(&["/nowhere/plugins"]).unwrap_err();
        assert_eq!(error.path, Path::new("/nowhere/plugins"));
        assert_eq!(error.cause.kind(), io::ErrorKind::NotFound);
        assert_eq!(error.to_string(), "cannot list the plugin directory `/nowhere/plugins`");
    }
}
