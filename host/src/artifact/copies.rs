//! The private copies of plugins that this process loads, out of reach of whoever writes the files.

use std::collections::HashSet;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Mutex, PoisonError};

use tempfile::TempDir;
use thiserror::Error;

use super::Artifact;

/// A directory of copies that nobody else uses, removed when this is dropped.
#[derive(Debug)]
pub struct Copies {
    // Dropped before _lock: until it is gone, it is in use.
    dir: TempDir,
    // Says that the directory is in use. The process's number would not: numbers come back, and
    // those of another container mean nothing here.
    _lock: File,
    given: Mutex<HashSet<String>>,
}

/// A private copy that cannot be made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CopyError {
    /// There is no directory for it.
    #[error("cannot make a directory for copies of plugins in `{}`", path.display())]
    Directory {
        /// Where it was to be made.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// The file cannot be written, or its name was given before.
    #[error("cannot write the copy `{}`", path.display())]
    Write {
        /// The copy.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
}

impl Copies {
    /// A new directory in the user's cache directory, or in the temporary one where that fails.
    ///
    /// # Errors
    ///
    /// [`CopyError::Directory`] as [`Copies::within`] says, for the last place that was tried.
    pub fn new() -> Result<Self, CopyError> {
        if let Some(root) = cache(env::var_os("XDG_CACHE_HOME"), env::home_dir()) {
            match Self::within(&root) {
                Ok(copies) => return Ok(copies),
                Err(error) => tracing::info!(?error, "copies of plugins go to a temporary place"),
            }
        }
        let user = rustix::process::geteuid().as_raw();
        Self::within(&env::temp_dir().join(format!("lockgate-{user}")))
    }

    /// A new directory in `root`, which is made where it is missing. Directories in `root` that
    /// processes left behind are removed.
    ///
    /// # Errors
    ///
    /// [`CopyError::Directory`] if `root` cannot be written to, or others than this user can.
    pub fn within(root: &Path) -> Result<Self, CopyError> {
        make(root).map_err(|cause| CopyError::Directory { path: root.to_owned(), cause })
    }

    /// Writes the copy of `artifact` that its load number `generation` maps, and gives its path.
    ///
    /// No path is given twice, not even after the copy was removed: the linker takes a library for
    /// the one that it loaded by the same name.
    ///
    /// # Errors
    ///
    /// [`CopyError::Write`], and no copy is left; by [`io::ErrorKind::AlreadyExists`] for a
    /// generation of these bytes that has a copy.
    pub fn write(&self, artifact: &Artifact, generation: u64) -> Result<PathBuf, CopyError> {
        let hash = artifact.hash.to_hex();
        let name = format!("{}.{generation}.{}.so", plain(&artifact.manifest.name), &hash[..16]);
        let path = self.dir.path().join(&name);
        let given = || self.given.lock().unwrap_or_else(PoisonError::into_inner);
        if !given().insert(name.clone()) {
            return Err(CopyError::Write { path, cause: io::ErrorKind::AlreadyExists.into() });
        }
        if let Err(cause) = write_new(&path, &artifact.bytes) {
            given().remove(&name);
            return Err(CopyError::Write { path, cause });
        }
        Ok(path)
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }
}

/// Where the user's copies go. A relative `xdg` is none.
fn cache(xdg: Option<OsString>, home: Option<PathBuf>) -> Option<PathBuf> {
    let xdg = xdg.map(PathBuf::from).filter(|it| it.is_absolute());
    let cache = xdg.or_else(|| home.filter(|it| it.is_absolute()).map(|it| it.join(".cache")))?;
    Some(cache.join("lockgate"))
}

fn make(root: &Path) -> io::Result<Copies> {
    DirBuilder::new().recursive(true).mode(0o700).create(root)?;
    // Whoever can move a link on the way could put other copies in the place of ours.
    let root = root.canonicalize()?;
    is_ours_alone(&root)?;
    // No other process may sweep while a directory is there and not locked yet.
    let sweeping = File::open(&root)?;
    sweeping.lock()?;
    sweep(&root)?;
    let dir = tempfile::Builder::new()
        .prefix(&format!("{}.", process::id()))
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(&root)?;
    let lock = File::open(dir.path())?;
    lock.try_lock()?;
    Ok(Copies { dir, _lock: lock, given: Mutex::default() })
}

fn is_ours_alone(root: &Path) -> io::Result<()> {
    let found = fs::metadata(root)?;
    if found.uid() == rustix::process::geteuid().as_raw() && found.mode() & 0o022 == 0 {
        return Ok(());
    }
    let message = "other users can write to the directory";
    Err(io::Error::new(io::ErrorKind::PermissionDenied, message))
}

/// Removes the directories in `root` that nobody uses. One that stays is tried again next time.
fn sweep(root: &Path) -> io::Result<()> {
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        let path = entry.path();
        let is_ours = entry.file_type()?.is_dir() && is_named_by_us(&entry.file_name());
        if is_ours && let Err(error) = remove_unused(&path) {
            tracing::warn!(path = %path.display(), %error, "old copies of plugins stay");
        }
    }
    Ok(())
}

fn is_named_by_us(name: &OsStr) -> bool {
    let pid = name.to_str().and_then(|it| it.split_once('.')).map(|(pid, _)| pid);
    pid.is_some_and(|it| it.parse::<u32>().is_ok())
}

fn remove_unused(dir: &Path) -> io::Result<()> {
    let lock = match File::open(dir) {
        Ok(lock) => lock,
        // Whoever used it has just removed it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    match lock.try_lock() {
        Ok(()) => fs::remove_dir_all(dir),
        Err(TryLockError::WouldBlock) => Ok(()),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// A name with which a file can begin: a manifest may say anything.
fn plain(name: &str) -> String {
    let keep = |it: char| if it.is_ascii_alphanumeric() || it == '-' { it } else { '_' };
    name.chars().take(64).map(keep).collect()
}

/// Writes a file that can be mapped and not changed, or none.
fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o500).open(path)?;
    file.write_all(bytes).inspect_err(|_| {
        if let Err(error) = fs::remove_file(path) {
            tracing::warn!(path = %path.display(), %error, "part of a copy stays");
        }
    })
}

#[cfg(test)]
mod tests {
    use lockgate_plugin_api::Manifest;
    use serde_json::json;

    use super::*;

    fn artifact(name: &str) -> Artifact {
        let manifest = json!({
            "name": name, "version": "1.0.0", "api": "0.1.0", "min_host": "0.1.0",
            "symbol": "LOCKGATE_PLUGIN_V1__a", "panic": "unwind", "target": "any",
        });
        let manifest: Manifest = serde_json::from_value(manifest).unwrap();
        let bytes = b"abc".to_vec();
        let hash = blake3::hash(&bytes);
        Artifact { path: "a.so".into(), bytes, hash, manifest, static_tls: false }
    }

    fn names(dir: &Path) -> Vec<String> {
        let name = |it: io::Result<fs::DirEntry>| it.unwrap().file_name().into_string().unwrap();
        let mut names: Vec<_> = fs::read_dir(dir).unwrap().map(name).collect();
        names.sort();
        names
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn a_copy_is_whole_and_named_by_plugin_generation_and_hash() {
        #[track_caller]
        fn check(name: &str, generation: u64, expected: &str) {
            let root = TempDir::new().unwrap();
            let copies = Copies::within(root.path()).unwrap();
            let copy = copies.write(&artifact(name), generation).unwrap();
            assert_eq!(copy, copies.path().join(expected));
            assert_eq!(fs::read(&copy).unwrap(), b"abc");
            assert_eq!((mode(&copy), mode(copies.path())), (0o500, 0o700));
        }
        check("native-guard", 1, "native-guard.1.6437b3ac38465133.so");
        check("../é /\0", 27, "_______.27.6437b3ac38465133.so");
        check(&"n".repeat(300), 2, &format!("{}.2.6437b3ac38465133.so", "n".repeat(64)));
    }

    #[test]
    fn no_path_is_given_twice() {
        let root = TempDir::new().unwrap();
        let copies = Copies::within(root.path()).unwrap();
        let copy = copies.write(&artifact("a"), 1).unwrap();
        fs::remove_file(&copy).unwrap();
        let CopyError::Write { path, cause } = copies.write(&artifact("a"), 1).unwrap_err() else {
            panic!("the directory is there");
        };
        assert_eq!((path, cause.kind()), (copy, io::ErrorKind::AlreadyExists));
        assert_eq!(names(copies.path()), [""; 0]);
        assert_ne!(
            copies.write(&artifact("a"), 2).unwrap(),
            copies.write(&artifact("b"), 1).unwrap()
        );
    }

    #[test]
    fn a_file_in_the_way_is_not_written_to() {
        let root = TempDir::new().unwrap();
        let copies = Copies::within(root.path()).unwrap();
        let copy = copies.write(&artifact("a"), 1).unwrap();
        let other = copy.with_file_name("a.2.6437b3ac38465133.so");
        fs::write(&other, "other").unwrap();
        assert!(matches!(
            copies.write(&artifact("a"), 2),
            Err(CopyError::Write { path, cause })
                if path == other && cause.kind() == io::ErrorKind::AlreadyExists
        ));
        assert_eq!(fs::read(&other).unwrap(), b"other");
    }

    #[test]
    fn copies_go_when_they_are_dropped() {
        let root = TempDir::new().unwrap();
        let copies = Copies::within(&root.path().join("made/too")).unwrap();
        copies.write(&artifact("a"), 1).unwrap();
        drop(copies);
        assert_eq!(names(&root.path().join("made/too")), [""; 0]);
    }

    #[test]
    fn what_others_left_goes_and_what_is_in_use_stays() {
        let root = TempDir::new().unwrap();
        for name in ["7.left", "no-number.a", "8"] {
            fs::create_dir(root.path().join(name)).unwrap();
            fs::write(root.path().join(name).join("a.so"), "").unwrap();
        }
        fs::write(root.path().join("9.file"), "").unwrap();
        let first = Copies::within(root.path()).unwrap();
        let copy = first.write(&artifact("a"), 1).unwrap();
        let second = Copies::within(root.path()).unwrap();
        assert!(copy.is_file());
        let mut expected = ["8", "9.file", "no-number.a"].map(str::to_owned).to_vec();
        expected.extend(
            [&first, &second].map(|it| it.path().file_name().unwrap().to_str().unwrap().to_owned()),
        );
        expected.sort();
        assert_eq!(names(root.path()), expected);
    }

    #[test]
    fn a_directory_that_others_can_write_to_is_not_used() {
        let root = TempDir::new().unwrap();
        fs::set_permissions(root.path(), Permissions::from_mode(0o770)).unwrap();
        let error = Copies::within(root.path()).unwrap_err();
        let CopyError::Directory { path, cause } = error else { panic!("nothing was written") };
        assert_eq!((path.as_path(), cause.kind()), (root.path(), io::ErrorKind::PermissionDenied));
    }

    #[test]
    fn the_cache_directory_is_the_users() {
        #[track_caller]
        fn check(xdg: Option<&str>, home: Option<&str>, expected: Option<&str>) {
            assert_eq!(cache(xdg.map(Into::into), home.map(Into::into)), expected.map(Into::into));
        }
        check(Some("/x"), Some("/home/u"), Some("/x/lockgate"));
        check(Some("x"), Some("/home/u"), Some("/home/u/.cache/lockgate"));
        check(None, Some("/home/u"), Some("/home/u/.cache/lockgate"));
        check(Some(""), Some(""), None);
        check(None, None, None);
    }
}
