//! What paths lead to, with real directories and links.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::resolve;
use crate::failure::{Code, failed, invalid};

#[test]
fn a_path_from_the_sessions_directory_leads_into_it() {
    check("a.txt", Ok("work/a.txt"));
    check("./sub//b.txt", Ok("work/sub/b.txt"));
    check(".", Ok("work"));
    check("TREE/work/a.txt", Ok("work/a.txt"));
    check("..a", Ok("work/..a"));
}

#[test]
fn what_does_not_exist_has_a_place_too() {
    check("new/deep/c.txt", Ok("work/new/deep/c.txt"));
    check("a.txt/c.txt", Ok("work/a.txt/c.txt"));
}

#[test]
fn a_parent_is_followed_as_far_as_it_stays_inside() {
    check("sub/../a.txt", Ok("work/a.txt"));
    check("../work/a.txt", Ok("work/a.txt"));
    check("..", outside(".."));
    check("../outside/secret.txt", outside("../outside/secret.txt"));
    check("../outside/new.txt", outside("../outside/new.txt"));
    check("../work-two/new.txt", outside("../work-two/new.txt"));
    check("sub/../../outside/secret.txt", outside("sub/../../outside/secret.txt"));
}

#[test]
fn a_parent_behind_what_does_not_exist_leads_nowhere() {
    let message = "`new/../a.txt` has `..` behind what does not exist; give it without `..`";
    check("new/../a.txt", Err((Code::OutsideRoot, message)));
    let message = "`a.txt/..` has `..` behind what does not exist; give it without `..`";
    check("a.txt/..", Err((Code::OutsideRoot, message)));
}

#[test]
fn an_absolute_path_leads_nowhere_else() {
    check("TREE/outside/secret.txt", outside("TREE/outside/secret.txt"));
    check("TREE/outside/new/new.txt", outside("TREE/outside/new/new.txt"));
    check("/", outside("/"));
}

#[test]
fn a_link_is_followed_before_it_is_judged() {
    check("in", Ok("work/sub"));
    check("in/b.txt", Ok("work/sub/b.txt"));
    check("in/../a.txt", Ok("work/a.txt"));
    check("out", outside("out"));
    check("out/secret.txt", outside("out/secret.txt"));
    check("out/new/new.txt", outside("out/new/new.txt"));
    check("out/../work/a.txt", Ok("work/a.txt"));
    check("out-file", outside("out-file"));
    check("sub/up/outside/new.txt", outside("sub/up/outside/new.txt"));
}

#[test]
fn a_link_to_nothing_is_no_new_file() {
    for given in ["dangling", "dangling/", "dangling/new.txt"] {
        let message = format!("`{given}` leads through a link to nothing; give another path");
        check(given, Err((Code::NotFound, &message)));
    }
}

#[test]
fn a_ring_of_links_leads_nowhere() {
    let message = "cannot find `ring`: Too many levels of symbolic links (os error 40)";
    check("ring", Err((Code::Io, message)));
}

#[test]
fn a_session_whose_directory_is_a_link_is_confined_to_what_it_leads_to() {
    let tree = tree();
    let cwd = tree.path().join("work/in");
    check_in(&tree, Some(&cwd), &[], "b.txt", Ok("work/sub/b.txt"));
    let message = "`../a.txt` leads out of what may be used; use a path in `TREE/work/sub`";
    check_in(&tree, Some(&cwd), &[], "../a.txt", Err((Code::OutsideRoot, message)));
}

#[test]
fn a_root_may_be_used_besides() {
    let tree = tree();
    let cwd = tree.path().join("work/sub");
    let roots = [tree.path().join("work/out"), tree.path().join("gone")];
    check_in(&tree, Some(&cwd), &roots, "TREE/outside/new.txt", Ok("outside/new.txt"));
    check_in(&tree, Some(&cwd), &roots, "up/outside/secret.txt", Ok("outside/secret.txt"));
    let message = "`TREE/gone/new.txt` leads out of what may be used; use a path in \
                   `TREE/work/sub` or `TREE/outside`";
    check_in(&tree, Some(&cwd), &roots, "TREE/gone/new.txt", Err((Code::OutsideRoot, message)));
}

#[test]
fn a_session_without_a_directory_has_the_roots_only() {
    let tree = tree();
    let roots = [tree.path().join("outside")];
    check_in(&tree, None, &roots, "TREE/outside/secret.txt", Ok("outside/secret.txt"));
    let message = "the session has no directory, so `secret.txt` means no file";
    check_in(&tree, None, &roots, "secret.txt", Err((Code::OutsideRoot, message)));
    let message = "`TREE/work/a.txt` leads out of what may be used; files cannot be used here";
    check_in(&tree, None, &[], "TREE/work/a.txt", Err((Code::OutsideRoot, message)));
}

#[test]
fn a_session_whose_directory_is_gone_has_no_files() {
    let tree = tree();
    let gone = tree.path().join("gone");
    let message = "the session's directory `TREE/gone` cannot be used: No such file or directory \
                   (os error 2)";
    check_in(&tree, Some(&gone), &[], "a.txt", Err((Code::Io, message)));
}

#[test]
fn no_path_is_no_file() {
    let tree = tree();
    let error = resolve(&[], tree.path().to_str(), "").unwrap_err();
    assert_eq!(error, invalid("`file_path` is empty"));
}

/// `work`, where the session is, and what is around it.
fn tree() -> TempDir {
    let tree = TempDir::new().unwrap();
    let at = |path: &str| tree.path().join(path);
    for directory in ["work/sub", "outside", "work-two"] {
        fs::create_dir_all(at(directory)).unwrap();
    }
    for file in ["work/a.txt", "work/sub/b.txt", "outside/secret.txt"] {
        fs::write(at(file), "text").unwrap();
    }
    for (link, target) in [
        ("work/in", "sub"),
        ("work/out", "../outside"),
        ("work/out-file", "../outside/secret.txt"),
        ("work/sub/up", "../.."),
        ("work/dangling", "../outside/nothing"),
        ("work/ring", "ring"),
    ] {
        symlink(target, at(link)).unwrap();
    }
    tree
}

fn outside(given: &str) -> Result<&str, (Code, &str)> {
    let message =
        format!("`{given}` leads out of what may be used; use a path in `TREE/work`").leak();
    Err((Code::OutsideRoot, message))
}

#[track_caller]
fn check(given: &str, expected: Result<&str, (Code, &str)>) {
    let tree = tree();
    check_in(&tree, Some(&tree.path().join("work")), &[], given, expected);
}

/// `TREE` in paths and messages stands for the directory of the test.
#[track_caller]
fn check_in(
    tree: &TempDir,
    cwd: Option<&Path>,
    roots: &[PathBuf],
    given: &str,
    expected: Result<&str, (Code, &str)>,
) {
    let top = fs::canonicalize(tree.path()).unwrap();
    let in_tree = |text: &str| text.replace("TREE", top.to_str().unwrap());
    let given = in_tree(given);
    let place = resolve(roots, cwd.map(|it| it.to_str().unwrap()), &given);
    let expected = expected
        .map(|path| top.join(path))
        .map_err(|(code, message)| failed(code, in_tree(message)));
    assert_eq!(place.map(|it| it.path), expected);
}
