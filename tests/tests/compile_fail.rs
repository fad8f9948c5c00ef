//! What an author's mistake looks like to the compiler, and that it does not compile.

use std::process::Command;

/// The compiler whose words the expected errors are in.
const COMPILER: &str = "rustc 1.95.";

#[test]
fn mistakes_do_not_compile_and_are_told_at_the_authors_line() {
    let version = Command::new("rustc").arg("--version").output().expect("rustc runs").stdout;
    let version = String::from_utf8_lossy(&version);
    if !version.starts_with(COMPILER) {
        println!("left out: the expected errors are those of {COMPILER}x, and this is {version}");
        return;
    }
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
