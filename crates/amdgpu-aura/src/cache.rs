//! The kernel cache: loaded modules in memory, machine code on disk.

mod disk;
mod eviction;
mod limits;
mod memory;

use sha2::{Digest, Sha256};

pub(crate) use disk::{DiskCache, Entry, Lookup};
pub(crate) use limits::CacheLimits;
pub(crate) use memory::{RecentlyUsed, WeakMap};

/// Where a compiled kernel came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheAnswer {
    Memory,
    Disk,
    Miss,
}

impl CacheAnswer {
    /// Value of the `result` label of `amdgpu_kernel_cache_requests_total`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Disk => "disk",
            Self::Miss => "miss",
        }
    }

    /// Its number in records of the kind `cache_request`.
    pub(crate) const fn code(self) -> u64 {
        match self {
            Self::Miss => 0,
            Self::Memory => 1,
            Self::Disk => 2,
        }
    }
}

/// Identity of a compilation: everything that can change the machine code.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct CacheKey(String);

impl CacheKey {
    /// Hash over the parts, each preceded by its length so that no two lists of parts meet.
    pub fn new(parts: &[&str]) -> Self {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        Self(hex(&hasher.finalize()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|byte| {
            [
                DIGITS[usize::from(byte >> 4)],
                DIGITS[usize::from(byte & 15)],
            ]
        })
        .map(char::from)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_tell_apart_where_one_part_ends() {
        assert_ne!(CacheKey::new(&["ab", "c"]), CacheKey::new(&["a", "bc"]));
        assert_eq!(CacheKey::new(&["ab", "c"]), CacheKey::new(&["ab", "c"]));
        assert_eq!(CacheKey::new(&[]).as_str().len(), 64);
    }
}
