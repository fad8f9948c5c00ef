//! Support for tests that need real plugins: builds them once, and puts them into a directory.

mod c;
mod lines;
pub mod provider;
pub mod puppets;
mod reduce;
pub mod stage;

use std::collections::HashMap;
use std::env::consts::DLL_SUFFIX;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use serde_json::Value;
use tempfile::TempDir;

pub use c::c_library;
pub use lines::lines;
pub use reduce::reduced;

/// What one build of the workspace has made: libraries and programs, by target name.
static BUILT: LazyLock<HashMap<String, PathBuf>> = LazyLock::new(build);

/// The library of a plugin or fixture of the workspace.
///
/// # Panics
/// When the workspace does not build, or has no such library.
pub fn library(package: &str) -> &'static Path {
    let name = format!("{}{DLL_SUFFIX}", package.replace('-', "_"));
    BUILT.get(&name).unwrap_or_else(|| panic!("the workspace builds no library `{name}`"))
}

/// The program `lockgate`.
///
/// # Panics
/// When the workspace does not build.
pub fn lockgate() -> &'static Path {
    BUILT.get("lockgate").expect("the workspace builds the program")
}

/// A new directory with the libraries of these packages.
///
/// # Panics
/// When it cannot be made.
pub fn plugin_dir(packages: &[&str]) -> TempDir {
    let dir = TempDir::new().expect("a temporary directory can be made");
    for package in packages {
        let library = library(package);
        let name = library.file_name().expect("a library has a name");
        fs::copy(library, dir.path().join(name)).expect("a library can be copied");
    }
    dir
}

/// Writes the library of `package` to `file`, with the first `from` in its note changed to `to`.
///
/// # Panics
/// When the note does not say `from`, or `to` has another length, or nothing can be written.
pub fn write_with_note_changed(file: &Path, package: &str, from: &str, to: &str) {
    assert_eq!(from.len(), to.len(), "a note keeps its length");
    let mut bytes = fs::read(library(package)).expect("a library can be read");
    let note = find(&bytes, b"LOCKGATE\0\0\0\0{").expect("a plugin has a note");
    let at = note + find(&bytes[note..], from.as_bytes()).expect("the note says what is changed");
    bytes[at..at + from.len()].copy_from_slice(to.as_bytes());
    fs::write(file, bytes).expect("a library can be written");
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|it| it == what)
}

/// A shared library that is no plugin: the one with which Rust unwinds.
fn foreign_library() -> PathBuf {
    let maps = fs::read_to_string("/proc/self/maps").expect("Linux tells what is mapped");
    let mut paths = maps.lines().filter_map(|it| it.split_whitespace().nth(5));
    let path = paths.find(|it| it.contains("/libgcc_s.so"));
    path.expect("the program unwinds with libgcc_s").into()
}

/// A new directory with four files that are put among plugins by mistake, and `puppet`:
/// `a_text.so`, `b_empty.so`, `c_cut.so`, `d_foreign.so` and `e_good.so`.
///
/// # Panics
/// When it cannot be made.
pub fn mixed_dir() -> TempDir {
    let dir = plugin_dir(&[]);
    let read = |it: &Path| fs::read(it).expect("a library can be read");
    let put = |name: &str, bytes: &[u8]| {
        fs::write(dir.path().join(name), bytes).expect("a file can be written");
    };
    let puppet = read(library("puppet"));
    put("a_text.so", b"#!/bin/sh\necho hello\n");
    put("b_empty.so", b"");
    // What comes behind the segments, such as debug information, nobody would miss.
    put("c_cut.so", &puppet[..puppet.len() / 8]);
    put("d_foreign.so", &read(&foreign_library()));
    put("e_good.so", &puppet);
    dir
}

/// `text` with `#` for each number of four figures or more: what no test can know.
pub fn without_sizes(text: &str) -> String {
    let mut told = String::new();
    for word in text.split_inclusive(|it: char| !it.is_ascii_digit()) {
        let figures = word.trim_end_matches(|it: char| !it.is_ascii_digit());
        told += if figures.len() < 4 { figures } else { "#" };
        told += &word[figures.len()..];
    }
    told
}

/// Builds the workspace in the caller's profile, and asks cargo where everything is.
fn build() -> HashMap<String, PathBuf> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--workspace", "--quiet", "--message-format=json", "--manifest-path"]);
    cargo.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml"));
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    let build = cargo.output().expect("cargo runs");
    assert!(build.status.success(), "{}", String::from_utf8_lossy(&build.stderr));
    let messages = String::from_utf8(build.stdout).expect("cargo prints UTF-8");
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .flat_map(|it| {
            let libraries = it["filenames"].as_array().cloned().unwrap_or_default();
            libraries.into_iter().chain([it["executable"].clone()])
        })
        .filter_map(|it| it.as_str().map(PathBuf::from))
        .filter_map(|path| {
            let name = path.file_name()?.to_str()?;
            let name = name.strip_prefix(std::env::consts::DLL_PREFIX).unwrap_or(name);
            let is_wanted = name.ends_with(DLL_SUFFIX) || !name.contains('.');
            is_wanted.then(|| (name.to_owned(), path.clone()))
        })
        .collect()
}
