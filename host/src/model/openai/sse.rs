//! Server-sent events: what a stream of bytes says, piece by piece.

use std::string::FromUtf8Error;

use thiserror::Error;

/// The most bytes that one event may have: more than any answer, less than would hurt.
const MOST_BYTES: usize = 16 << 20;

/// A stream of events, as far as it has been read.
///
/// Only the data of events is kept: their names, ids and comments say nothing that an answer needs.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// The line that has not ended yet. Its bytes: a piece may end within a character.
    line: Vec<u8>,
    /// The data of the event that has not ended yet.
    data: Option<String>,
    /// Whether the last piece ended with a carriage return, whose line feed may follow.
    returned: bool,
    /// Whether a line has ended; only the first may begin with a byte order mark.
    begun: bool,
}

/// Bytes that are no events.
#[derive(Debug, Error)]
pub(super) enum NotEvents {
    /// A line is no text.
    #[error("a line of the stream is not UTF-8")]
    Text(#[from] FromUtf8Error),
    /// An event does not end.
    #[error("an event of the stream is longer than {MOST_BYTES} bytes")]
    Long,
}

impl Events {
    /// Reads the next piece. Returns the data of each event that ends in it.
    pub(super) fn read(&mut self, mut piece: &[u8]) -> Result<Vec<String>, NotEvents> {
        let mut ended = Vec::new();
        if let Some(first) = piece.first()
            && std::mem::take(&mut self.returned)
            && *first == b'\n'
        {
            piece = &piece[1..];
        }
        while let Some(end) = piece.iter().position(|it| matches!(it, b'\n' | b'\r')) {
            self.keep(&piece[..end])?;
            let (returned, rest) = (piece[end] == b'\r', &piece[end + 1..]);
            piece = match rest.first() {
                Some(b'\n') if returned => &rest[1..],
                None => {
                    self.returned = returned;
                    rest
                }
                Some(_) => rest,
            };
            ended.extend(self.end_line()?);
        }
        self.keep(piece)?;
        Ok(ended)
    }

    /// The data of the event that the end of the stream cut off after a whole line.
    pub(super) fn rest(&mut self) -> Option<String> {
        self.data.take()
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), NotEvents> {
        let length = self.line.len() + self.data.as_ref().map_or(0, String::len) + bytes.len();
        if length > MOST_BYTES {
            return Err(NotEvents::Long);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) -> Result<Option<String>, NotEvents> {
        let line = String::from_utf8(std::mem::take(&mut self.line))?;
        let marked = !std::mem::replace(&mut self.begun, true);
        let line = if marked { line.trim_start_matches('\u{feff}') } else { &line };
        if line.is_empty() {
            return Ok(self.data.take());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        if field == "data" {
            let value = value.strip_prefix(' ').unwrap_or(value);
            match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that `stream` says `expected`, whole, byte by byte, and cut in two anywhere.
    #[track_caller]
    fn check(stream: &[u8], expected: &[&str]) {
        assert_eq!(read([stream]), expected, "whole");
        assert_eq!(read(stream.chunks(1)), expected, "byte by byte");
        for at in 0..stream.len() {
            let (first, second) = stream.split_at(at);
            assert_eq!(read([first, b"", second]), expected, "cut at {at}");
        }
    }

    fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
        let mut events = Events::default();
        let mut said: Vec<String> =
            pieces.into_iter().flat_map(|it| events.read(it).unwrap()).collect();
        said.extend(events.rest());
        said
    }

    #[test]
    fn an_event_is_its_data_however_lines_end_and_pieces_are_cut() {
        check(b"", &[]);
        check(b"data: a\n\n", &["a"]);
        check(b"data: a\r\n\r\ndata: b\r\rdata: c\n\n", &["a", "b", "c"]);
        check("data: größer 😀\n\n".as_bytes(), &["größer 😀"]);
        check(b"data:a\ndata:  b\ndata\n\n", &["a\n b\n"]);
        check(b"\n\n: a comment\n\nevent: x\nid: 7\nretry: 3\nfoo\n\ndata: a\n\n", &["a"]);
        check("\u{feff}data: a\n\n".as_bytes(), &["a"]);
        check("data: a\n\n\u{feff}data: b\n\n".as_bytes(), &["a"]);
    }

    #[test]
    fn an_event_that_is_cut_off_counts_up_to_its_last_whole_line() {
        check(b"data: a\n\ndata: b\n", &["a", "b"]);
        check(b"data: a\n\ndata: b\ndata: c", &["a", "b"]);
        check(b"data: a\n\ndata: b", &["a"]);
    }

    #[test]
    fn what_is_no_text_or_has_no_end_is_no_event() {
        let mut events = Events::default();
        let not = events.read(b"data: \xff\n").unwrap_err();
        assert_eq!(not.to_string(), "a line of the stream is not UTF-8");
        let mut events = Events::default();
        let long = vec![b'a'; MOST_BYTES];
        assert!(events.read(&long).unwrap().is_empty());
        let not = events.read(b"a").unwrap_err();
        assert_eq!(not.to_string(), "an event of the stream is longer than 16777216 bytes");
        let mut events = Events::default();
        events.read(b"data: a\n").unwrap();
        assert!(events.read(&long).is_err());
    }
}
