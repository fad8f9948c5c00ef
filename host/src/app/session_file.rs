//! The file that holds the session of `lockgate run`: a new one, or one to go on with.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;

use super::host_setup::state_dir;
use super::{Failure, screen};
use crate::session::{self, Header, LogError, Repair, SessionLog, unix_millis};

#[derive(Debug, Args)]
pub(super) struct SessionArgs {
    /// The file for the session's log, instead of a new one in the user's state directory.
    #[arg(long, value_name = "FILE", env = "LOCKGATE_SESSION")]
    session: Option<PathBuf>,
    /// Goes on with the session in that file.
    #[arg(long, requires = "session")]
    resume: bool,
}

/// A log, and where it is.
pub(super) struct SessionFile {
    pub(super) path: PathBuf,
    pub(super) log: SessionLog,
    /// What was done to it so that it can be gone on with.
    repair: Repair,
}

impl SessionArgs {
    /// The directory that the session to go on with works in.
    pub(super) fn cwd(&self) -> Result<Option<PathBuf>, Failure> {
        match &self.session {
            Some(path) if self.resume => Ok(session::read_whole_lines(path)?.header.cwd),
            Some(_) | None => Ok(None),
        }
    }

    /// Makes the log of a session that works in `cwd`, or opens the one to go on with.
    pub(super) fn open(self, cwd: &Path) -> Result<SessionFile, Failure> {
        if let (true, Some(path)) = (self.resume, &self.session) {
            let (log, repair) = SessionLog::resume(path, unix_millis)?;
            return Ok(SessionFile { path: path.clone(), log, repair });
        }
        let path = match self.session {
            Some(path) => path,
            None => new_file()?,
        };
        let header = Header::new(Some(cwd.to_owned()), unix_millis());
        match SessionLog::create(&path, header, unix_millis) {
            Ok(log) => Ok(SessionFile { path, log, repair: Repair::default() }),
            Err(LogError::Create { path, cause })
                if cause.kind() == io::ErrorKind::AlreadyExists =>
            {
                let path = path.display();
                Err(format!("there is a file `{path}` already: --resume goes on with it").into())
            }
            Err(error) => Err(error.into()),
        }
    }
}

impl SessionFile {
    /// Says what the person would not expect of a session that is gone on with.
    pub(super) fn introduce(&self) {
        if let Some(turn) = self.repair.interrupted {
            screen::aside(&format!("turn {turn} was interrupted, and has ended so"));
        }
        if let Some(torn) = &self.repair.torn {
            let torn = torn.display();
            screen::aside(&format!("the log ended in part of a line, which is now in {torn}"));
        }
        let waiting = self.log.waiting();
        match waiting.next_turn.len() + waiting.next_step.len() {
            0 => {}
            1 => screen::aside("a message of before waits for the next prompt"),
            count => screen::aside(&format!("{count} messages of before wait for the next prompt")),
        }
    }
}

/// Where sessions are kept for which no file is named.
pub(super) fn directory() -> Result<PathBuf, Failure> {
    let state = state_dir()
        .ok_or("there is no place for the session's log: use --session FILE or set HOME")?;
    Ok(state.join("sessions"))
}

/// A file there that does not exist yet.
fn new_file() -> Result<PathBuf, Failure> {
    let dir = directory()?;
    fs::create_dir_all(&dir).map_err(|error| {
        format!("cannot make the directory for session logs `{}`: {error}", dir.display())
    })?;
    let id = uuid::Uuid::new_v4();
    Ok(dir.join(format!("{}-{id}.jsonl", unix_millis())))
}
