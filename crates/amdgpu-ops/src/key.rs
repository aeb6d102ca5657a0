//! What tells one generated kernel from another.

use amdgpu_abi::Dtype;
use smallvec::SmallVec;

/// A kernel's identity on a device: the generator's name and everything that its text depends on, in order. Two texts that differ must
/// have keys that differ.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KernelKey {
    family: &'static str,
    parts: SmallVec<[u64; 16]>,
}

impl KernelKey {
    #[must_use]
    #[inline]
    pub fn new(family: &'static str) -> Self {
        Self {
            family,
            parts: SmallVec::new(),
        }
    }

    #[must_use]
    #[inline]
    pub fn with(mut self, part: u64) -> Self {
        self.parts.push(part);
        self
    }

    #[must_use]
    #[inline]
    pub fn flag(self, part: bool) -> Self {
        self.with(u64::from(part))
    }

    #[must_use]
    #[inline]
    pub fn dtype(self, dtype: Dtype) -> Self {
        self.with(u64::from(dtype.code) << 8 | u64::from(dtype.bits))
    }

    /// A text, whose length keeps it apart from what follows.
    #[must_use]
    #[inline]
    pub fn text(mut self, text: &str) -> Self {
        self.parts.push(text.len() as u64);
        for chunk in text.as_bytes().chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.parts.push(u64::from_le_bytes(word));
        }
        self
    }
}
