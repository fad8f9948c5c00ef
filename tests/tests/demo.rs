//! The demo, as a newcomer runs it.

use std::path::Path;
use std::process::Command;

use lockgate_tests::lockgate;

/// The lines of the demo's first call of `command`, from the call to its result.
fn call<'a>(lines: &[&'a str], command: &str, nth: usize) -> Vec<&'a str> {
    let is_it = |it: &&&str| it.starts_with("  bash {") && it.contains(command);
    let mut starts = lines.iter().enumerate().filter(|(_, it)| is_it(it));
    let start = starts.nth(nth).unwrap_or_else(|| panic!("no call {nth} of {command}")).0;
    let rest = lines[start + 1..].iter();
    rest.take_while(|it| it.starts_with("    ") || it.starts_with("  = ")).copied().collect()
}

#[test]
fn the_demo_decides_and_swaps_a_policy_while_it_goes_on() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut demo = Command::new(lockgate());
    demo.arg("demo").current_dir(workspace).env("NO_COLOR", "1").env("CARGO", env!("CARGO"));
    let output = demo.output().unwrap();
    let said =
        String::from_utf8(output.stderr).unwrap() + &String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}");
    let lines: Vec<&str> = said.lines().collect();

    let removed = call(&lines, "rm -rf notes.txt", 0);
    assert!(removed[0].contains("deny") && removed[0].contains("native-guard/gate"), "{said}");
    let before = call(&lines, "cat notes.txt", 0);
    assert!(before[0].contains("allow"), "{said}");
    assert!(before.iter().any(|it| it.starts_with("  = water the plants")), "{said}");
    let after = call(&lines, "cat notes.txt", 1);
    let denied = "Error: arguments with `notes.txt` are not allowed here";
    assert!(after[0].contains("deny"), "{said}");
    assert!(after.iter().any(|it| it.contains(denied)), "{said}");
    assert!(said.contains("notes.txt is still there"), "{said}");
}
