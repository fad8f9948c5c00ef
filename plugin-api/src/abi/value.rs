//! The values every table is made of: a status, borrowed text, a borrowed list, and owned bytes.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::{fmt, ptr, slice, str};

use abi_stable::StableAbi;

use super::future::guard;

/// How an entry ended. Zero is never one of them, so that a forgotten return is not a yes.
#[repr(transparent)]
#[derive(StableAbi, Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status(
    /// The number that crosses.
    pub u32,
);

impl Status {
    /// `out` was written.
    pub const READY: Self = Self(1);
    /// No opinion: the host goes on as if the listener were not there.
    pub const NEXT: Self = Self(2);
    /// `future` was written and will answer.
    pub const PENDING: Self = Self(3);
    /// `fault` was written: what went wrong, for the operator.
    pub const FAULT: Self = Self(4);
}

/// A plugin's own state. Only the plugin that made it knows what it is.
#[repr(C)]
#[derive(StableAbi)]
pub struct Instance {
    _opaque: [u8; 0],
}

/// Borrowed text: a pointer and a length in bytes. Null with zero is the empty text.
///
/// Whoever lends one says for how long. The host lends valid UTF-8 only; what a plugin lends
/// is checked by the host when it is read.
#[repr(C)]
#[derive(StableAbi, Clone, Copy)]
pub struct Str {
    ptr: *const u8,
    len: usize,
}

// SAFETY: a `Str` is a pointer to bytes that nobody writes while they are lent.
unsafe impl Send for Str {}
// SAFETY: as for `Send`: shared reads of bytes that do not change.
unsafe impl Sync for Str {}

impl Str {
    /// The empty text.
    pub const EMPTY: Self = Self { ptr: ptr::null(), len: 0 };

    /// Lends `text`. The borrow is not tracked: the lender keeps `text` alive as long as promised.
    pub const fn lend(text: &str) -> Self {
        Self { ptr: text.as_ptr(), len: text.len() }
    }

    /// The text, if it is UTF-8.
    ///
    /// # Errors
    /// When the bytes are not UTF-8.
    ///
    /// # Safety
    /// The lender's promise must hold for `'a`.
    pub unsafe fn read<'a>(self) -> Result<&'a str, str::Utf8Error> {
        // SAFETY: the caller vouches that the bytes are lent for `'a`.
        str::from_utf8(unsafe { bytes(self.ptr, self.len) })
    }

    /// The text, without looking: for plugins reading what the host lent.
    ///
    /// # Safety
    /// The host lent it, and its promise holds for `'a`.
    pub unsafe fn trusted<'a>(self) -> &'a str {
        // SAFETY: the caller vouches that the bytes are lent for `'a`.
        let bytes = unsafe { bytes(self.ptr, self.len) };
        // SAFETY: the host lends valid UTF-8 only.
        unsafe { str::from_utf8_unchecked(bytes) }
    }
}

/// A borrowed list: a pointer and a count. Null with zero is the empty list.
#[repr(C)]
#[derive(StableAbi)]
pub struct Slice<T> {
    ptr: *const T,
    len: usize,
    _items: PhantomData<T>,
}

impl<T> Clone for Slice<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Slice<T> {}

// SAFETY: a list is shared reads of items that may themselves be shared.
unsafe impl<T: Sync> Send for Slice<T> {}
// SAFETY: as for `Send`.
unsafe impl<T: Sync> Sync for Slice<T> {}

impl<T> Slice<T> {
    /// The empty list.
    pub const EMPTY: Self = Self { ptr: ptr::null(), len: 0, _items: PhantomData };

    /// Lends `items`. The borrow is not tracked: the lender keeps them alive as long as promised.
    pub const fn lend(items: &[T]) -> Self {
        Self { ptr: items.as_ptr(), len: items.len(), _items: PhantomData }
    }

    /// The items.
    ///
    /// # Safety
    /// The lender's promise must hold for `'a`.
    pub unsafe fn read<'a>(self) -> &'a [T] {
        if self.ptr.is_null() {
            return &[];
        }
        // SAFETY: not null, and the caller vouches that the items are lent for `'a`.
        unsafe { slice::from_raw_parts(self.ptr, self.len) }
    }
}

/// Owned bytes that carry the way to free them, callable on any thread and at any time, even
/// after the instance that made them was destroyed. Null is empty.
#[repr(C)]
#[derive(StableAbi)]
pub struct Buf {
    ptr: *const u8,
    len: usize,
    owner: *mut (),
    free: Option<unsafe extern "C" fn(ptr: *const u8, len: usize, owner: *mut ())>,
}

// SAFETY: the bytes have one owner, never change, and `free` may be called on any thread.
unsafe impl Send for Buf {}
// SAFETY: shared access only reads.
unsafe impl Sync for Buf {}

impl Buf {
    /// No bytes.
    pub const EMPTY: Self = Self { ptr: ptr::null(), len: 0, owner: ptr::null_mut(), free: None };

    /// Lends bytes of `owner` and keeps it alive: handing out any size costs one count.
    pub fn shared<T: Send + Sync + 'static>(
        owner: &Arc<T>,
        part: impl FnOnce(&T) -> &[u8],
    ) -> Self {
        unsafe extern "C" fn free<T>(_: *const u8, _: usize, owner: *mut ()) {
            // SAFETY: `owner` came from `Arc::into_raw` below, and `free` is called once.
            let owner = unsafe { Arc::from_raw(owner.cast_const().cast::<T>()) };
            // A destructor that panics has been reported by the panic hook.
            let _ = guard(move || drop(owner));
        }
        let bytes = part(owner);
        if bytes.is_empty() {
            return Self::EMPTY;
        }
        let (ptr, len) = (bytes.as_ptr(), bytes.len());
        let owner = Arc::into_raw(Arc::clone(owner)).cast_mut().cast();
        Self { ptr, len, owner, free: Some(free::<T>) }
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        // SAFETY: whoever made the `Buf` promised `len` bytes that live until `free`.
        unsafe { bytes(self.ptr, self.len) }
    }

    /// The bytes as text.
    ///
    /// # Errors
    /// When they are not UTF-8.
    pub fn as_str(&self) -> Result<&str, str::Utf8Error> {
        str::from_utf8(self.as_bytes())
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.ptr.is_null() || self.len == 0
    }
}

impl From<String> for Buf {
    fn from(text: String) -> Self {
        Self::from(text.into_bytes())
    }
}

impl From<Vec<u8>> for Buf {
    fn from(bytes: Vec<u8>) -> Self {
        unsafe extern "C" fn free(ptr: *const u8, len: usize, owner: *mut ()) {
            // SAFETY: the three are the parts of the `Vec` taken apart below, and `free` is
            // called once.
            drop(unsafe { Vec::from_raw_parts(ptr.cast_mut(), len, owner.addr()) });
        }
        if bytes.is_empty() {
            return Self::EMPTY;
        }
        let mut bytes = ManuallyDrop::new(bytes);
        // The capacity travels in `owner`: it is all that is needed to put the `Vec` together.
        let owner = ptr::without_provenance_mut(bytes.capacity());
        Self { ptr: bytes.as_mut_ptr(), len: bytes.len(), owner, free: Some(free) }
    }
}

impl Drop for Buf {
    fn drop(&mut self) {
        if let Some(free) = self.free.take() {
            // SAFETY: `free` came with these three values and is called only here, once.
            unsafe { free(self.ptr, self.len, self.owner) }
        }
    }
}

impl fmt::Debug for Buf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(self.as_bytes()))
    }
}

/// A view of `len` bytes at `ptr`, or of none where `ptr` is null.
///
/// # Safety
/// Not null: `len` bytes are readable and unchanged for `'a`.
unsafe fn bytes<'a>(ptr: *const u8, len: usize) -> &'a [u8] {
    if ptr.is_null() {
        return &[];
    }
    // SAFETY: not null, and the caller vouches for the bytes.
    unsafe { slice::from_raw_parts(ptr, len) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_is_empty_and_legal() {
        // SAFETY: null text and null lists are empty by definition.
        assert_eq!(unsafe { Str::EMPTY.read() }, Ok(""));
        // SAFETY: as above.
        assert!(unsafe { Slice::<u32>::EMPTY.read() }.is_empty());
        assert_eq!(Buf::EMPTY.as_bytes(), b"");
    }

    #[test]
    fn a_shared_buffer_copies_nothing_and_keeps_its_owner() {
        let owner = Arc::new(String::from("sixty-four mebibytes"));
        let buf = Buf::shared(&owner, |it| it.as_bytes());
        assert_eq!(buf.as_bytes().as_ptr(), owner.as_ptr());
        assert_eq!(Arc::strong_count(&owner), 2);
        drop(buf);
        assert_eq!(Arc::strong_count(&owner), 1);
    }

    #[test]
    fn an_owned_buffer_gives_back_what_it_was_given() {
        let mut text = String::with_capacity(64);
        text.push_str("reason");
        assert_eq!(Buf::from(text).as_str(), Ok("reason"));
    }
}
