//! Reads what an ELF library says of itself, from its bytes alone and with no trust in them.

mod sections;

use std::env::consts::ARCH;

use lockgate_plugin_api::Manifest;
use lockgate_plugin_api::abi::entry::{NOTE_NAME, NOTE_TYPE};
use object::elf::{self, FileHeader64, FileType, Machine, NoteType, ProgramHeader64};
use object::read::elf::{Dyn, FileHeader, NoteIterator, ProgramHeader};
use object::{Endian, Endianness};

use crate::refusal::{Code, Refusal};

/// What a library says of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// Its manifest.
    pub manifest: Manifest,
    /// Whether it has static thread-local storage: such a library can be loaded once only.
    pub static_tls: bool,
}

type Header = FileHeader64<Endianness>;
type Segment = ProgramHeader64<Endianness>;

const HEADER_SIZE: u64 = size_of::<Header>() as u64;

/// The machines that are told apart by name, which is Rust's.
const MACHINES: [(Machine, &str); 11] = [
    (elf::EM_X86_64, "x86_64"),
    (elf::EM_AARCH64, "aarch64"),
    (elf::EM_RISCV, "riscv64"),
    (elf::EM_PPC64, "powerpc64"),
    (elf::EM_S390, "s390x"),
    (elf::EM_LOONGARCH, "loongarch64"),
    (elf::EM_SPARCV9, "sparc64"),
    (elf::EM_386, "x86"),
    (elf::EM_ARM, "arm"),
    (elf::EM_MIPS, "mips64"),
    (elf::EM_PPC, "powerpc"),
];

/// How files begin that are put in a plugin's place by mistake.
const FOREIGN: [(&[u8], &str); 5] = [
    (b"!<arch>\n", "a static library"),
    (b"MZ\x90\0", "a Windows program or library"),
    (b"\xcf\xfa\xed\xfe", "a macOS program or library"),
    (b"\xca\xfe\xba\xbe", "a macOS program or library"),
    (b"\0asm", "a WebAssembly module"),
];

/// What the library with these bytes says of itself.
///
/// Of the sections only that they are there to the end: they may be stripped, and the linker does
/// without them.
///
/// # Errors
///
/// `E-FORMAT` for what is no 64-bit ELF library or a damaged one, `E-ARCH`, `E-TRUNCATED` where a
/// segment, a section or a header reaches past the end or is not written yet, `E-NOTE` without a manifest, `E-MANIFEST` for one that
/// cannot be read, or several.
pub fn inspect(bytes: &[u8]) -> Result<Facts, Refusal> {
    recognise(bytes)?;
    let header = Header::parse(bytes).map_err(damaged)?;
    let endian = header.endian().map_err(damaged)?;
    is_library(header.e_type(endian))?;
    is_for_this_machine(header.e_machine(endian), endian)?;
    let segments = segments(header, endian, bytes)?;
    let flags = Flags::read(segments, endian, bytes)?;
    if flags.pie || segments.iter().any(|it| it.p_type(endian) == elf::PT_INTERP) {
        return Err(not_a_library("a program"));
    }
    sections::are_complete(header, endian, bytes)?;
    let manifest = manifest(&notes(segments, endian, bytes))?;
    Ok(Facts { manifest, static_tls: flags.static_tls })
}

/// Whether these bytes begin as a 64-bit ELF file does, and hold the whole header.
fn recognise(bytes: &[u8]) -> Result<(), Refusal> {
    if bytes.is_empty() {
        return Err(Refusal::new(Code::Format, "the file is empty"));
    }
    if !bytes.starts_with(&elf::ELFMAG) && !elf::ELFMAG.starts_with(bytes) {
        let message = format!("the file is {}, not an ELF library", guess(bytes));
        return Err(Refusal::new(Code::Format, message));
    }
    if bytes.get(elf::ELFMAG.len()) == Some(&elf::ELFCLASS32.0) {
        return Err(not_a_library("for 32 bits"));
    }
    within(bytes, "header reaches", HEADER_SIZE)
}

/// What a file is that is no ELF file.
fn guess(bytes: &[u8]) -> String {
    if let Some((_, name)) = FOREIGN.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return (*name).to_owned();
    }
    let start = &bytes[..bytes.len().min(512)];
    // A character that is cut in two at the end is text.
    let is_utf8 = str::from_utf8(start).map_or_else(|it| it.error_len().is_none(), |_| true);
    if is_utf8 && start.iter().all(|it| !it.is_ascii_control() || b"\t\n\x0c\r\x1b".contains(it)) {
        return "text".to_owned();
    }
    let start: Vec<_> = bytes.iter().take(4).map(|it| format!("{it:02x}")).collect();
    format!("data that begins with {}", start.join(" "))
}

fn is_library(kind: FileType) -> Result<(), Refusal> {
    match kind {
        elf::ET_DYN => Ok(()),
        elf::ET_REL => Err(not_a_library("an object file that is not linked")),
        elf::ET_EXEC => Err(not_a_library("a program")),
        elf::ET_CORE => Err(not_a_library("a core dump")),
        FileType(other) => Err(not_a_library(&format!("of the unknown type {other}"))),
    }
}

fn is_for_this_machine(machine: Machine, endian: Endianness) -> Result<(), Refusal> {
    let name = MACHINES.iter().find(|(it, _)| *it == machine).map(|(_, name)| *name);
    let is_native = endian.is_big_endian() == cfg!(target_endian = "big");
    if is_native && name == Some(ARCH) {
        return Ok(());
    }
    let name = name.map_or_else(|| format!("the unknown machine {}", machine.0), str::to_owned);
    let order = match endian {
        _ if is_native => "",
        Endianness::Little => " (little-endian)",
        Endianness::Big => " (big-endian)",
    };
    let message = format!("the file is built for {name}{order}, and this host runs on {ARCH}");
    Err(Refusal::new(Code::Arch, message))
}

/// The program headers; they and what they describe are inside the file.
fn segments<'a>(
    header: &Header,
    endian: Endianness,
    bytes: &'a [u8],
) -> Result<&'a [Segment], Refusal> {
    let count = u64::from(header.phnum(endian, bytes).map_err(damaged)?);
    let table = end(header.e_phoff(endian), count * size_of::<Segment>() as u64)?;
    within(bytes, "program headers reach", table)?;
    let segments = header.program_headers(endian, bytes).map_err(damaged)?;
    let mut last = 0;
    for segment in segments.iter().filter(|it| it.p_type(endian) != elf::PT_NULL) {
        let (offset, size) = segment.file_range(endian);
        if size > 0 {
            last = last.max(end(offset, size)?);
        }
    }
    within(bytes, "segments reach", last)?;
    Ok(segments)
}

/// What the dynamic linker is told about the file.
struct Flags {
    static_tls: bool,
    pie: bool,
}

impl Flags {
    fn read(segments: &[Segment], endian: Endianness, bytes: &[u8]) -> Result<Self, Refusal> {
        let mut flags = Self { static_tls: false, pie: false };
        for segment in segments {
            let entries = segment.dynamic(endian, bytes).map_err(damaged)?.unwrap_or_default();
            for entry in entries.iter().take_while(|it| it.tag(endian) != elf::DT_NULL) {
                match entry.tag(endian) {
                    elf::DT_FLAGS => {
                        flags.static_tls |= entry.val(endian) & elf::DF_STATIC_TLS.0 != 0;
                    }
                    elf::DT_FLAGS_1 => flags.pie |= entry.val(endian) & elf::DF_1_PIE.0 != 0,
                    _ => (),
                }
            }
        }
        Ok(flags)
    }
}

/// The texts of our notes. Notes that cannot be read are passed over: they may be of others.
fn notes<'a>(segments: &[Segment], endian: Endianness, bytes: &'a [u8]) -> Vec<&'a [u8]> {
    let mut found: Vec<_> = segments
        .iter()
        .filter_map(|it| notes_in(it, endian, bytes))
        .flat_map(|notes| notes.map_while(Result::ok))
        .filter(|it| it.name() == NOTE_NAME.as_bytes() && it.n_type(endian) == NoteType(NOTE_TYPE))
        .map(|it| it.desc())
        .collect();
    // Segments may overlap.
    found.dedup();
    found
}

/// The notes of a segment, if it is one of notes. They are laid out by eight bytes or by four,
/// whatever the segment is aligned to: a sanitizer aligns what it watches by 32.
fn notes_in<'a>(
    segment: &Segment,
    endian: Endianness,
    bytes: &'a [u8],
) -> Option<NoteIterator<'a, Header>> {
    let data =
        segment.data(endian, bytes).ok().filter(|_| segment.p_type(endian) == elf::PT_NOTE)?;
    let align = if segment.p_align(endian) == 8 { 8 } else { 4 };
    NoteIterator::new(endian, align, data).ok()
}

fn manifest(notes: &[&[u8]]) -> Result<Manifest, Refusal> {
    match notes {
        [] => Err(Refusal::new(
            Code::Note,
            format!("the library has no note `{NOTE_NAME}`, so it is not a plugin"),
        )),
        [note] => serde_json::from_slice(note).map_err(|error| {
            Refusal::new(Code::Manifest, format!("the manifest cannot be read: {error}"))
        }),
        more => Err(Refusal::new(
            Code::Manifest,
            format!("the library has {} manifests, and a plugin has one", more.len()),
        )),
    }
}

fn end(offset: u64, size: u64) -> Result<u64, Refusal> {
    offset.checked_add(size).ok_or_else(|| damaged("a segment has no end"))
}

fn within(bytes: &[u8], what: &str, end: u64) -> Result<(), Refusal> {
    let size = bytes.len() as u64;
    if end <= size {
        return Ok(());
    }
    let message = format!("the file ends after {size} bytes, and its {what} to byte {end}");
    Err(Refusal::new(Code::Truncated, message))
}

fn not_a_library(what: &str) -> Refusal {
    Refusal::new(Code::Format, format!("the ELF file is {what}, not a 64-bit shared library"))
}

fn damaged(error: impl std::fmt::Display) -> Refusal {
    Refusal::new(Code::Format, format!("the ELF file is damaged: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], expected: &str) {
        assert_eq!(inspect(bytes).unwrap_err().to_string(), expected);
    }

    #[test]
    fn what_is_not_elf_is_called_by_its_name() {
        let not_elf = |what| format!("E-FORMAT: the file is {what}, not an ELF library");
        check(b"", "E-FORMAT: the file is empty");
        check(b"#!/bin/sh\necho\t\x1b[1mno\r\n", &not_elf("text"));
        check("€".repeat(200).as_bytes(), &not_elf("text"));
        check(b"text\0", &not_elf("data that begins with 74 65 78 74"));
        check(b"\xff\xfe", &not_elf("data that begins with ff fe"));
        check(b"!<arch>\n/    ", &not_elf("a static library"));
        check(b"MZ\x90\0\x03", &not_elf("a Windows program or library"));
        check(b"\0asm\x01", &not_elf("a WebAssembly module"));
    }

    #[test]
    fn a_header_that_is_cut_is_truncated() {
        let cut = |size| {
            format!(
                "E-TRUNCATED: the file ends after {size} bytes, and its header reaches to byte 64"
            )
        };
        check(b"\x7f", &cut(1));
        check(b"\x7fELF", &cut(4));
        check(b"\x7fELF\x02", &cut(5));
        check(b"\x7fELF\x01", "E-FORMAT: the ELF file is for 32 bits, not a 64-bit shared library");
    }

    #[test]
    fn a_library_with_two_manifests_is_ambiguous() {
        let message = "the library has 2 manifests, and a plugin has one";
        assert_eq!(manifest(&[b"{}", b"[]"]), Err(Refusal::new(Code::Manifest, message)));
    }
}
