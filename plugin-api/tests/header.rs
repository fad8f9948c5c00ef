//! `include/lockgate.h` says what the Rust types are: each size, offset, type and constant.
//!
//! The C compiler compares. Where there is none, that is said and nothing is compared.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "abi/constants.rs"]
mod constants;
#[path = "abi/layouts.rs"]
mod layouts;

use std::fmt::Write as _;
use std::io::{ErrorKind, Write as _};
use std::process::{Command, Stdio};

use constants::Unchecked;
use layouts::{Crossing, crossing};

const INCLUDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/include");

#[test]
fn the_header_is_what_the_host_was_compiled_from() {
    let mut source = String::from("#include \"lockgate.h\"\n");
    for (name, number) in constants::numbers() {
        assert_that(&mut source, &format!("{name} == {number}"));
    }
    let [entry, note, prefixed] = constants::unchecked();
    write_unchecked(&mut source, "lockgate_entry", &entry);
    let header = prefixed.fields[0].1;
    assert_that(&mut source, &format!("sizeof(lockgate_header) == {header}"));
    assert_that(&mut source, "offsetof(lockgate_header, present) == 0");
    for (name, it) in crossing() {
        write_type(&mut source, &name, &it, header);
    }
    source += "LOCKGATE_PLUGIN(a_name, \"{..}\", NULL);\n";
    // The struct in the macro has no name, so it is known by the one that there is of it.
    write_unchecked(&mut source, "__typeof__(lockgate_note_of_a_name)", &note);
    compile(&source);
}

#[test]
fn the_texts_of_the_header_are_those_of_the_host() {
    let header = std::fs::read_to_string(format!("{INCLUDE}/lockgate.h")).unwrap();
    for (name, text) in constants::texts() {
        let line = format!("#define {name} \"{text}\"");
        assert!(header.lines().any(|it| it == line), "the header lacks: {line}");
    }
}

fn assert_that(source: &mut String, claim: &str) {
    let text = claim.replace('"', "'");
    writeln!(source, "_Static_assert({claim}, \"{text}\");").unwrap();
}

fn write_unchecked(source: &mut String, c_name: &str, it: &Unchecked) {
    writeln!(source, "/* {} */", it.name).unwrap();
    assert_that(source, &format!("sizeof({c_name}) == {}", it.size));
    for (field, offset) in &it.fields {
        assert_that(source, &format!("offsetof({c_name}, {field}) == {offset}"));
    }
}

fn write_type(source: &mut String, name: &str, it: &Crossing, header: usize) {
    // An instance is the plugin's own; C cannot say that it has no size.
    if name == "Instance" {
        return;
    }
    let c_name = c_name(name);
    let front = if it.is_table { header } else { 0 };
    assert_that(source, &format!("sizeof({c_name}) == {}", front + it.size));
    assert_that(source, &format!("_Alignof({c_name}) == {}", it.alignment));
    for field in it.fields.iter().filter(|it| it.name != "0") {
        // Two words that C takes for its own streams.
        let field_name = match &*field.name {
            "stdin" => "stdin_text",
            "stdout" => "stdout_bytes",
            "stderr" => "stderr_bytes",
            name => name,
        };
        let offset = front + field.offset;
        assert_that(source, &format!("offsetof({c_name}, {field_name}) == {offset}"));
        let kind = c_type(&field.kind);
        assert_that(
            source,
            &format!("_Generic((({c_name} *)0)->{field_name}, {kind}: 1, default: 0)"),
        );
    }
    if let Some(table) = ["PluginRoot", "Listener", "ToolEntry", "ProcessSpec"]
        .iter()
        .find(|table| name.split('<').next() == Some(**table))
    {
        let table = snake(table).to_uppercase();
        assert_that(source, &format!("LOCKGATE_{table}_FIELDS == {}", it.fields.len()));
    }
    let prefix = c_name.trim_end_matches("_decision").to_uppercase();
    for (name, number) in &it.numbers {
        assert_that(source, &format!("{prefix}_{name} == {number}"));
    }
}

/// The C name of a type of the boundary.
fn c_name(name: &str) -> String {
    let snaked = match name.split_once('<') {
        Some(("SeamFuture", answer)) => format!("{}_future", snake(answer.trim_end_matches('>'))),
        Some(("NextTable", answer)) => format!("{}_next", snake(answer.trim_end_matches('>'))),
        Some(("Listener", arguments)) => format!("{}_listener", seam(arguments)),
        Some(("Slice", "Str>")) => "strs".to_owned(),
        Some(("Slice", "u8>")) => "bytes".to_owned(),
        Some(("Slice", of)) => format!("{}_listeners", seam(&of["ListenerRef<".len()..])),
        Some(_) => panic!("C has no name for {name}"),
        None => snake(name),
    };
    format!("lockgate_{snaked}")
}

/// The seam of a listener with these arguments.
fn seam(arguments: &str) -> String {
    snake(arguments.split_once("ArgsRef").unwrap().0)
}

fn snake(name: &str) -> String {
    let mut snaked = String::new();
    for (at, letter) in name.char_indices() {
        if letter.is_uppercase() && at > 0 {
            snaked.push('_');
        }
        snaked.extend(letter.to_lowercase());
    }
    snaked
}

/// The C type for what the layouts call `kind`.
fn c_type(kind: &str) -> String {
    let kind = kind.strip_prefix("Option<").map_or(kind, |it| it.strip_suffix('>').unwrap());
    if let Some(function) = kind.strip_prefix("fn(") {
        let (parameters, returned) = match function.rsplit_once(") -> ") {
            Some((parameters, returned)) => (parameters, c_type(returned)),
            None => (function.strip_suffix(')').unwrap(), "void".to_owned()),
        };
        let kinds: Vec<_> = parameters
            .split(", ")
            .filter_map(|it| it.split_once(": "))
            .map(|(_, kind)| c_type(kind))
            .collect();
        let kinds = if kinds.is_empty() { "void".to_owned() } else { kinds.join(", ") };
        return format!("{returned} (*)({kinds})");
    }
    if let Some(pointee) = kind.strip_prefix("*const ") {
        return match c_type(pointee) {
            pointee if pointee.ends_with('*') => format!("{pointee} const *"),
            pointee => format!("const {pointee} *"),
        };
    }
    if let Some(pointee) = kind.strip_prefix("*mut ") {
        return format!("{} *", c_type(pointee));
    }
    let primitive = match kind {
        "()" => "void",
        // Text and bytes are characters in C.
        "u8" => "char",
        "u32" => "uint32_t",
        "i32" => "int32_t",
        "u64" => "uint64_t",
        "usize" => "size_t",
        _ => "",
    };
    if !primitive.is_empty() {
        return primitive.to_owned();
    }
    let (name, arguments) = kind.split_once('<').map_or((kind, None), |(a, b)| (a, Some(b)));
    match (name.strip_suffix("Ref"), arguments) {
        (Some(table), Some(arguments)) => {
            format!("const {} *", c_name(&format!("{table}<{arguments}")))
        }
        (Some(table), None) => format!("const {} *", c_name(table)),
        (None, _) => c_name(kind),
    }
}

fn compile(source: &str) {
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", "-x", "c"]);
    cc.args(["-I", INCLUDE, "-"]).stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut running = match cc.spawn() {
        Ok(running) => running,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            // Straight to the stream: what a test prints is seen only where it fails.
            let told = b"there is no `cc`: lockgate.h was not compared\n";
            std::io::stderr().write_all(told).unwrap();
            return;
        }
        Err(error) => panic!("`cc` does not run: {error}"),
    };
    running.stdin.take().unwrap().write_all(source.as_bytes()).unwrap();
    let output = running.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
