//! What `edit` makes of real files.

use std::fs;

use lockgate_plugin_api::ToolError;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{edit, size_after};
use crate::Config;
use crate::failure::{Code, failed, invalid};

#[test]
fn the_one_occurrence_is_replaced() {
    check("a\nb\nc\n", change("b\n", "B\n"), Ok("a\nB\nc\n"), "replaced: 1, first at line: 2");
    check("a b", change("a ", ""), Ok("b"), "replaced: 1, first at line: 1");
}

#[test]
fn all_are_replaced_where_the_call_says_so() {
    let all = json!({"old_string": "b", "new_string": "bb", "replace_all": true});
    check("a\nb\nb", all.clone(), Ok("a\nbb\nbb"), "replaced: 2, first at line: 2");
    check("b", all, Ok("bb"), "replaced: 1, first at line: 1");
}

#[test]
fn one_of_several_is_not_guessed() {
    let not_unique = |times: u32| {
        let message = format!(
            "`old_string` is in `file` {times} times; add lines around it until it is unique, or \
             set `replace_all`"
        );
        Err(failed(Code::NotUnique, message))
    };
    check("b b b", change("b", "c"), not_unique(3), "");
    let not_all = json!({"old_string": "b", "new_string": "c", "replace_all": false});
    check("b b", not_all, not_unique(2), "");
    check("aaa", change("aa", "b"), not_unique(2), "");
}

#[test]
fn what_is_not_there_is_not_replaced() {
    let message = "`old_string` is not in `file`; `read` the file and copy the text with its \
                   white space";
    check("a  b", change("a b", "c"), Err(failed(Code::NoMatch, message)), "");
    let message = "`old_string` is not in `file`; the lines of the file end in \\r\\n, so must \
                   those of `old_string`";
    check("a\r\nb\r\n", change("a\nb", "c"), Err(failed(Code::NoMatch, message)), "");
}

#[test]
fn an_edit_that_says_nothing_is_refused() {
    let message = "`old_string` is empty; create files with `write`";
    check("a", change("", "b"), Err(invalid(message)), "");
    let message = "`old_string` and `new_string` are the same: nothing would change";
    check("a", change("a", "a"), Err(invalid(message)), "");
}

#[test]
fn a_file_does_not_grow_over_the_limit() {
    let all = |new: &str| json!({"old_string": "b", "new_string": new, "replace_all": true});
    let full = "01234567".repeat(2);
    check("bb", all("01234567"), Ok(full.as_str()), "replaced: 2, first at line: 1");
    let message = "`file` would be larger than 16 bytes, the limit (`max_file_size`); work on a \
                   smaller file";
    check("bb", all("012345678"), Err(failed(Code::TooLarge, message)), "");
}

#[test]
fn the_size_is_known_before_the_text_is_made() {
    assert_eq!(size_after(10, 3, 2, 5), 19);
    assert_eq!(size_after(10, 3, 2, 0), 4);
    assert_eq!(size_after(10, 2, 2, usize::MAX / 2 + 1), usize::MAX);
}

#[test]
fn only_a_text_file_is_edited() {
    let tree = TempDir::new().unwrap();
    let edited = |path: &str| {
        let arguments = json!({"file_path": path, "old_string": "a", "new_string": "b"});
        edit(&Config::default(), tree.path().to_str(), &arguments.to_string())
    };
    let message = "`.` is a directory; give the path of a file";
    assert_eq!(edited("."), Err(failed(Code::IsDirectory, message)));
    let message = "cannot read `gone`: it does not exist; `read` the directory to see what does";
    assert_eq!(edited("gone"), Err(failed(Code::NotFound, message)));
}

fn change(old: &str, new: &str) -> Value {
    json!({"old_string": old, "new_string": new})
}

/// Edits `file` where 16 bytes are the limit; a failure leaves it as it was.
#[track_caller]
fn check(before: &str, mut arguments: Value, after: Result<&str, ToolError>, answer: &str) {
    let tree = TempDir::new().unwrap();
    let path = tree.path().join("file");
    fs::write(&path, before).unwrap();
    arguments["file_path"] = "file".into();
    let config = Config { max_file_size: 16, ..Config::default() };
    let edited = edit(&config, tree.path().to_str(), &arguments.to_string());
    let left = fs::read_to_string(&path).unwrap();
    let expected = match after {
        Ok(after) => (Ok(format!("edited: `file`, {answer}")), after.to_owned()),
        Err(error) => (Err(error), before.to_owned()),
    };
    assert_eq!((edited, left), expected);
}
