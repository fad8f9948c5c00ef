//! Writing a log as the session goes.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use thiserror::Error;

use super::{Event, Fact, Header, SurfaceOp};

/// A log that grows, in memory and, unless it is ephemeral, in a file.
///
/// Appending takes the log whole, so an observer cannot append in its turn.
pub struct SessionLog {
    header: Header,
    events: Vec<Event>,
    file: Option<LogFile>,
    clock: fn() -> u64,
    observer: Option<Observer>,
}

type Observer = Box<dyn Fn(&Event) + Send + Sync>;

struct LogFile {
    path: PathBuf,
    file: File,
    /// The length of its whole lines, in bytes.
    length: u64,
    /// Whether part of a line may stand after them.
    torn: bool,
}

/// What a log refused or could not do.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LogError {
    /// The file exists already, or cannot be made.
    #[error("cannot create the session log `{}`", path.display())]
    Create {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// An event could not be written, and is not in the log.
    #[error("cannot append event {seq} to the session log `{}`", path.display())]
    Append {
        /// The event's number, which the next one gets.
        seq: u64,
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// An event that does not stand in the conversation named sources.
    #[error("event {seq} does not stand in the conversation and cannot cite events")]
    NotSurface {
        /// The event's number, which the next one gets.
        seq: u64,
    },
    /// An event named a source that is not before it, or named one twice.
    #[error("event {seq} cannot cite event {cited}, which is cited already or does not exist")]
    Source {
        /// The event's number, which the next one gets.
        seq: u64,
        /// The source.
        cited: u64,
    },
    /// The file may not be on the disk whole.
    #[error("cannot flush the session log `{}`", path.display())]
    Flush {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
}

impl SessionLog {
    /// A log in a new file at `path`, with the header written; `clock` gives Unix milliseconds.
    ///
    /// # Errors
    ///
    /// [`LogError::Create`] if there is anything at `path`, or if it cannot be written.
    pub fn create(path: &Path, header: Header, clock: fn() -> u64) -> Result<Self, LogError> {
        let create = || {
            let file = OpenOptions::new().append(true).create_new(true).open(path)?;
            let mut file = LogFile { path: path.to_owned(), file, length: 0, torn: false };
            file.write_line(&header)?;
            Ok(file)
        };
        let file = create().map_err(|cause| LogError::Create { path: path.to_owned(), cause })?;
        Ok(Self { file: Some(file), ..Self::ephemeral(header, clock) })
    }

    /// A log that is in no file; `clock` gives Unix milliseconds.
    pub fn ephemeral(header: Header, clock: fn() -> u64) -> Self {
        Self { header, events: Vec::new(), file: None, clock, observer: None }
    }

    /// Lets `observer` see each event from now on, once it is in the log, in place of any other.
    pub fn observe(&mut self, observer: impl Fn(&Event) + Send + Sync + 'static) {
        self.observer = Some(Box::new(observer));
    }

    /// Which session it is.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// What happened, in order; an event's number is its place.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Appends `fact` and returns its number.
    ///
    /// A message of the conversation comes last in it. A fact of an unknown type is marked as one
    /// that readers may pass over.
    ///
    /// # Errors
    ///
    /// [`LogError::Append`] if it cannot be written.
    pub fn append(&mut self, fact: Fact) -> Result<u64, LogError> {
        self.commit(fact, None)
    }

    /// Appends `fact`, a message of the conversation made from the events `sources`, and returns
    /// its number.
    ///
    /// # Errors
    ///
    /// [`LogError::NotSurface`] if it is no message of the conversation, [`LogError::Source`]
    /// unless the sources are earlier events and different ones, [`LogError::Append`] if it cannot
    /// be written.
    pub fn append_from(&mut self, fact: Fact, sources: Vec<u64>) -> Result<u64, LogError> {
        let seq = self.next_seq();
        if fact.surface().is_none() {
            return Err(LogError::NotSurface { seq });
        }
        let mut sorted = sources.clone();
        sorted.sort_unstable();
        let twice = sorted.windows(2).find(|it| it[0] == it[1]).map(|it| it[0]);
        let last = sorted.last().copied().filter(|it| *it >= seq);
        if let Some(cited) = twice.or(last) {
            return Err(LogError::Source { seq, cited });
        }
        self.commit(fact, Some(sources))
    }

    /// Waits until everything appended is on the disk.
    ///
    /// # Errors
    ///
    /// [`LogError::Flush`] if the system says it is not.
    pub fn flush(&self) -> Result<(), LogError> {
        let Some(LogFile { path, file, .. }) = &self.file else { return Ok(()) };
        file.sync_data().map_err(|cause| LogError::Flush { path: path.clone(), cause })
    }

    fn commit(&mut self, fact: Fact, sources: Option<Vec<u64>>) -> Result<u64, LogError> {
        let seq = self.next_seq();
        let event = Event {
            seq: Some(seq),
            time: Some((self.clock)()),
            surface_op: fact.surface().map(|_| SurfaceOp::Append),
            source_event_seqs: sources,
            ignorable: matches!(fact, Fact::Other { .. }),
            fact,
        };
        if let Some(file) = &mut self.file
            && let Err(cause) = file.write_line(&event)
        {
            return Err(LogError::Append { seq, path: file.path.clone(), cause });
        }
        self.events.push(event);
        if let (Some(observer), Some(event)) = (&self.observer, self.events.last()) {
            observer(event);
        }
        Ok(seq)
    }

    fn next_seq(&self) -> u64 {
        u64::try_from(self.events.len()).expect("a length is at most 64 bits wide")
    }
}

impl LogFile {
    fn write_line(&mut self, value: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        if self.torn {
            self.file.set_len(self.length)?;
        }
        self.torn = true;
        self.file.write_all(&line)?;
        self.torn = false;
        self.length += u64::try_from(line.len()).expect("a length is at most 64 bits wide");
        Ok(())
    }
}

/// The system's clock, in Unix milliseconds; 0 where it stands before 1970.
pub fn unix_millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
impl SessionLog {
    /// Makes every append fail from now on; only for a log in a file.
    pub(crate) fn seal(&mut self) {
        let LogFile { path, file, .. } = self.file.as_mut().expect("the log is in a file");
        *file = File::open(path).expect("the log's file is there");
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn an_event_that_cannot_be_written_did_not_happen() {
        let directory = tempfile::TempDir::new().unwrap();
        let path = directory.path().join("session.jsonl");
        let mut log = SessionLog::create(&path, Header::new(None, 5), || 42).unwrap();
        let before = fs::read_to_string(&path).unwrap();
        let swap = |log: &mut SessionLog, file| {
            std::mem::replace(&mut log.file.as_mut().unwrap().file, file)
        };

        let file = swap(&mut log, File::open(&path).unwrap());
        let error = log.append(Fact::TurnStart { turn: 1 }).unwrap_err();
        assert!(matches!(error, LogError::Append { seq: 0, .. }), "{error}");
        assert_eq!(log.events(), []);

        (&file).write_all(br#"{"seq":0,"ti"#).unwrap();
        swap(&mut log, file);
        log.append(Fact::TurnStart { turn: 1 }).unwrap();
        let row = r#"{"seq":0,"time":42,"type":"turn/start","data":{"turn":1}}"#;
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{before}{row}\n"));
    }
}
