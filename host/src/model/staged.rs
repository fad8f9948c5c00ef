//! Answers staged chunk by chunk, with the ways a stream can go wrong.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

use super::answers::{Answer, End};
use crate::session::{BlockKind, Chunk, LlmFailure};

/// A file of staged answers that cannot be read.
#[derive(Debug, Error)]
pub enum StagedError {
    /// The file cannot be read.
    #[error("cannot read the staged answers `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// The file is no JSON array.
    #[error("the staged answers `{}` are not a JSON array", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: serde_json::Error,
    },
    /// An entry is not what it should be.
    #[error(
        "entry {entry} of the staged answers `{}` is neither {{kind: chunks, chunks}}, \
         nor {{kind: hang, readyFile}}, nor {{kind: throw, chunks, message, code}}",
        path.display()
    )]
    Entry {
        /// The file.
        path: PathBuf,
        /// The entry, from 1.
        entry: usize,
        /// Why.
        #[source]
        cause: serde_json::Error,
    },
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
enum Entry {
    Chunks { chunks: Vec<Chunk> },
    Hang { ready_file: PathBuf },
    Throw { chunks: Vec<Chunk>, message: String, code: String },
}

/// Reads the staged answers in `path`, for a session that works in `cwd`.
pub(super) fn read(path: &Path, cwd: &Path) -> Result<Vec<Answer>, StagedError> {
    let text =
        fs::read(path).map_err(|cause| StagedError::Read { path: path.to_owned(), cause })?;
    let entries: Vec<Value> = serde_json::from_slice(&text)
        .map_err(|cause| StagedError::Json { path: path.to_owned(), cause })?;
    let answers = (1..).zip(entries).map(|(entry, value)| {
        let failed = |cause| StagedError::Entry { path: path.to_owned(), entry, cause };
        Ok(answer(serde_json::from_value(value).map_err(failed)?, cwd))
    });
    answers.collect()
}

fn answer(entry: Entry, cwd: &Path) -> Answer {
    match entry {
        Entry::Chunks { chunks } => Answer { chunks, end: End::Over },
        Entry::Hang { ready_file } => Answer {
            chunks: vec![
                Chunk::BlockStart { index: 0, block_type: BlockKind::Text },
                Chunk::TextDelta { index: 0, text: "partial".to_owned() },
            ],
            end: End::Hang(cwd.join(ready_file)),
        },
        Entry::Throw { chunks, message, code } => {
            Answer { chunks, end: End::Fail(LlmFailure::new(code, message)) }
        }
    }
}
