//! The boundary itself, readable from top to bottom like a header.
//!
//! Everything that crosses is C-shaped: `#[repr(C)]`, tags as `u32`, no Rust enum, reference,
//! `bool` or niche. What may grow stands behind a prefix pointer (a `…_Ref`), whose reader asks
//! whether a field is there. The names of fields and parameters are part of the ABI: the layout
//! check compares them.
//!
//! Each function ends with how it is called, in brackets:
//! *any thread*: not bound to one; *concurrent*: several threads at once;
//! *must not block*: answers at once or through a future.
#![expect(unsafe_code, reason = "this is the boundary: pointers, lent and owned, stop here")]

pub mod agent;
pub mod asked;
pub mod blocking;
pub mod call;
pub mod entry;
pub mod future;
pub mod handle;
pub mod host;
pub mod json;
pub mod listener;
pub mod next;
mod offered;
pub mod process;
pub mod root;
pub mod seam;
#[cfg(feature = "testing")]
pub(crate) mod testing;
pub mod tool;
pub mod value;

/// A table with the header that makes it a prefix table: a `u64` with one bit a field that is
/// there, the lowest for the first, and a pointer that only the layout checker reads, null where
/// it has nothing to read.
pub use abi_stable::prefix_type::WithMetadata as Prefixed;

#[cfg(test)]
mod tests {
    use super::Prefixed;
    use super::agent::SessionStartArgs;

    #[test]
    fn two_words_stand_in_front_of_a_table() {
        let table = Prefixed::new(SessionStartArgs { agent: 7, source: 1 });
        // SAFETY: the table is four words long and this reads three of them, none of them padding;
        // what is a pointer keeps its provenance to itself.
        let words: [u64; 3] = unsafe { *(&raw const table).cast() };
        assert_eq!((words[0], words[2]), (0b11, 7));
    }
}
