//! The rules of the architecture and of the style that a machine can check.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The lines that a file has at most.
const MOST_LINES: usize = 400;

/// Names that say nothing of what is inside.
const VAGUE: [&str; 10] =
    ["common", "error", "errors", "helper", "helpers", "manager", "misc", "types", "util", "utils"];

/// Where unsafe code is allowed: a file, and what is below the directory of its name.
const UNSAFE_ROOMS: [&str; 5] = [
    "plugin-api/src/abi",
    "plugin-api/src/export",
    "host/src/library",
    "host/src/sys",
    "tests/fixtures/ctor",
];

/// What a plugin may depend on: of ours the plugin API alone, and a few others that were weighed.
const OF_PLUGINS: [&str; 8] = [
    "blake3",
    "globset",
    "lockgate-plugin-api",
    "regex",
    "serde",
    "serde_json",
    "thiserror",
    "tracing",
];

/// What the plugin API depends on.
const OF_PLUGIN_API: [&str; 4] = ["abi_stable", "serde", "serde_json", "tracing-core"];

/// A source file of the workspace: its path from there, with slashes, and its text.
struct Source {
    path: String,
    text: String,
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The files of the workspace's own crates with one of these extensions.
fn sources(extensions: &[&str]) -> Vec<Source> {
    let mut files = Vec::new();
    for dir in ["docs", "host", "plugin-api", "plugins", "tests"] {
        collect(&workspace().join(dir), &mut files);
    }
    let is_wanted = |it: &PathBuf| {
        let extension = it.extension().unwrap_or_default().to_string_lossy();
        extensions.contains(&&*extension)
    };
    let source = |file: PathBuf| Source {
        path: file.strip_prefix(workspace()).unwrap().to_str().unwrap().to_owned(),
        text: fs::read_to_string(&file).unwrap(),
    };
    files.into_iter().filter(is_wanted).map(source).collect()
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true if path.ends_with("target") => {}
            true => collect(&path, files),
            false => files.push(path),
        }
    }
}

/// Checks that no source breaks a rule; `broken` says how one does, if it does.
#[track_caller]
fn check(extensions: &[&str], broken: impl Fn(&Source) -> Option<String>) {
    let sources = sources(extensions);
    assert!(!sources.is_empty(), "there are no sources to check");
    let told: Vec<String> =
        sources.iter().filter_map(|it| Some(format!("{}: {}", it.path, broken(it)?))).collect();
    assert!(told.is_empty(), "\n{}", told.join("\n"));
}

/// The first line for which `is_bad`, with its number.
fn line(source: &Source, is_bad: impl Fn(&str) -> bool) -> Option<String> {
    let (number, line) = (1..).zip(source.text.lines()).find(|(_, line)| is_bad(line))?;
    Some(format!("line {number}: {}", line.trim()))
}

/// The words of a line up to a comment in it.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let code = line.split_once("//").map_or(line, |it| it.0);
    code.split(|it: char| it != '_' && !it.is_alphanumeric())
}

#[test]
fn a_file_opens_with_what_it_is_for() {
    check(&["rs"], |it| {
        let is_told = it.text.starts_with("//! ");
        (!is_told).then(|| format!("begins with `{}`", it.text.lines().next().unwrap_or_default()))
    });
}

#[test]
fn a_file_can_be_read_in_one_go() {
    check(&["rs"], |it| {
        let lines = it.text.lines().count();
        (lines > MOST_LINES).then(|| format!("{lines} lines, and {MOST_LINES} are the most"))
    });
}

#[test]
fn a_file_is_called_by_its_job() {
    check(&["rs"], |it| {
        let mut names = it.path.split(['/', '.']);
        names.find(|it| VAGUE.contains(it)).map(|it| format!("`{it}` says nothing"))
    });
}

#[test]
fn what_is_left_to_do_does_not_stand_in_the_sources() {
    let marks = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
    check(&["rs", "toml", "md"], |it| line(it, |line| marks.iter().any(|it| line.contains(it))));
}

#[test]
fn unsafe_code_stays_in_its_rooms() {
    let is_allowed = |path: &str| {
        UNSAFE_ROOMS.iter().any(|room| {
            path.strip_prefix(room).is_some_and(|it| it == ".rs" || it.starts_with('/'))
        })
    };
    check(&["rs"], |it| {
        if is_allowed(&it.path) {
            return None;
        }
        line(it, |line| words(line).any(|it| it == concat!("un", "safe")))
    });
}

#[test]
fn the_layout_checker_is_named_where_it_can_be_replaced() {
    check(&["rs"], |it| {
        if it.path.starts_with("plugin-api/") || it.path == "host/src/library.rs" {
            return None;
        }
        line(it, |line| line.contains(concat!("abi_stable", "::")))
    });
}

/// The names in a manifest's section of dependencies.
fn dependencies(manifest: &str) -> BTreeSet<&str> {
    let lines = manifest.lines().skip_while(|it| *it != "[dependencies]").skip(1);
    lines
        .take_while(|it| !it.starts_with('['))
        .filter_map(|it| it.split(['.', ' ', '=']).next())
        .filter(|it| !it.is_empty() && !it.starts_with('#'))
        .collect()
}

#[test]
fn a_plugin_depends_on_the_plugin_api_alone() {
    check(&["toml"], |it| {
        let is_plugin = it.path.starts_with("plugins/") && it.path.ends_with("/Cargo.toml");
        let mut names = dependencies(&it.text).into_iter();
        let foreign = names.find(|it| is_plugin && !OF_PLUGINS.contains(it))?;
        Some(format!("depends on `{foreign}`"))
    });
}

#[test]
fn the_plugin_api_depends_on_four_crates() {
    let manifest = fs::read_to_string(workspace().join("plugin-api/Cargo.toml")).unwrap();
    assert_eq!(dependencies(&manifest), BTreeSet::from(OF_PLUGIN_API));
}

#[test]
fn the_test_kit_is_for_tests_alone() {
    check(&["toml"], |it| {
        let (shipped, _) = it.text.split_once("[dev-dependencies]").unwrap_or((&it.text, ""));
        let is_named = !it.path.starts_with("plugin-api/") && shipped.contains("\"testing\"");
        is_named.then(|| "ships `testing`".to_owned())
    });
}

/// The rooms of the host as the architecture lists them, the lowest first; those in one row know
/// each other.
fn rooms() -> Vec<Vec<String>> {
    let page = fs::read_to_string(workspace().join("docs/architecture.md")).unwrap();
    let table = page.lines().skip_while(|it| *it != "| room | job |").skip(2);
    let rows = table.take_while(|it| it.starts_with('|'));
    let names = |row: &str| {
        let names = row.split('|').nth(1).unwrap_or_default().split(',');
        names.map(|it| it.trim().trim_matches('`').to_owned()).collect()
    };
    rows.map(names).collect()
}

/// The room of the host that a file belongs to.
fn room(path: &str) -> Option<&str> {
    let path = path.strip_prefix("host/src/")?;
    path.split(['/', '.']).next().filter(|it| !["lib", "main"].contains(it))
}

#[test]
fn every_room_of_the_host_is_on_the_map() {
    let listed: BTreeSet<String> = rooms().into_iter().flatten().collect();
    let sources = sources(&["rs"]);
    let there: BTreeSet<String> =
        sources.iter().filter_map(|it| room(&it.path)).map(str::to_owned).collect();
    assert_eq!(listed, there);
}

#[test]
fn lower_rooms_of_the_host_never_name_upper_ones() {
    let rooms = rooms();
    let floor = |room: &str| rooms.iter().position(|row| row.iter().any(|it| it == room));
    check(&["rs"], |it| {
        let own = floor(room(&it.path)?)?;
        line(it, |line| {
            let mut named = line.split("crate::").skip(1);
            // A group of names would hide the rooms in it.
            named.any(|it| {
                let room = words(it).next().and_then(floor);
                it.starts_with('{') || room.is_some_and(|it| it > own)
            })
        })
    });
}

#[test]
fn the_tests_that_the_conformance_page_names_are_there() {
    let page = fs::read_to_string(workspace().join("docs/conformance.md")).unwrap();
    let sources = sources(&["rs"]);
    let named = page.split('`').filter_map(|it| it.split_once(".rs::"));
    let mut count = 0;
    for (file, test) in named {
        count += 1;
        let (file, function) = (format!("/{file}.rs"), format!("fn {test}("));
        let mut files = sources.iter().filter(|it| it.path.ends_with(&file));
        assert!(files.any(|it| it.text.contains(&function)), "{file} has no `{function}`");
    }
    assert!(count > 100, "the page names tests in another way: {count}");
}
