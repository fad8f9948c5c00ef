//! Builds of plugins that were shut out, by what is in them.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The builds that are shut out, by the hash of the file. Without a file of its own it is
/// forgotten with the host.
#[derive(Debug)]
pub struct Quarantine {
    file: Option<PathBuf>,
    builds: BTreeMap<String, ShutOut>,
}

/// Why a build was shut out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShutOut {
    /// The plugin.
    pub plugin: String,
    /// Why.
    pub reason: String,
    /// When, in Unix milliseconds.
    pub at: u64,
}

/// A list of builds that cannot be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum QuarantineError {
    /// The file cannot be read.
    #[error("cannot read the quarantine `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// The file is something else.
    #[error("the quarantine `{}` is not what this program writes there", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: serde_json::Error,
    },
    /// The file cannot be written.
    #[error("cannot write the quarantine `{}`", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
}

impl Quarantine {
    /// What stands in `file`, where there is one; nothing where it does not exist.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn open(file: Option<&Path>) -> Result<Self, QuarantineError> {
        let builds = file.map(read).transpose()?.unwrap_or_default();
        Ok(Self { file: file.map(Path::to_owned), builds })
    }

    /// The builds, by hash.
    pub fn builds(&self) -> &BTreeMap<String, ShutOut> {
        &self.builds
    }

    /// Shuts a build out.
    ///
    /// # Errors
    /// When that cannot be written; it is shut out for this host even so.
    pub fn add(&mut self, hash: String, why: ShutOut) -> Result<(), QuarantineError> {
        self.builds.insert(hash, why);
        self.write()
    }

    /// Lets the builds in again whose hash begins with `hash`. Returns how many.
    ///
    /// # Errors
    /// When that cannot be written.
    pub fn clear(&mut self, hash: &str) -> Result<usize, QuarantineError> {
        let before = self.builds.len();
        self.builds.retain(|it, _| !it.starts_with(hash));
        self.write()?;
        Ok(before - self.builds.len())
    }

    fn write(&self) -> Result<(), QuarantineError> {
        let Some(path) = &self.file else { return Ok(()) };
        let write = || {
            let dir = path.parent().unwrap_or(Path::new("."));
            fs::create_dir_all(dir)?;
            // Whole or not at all, whoever reads it meanwhile.
            let mut new = tempfile::NamedTempFile::new_in(dir)?;
            serde_json::to_writer_pretty(&mut new, &self.builds)?;
            new.write_all(b"\n")?;
            new.persist(path)?;
            Ok(())
        };
        write().map_err(|cause| QuarantineError::Write { path: path.clone(), cause })
    }
}

fn read(path: &Path) -> Result<BTreeMap<String, ShutOut>, QuarantineError> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(cause) => return Err(QuarantineError::Read { path: path.to_owned(), cause }),
    };
    serde_json::from_slice(&text)
        .map_err(|cause| QuarantineError::Json { path: path.to_owned(), cause })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shut_out_is_so_for_the_next_host_too_until_it_is_let_in() {
        let dir = tempfile::TempDir::new().unwrap();
        let file = dir.path().join("made/quarantine.json");
        let why = ShutOut { plugin: "p".into(), reason: "three failures".into(), at: 5 };
        let mut quarantine = Quarantine::open(Some(&file)).unwrap();
        assert!(quarantine.builds().is_empty());
        quarantine.add("abc".into(), why.clone()).unwrap();
        quarantine.add("abd".into(), why.clone()).unwrap();
        let mut again = Quarantine::open(Some(&file)).unwrap();
        assert_eq!(again.builds(), quarantine.builds());
        assert_eq!(again.clear("abc").unwrap(), 1);
        let last = Quarantine::open(Some(&file)).unwrap();
        assert_eq!(last.builds(), &[("abd".to_owned(), why)].into());
    }

    #[test]
    fn a_list_that_is_none_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "[]").unwrap();
        let error = Quarantine::open(Some(file.path())).unwrap_err();
        assert!(matches!(error, QuarantineError::Json { path, .. } if path == file.path()));
    }
}
