//! What a call fails with: a code for programs, and a message that says what to do.

use std::fmt::Display;
use std::io;

use lockgate_plugin_api::ToolError;
use serde::de::DeserializeOwned;

use crate::path::Place;

/// Why the file system, or what stands in it, is in the way. The codes are stable.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Code {
    NotFound,
    OutsideRoot,
    NotUnique,
    NoMatch,
    IsDirectory,
    TooLarge,
    NotText,
    Permission,
    Io,
}

impl Code {
    fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "FS_NOT_FOUND",
            Self::OutsideRoot => "FS_OUTSIDE_ROOT",
            Self::NotUnique => "FS_NOT_UNIQUE",
            Self::NoMatch => "FS_NO_MATCH",
            Self::IsDirectory => "FS_IS_DIRECTORY",
            Self::TooLarge => "FS_TOO_LARGE",
            Self::NotText => "FS_NOT_TEXT",
            Self::Permission => "FS_PERMISSION",
            Self::Io => "FS_IO",
        }
    }
}

/// A failure with one of the codes.
pub(crate) fn failed(code: Code, message: impl Into<String>) -> ToolError {
    ToolError::coded(message, "FileSystemError", code.as_str())
}

/// Arguments that cannot be what the caller meant.
pub(crate) fn invalid(what: impl Display) -> ToolError {
    ToolError::coded(format!("invalid arguments: {what}"), "ToolArgsError", "INVALID_ARGS")
}

/// The arguments of a call, parsed.
pub(crate) fn arguments<T: DeserializeOwned>(text: &str) -> Result<T, ToolError> {
    serde_json::from_str(text).map_err(invalid)
}

/// A failure of the system while `doing` (`read`, `write`) something to `given`.
pub(crate) fn io(doing: &str, given: &str, error: &io::Error) -> ToolError {
    let (code, why) = match error.kind() {
        io::ErrorKind::NotFound => {
            (Code::NotFound, "it does not exist; `read` the directory to see what does".into())
        }
        io::ErrorKind::NotADirectory => {
            (Code::NotFound, "a part of the path is a file, not a directory".into())
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            (Code::Permission, format!("{error}; use another file or ask for access"))
        }
        _ => (Code::Io, error.to_string()),
    };
    failed(code, format!("cannot {doing} `{given}`: {why}"))
}

/// A directory where a file was meant.
pub(crate) fn is_directory(place: &Place) -> ToolError {
    let message = format!("`{}` is a directory; give the path of a file", place.given);
    failed(Code::IsDirectory, message)
}

/// A pipe, a device or a socket where a file was meant.
pub(crate) fn is_special(place: &Place) -> ToolError {
    let message = format!("`{}` is a pipe, a device or a socket, not a text file", place.given);
    failed(Code::NotText, message)
}

/// More than the `max` bytes that are read or written; `is` (`is`, `would be`) says which.
pub(crate) fn too_large(place: &Place, is: &str, max: u64) -> ToolError {
    let message = format!(
        "`{}` {is} larger than {max} bytes, the limit (`max_file_size`); work on a smaller file",
        place.given
    );
    failed(Code::TooLarge, message)
}
