//! `agpu.h` in Rust: constants, `repr(C)` structs and entry-point tables.

// The comments of the header are prose for C readers and become doc comments here.
#![allow(clippy::doc_markdown)]
// One row per struct of the header.
#![allow(clippy::too_many_lines)]

include!("generated/layout.rs");

impl Str {
    /// Borrow Rust text for the duration of a call.
    #[must_use]
    pub fn borrow(text: &str) -> Self {
        Self {
            ptr: text.as_ptr().cast(),
            len: text.len() as u64,
        }
    }

    /// Copy the text out; bytes that are not UTF-8 are replaced.
    ///
    /// # Safety
    ///
    /// `ptr` must be null or point to `len` readable bytes.
    #[must_use]
    pub unsafe fn to_text(self) -> String {
        if self.ptr.is_null() || self.len == 0 {
            return String::new();
        }
        // SAFETY: non-null, and the caller vouches for the length.
        let bytes = unsafe { std::slice::from_raw_parts(self.ptr.cast::<u8>(), self.len as usize) };
        String::from_utf8_lossy(bytes).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compiled_layouts_equal_the_header() {
        assert_eq!(compiled_manifest(), LAYOUT_MANIFEST);
    }
}
