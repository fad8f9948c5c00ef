//! Our ends of a subprocess's pipes.

use std::io::{self, PipeReader};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::ChildStdin;

/// The bytes taken from a pipe at once.
const CHUNK: usize = 16 * 1024;

/// The end that a stream is read from.
pub(super) type Pipe = Box<dyn AsyncRead + Send + Unpin>;

/// The end of a pipe that was made by hand.
///
/// # Errors
///
/// If the runtime cannot wait for it.
#[cfg(unix)]
pub(super) fn asynchronous(reader: PipeReader) -> io::Result<Pipe> {
    let reader = tokio::net::unix::pipe::Receiver::from_owned_fd(reader.into())?;
    Ok(Box::new(reader))
}

/// The end of a pipe that was made by hand.
#[cfg(not(unix))]
pub(super) fn asynchronous(reader: PipeReader) -> io::Result<Pipe> {
    let reader = std::os::windows::io::OwnedHandle::from(reader);
    Ok(Box::new(tokio::fs::File::from_std(reader.into())))
}

/// Writes `text` and closes. A process need not read all that it is offered.
pub(super) async fn feed(input: Option<ChildStdin>, text: String) {
    if let Some(mut input) = input {
        let _unread = input.write_all(text.as_bytes()).await;
    }
}

/// The beginning of a stream.
pub(super) struct Kept {
    /// What was kept.
    pub(super) bytes: Vec<u8>,
    room: usize,
    /// Whether there was more.
    pub(super) cut: bool,
}

impl Kept {
    /// Nothing yet, and at most `keep` bytes; `None` for no bound.
    pub(super) fn new(keep: Option<u64>) -> Self {
        let room = keep.map_or(usize::MAX, |it| usize::try_from(it).unwrap_or(usize::MAX));
        Self { bytes: Vec::new(), room, cut: false }
    }

    /// Reads `pipe` to its end. A pipe that fails ends there, cut.
    pub(super) async fn fill(&mut self, pipe: Option<Pipe>) {
        let Some(mut pipe) = pipe else { return };
        let mut chunk = vec![0; CHUNK];
        loop {
            match pipe.read(&mut chunk).await {
                Ok(0) => return,
                Ok(length) => {
                    let kept = length.min(self.room - self.bytes.len());
                    self.bytes.extend_from_slice(&chunk[..kept]);
                    self.cut |= kept < length;
                }
                Err(_) => {
                    self.cut = true;
                    return;
                }
            }
        }
    }
}
