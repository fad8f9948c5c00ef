//! Files that are nearly plugins, and libraries that do harm while they are loaded: each is refused
//! in one line, and the good plugin beside them is live and does its work.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::env;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use lockgate::{Host, HostOptions, PluginSettings, PluginState, Probe};
use lockgate_tests::puppets::{request, seen};
use lockgate_tests::stage::{INCOMPATIBLE, Stage};
use lockgate_tests::{library, lockgate, plugin_dir};
use serde_json::json;
use tempfile::TempDir;

/// `puppet`, which many of the files are made of.
fn puppet() -> Vec<u8> {
    fs::read(library("puppet")).unwrap()
}

/// `library` with the first `from` changed to `to`.
fn changed(mut library: Vec<u8>, from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len(), "a library keeps its length");
    let found = library.windows(from.len()).position(|it| it == from.as_bytes());
    let at = found.unwrap_or_else(|| panic!("the library has no `{from}`"));
    library[at..at + to.len()].copy_from_slice(to.as_bytes());
    library
}

/// `puppet` with these bytes at `at`.
fn with(at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut library = puppet();
    library[at..at + bytes.len()].copy_from_slice(bytes);
    library
}

/// `text` without what no test can know: numbers, and where private copies are.
fn stable(text: &str) -> String {
    let words = text.split(' ').map(|word| {
        let end = word.trim_start_matches(|it| it != ':');
        if word.starts_with('/') { format!("PATH{end}") } else { word.to_owned() }
    });
    let mut told = String::new();
    for char in words.collect::<Vec<_>>().join(" ").chars() {
        match char {
            '0'..='9' if told.ends_with('#') => {}
            '0'..='9' => told.push('#'),
            other => told.push(other),
        }
    }
    told
}

/// Checks what a host says of the files in `dir`, to which `z_good.so` is added, and that a call
/// to it comes through.
#[track_caller]
fn check(dir: &Path, probe: Probe, expected: &[(&str, &str)]) {
    fs::write(dir.join("z_good.so"), puppet()).unwrap();
    let tools = PluginSettings { config: json!({"tools": true}), ..PluginSettings::default() };
    let options = HostOptions {
        plugin_dirs: vec![dir.to_owned()],
        plugins: [("puppet".to_owned(), tools)].into(),
        probe,
        ..HostOptions::default()
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let host = runtime.block_on(async { Host::start(&options).unwrap() });
    let told: Vec<(String, String)> = host
        .plugins()
        .iter()
        .map(|report| {
            let state = match &report.state {
                PluginState::Live { .. } => "live".into(),
                PluginState::Refused(refusal) => stable(&refusal.to_string()),
                other => format!("{other:?}"),
            };
            (report.path.file_name().unwrap().to_str().unwrap().to_owned(), state)
        })
        .collect();
    let told: Vec<(&str, &str)> = told.iter().map(|(file, state)| (&**file, &**state)).collect();
    assert_eq!(told, [expected, &[("z_good.so", "live")]].concat());
    let outcome = runtime.block_on(host.execute(request("echo", &json!({"value": "hi"}))));
    assert_eq!(seen(&outcome), json!({"isError": false, "text": "hi"}));
}

fn dir_of(files: &[(&str, Vec<u8>)]) -> TempDir {
    let dir = plugin_dir(&[]);
    for (name, bytes) in files {
        fs::write(dir.path().join(name), bytes).unwrap();
    }
    dir
}

#[test]
fn a_file_that_is_not_whole_is_refused_before_it_is_mapped() {
    let whole = puppet();
    let part = |size: usize| whole[..size].to_vec();
    let tail = fs::read(library("puppet-b")).unwrap();
    let dir = dir_of(&[
        ("a_half_a_header.so", part(32)),
        ("b_header.so", part(64)),
        ("c_headers.so", part(1024)),
        ("d_segment.so", part(whole.len() / 8)),
        // No linker reads the table of sections at the end: what lacks it is still being written.
        ("e_sections.so", tail[..tail.len() - 64].to_vec()),
    ]);
    let ends =
        |what: &str| format!("E-TRUNCATED: the file ends after # bytes, and its {what} to byte #");
    check(
        dir.path(),
        Probe::Off,
        &[
            ("a_half_a_header.so", &ends("header reaches")),
            ("b_header.so", &ends("program headers reach")),
            ("c_headers.so", &ends("segments reach")),
            ("d_segment.so", &ends("segments reach")),
            ("e_sections.so", &ends("section headers reach")),
        ],
    );
}

#[test]
fn an_elf_file_of_another_kind_is_refused() {
    const CLASS: usize = 4;
    const TYPE: usize = 16;
    const MACHINE: usize = 18;
    let s390x = 22_u16.to_ne_bytes();
    let relocatable = 1_u16.to_ne_bytes();
    let program = fs::read(env::current_exe().unwrap()).unwrap();
    let dir = dir_of(&[
        ("a_32_bits.so", with(CLASS, &[1])),
        ("b_machine.so", with(MACHINE, &s390x)),
        ("c_object.so", with(TYPE, &relocatable)),
        ("d_program.so", program),
        ("e_no_note.so", changed(puppet(), "LOCKGATE\0\0\0\0{", "LOCKGAZE\0\0\0\0{")),
    ]);
    let not = |what: &str| format!("E-FORMAT: the ELF file is {what}, not a #-bit shared library");
    let arch = stable(env::consts::ARCH);
    check(
        dir.path(),
        Probe::Off,
        &[
            ("a_32_bits.so", &not("for # bits")),
            (
                "b_machine.so",
                &format!("E-ARCH: the file is built for s#x, and this host runs on {arch}"),
            ),
            ("c_object.so", &not("an object file that is not linked")),
            ("d_program.so", &not("a program")),
            ("e_no_note.so", "E-NOTE: the library has no note `LOCKGATE`, so it is not a plugin"),
        ],
    );
}

#[test]
fn a_library_that_cannot_be_linked_is_refused_with_what_it_lacks() {
    let dir = dir_of(&[
        ("a_needed.so", changed(puppet(), "libgcc_s.so.1", "libgcc_z.so.1")),
        ("b_symbol.so", changed(puppet(), "\0_Unwind_Resume\0", "\0_Unwind_Resumz\0")),
    ]);
    check(
        dir.path(),
        Probe::Off,
        &[
            (
                "a_needed.so",
                "E-DLOPEN: the linker refused it: libgcc_z.so.#: cannot open shared object file: \
                 No such file or directory",
            ),
            (
                "b_symbol.so",
                "E-DLOPEN: the linker refused it: PATH: undefined symbol: _Unwind_Resumz, version \
                 GCC_#.#",
            ),
        ],
    );
}

#[test]
fn what_is_no_file_is_refused_or_passed_over() {
    let dir = plugin_dir(&[]);
    let path = |name: &str| dir.path().join(name);
    assert!(Command::new("mkfifo").arg(path("a_pipe.so")).status().unwrap().success());
    symlink("b_loop.so", path("b_loop.so")).unwrap();
    symlink("nowhere", path("c_dangling.so")).unwrap();
    fs::create_dir(path("d_directory.so")).unwrap();
    let mut expected = vec![
        ("a_pipe.so", "E-FILE: the path leads to a named pipe, not to a file"),
        (
            "b_loop.so",
            "E-IO: the file cannot be read: Too many levels of symbolic links (os error #)",
        ),
        ("c_dangling.so", "E-IO: the file cannot be read: No such file or directory (os error #)"),
    ];
    let closed = path("e_closed.so");
    fs::write(&closed, puppet()).unwrap();
    fs::set_permissions(&closed, Permissions::from_mode(0o0)).unwrap();
    if File::open(&closed).is_ok() {
        say("whoever runs this may read everything, so there is no file that cannot be read");
        fs::remove_file(closed).unwrap();
    } else {
        let said = "E-IO: the file cannot be read: Permission denied (os error #)";
        expected.push(("e_closed.so", said));
    }
    check(dir.path(), Probe::Off, &expected);
}

#[expect(clippy::print_stderr, reason = "whoever reads the output is told what was not tested")]
fn say(text: &str) {
    eprintln!("{text}");
}

/// A plugin whose constructor does as `order` says, of eight letters.
fn constructing(order: &str) -> Vec<u8> {
    let library = fs::read(library("ctor")).unwrap();
    changed(library, "constructor:nothing.", &format!("constructor:{order}"))
}

#[test]
fn what_ends_or_hangs_while_it_is_loaded_is_refused_by_a_probe() {
    let dir = dir_of(&[
        ("a_abort.so", constructing("abort...")),
        ("b_exit_0.so", constructing("exit-0..")),
        ("c_exit_7.so", constructing("exit-7..")),
        ("d_hang.so", constructing("hang....")),
        ("e_segfault.so", constructing("segfault")),
        ("f_nothing.so", constructing("nothing.")),
    ]);
    let ended = "E-PROBE: loading it ended a child process with the";
    check(
        dir.path(),
        Probe::Command(lockgate().to_owned()),
        &[
            ("a_abort.so", &format!("{ended} signal #")),
            ("b_exit_0.so", "E-PROBE: loading it in a child process ended without a word"),
            ("c_exit_7.so", &format!("{ended} exit code #")),
            ("d_hang.so", "E-PROBE: loading it took more than # s in a child process"),
            ("e_segfault.so", &format!("{ended} signal #")),
            ("f_nothing.so", "live"),
        ],
    );
}

#[test]
fn the_program_survives_the_check_of_what_ends_while_it_is_loaded() {
    let stage = Stage::with(dir_of(&[
        ("a_abort.so", constructing("abort...")),
        ("b_exit.so", constructing("exit-0..")),
        ("c_segfault.so", constructing("segfault")),
        ("d_nothing.so", constructing("nothing.")),
    ]));
    let ran = stage.run(&["plugins", "check", "p"]);
    let remedy = "Ask who makes the plugin; it would have taken the host along.";
    let expected = format!(
        "p/a_abort.so: E-PROBE: loading it ended a child process with the signal 6\n    {remedy}\n\
         p/b_exit.so: E-PROBE: loading it in a child process ended without a word\n    {remedy}\n\
         p/c_segfault.so: E-PROBE: loading it ended a child process with the signal 11\n    \
         {remedy}\n\
         p/d_nothing.so: ok\n"
    );
    assert_eq!((ran.code, ran.out, ran.err), (Some(INCOMPATIBLE), expected, String::new()));
}
