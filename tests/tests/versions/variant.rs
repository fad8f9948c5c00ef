//! Builds a crate against a changed copy of the plugin API, in a workspace of its own.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX, EXE_SUFFIX};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The whole source of a plugin that answers every call with what `{answer}` stands for.
const PLUGIN: &str = r#"
    use lockgate_plugin_api::{Create, Plugin, PluginError, PreToolDecision, ToolCall, export_plugin};

    struct Aged;

    impl Plugin for Aged {
        fn create(_: &Create) -> Result<Self, PluginError> {
            Ok(Self)
        }
    }

    impl Aged {
        fn gate(&self, call: &ToolCall) -> Option<PreToolDecision> {
            {answer}
        }
    }

    export_plugin!(Aged { pre_execute: gate });
"#;

/// A change to a file of the workspace: what stands there once, and what stands there instead.
pub(crate) type Change<'a> = (&'a str, &'a str, &'a str);

/// How a crate is built.
#[derive(Clone, Copy, Default)]
pub(crate) struct Build<'a> {
    /// Part of the crate's name: no two have the same.
    pub(crate) name: &'a str,
    /// What is changed in the copies.
    pub(crate) changes: &'a [Change<'a>],
    /// What is set in cargo's configuration, as `--config` takes it.
    pub(crate) config: &'a [&'a str],
    /// The toolchain as rustup calls it; none for the one that builds the tests.
    pub(crate) toolchain: Option<&'a str>,
}

/// The library of a plugin that answers each call with `answer`, an expression of `call`.
///
/// # Panics
/// When it cannot be built.
pub(crate) fn plugin(build: Build<'_>, answer: &str) -> PathBuf {
    let source = PLUGIN.replace("{answer}", answer);
    let manifest = "[lib]\ncrate-type = [\"cdylib\"]\n\n[dependencies]\n\
        lockgate-plugin-api.workspace = true\n";
    let package = format!("aged-{}", build.name);
    make(build, &package, &["plugin-api"], manifest, ("lib.rs", &source));
    let name = format!("{DLL_PREFIX}{}{DLL_SUFFIX}", package.replace('-', "_"));
    target().join("debug").join(name)
}

/// A program with this source, that is a host of the API with the changes.
///
/// # Panics
/// When it cannot be built.
pub(crate) fn host(build: Build<'_>, source: &str) -> PathBuf {
    let manifest = "[dependencies]\nlockgate.workspace = true\nlockgate-plugin-api.workspace = true\n\
        tokio = { workspace = true, features = [\"rt-multi-thread\"] }\n";
    let package = format!("aged-{}", build.name);
    make(build, &package, &["plugin-api", "host"], manifest, ("main.rs", source));
    target().join("debug").join(format!("{package}{EXE_SUFFIX}"))
}

/// All variants build here, so that dependencies are built once.
fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("aged")
}

fn make(build: Build<'_>, package: &str, copied: &[&str], manifest: &str, source: (&str, &str)) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let workspace = target().join("workspaces").join(package);
    // Below a directory of the variant's name: cargo tells packages of several workspaces apart
    // by the way to them from their workspace.
    let inner = workspace.join(package);
    let mut changes = build.changes.to_vec();
    for name in copied {
        copy(&root, &inner, Path::new(name), &mut changes);
    }
    assert!(changes.is_empty(), "of no file that is copied: {changes:?}");
    let whole = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let mut whole = whole
        .replace("path = \"plugin-api\"", &format!("path = \"{package}/plugin-api\""))
        .replace("path = \"host\"", &format!("path = \"{package}/host\""));
    let members = whole.lines().find(|it| it.starts_with("members = ")).unwrap().to_owned();
    whole = whole.replace(&members, &format!("members = [\"{package}/*\"]"));
    whole = whole.replace("default-members = [\"host\"]\n", "");
    write(&workspace.join("Cargo.toml"), &whole);
    fs::copy(root.join("Cargo.lock"), workspace.join("Cargo.lock")).unwrap();
    let plugin = inner.join("aged");
    let package_section = format!(
        "[package]\nname = \"{package}\"\nversion.workspace = true\nedition.workspace = true\n\n"
    );
    write(&plugin.join("Cargo.toml"), &(package_section + manifest));
    write(&plugin.join("src").join(source.0), source.1);
    run(build, package, &workspace);
}

fn run(build: Build<'_>, package: &str, workspace: &Path) {
    let mut cargo = match build.toolchain {
        None => Command::new(env!("CARGO")),
        Some(toolchain) => {
            let mut rustup = Command::new("rustup");
            rustup.args(["run", toolchain, "cargo"]);
            rustup
        }
    };
    // The lock file is the workspace's, and whoever built the tests has what stands in it.
    cargo.args(["build", "--quiet", "--offline", "--package", package, "--target-dir"]);
    cargo.arg(target()).args(build.config.iter().flat_map(|it| ["--config", it]));
    // Nobody debugs these or builds them again, and there are many.
    cargo.args(["--config", "profile.dev.debug=false", "--config", "build.incremental=false"]);
    // Flags for the tests, such as those that refuse warnings, are not for these sources.
    cargo.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
    let built = cargo.current_dir(workspace).output().expect("cargo runs");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
}

/// Copies the sources of `dir`, changed; takes what it has changed out of `changes`.
fn copy(from: &Path, to: &Path, dir: &Path, changes: &mut Vec<Change<'_>>) {
    for entry in fs::read_dir(from.join(dir)).unwrap() {
        let entry = entry.unwrap();
        let path = dir.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(from, to, &path, changes);
            continue;
        }
        let mut text = fs::read_to_string(entry.path()).unwrap();
        changes.retain(|(file, old, new)| {
            let is_here = path == Path::new(file);
            if is_here {
                assert_eq!(text.matches(old).count(), 1, "`{old}` in {file}");
                text = text.replace(old, new);
            }
            !is_here
        });
        write(&to.join(path), &text);
    }
}

/// Writes what is new alone: cargo builds again what was written since.
fn write(file: &Path, text: &str) {
    if fs::read_to_string(file).is_ok_and(|it| it == text) {
        return;
    }
    fs::create_dir_all(file.parent().expect("a file is in a directory")).unwrap();
    fs::write(file, text).unwrap();
}
