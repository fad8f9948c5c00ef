//! What `read` shows of real files and directories.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use lockgate_plugin_api::ToolError;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{LINE, read};
use crate::Config;
use crate::failure::{Code, failed, invalid};

#[test]
fn lines_are_numbered_and_the_end_is_marked() {
    check("hello\n", json!({}), Ok("1: hello\n\n(end of file; total lines: 1)"));
    check("a\n\nb", json!({}), Ok("1: a\n2: \n3: b\n\n(end of file; total lines: 3)"));
    check("a\r\nb\r\n", json!({}), Ok("1: a\n2: b\n\n(end of file; total lines: 2)"));
    check("", json!({}), Ok("(the file is empty)"));
}

#[test]
fn a_page_says_where_the_next_one_begins() {
    let page = |offset, limit| json!({"offset": offset, "limit": limit});
    let text = "a\nb\nc\nd\n";
    check(text, page(2, 2), Ok("2: b\n3: c\n\n(more from offset 4; total lines: 4)"));
    check(text, page(4, 2), Ok("4: d\n\n(end of file; total lines: 4)"));
    check(text, page(3, usize::MAX), Ok("3: c\n4: d\n\n(end of file; total lines: 4)"));
    check(text, json!({"limit": 1}), Ok("1: a\n\n(more from offset 2; total lines: 4)"));
}

#[test]
fn a_page_has_2000_lines_where_the_call_does_not_say() {
    let lines = |count: usize| (1..=count).map(|it| format!("{it}: x\n")).collect::<String>();
    let end = lines(2000) + "\n(end of file; total lines: 2000)";
    check(&"x\n".repeat(2000), json!({}), Ok(&end));
    let more = lines(2000) + "\n(more from offset 2001; total lines: 2001)";
    check(&"x\n".repeat(2001), json!({}), Ok(&more));
}

#[test]
fn a_page_that_begins_nowhere_is_refused() {
    let least = invalid("`offset` and `limit` are at least 1");
    check("a\n", json!({"offset": 0}), Err(least.clone()));
    check("a\n", json!({"limit": 0}), Err(least));
    let behind = "`offset` is 2, behind the end of `file`; total lines: 1";
    check("a\n", json!({"offset": 2}), Err(invalid(behind)));
}

#[test]
fn a_long_line_is_cut_by_characters() {
    let whole = "ä".repeat(LINE);
    check(&whole, json!({}), Ok(&format!("1: {whole}\n\n(end of file; total lines: 1)")));
    let cut = format!(
        "1: {whole}… (cut; characters in the line: 2003)\n2: b\n\n(end of file; total lines: 2)"
    );
    check(&format!("{whole}xyz\nb"), json!({}), Ok(&cut));
}

#[test]
fn what_is_no_text_is_refused() {
    let no_text = || failed(Code::NotText, "`file` is not a text in UTF-8 and cannot be shown");
    check("a\0b", json!({}), Err(no_text()));
    check_bytes(b"\x7fELF\xff", json!({}), Err(no_text()));
}

#[test]
fn a_pipe_is_not_waited_for() {
    let tree = TempDir::new().unwrap();
    assert!(Command::new("mkfifo").arg(tree.path().join("pipe")).status().unwrap().success());
    let message = "`pipe` is a pipe, a device or a socket, not a text file";
    check_in(&tree, json!({"file_path": "pipe"}), Err(failed(Code::NotText, message)));
}

#[test]
fn a_file_as_large_as_the_limit_is_read() {
    let shown = "1: 0123456789abcdef\n\n(end of file; total lines: 1)";
    check_limited("0123456789abcdef", Ok(shown));
    let message = "`file` is larger than 16 bytes, the limit (`max_file_size`); work on a smaller \
                   file";
    check_limited("0123456789abcdef\n", Err(failed(Code::TooLarge, message)));
}

#[test]
fn a_directory_shows_its_entries() {
    let tree = TempDir::new().unwrap();
    check_in(&tree, json!({"file_path": "."}), Ok("(the directory is empty)"));
    fs::create_dir(tree.path().join("src")).unwrap();
    fs::write(tree.path().join("b"), "").unwrap();
    fs::write(tree.path().join("a"), "").unwrap();
    symlink("src", tree.path().join("link")).unwrap();
    let all = "1: a\n2: b\n3: link@\n4: src/\n\n(end of directory; total entries: 4)";
    check_in(&tree, json!({"file_path": "."}), Ok(all));
    let one = "2: b\n\n(more from offset 3; total entries: 4)";
    check_in(&tree, json!({"file_path": ".", "offset": 2, "limit": 1}), Ok(one));
}

#[test]
fn what_is_not_there_is_told_with_its_path() {
    let tree = TempDir::new().unwrap();
    fs::write(tree.path().join("file"), "").unwrap();
    let message = "cannot read `gone`: it does not exist; `read` the directory to see what does";
    check_in(&tree, json!({"file_path": "gone"}), Err(failed(Code::NotFound, message)));
    let message = "cannot read `file/x`: a part of the path is a file, not a directory";
    check_in(&tree, json!({"file_path": "file/x"}), Err(failed(Code::NotFound, message)));
}

#[test]
fn what_is_outside_is_not_read() {
    let tree = TempDir::new().unwrap();
    let cwd = fs::canonicalize(tree.path()).unwrap();
    symlink("/etc/passwd", cwd.join("link")).unwrap();
    let message =
        format!("`link` leads out of what may be used; use a path in `{}`", cwd.display());
    check_in(&tree, json!({"file_path": "link"}), Err(failed(Code::OutsideRoot, message)));
}

#[test]
fn arguments_of_another_shape_are_refused() {
    let tree = TempDir::new().unwrap();
    check_in(&tree, json!({}), Err(invalid("missing field `file_path` at line 1 column 2")));
    let message = "invalid value: integer `-1`, expected usize at line 1 column 28";
    check_in(&tree, json!({"file_path": "a", "offset": -1}), Err(invalid(message)));
}

#[track_caller]
fn check(content: &str, arguments: Value, expected: Result<&str, ToolError>) {
    check_bytes(content.as_bytes(), arguments, expected);
}

/// Reads `file` with this content.
#[track_caller]
fn check_bytes(content: &[u8], mut arguments: Value, expected: Result<&str, ToolError>) {
    let tree = TempDir::new().unwrap();
    fs::write(tree.path().join("file"), content).unwrap();
    arguments["file_path"] = "file".into();
    check_in(&tree, arguments, expected);
}

#[track_caller]
fn check_in(tree: &TempDir, arguments: Value, expected: Result<&str, ToolError>) {
    let shown = read(&Config::default(), tree.path().to_str(), &arguments.to_string());
    assert_eq!(shown, expected.map(str::to_owned));
}

/// Reads `file` with this content where 16 bytes are the limit.
#[track_caller]
fn check_limited(content: &str, expected: Result<&str, ToolError>) {
    let tree = TempDir::new().unwrap();
    fs::write(tree.path().join("file"), content).unwrap();
    let config = Config { max_file_size: 16, ..Config::default() };
    let shown = read(&config, tree.path().to_str(), r#"{"file_path":"file"}"#);
    assert_eq!(shown, expected.map(str::to_owned));
}
