//! What `write` makes of real directories.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process;

use lockgate_plugin_api::ToolError;
use serde_json::json;
use tempfile::TempDir;

use super::write;
use crate::Config;
use crate::failure::{Code, failed, invalid};
use crate::path::Place;
use crate::replace::{Before, replace};

#[test]
fn a_file_is_created_with_the_directories_above_it() {
    check(
        "new/deep/c.txt",
        "hällo",
        Ok("created: `new/deep/c.txt`, bytes: 6"),
        &[("a.txt", "old"), ("new/deep/c.txt", "hällo")],
    );
    check("c.txt", "", Ok("created: `c.txt`, bytes: 0"), &[("a.txt", "old"), ("c.txt", "")]);
}

#[test]
fn a_file_is_replaced_whole() {
    check("a.txt", "n", Ok("overwritten: `a.txt`, bytes: 1"), &[("a.txt", "n")]);
}

#[test]
fn only_a_file_is_replaced() {
    let message = "`sub` is a directory; give the path of a file";
    check("sub", "n", Err(failed(Code::IsDirectory, message)), &[("a.txt", "old")]);
    let message = "cannot write `a.txt/x`: a part of the path is a file, not a directory";
    check("a.txt/x", "n", Err(failed(Code::NotFound, message)), &[("a.txt", "old")]);
}

#[test]
fn a_content_over_the_limit_changes_nothing() {
    let message = "`a.txt` would be larger than 16 bytes, the limit (`max_file_size`); work on a \
                   smaller file";
    let large = "0123456789abcdef+";
    check("a.txt", large, Err(failed(Code::TooLarge, message)), &[("a.txt", "old")]);
    let all = &large[..16];
    check("a.txt", all, Ok("overwritten: `a.txt`, bytes: 16"), &[("a.txt", all)]);
}

#[test]
fn a_file_keeps_its_mode() {
    for mode in [0o600, 0o755, 0o666] {
        let tree = tree();
        let path = tree.path().join("a.txt");
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        written(&tree, "a.txt", "n").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, mode);
    }
}

#[test]
fn a_read_only_file_is_left_alone() {
    let tree = tree();
    fs::set_permissions(tree.path().join("a.txt"), Permissions::from_mode(0o444)).unwrap();
    let message = "`a.txt` is read-only; use another file";
    assert_eq!(written(&tree, "a.txt", "n"), Err(failed(Code::Permission, message)));
    assert_eq!(files(&tree), [("a.txt".to_owned(), "old".to_owned())]);
}

#[test]
fn a_link_inside_is_written_through() {
    let tree = tree();
    symlink("a.txt", tree.path().join("link")).unwrap();
    assert_eq!(written(&tree, "link", "n"), Ok("overwritten: `link`, bytes: 1".into()));
    assert!(fs::symlink_metadata(tree.path().join("link")).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(tree.path().join("a.txt")).unwrap(), "n");
}

#[test]
fn nothing_is_created_outside() {
    let (tree, outside) = (tree(), TempDir::new().unwrap());
    symlink(outside.path(), tree.path().join("out")).unwrap();
    symlink(outside.path().join("new.txt"), tree.path().join("dangling")).unwrap();
    let cwd = fs::canonicalize(tree.path()).unwrap();
    let message = format!(
        "`out/new/new.txt` leads out of what may be used; use a path in `{}`",
        cwd.display()
    );
    assert_eq!(written(&tree, "out/new/new.txt", "n"), Err(failed(Code::OutsideRoot, message)));
    let message = "`dangling` leads through a link to nothing; give another path";
    assert_eq!(written(&tree, "dangling", "n"), Err(failed(Code::NotFound, message)));
    assert_eq!(files(&outside), []);
}

#[test]
fn a_link_that_came_after_the_check_is_not_written_through() {
    let (tree, outside) = (tree(), TempDir::new().unwrap());
    let place = Place { given: "a.txt", path: tree.path().join("link") };
    symlink(outside.path().join("new.txt"), &place.path).unwrap();
    let message = "`a.txt` is a pipe, a device or a socket, not a text file";
    assert_eq!(replace(&place, "n", 16), Err(failed(Code::NotText, message)));
    assert_eq!(files(&outside), []);
}

#[test]
fn a_temporary_file_that_was_left_behind_is_not_in_the_way() {
    let tree = tree();
    let left = format!(".lockgate-{}-0.tmp", process::id());
    fs::write(tree.path().join(&left), "left").unwrap();
    let place = Place { given: "a.txt", path: tree.path().join("a.txt") };
    assert_eq!(replace(&place, "n", 16), Ok(Before::File));
    let expected = [(left, "left".to_owned()), ("a.txt".to_owned(), "n".to_owned())];
    assert_eq!(files(&tree), expected);
}

#[test]
fn arguments_of_another_shape_are_refused() {
    let error = write(&Config::default(), Some("/"), r#"{"file_path":"a"}"#).unwrap_err();
    assert_eq!(error, invalid("missing field `content` at line 1 column 17"));
}

/// A file `a.txt` and a directory `sub`.
fn tree() -> TempDir {
    let tree = TempDir::new().unwrap();
    fs::write(tree.path().join("a.txt"), "old").unwrap();
    fs::create_dir(tree.path().join("sub")).unwrap();
    tree
}

/// Writes where 16 bytes are the limit.
fn written(tree: &TempDir, path: &str, content: &str) -> Result<String, ToolError> {
    let config = Config { max_file_size: 16, ..Config::default() };
    let arguments = json!({"file_path": path, "content": content}).to_string();
    write(&config, tree.path().to_str(), &arguments)
}

/// Every file below the directory and its content, by name.
fn files(tree: &TempDir) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut directories = vec![tree.path().to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                directories.push(entry.path());
            } else if kind.is_file() {
                let path = entry.path();
                let name = path.strip_prefix(tree.path()).unwrap().to_str().unwrap().to_owned();
                files.push((name, fs::read_to_string(path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

/// Writes, and compares the answer and all the files.
#[track_caller]
fn check(path: &str, content: &str, expected: Result<&str, ToolError>, left: &[(&str, &str)]) {
    let tree = tree();
    assert_eq!(written(&tree, path, content), expected.map(str::to_owned));
    let left: Vec<_> = left.iter().map(|it| (it.0.to_owned(), it.1.to_owned())).collect();
    assert_eq!(files(&tree), left);
}
