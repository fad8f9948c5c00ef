//! Whether a library is there to its last byte: linkers write its sections' headers at the end.

use object::read::elf::{FileHeader, SectionHeader};
use object::{Endianness, elf};

use super::{Header, damaged, end, within};
use crate::refusal::{Code, Refusal};

/// The name that a table of names has in itself.
const TABLE: &[u8] = b".shstrtab";

/// Checks that the table of sections, and each section, is in the file and written. A file whose
/// sections were stripped has nothing to check.
///
/// # Errors
/// `E-TRUNCATED` for one that is still being written, or was cut; `E-FORMAT` for one that makes no
/// sense.
pub(super) fn are_complete(
    header: &Header,
    endian: Endianness,
    bytes: &[u8],
) -> Result<(), Refusal> {
    if header.e_shoff(endian) == 0 {
        return Ok(());
    }
    let count = u64::from(header.shnum(endian, bytes).map_err(damaged)?);
    let table = count * u64::from(header.e_shentsize(endian));
    within(bytes, "section headers reach", end(header.e_shoff(endian), table)?)?;
    let sections = header.section_headers(endian, bytes).map_err(damaged)?;
    let mut last = 0;
    for section in sections.iter().skip(1) {
        // Where the file was made as long as it will be, what is not written yet is zero.
        if section.sh_type(endian) == elf::SHT_NULL {
            return Err(unwritten("a section's header"));
        }
        if let Some((offset, size)) = section.file_range(endian) {
            last = last.max(end(offset, size)?);
        }
    }
    within(bytes, "sections reach", last)?;
    let names = header.section_strings_index(endian, bytes).map_err(damaged)?;
    let names = sections.get(names.0).and_then(|it| it.data(endian, bytes).ok());
    match names {
        Some(names) if names.windows(TABLE.len()).any(|it| it == TABLE) => Ok(()),
        Some(_) | None => Err(unwritten("the names of its sections")),
    }
}

fn unwritten(what: &str) -> Refusal {
    Refusal::new(Code::Truncated, format!("part of the file is not written yet: {what}"))
}
