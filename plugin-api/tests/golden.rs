//! The ABI as text: a line that changes here is a change that plugins feel.
//!
//! After an intended change: `UPDATE_GOLDEN=1 cargo test -p lockgate-plugin-api --test golden`.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "abi/constants.rs"]
mod constants;
#[path = "abi/layouts.rs"]
mod layouts;

use std::fmt::Write as _;
use std::{env, fs};

use layouts::{Crossing, crossing};

#[test]
fn the_abi_is_the_golden_one() {
    let mut actual = String::new();
    for (name, value) in constants::texts() {
        writeln!(actual, "{name} = {value}").unwrap();
    }
    for (name, value) in constants::numbers() {
        writeln!(actual, "{name} = {value}").unwrap();
    }
    for it in constants::unchecked() {
        write!(actual, "\n{}: {} bytes\n", it.name, it.size).unwrap();
        for (field, offset) in it.fields {
            writeln!(actual, "{offset:5}  {field}").unwrap();
        }
    }
    for (name, it) in crossing() {
        write_type(&mut actual, &name, &it);
    }
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/abi.txt");
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(golden, &actual).unwrap();
    }
    let expected = fs::read_to_string(golden).unwrap();
    assert!(actual == expected, "the ABI is no longer {golden}:\n{actual}");
}

fn write_type(text: &mut String, name: &str, it: &Crossing) {
    let table = if it.is_table { "table, " } else { "" };
    write!(text, "\n{name}: {table}{} bytes, aligned to {}\n", it.size, it.alignment).unwrap();
    for field in &it.fields {
        writeln!(text, "{:5}  {}: {}", field.offset, field.name, field.kind).unwrap();
    }
    for (name, number) in &it.numbers {
        writeln!(text, "       {name} = {number}").unwrap();
    }
}
