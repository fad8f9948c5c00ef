//! Going on with a log that is in a file.

use std::io;
use std::path::{Path, PathBuf};

use lockgate_plugin_api::SessionSource;
use thiserror::Error;

use super::course::Course;
use super::file::LogFile;
use super::read::{self, ReadError};
use super::rule::Violation;
use super::{Event, Fact, Header, LogError, SessionLog};

/// A log that cannot be gone on with. The file is as it was.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ResumeError {
    /// It does not open, somebody else writes to it, or it cannot be repaired.
    #[error(transparent)]
    Log(#[from] LogError),
    /// It is not a log, or one of another version.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Its events are not the course of a session.
    #[error("cannot resume the session log `{}`", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The first event that has no place in it.
        #[source]
        cause: Violation,
    },
    /// What was cut off its end could not be kept.
    #[error("cannot keep the torn end of the session log in `{}`", path.display())]
    Torn {
        /// The file that it was to be kept in.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
}

/// What was done to a log before it could be gone on with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Repair {
    /// The file that holds what was cut off its end: part of a line, which never counted.
    pub torn: Option<PathBuf>,
    /// The turn that was open, and has ended as interrupted.
    pub interrupted: Option<u32>,
}

impl SessionLog {
    /// The log in the file at `path`, to be gone on with; `clock` gives Unix milliseconds. Nobody
    /// else can append to the file as long as the log is there.
    ///
    /// What is left of a line at the end is cut off and kept in a file beside it, `path` with
    /// `.torn` after it. A turn that is open is closed: each tool call of its open step without a
    /// result gets a failure, `TOOL_NOT_STARTED` where it was not made and `TOOL_OUTCOME_UNKNOWN`
    /// where it was, and step and turn end. No tool runs for that, and what waits in the inbox
    /// goes on waiting.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or repaired, is no log of this version, is in use, or holds an
    /// event that is not known or not in its place.
    pub fn resume(path: &Path, clock: fn() -> u64) -> Result<(Self, Repair), ResumeError> {
        let (mut file, bytes) = LogFile::open(path)?;
        let lines = read::whole_lines(&bytes);
        let torn_off = &bytes[lines.len()..];
        let recording = read::parse(path, lines)?;
        let course = validate(&recording.header, &recording.events)
            .map_err(|cause| ResumeError::Invalid { path: path.to_owned(), cause })?;

        let failed = |cause| LogError::Open { path: path.to_owned(), cause };
        let mut repair = Repair::default();
        if !torn_off.is_empty() {
            let torn = beside(path);
            file.cut(lines, torn_off, &torn)
                .map_err(|cause| ResumeError::Torn { path: torn.clone(), cause })?;
            repair.torn = Some(torn);
        } else if !lines.ends_with(b"\n") {
            file.end_line().map_err(failed)?;
        }
        let mut log = Self::ephemeral(recording.header, clock);
        log.file = Some(file);
        log.course = course;
        log.events = recording.events;
        log.source = SessionSource::Resume;
        repair.interrupted = log.close_turn()?;
        log.end_seed()?;
        Ok((log, repair))
    }

    /// Marks where what was there before this run ends.
    pub(super) fn end_seed(&mut self) -> Result<(), LogError> {
        let is_marked = self.events.last().is_none_or(|it| it.fact == Fact::EndSeed {});
        if !is_marked {
            self.append(Fact::EndSeed {})?;
        }
        self.live_from = self.events.len();
        Ok(())
    }
}

/// The course that `events` take in a session with this header.
///
/// # Errors
///
/// For the first event that has no place where it stands.
pub(super) fn validate(header: &Header, events: &[Event]) -> Result<Course, Violation> {
    let mut course = Course::new(header);
    for event in events {
        course.check(event)?;
        course.take(event);
    }
    course.check_end()?;
    Ok(course)
}

/// The name of the file that keeps what is cut off the log at `path`.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".torn");
    name.into()
}
