//! Reading a log, line by line.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use thiserror::Error;

use super::packed::{self, Packed, unpack};
use super::{Event, Header, Recording, VERSION};

/// A log that cannot be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The file does not open.
    #[error("cannot open the session log `{}`", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// A line is not what it should be.
    #[error("cannot read line {line} of the session log `{}`", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// Why.
        #[source]
        cause: LineError,
    },
}

/// What is wrong with a line of a log.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LineError {
    /// The file could not be read on, or is not UTF-8.
    #[error("the file cannot be read on")]
    Read(#[source] io::Error),
    /// The line is no event, or no header where it is the first.
    #[error("it is not a line of a session log")]
    Json(#[source] serde_json::Error),
    /// The log does not begin with a `session` line.
    #[error("the log has no header, a line of type `session`")]
    NoHeader,
    /// The log has another version than [`VERSION`].
    #[error("the log has version {0}, and only {VERSION} is known")]
    Version(u32),
}

/// Reads the log at `path`; packed chunks come as the events they stand for.
///
/// An event of an unknown type is kept, whether or not it may be passed over.
///
/// # Errors
///
/// If the file cannot be read, or for the first line that does not fit.
pub fn read(path: &Path) -> Result<Recording, ReadError> {
    let file =
        File::open(path).map_err(|cause| ReadError::Open { path: path.to_owned(), cause })?;
    parse(path, BufReader::new(file))
}

/// As [`read`], without part of a line at the end: what is left of a crash, or not all there yet.
///
/// # Errors
///
/// As for [`read`].
pub fn read_whole_lines(path: &Path) -> Result<Recording, ReadError> {
    let bytes = fs::read(path).map_err(|cause| ReadError::Open { path: path.to_owned(), cause })?;
    parse(path, whole_lines(&bytes))
}

/// The lines of a log but for a part of one at its end. A part of a line is no JSON: what can be
/// read is whole, and lacks its line break at most. A log of less than a line is left as it is.
pub(super) fn whole_lines(bytes: &[u8]) -> &[u8] {
    let length = bytes.iter().rposition(|it| *it == b'\n').map_or(0, |it| it + 1);
    let (lines, end) = bytes.split_at(length);
    if lines.is_empty() || is_event(end) { bytes } else { lines }
}

/// What `lines`, the lines of the log at `path`, say.
pub(super) fn parse(path: &Path, lines: impl BufRead) -> Result<Recording, ReadError> {
    let mut lines = (1..).zip(lines.lines());
    let failed = |line| move |cause| ReadError::Line { path: path.to_owned(), line, cause };
    let Some((line, first)) = lines.next() else { return Err(failed(1)(LineError::NoHeader)) };
    let header = header(first).map_err(failed(line))?;
    let mut recording = Recording { header, events: Vec::new() };
    for (line, text) in lines {
        recording.events.extend(events(text).map_err(failed(line))?);
    }
    Ok(recording)
}

fn is_event(line: &[u8]) -> bool {
    String::from_utf8(line.to_vec()).is_ok_and(|it| events(Ok(it)).is_ok())
}

/// What decides how the rest of a line is read.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    version: Option<u32>,
}

fn header(line: io::Result<String>) -> Result<Header, LineError> {
    let line = line.map_err(LineError::Read)?;
    let head: Head<'_> = serde_json::from_str(&line).map_err(LineError::Json)?;
    if head.kind != "session" {
        return Err(LineError::NoHeader);
    }
    match head.version {
        Some(version) if version != VERSION => Err(LineError::Version(version)),
        Some(_) | None => serde_json::from_str(&line).map_err(LineError::Json),
    }
}

fn events(line: io::Result<String>) -> Result<Vec<Event>, LineError> {
    let line = line.map_err(LineError::Read)?;
    let head: Head<'_> = serde_json::from_str(&line).map_err(LineError::Json)?;
    if packed::TYPES.contains(&head.kind.as_ref()) {
        let packed: Packed = serde_json::from_str(&line).map_err(LineError::Json)?;
        return Ok(unpack(packed));
    }
    let event = serde_json::from_str(&line).map_err(LineError::Json)?;
    Ok(vec![event])
}
