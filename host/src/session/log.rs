//! Writing a log as the session goes.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use lockgate_plugin_api::{Inbox, SessionSource};
use thiserror::Error;

use super::course::Course;
use super::file::{LogFile, SyncPolicy, Unsynced};
use super::repair::{self, Closing};
use super::rule::Violation;
use super::{Event, Fact, Header, SurfaceOp};

/// A log that grows, in memory and, unless it is ephemeral, in a file.
///
/// Appending takes the log whole, so an observer cannot append in its turn.
pub struct SessionLog {
    pub(super) header: Header,
    pub(super) events: Vec<Event>,
    /// What they have come to.
    pub(super) course: Course,
    pub(super) file: Option<LogFile>,
    pub(super) clock: fn() -> u64,
    observer: Option<Observer>,
    /// How the session came to start.
    pub(super) source: SessionSource,
    /// How many events were there before that.
    pub(super) live_from: usize,
}

type Observer = Box<dyn Fn(&Event) + Send + Sync>;

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
    /// The file is not there, or cannot be read or written.
    #[error("cannot open the session log `{}`", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// Somebody else appends to the file.
    #[error("the session log `{}` is in use by another agent or program", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
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
    /// An event has no place where it was to stand.
    #[error(transparent)]
    Invalid(#[from] Violation),
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
    /// Nobody else can append to the file as long as the log is there.
    ///
    /// # Errors
    ///
    /// [`LogError::Create`] if there is anything at `path`, or if it cannot be written.
    pub fn create(path: &Path, header: Header, clock: fn() -> u64) -> Result<Self, LogError> {
        let mut file = LogFile::create(path)?;
        file.write_line(&header)
            .map_err(|cause| LogError::Create { path: path.to_owned(), cause })?;
        Ok(Self { file: Some(file), ..Self::ephemeral(header, clock) })
    }

    /// A log that is in no file; `clock` gives Unix milliseconds.
    pub fn ephemeral(header: Header, clock: fn() -> u64) -> Self {
        Self {
            course: Course::new(&header),
            header,
            events: Vec::new(),
            file: None,
            clock,
            observer: None,
            source: SessionSource::Startup,
            live_from: 0,
        }
    }

    /// The same log, with its lines on the disk when `policy` says; for a log in a file.
    pub fn with_sync(mut self, policy: SyncPolicy) -> Self {
        if let Some(file) = &mut self.file {
            file.sync = policy;
        }
        self
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

    /// What waits for the session's agent.
    pub fn waiting(&self) -> &Inbox {
        &self.course.waiting
    }

    /// How the session came to start.
    pub(crate) fn source(&self) -> SessionSource {
        self.source
    }

    /// What happened since then.
    pub(crate) fn live(&self) -> &[Event] {
        &self.events[self.live_from..]
    }

    /// The number of the next turn.
    pub(crate) fn next_turn(&self) -> u32 {
        self.course.turns + 1
    }

    /// Appends `fact` and returns its number.
    ///
    /// A message of the conversation comes last in it. A fact of an unknown type is marked as one
    /// that readers may pass over.
    ///
    /// # Errors
    ///
    /// [`LogError::Invalid`] if it has no place there, [`LogError::Append`] if it cannot be
    /// written.
    pub fn append(&mut self, fact: Fact) -> Result<u64, LogError> {
        self.commit(fact, None, (self.clock)())
    }

    /// Appends `fact`, a message of the conversation made from the events `sources`, and returns
    /// its number.
    ///
    /// # Errors
    ///
    /// [`LogError::Invalid`] if it has no place there, is no message of the conversation or cites
    /// what it cannot, [`LogError::Append`] if it cannot be written.
    pub fn append_from(&mut self, fact: Fact, sources: Vec<u64>) -> Result<u64, LogError> {
        self.commit(fact, Some(sources), (self.clock)())
    }

    /// Ends the step that is open, if one is. A call of it without a result gets a failure.
    pub(crate) fn close_step(&mut self) -> Result<(), LogError> {
        self.close(repair::of_step)
    }

    /// Ends the turn that is open, if one is, as interrupted. Returns its number.
    pub(crate) fn close_turn(&mut self) -> Result<Option<u32>, LogError> {
        let open = self.course.turn.as_ref().map(|it| it.number);
        self.close(repair::of_turn)?;
        Ok(open)
    }

    /// Appends one event after the other. They are as old as the last: nobody knows when what they
    /// stand for happened.
    fn close(&mut self, next: impl Fn(&Course) -> Option<Closing>) -> Result<(), LogError> {
        let time = self.events.last().and_then(|it| it.time).unwrap_or_else(self.clock);
        while let Some((fact, sources)) = next(&self.course) {
            self.commit(fact, sources, time)?;
        }
        Ok(())
    }

    /// Waits until everything appended is on the disk, whatever the policy. Blocks.
    ///
    /// # Errors
    ///
    /// [`LogError::Flush`] if the system says it is not.
    pub fn flush(&self) -> Result<(), LogError> {
        self.unsynced().map_or(Ok(()), Unsynced::sync)
    }

    /// What may not be on the disk.
    pub(crate) fn unsynced(&self) -> Option<Unsynced> {
        self.file.as_ref()?.unsynced()
    }

    /// What has to be on the disk before anything is made of it.
    pub(crate) fn checkpoint(&self) -> Option<Unsynced> {
        let file = self.file.as_ref()?;
        match file.sync {
            SyncPolicy::Checkpoint => file.unsynced(),
            SyncPolicy::Always | SyncPolicy::Never => None,
        }
    }

    fn commit(
        &mut self,
        fact: Fact,
        sources: Option<Vec<u64>>,
        time: u64,
    ) -> Result<u64, LogError> {
        self.write(Event {
            seq: Some(self.course.next()),
            time: Some(time),
            surface_op: fact.surface().map(|_| SurfaceOp::Append),
            source_event_seqs: sources,
            ignorable: matches!(fact, Fact::Other { .. }),
            fact,
        })
    }

    /// Appends `event` and returns its number.
    pub(super) fn write(&mut self, event: Event) -> Result<u64, LogError> {
        let seq = self.course.next();
        self.course.check(&event)?;
        if let Some(file) = &mut self.file
            && let Err(cause) = file.write_line(&event)
        {
            return Err(LogError::Append { seq, path: file.path.clone(), cause });
        }
        self.course.take(&event);
        self.events.push(event);
        if let (Some(observer), Some(event)) = (&self.observer, self.events.last()) {
            observer(event);
        }
        Ok(seq)
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
        let file = self.file.as_mut().expect("the log is in a file");
        file.swap(std::fs::File::open(&file.path).expect("the log's file is there"));
    }

    /// Appends to a pipe from now on, which cannot be brought to a disk; only for a log in a file.
    pub(crate) fn unhinge(&mut self) {
        let (reader, writer) = std::io::pipe().expect("a process has room for a pipe");
        std::mem::forget(reader);
        let file = self.file.as_mut().expect("the log is in a file");
        file.swap(std::os::fd::OwnedFd::from(writer).into());
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::Write;

    use super::*;

    #[test]
    fn a_checkpoint_waits_where_the_policy_says_so() {
        #[track_caller]
        fn check(policy: SyncPolicy, at_checkpoint: bool, in_all: bool) {
            let directory = tempfile::TempDir::new().unwrap();
            let path = directory.path().join("session.jsonl");
            let log = SessionLog::create(&path, Header::new(None, 5), || 42).unwrap();
            let mut log = log.with_sync(policy);
            log.append(Fact::TurnStart { turn: 1 }).unwrap();
            let waits = (log.checkpoint().is_some(), log.unsynced().is_some());
            assert_eq!(waits, (at_checkpoint, in_all), "{policy:?}");
            log.flush().unwrap();
            assert!(log.unsynced().is_none());
        }
        check(SyncPolicy::Always, false, false);
        check(SyncPolicy::Checkpoint, true, true);
        check(SyncPolicy::Never, false, true);
    }

    #[test]
    fn an_event_that_cannot_be_written_did_not_happen() {
        let directory = tempfile::TempDir::new().unwrap();
        let path = directory.path().join("session.jsonl");
        let mut log = SessionLog::create(&path, Header::new(None, 5), || 42).unwrap();
        let before = fs::read_to_string(&path).unwrap();
        let swap = |log: &mut SessionLog, file| log.file.as_mut().unwrap().swap(file);

        let file = swap(&mut log, File::open(&path).unwrap());
        let error = log.append(Fact::TurnStart { turn: 1 }).unwrap_err();
        assert!(matches!(error, LogError::Append { seq: 0, .. }), "{error}");
        assert_eq!(log.events(), []);

        (&*file).write_all(br#"{"seq":0,"ti"#).unwrap();
        swap(&mut log, file.try_clone().unwrap());
        log.append(Fact::TurnStart { turn: 1 }).unwrap();
        let row = r#"{"seq":0,"time":42,"type":"turn/start","data":{"turn":1}}"#;
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{before}{row}\n"));
    }
}
