//! Which file a path means, and whether a call may use it.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use lockgate_plugin_api::ToolError;

use crate::failure::{self, Code, failed, invalid};

/// A file or directory, there or not, that a call may use.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Place<'a> {
    /// The path as the call gave it, for messages.
    pub(crate) given: &'a str,
    /// The absolute path; when it was resolved, no part of it was a symbolic link.
    pub(crate) path: PathBuf,
}

/// Resolves `given` from `cwd`, the directory of the session, and sees that it is in there or in
/// one of `roots`. Creates nothing.
///
/// # Errors
/// `FS_OUTSIDE_ROOT` for what is not in there or cannot be told, and what the system says of the
/// parts that exist.
pub(crate) fn resolve<'a>(
    roots: &[PathBuf],
    cwd: Option<&str>,
    given: &'a str,
) -> Result<Place<'a>, ToolError> {
    if given.is_empty() {
        return Err(invalid("`file_path` is empty"));
    }
    let directory = cwd.map(real_cwd).transpose()?;
    if directory.is_none() && Path::new(given).is_relative() {
        let message = format!("the session has no directory, so `{given}` means no file");
        return Err(failed(Code::OutsideRoot, message));
    }
    // Collecting drops `.` and a slash at the end, which would follow a link in the last place.
    let path: PathBuf = directory.iter().flatten().chain(Path::new(given)).collect();
    let path = real(&path, given)?;
    // A root that does not resolve has nothing in it.
    let roots = roots.iter().filter_map(|it| fs::canonicalize(it).ok());
    let roots: Vec<PathBuf> = directory.into_iter().chain(roots).collect();
    if roots.iter().any(|it| path.starts_with(it)) {
        return Ok(Place { given, path });
    }
    let allowed: Vec<String> = roots.iter().map(|it| format!("`{}`", it.display())).collect();
    let remedy = match allowed.as_slice() {
        [] => "files cannot be used here".to_owned(),
        allowed => format!("use a path in {}", allowed.join(" or ")),
    };
    Err(failed(Code::OutsideRoot, format!("`{given}` leads out of what may be used; {remedy}")))
}

fn real_cwd(cwd: &str) -> Result<PathBuf, ToolError> {
    fs::canonicalize(cwd).map_err(|error| {
        let message = format!("the session's directory `{cwd}` cannot be used: {error}");
        failed(Code::Io, message)
    })
}

/// `path` without links and `..`: its deepest ancestor that exists, resolved, and the names that
/// do not exist behind it. A link to nothing exists, and does not resolve.
fn real(path: &Path, given: &str) -> Result<PathBuf, ToolError> {
    let told = |error: io::Error| failure::io("find", given, &error);
    let mut missing = Vec::new();
    let mut existing = path;
    while let Err(error) = fs::symlink_metadata(existing) {
        // What is "in" a file does not exist either.
        if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) {
            return Err(told(error));
        }
        let (Some(Component::Normal(name)), Some(parent)) =
            (existing.components().next_back(), existing.parent())
        else {
            let message =
                format!("`{given}` has `..` behind what does not exist; give it without `..`");
            return Err(failed(Code::OutsideRoot, message));
        };
        missing.push(name);
        existing = parent;
    }
    let existing = fs::canonicalize(existing).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            let message = format!("`{given}` leads through a link to nothing; give another path");
            failed(Code::NotFound, message)
        }
        _ => told(error),
    })?;
    Ok(existing.iter().chain(missing.into_iter().rev()).collect())
}

#[cfg(test)]
mod tests;
