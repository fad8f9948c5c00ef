//! What is read from real plugins, whole, cut short and damaged.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "what a test needs and lacks ends it")]

use std::env;
use std::fs;
use std::ops::Range;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use lockgate::artifact::elf::{Facts, inspect};
use lockgate::artifact::{Artifact, Copies};
use lockgate::compat;
use lockgate::refusal::{Code, Refusal};
use lockgate_plugin_api::{ListenerExport, SeamName};
use object::Endianness;
use object::elf::{
    DT_FLAGS, DT_FLAGS_1, DynamicTag, FileHeader64, PT_DYNAMIC, PT_LOAD, PT_NOTE, ProgramHeader64,
    ProgramType,
};
use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use tempfile::TempDir;

static GUARD: LazyLock<PathBuf> = LazyLock::new(|| library("native-guard"));
static BYTES: LazyLock<Vec<u8>> = LazyLock::new(|| fs::read(&*GUARD).unwrap());

/// Builds a plugin, and gives cargo's word for where its library is.
fn library(package: &str) -> PathBuf {
    let output = Command::new(env!("CARGO"))
        .args(["build", "--message-format=json", "-p", package])
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(output.status.success());
    let messages = serde_json::Deserializer::from_slice(&output.stdout).into_iter();
    let files = messages
        .map(|it: serde_json::Result<serde_json::Value>| it.unwrap())
        .filter(|it| it["target"]["name"] == package.replace('-', "_").as_str())
        .flat_map(|it| it["filenames"].as_array().cloned().unwrap_or_default());
    let mut files = files.filter_map(|it| it.as_str().map(PathBuf::from));
    files.find(|it| it.extension().is_some_and(|it| it == "so")).unwrap()
}

type Header = FileHeader64<Endianness>;

/// The plugin's header, its byte order, and its program headers.
fn headers() -> (&'static Header, Endianness, &'static [ProgramHeader64<Endianness>]) {
    let header = Header::parse(&BYTES[..]).unwrap();
    let endian = header.endian().unwrap();
    (header, endian, header.program_headers(endian, &BYTES[..]).unwrap())
}

/// Where the first program header of a kind stands.
fn segment_header(kind: ProgramType) -> usize {
    let (header, endian, segments) = headers();
    let nth = segments.iter().position(|it| it.p_type(endian) == kind).unwrap();
    header.e_phoff(endian) as usize + nth * size_of::<ProgramHeader64<Endianness>>()
}

/// Where the segments of a kind stand in the plugin's file.
fn segments(kind: ProgramType) -> Vec<Range<usize>> {
    let (_, endian, segments) = headers();
    let range = |(start, size): (u64, u64)| start as usize..(start + size) as usize;
    let of_kind = segments.iter().filter(|it| it.p_type(endian) == kind);
    of_kind.map(|it| range(it.file_range(endian))).collect()
}

/// Where the program headers end.
fn table_end() -> usize {
    let (header, endian, segments) = headers();
    header.e_phoff(endian) as usize + size_of_val(segments)
}

/// The last byte that the linker maps, and one.
fn mapped() -> usize {
    segments(PT_LOAD).into_iter().map(|it| it.end).max().unwrap()
}

/// Where `needle` first stands in the plugin's file.
fn find(needle: &[u8]) -> usize {
    BYTES.windows(needle.len()).position(|it| it == needle).unwrap()
}

/// The plugin's file with `patch` at `at`.
fn patched(at: usize, patch: &[u8]) -> Vec<u8> {
    let mut bytes = BYTES.clone();
    bytes[at..at + patch.len()].copy_from_slice(patch);
    bytes
}

/// The plugin's file with `bit` set in the value of a dynamic entry.
fn flagged(tag: DynamicTag, bit: u64) -> Vec<u8> {
    let (_, endian, segments_of) = headers();
    let entries = segments_of.iter().find_map(|it| it.dynamic(endian, &BYTES[..]).unwrap());
    let mut entries = entries.unwrap().iter().enumerate();
    let (nth, entry) = entries.find(|(_, it)| it.tag(endian) == tag).unwrap();
    let at = segments(PT_DYNAMIC)[0].start + nth * size_of_val(entry) + size_of::<u64>();
    patched(at, &(entry.val(endian) | bit).to_ne_bytes())
}

#[track_caller]
fn refused(bytes: &[u8], expected: &str) {
    assert_eq!(inspect(bytes).unwrap_err().to_string(), expected);
}

#[test]
fn a_plugin_says_what_it_is() {
    let dir = TempDir::new().unwrap();
    let link = dir.path().join("link.so");
    symlink(&*GUARD, &link).unwrap();
    let artifact = Artifact::read(&link).unwrap();
    assert_eq!(artifact.path, link);
    assert!(artifact.bytes == *BYTES);
    assert_eq!(artifact.hash, blake3::hash(&BYTES));
    assert!(!artifact.static_tls);
    let manifest = &artifact.manifest;
    assert_eq!((manifest.name.as_str(), manifest.tools), ("native-guard", false));
    let gate = ListenerExport {
        seam: SeamName::PreExecute,
        name: "gate".into(),
        priority: 10,
        required: true,
    };
    assert_eq!(manifest.listeners[2], gate);
    assert_eq!(compat::check(manifest), Ok(()));
}

#[test]
fn a_copy_of_a_plugin_is_the_plugin() {
    let dir = TempDir::new().unwrap();
    let copies = Copies::within(dir.path()).unwrap();
    let artifact = Artifact::read(&GUARD).unwrap();
    let copy = Artifact::read(&copies.write(&artifact, 1).unwrap()).unwrap();
    assert_eq!((copy.hash, copy.manifest), (artifact.hash, artifact.manifest));
}

#[test]
fn a_plugin_without_section_headers_is_a_plugin() {
    let whole = inspect(&BYTES).unwrap();
    let mut stripped = BYTES[..mapped()].to_vec();
    stripped[0x28..0x30].fill(0);
    stripped[0x3a..0x40].fill(0);
    assert_eq!(inspect(&stripped), Ok(whole.clone()));
    let mut shifted = vec![0];
    shifted.extend(&BYTES[..]);
    assert_eq!(inspect(&shifted[1..]), Ok(whole));
}

#[test]
fn other_machines_are_named() {
    #[track_caller]
    fn check(machine: u16, name: &str) {
        let host = env::consts::ARCH;
        let expected =
            format!("E-ARCH: the file is built for {name}, and this host runs on {host}");
        refused(&patched(0x12, &machine.to_ne_bytes()), &expected);
    }
    check(22, "s390x");
    check(243, "riscv64");
    check(0xffee, "the unknown machine 65518");
    let host = env::consts::ARCH;
    let mut swapped = patched(5, &[3 - BYTES[5]]);
    for field in [0x10, 0x12] {
        swapped[field..field + 2].reverse();
    }
    let order = if cfg!(target_endian = "big") { "little" } else { "big" };
    refused(
        &swapped,
        &format!(
            "E-ARCH: the file is built for {host} ({order}-endian), and this host runs on {host}"
        ),
    );
}

#[test]
fn only_a_shared_library_is_taken() {
    let not_a_library =
        |what| format!("E-FORMAT: the ELF file is {what}, not a 64-bit shared library");
    let kind = |kind: u16| patched(0x10, &kind.to_ne_bytes());
    refused(&patched(4, &[1]), &not_a_library("for 32 bits"));
    refused(&kind(1), &not_a_library("an object file that is not linked"));
    refused(&kind(2), &not_a_library("a program"));
    refused(&kind(4), &not_a_library("a core dump"));
    refused(&kind(9), &not_a_library("of the unknown type 9"));
    refused(&flagged(DT_FLAGS_1, 0x0800_0000), &not_a_library("a program"));
    refused(&patched(segment_header(PT_NOTE), &[3]), &not_a_library("a program"));
    refused(&fs::read(env::current_exe().unwrap()).unwrap(), &not_a_library("a program"));
    refused(&patched(4, &[7]), "E-FORMAT: the ELF file is damaged: Unsupported ELF header");
}

#[test]
fn a_library_that_says_nothing_of_itself_is_no_plugin() {
    let none = "E-NOTE: the library has no note `LOCKGATE`, so it is not a plugin";
    let note = find(b"LOCKGATE\0\0\0\0{");
    refused(&patched(note, b"LOCKGATF"), none);
    refused(&patched(note - 4, &2_u32.to_ne_bytes()), none);
    refused(&patched(note - 8, &u32::MAX.to_ne_bytes()), none);
    refused(&patched(segment_header(PT_NOTE), &[0]), none);
}

#[test]
fn a_note_may_be_aligned_more_widely_than_notes_are() {
    let at = segment_header(PT_NOTE) + size_of::<ProgramHeader64<Endianness>>() - 8;
    for align in [1_u64, 32, 4096] {
        assert_eq!(inspect(&patched(at, &align.to_ne_bytes())), inspect(&BYTES));
    }
}

#[test]
fn a_manifest_can_be_read() {
    let text = find(b"{\"name\":\"native-guard\"");
    refused(
        &patched(text, b"["),
        "E-MANIFEST: the manifest cannot be read: expected `,` or `]` at line 1 column 8",
    );
    refused(
        &patched(text + 8, b"12345678901234"),
        "E-MANIFEST: the manifest cannot be read: invalid type: integer `12345678901234`, \
         expected a string at line 1 column 22",
    );
}

#[test]
fn static_thread_local_storage_is_a_fact() {
    let whole = inspect(&BYTES).unwrap();
    assert_eq!(inspect(&flagged(DT_FLAGS, 0x10)), Ok(Facts { static_tls: true, ..whole }));
}

#[test]
fn a_file_that_is_cut_anywhere_is_truncated() {
    let end = mapped();
    let table = table_end();
    let step = BYTES.len() / 200;
    let near = [1, 3, 4, 5, 63, 64, 65, table - 1, table, table + 1, end - 1, end, end + 1];
    let near = near.into_iter().chain([BYTES.len() - 1]);
    for size in near.chain((1..200).map(|it| it * step)) {
        let (what, needed) = match size {
            0..64 => ("header reaches", 64),
            _ if size < table => ("program headers reach", table),
            _ if size < end => ("segments reach", end),
            // Which linkers write last.
            _ => ("section headers reach", BYTES.len()),
        };
        let message = format!("the file ends after {size} bytes, and its {what} to byte {needed}");
        let expected = Err(Refusal::new(Code::Truncated, message));
        assert_eq!(inspect(&BYTES[..size]), expected, "cut after {size} bytes");
    }
}

#[test]
fn a_damaged_file_is_refused_or_is_what_it_was() {
    let table = table_end();
    let (notes, dynamic) = (&segments(PT_NOTE)[0], &segments(PT_DYNAMIC)[0]);
    let examined = |at: usize| at < table || notes.contains(&at) || dynamic.contains(&at);
    let whole = inspect(&BYTES).unwrap();
    let mut bytes = BYTES.to_vec();
    let spread = (0..200).map(|it| it * (mapped() / 200));
    for at in (0..table).chain(notes.clone()).chain(dynamic.clone()).chain(spread) {
        for flip in [0x01, 0x80, 0xff] {
            bytes[at] ^= flip;
            match inspect(&bytes) {
                Ok(facts) => assert!(examined(at) || facts == whole, "byte {at}"),
                Err(refusal) => {
                    assert!(examined(at), "byte {at}: {refusal}");
                    let known =
                        [Code::Format, Code::Truncated, Code::Arch, Code::Note, Code::Manifest];
                    assert!(known.contains(&refusal.code()), "byte {at}: {refusal}");
                }
            }
            bytes[at] ^= flip;
        }
    }
}

#[test]
fn a_tool_plugin_is_a_plugin() {
    let artifact = Artifact::read(Path::new(&library("tool-shell"))).unwrap();
    assert_eq!((artifact.manifest.name.as_str(), artifact.manifest.tools), ("tool-shell", true));
}
