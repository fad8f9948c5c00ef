//! Plugins in C, built against the header alone.

use std::io::{self, ErrorKind, Write as _};
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// A directory with the plugin that the C file `source` is, built with these options besides;
/// `None`, and that is said, where there is no C compiler.
///
/// # Panics
/// When it does not compile.
pub fn c_library(source: &Path, options: &[String]) -> Option<TempDir> {
    let dir = TempDir::new().expect("a temporary directory can be made");
    let include = concat!(env!("CARGO_MANIFEST_DIR"), "/../plugin-api/include");
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic"]).args(options);
    cc.args(["-shared", "-fPIC", "-fvisibility=hidden", "-pthread", "-I", include]);
    cc.arg(source).arg("-o").arg(dir.path().join("plugin.so"));
    let output = match cc.output() {
        Ok(output) => output,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let said = io::stderr().write_all(b"there is no `cc`: no plugin in C was tested\n");
            said.expect("standard error is there");
            return None;
        }
        Err(error) => panic!("`cc` does not run: {error}"),
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(dir)
}
