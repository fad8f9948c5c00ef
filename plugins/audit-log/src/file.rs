//! The file that lines are appended to.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The file cannot be had.
#[derive(Debug, thiserror::Error)]
#[error(
    "the audit log `{}` cannot be opened for appending; its directory must exist and be writable",
    path.display()
)]
pub(crate) struct Unopened {
    path: PathBuf,
    #[source]
    cause: io::Error,
}

/// Opens the file, new and for its owner alone where it is not there. What is in it stays.
pub(crate) fn open(path: &Path) -> Result<File, Unopened> {
    let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path);
    file.map_err(|cause| Unopened { path: path.to_owned(), cause })
}

/// Appends `line` with one write, so that lines of several processes do not mix.
pub(crate) fn append(mut file: impl Write, line: &[u8]) -> io::Result<()> {
    loop {
        match file.write(line) {
            Ok(written) if written == line.len() => return Ok(()),
            // The rest in a second write could end up inside somebody else's line.
            Ok(written) => {
                let all = line.len();
                return Err(io::Error::other(format!(
                    "only {written} of {all} bytes were written"
                )));
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, ErrorKind, Write};

    use super::append;

    /// Takes one write after the other as it is told to, and keeps what it was given.
    struct Writer {
        answers: Vec<io::Result<usize>>,
        given: Vec<Vec<u8>>,
    }

    impl Write for Writer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.given.push(bytes.to_vec());
            self.answers.remove(0)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_is_given_whole_and_never_continued() {
        check(vec![Ok(5)], Ok(()), 1);
        check(vec![Ok(2)], Err("only 2 of 5 bytes were written"), 1);
        check(vec![Err(ErrorKind::Interrupted.into()), Ok(5)], Ok(()), 2);
        check(vec![Err(io::Error::other("no space"))], Err("no space"), 1);

        #[track_caller]
        fn check(answers: Vec<io::Result<usize>>, expected: Result<(), &str>, writes: usize) {
            let mut writer = Writer { answers, given: Vec::new() };
            let result = append(&mut writer, b"line\n").map_err(|it| it.to_string());
            assert_eq!(result, expected.map_err(str::to_owned));
            assert_eq!(writer.given, vec![b"line\n".to_vec(); writes]);
        }
    }
}
