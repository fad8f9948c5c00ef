//! What cannot be read, and what is known only when it runs.

use crate::Is::{Allowed, Asked, Denied, Open, Perhaps, Unclear};
use crate::check;

#[test]
fn what_cannot_be_read_or_known_is_never_allowed() {
    check(&[
        ("$CMD x", Unclear),
        ("\"$CMD\" x", Unclear),
        ("$(ls) x", Unclear),
        ("`ls` x", Unclear),
        ("r$x y", Unclear),
        ("/bin/r? y", Unclear),
        ("{rm,y}", Unclear),
        ("r{m,n} y", Unclear),
        ("echo \"a", Unclear),
        ("echo 'a", Unclear),
        ("echo $(ls", Unclear),
        ("echo `ls", Unclear),
        ("echo ${x", Unclear),
        ("echo $((1", Unclear),
        ("( ls", Unclear),
        ("{ ls", Unclear),
        ("if ls; then ls", Unclear),
        ("for x in a; do ls", Unclear),
        ("case x in a) ls", Unclear),
        ("[[ a", Unclear),
        ("ls )", Unclear),
        ("echo ((ls))", Unclear),
        ("((ls); ls)", Unclear),
        ("ls >", Unclear),
        ("ls \0", Unclear),
        ("rm y; echo \"a", Denied),
        ("echo $'\\0'", Unclear),
        ("\u{FFFC} y", Unclear),
    ]);
}

#[test]
fn a_part_that_is_not_known_fits_only_where_it_must_to_allow_and_where_it_may_to_ask() {
    check(&[
        ("git push origin main", Allowed),
        ("git push origin main --force", Asked),
        ("git push --force-with-lease", Asked),
        ("git push \"$x\"", Perhaps),
        ("git push $x", Perhaps),
        ("git push origin v\"$x\"", Allowed),
        ("git push origin v$x", Perhaps),
        ("git push origin *", Perhaps),
        ("git push origin [ab]", Perhaps),
        ("git push origin {a,b}", Perhaps),
        ("git push origin '*' \"{a,b}\"", Allowed),
        ("git $x", Perhaps),
        ("git \"$x\" main", Open),
        ("git \"$*\" main", Open),
        ("git \"$@\" main", Perhaps),
        ("git \"${x[@]}\" main", Perhaps),
        ("git status $x", Allowed),
        ("git stat\"$x\"", Open),
        ("git stash $x", Open),
        ("ls $x", Allowed),
    ]);
}

#[test]
fn nesting_ends_before_the_stack_does() {
    let nested = |open: &str, close: &str| {
        let count = 100_000 / (open.len() + close.len());
        format!("{}ls{}", open.repeat(count), close.repeat(count))
    };
    for (open, close) in [
        ("$(", ")"),
        ("\"$(", ")\""),
        ("( ", " )"),
        ("{ ", "; }"),
        ("${x:-", "}"),
        ("\"${x:-\"", "\"}\""),
        ("$((", "))"),
        ("<(", ")"),
        ("if ", "; then ls; fi"),
        ("case x in a) ", ";; esac"),
    ] {
        check(&[(&format!("echo; {}", nested(open, close)), Unclear)]);
    }
    check(&[(&format!("{}ls", "timeout 1 ".repeat(10_000)), Unclear)]);
    check(&[(&format!("{}ls", "f() ".repeat(10_000)), Allowed)]);
    check(&[(&"a=".repeat(600_000), Unclear)]);
}
