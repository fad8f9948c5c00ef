//! Builds plugin crates with cargo, and finds what it made.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;
use tokio::process::Command;

use super::Failure;

/// A library that cargo made.
pub(super) struct Built {
    /// The package.
    pub(super) package: String,
    /// The file.
    pub(super) library: PathBuf,
}

/// How plugins are built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Profile {
    /// As this program was.
    Own,
    /// As fast as that goes.
    Debug,
}

/// Runs `cargo build` with `arguments` in `dir` and returns the shared libraries that it made or found made. Its progress and its errors go to the person.
///
/// # Errors
/// When there is no cargo, or it does not build.
pub(super) async fn build(
    dir: &Path,
    arguments: &[&str],
    profile: Profile,
) -> Result<Vec<Built>, Failure> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(&cargo);
    build.arg("build").arg("--message-format=json-render-diagnostics").current_dir(dir);
    build.args(arguments);
    if profile == Profile::Own && !cfg!(debug_assertions) {
        build.arg("--release");
    }
    build.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
    let built = build
        .spawn()
        .map_err(|error| format!("cannot run cargo (`{}`): {error}", cargo.display()))?
        .wait_with_output()
        .await?;
    if !built.status.success() {
        return Err(format!("`{}` does not build: cargo says why above", dir.display()).into());
    }
    let messages = String::from_utf8(built.stdout)?;
    Ok(messages.lines().filter_map(library).collect())
}

/// The library that this message of cargo is about.
fn library(message: &str) -> Option<Built> {
    let message: Value = serde_json::from_str(message).ok()?;
    if message["reason"] != "compiler-artifact" {
        return None;
    }
    let is_shared = |it: &Value| it.as_str() == Some("cdylib");
    message["target"]["crate_types"].as_array()?.iter().find(|it| is_shared(it))?;
    let files = message["filenames"].as_array()?.iter().filter_map(Value::as_str);
    let is_shared =
        |it: &PathBuf| it.extension().is_some_and(|it| it == env::consts::DLL_EXTENSION);
    Some(Built {
        package: package(message["package_id"].as_str()?).to_owned(),
        library: files.map(PathBuf::from).find(is_shared)?,
    })
}

/// The name in an id like `path+file:///a/name#0.1.0` or `…#name@0.1.0`.
fn package(id: &str) -> &str {
    let (path, rest) = id.rsplit_once('#').unwrap_or(("", id));
    match rest.split_once('@') {
        Some((name, _)) => name,
        None => path.rsplit('/').next().unwrap_or(rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_package_stands_in_its_id() {
        assert_eq!(package("path+file:///w/plugins/native-guard#0.1.0"), "native-guard");
        assert_eq!(package("path+file:///tmp/policy#native-guard@0.1.0"), "native-guard");
    }
}
