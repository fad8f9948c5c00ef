//! Tells the crate which compiler builds it, and for what: both stand in every manifest.

use std::env;
use std::process::Command;

fn main() {
    let rustc = env::var_os("RUSTC").expect("cargo names the compiler");
    let version = Command::new(rustc).arg("--version").output().expect("the compiler runs").stdout;
    let version = String::from_utf8(version).expect("the compiler prints UTF-8");
    let target = env::var("TARGET").expect("cargo names the target");
    println!("cargo::rustc-env=LOCKGATE_RUSTC={}", version.trim());
    println!("cargo::rustc-env=LOCKGATE_TARGET={target}");
    println!("cargo::rerun-if-changed=build.rs");
}
