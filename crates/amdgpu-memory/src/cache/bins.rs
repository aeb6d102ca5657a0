//! Free small blocks by size: one doubly linked list for each multiple of 512 bytes, and a bitmap of the lists that are not empty.

use super::entry::{Entry, NONE};
use crate::sizes::{MIN_BLOCK_BYTES, SMALL_SEGMENT_BYTES};

/// The largest free block of the small pool is a whole segment.
const BIN_COUNT: usize = (SMALL_SEGMENT_BYTES / MIN_BLOCK_BYTES) as usize + 1;
const WORD_COUNT: usize = BIN_COUNT.div_ceil(64);

const _: () = assert!(WORD_COUNT <= u128::BITS as usize);

/// The free lists of one stream. Nothing is allocated until the first block comes.
#[derive(Debug, Default)]
pub(super) struct Bins {
    heads: Vec<u32>,
    words: Vec<u64>,
    /// Which words are not zero.
    summary: u128,
}

fn bin_of(bytes: u64) -> usize {
    (bytes / MIN_BLOCK_BYTES) as usize
}

impl Bins {
    /// Adds a free block.
    pub fn insert(&mut self, entries: &mut [Entry], idx: u32) {
        if self.heads.is_empty() {
            self.heads.resize(BIN_COUNT, NONE);
            self.words.resize(WORD_COUNT, 0);
        }
        let bin = bin_of(entries[idx as usize].bytes);
        let head = self.heads[bin];
        entries[idx as usize].free_previous = NONE;
        entries[idx as usize].free_next = head;
        if head != NONE {
            entries[head as usize].free_previous = idx;
        }
        self.heads[bin] = idx;
        self.words[bin / 64] |= 1 << (bin % 64);
        self.summary |= 1 << (bin / 64);
    }

    /// Takes a free block out, wherever it stands.
    pub fn remove(&mut self, entries: &mut [Entry], idx: u32) {
        let Entry {
            bytes,
            free_previous,
            free_next,
            ..
        } = entries[idx as usize];
        if free_next != NONE {
            entries[free_next as usize].free_previous = free_previous;
        }
        if free_previous != NONE {
            entries[free_previous as usize].free_next = free_next;
            return;
        }
        let bin = bin_of(bytes);
        self.heads[bin] = free_next;
        if free_next == NONE {
            self.words[bin / 64] &= !(1 << (bin % 64));
            if self.words[bin / 64] == 0 {
                self.summary &= !(1 << (bin / 64));
            }
        }
    }

    /// A block of the smallest size that is at least `bytes`.
    pub fn best_fit(&self, bytes: u64) -> Option<u32> {
        let bin = bin_of(bytes);
        let (word, bit) = (bin / 64, bin % 64);
        let here = self.words.get(word)? & (u64::MAX << bit);
        let found = if here != 0 {
            word * 64 + here.trailing_zeros() as usize
        } else {
            // Shifted in two steps: a shift by the full width is not defined.
            let later = self.summary & (u128::MAX << word << 1);
            if later == 0 {
                return None;
            }
            let word = later.trailing_zeros() as usize;
            word * 64 + self.words[word].trailing_zeros() as usize
        };
        Some(self.heads[found])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(sizes: &[u64]) -> Vec<Entry> {
        sizes
            .iter()
            .map(|&bytes| Entry {
                bytes,
                ..Entry::VACANT
            })
            .collect()
    }

    #[test]
    fn the_best_fit_is_the_smallest_that_is_large_enough() {
        let sizes = [512, 1024, 64 * 512, 65 * 512, 1 << 20, 2 << 20];
        let mut entries = entries(&sizes);
        let mut bins = Bins::default();
        assert_eq!(bins.best_fit(512), None);
        for idx in 0..sizes.len() as u32 {
            bins.insert(&mut entries, idx);
        }
        for request in (512..=2 << 20).step_by(512) {
            let expected = sizes.iter().position(|&size| size >= request).unwrap() as u32;
            assert_eq!(bins.best_fit(request), Some(expected), "{request}");
        }
        bins.remove(&mut entries, 5);
        assert_eq!(bins.best_fit((1 << 20) + 512), None);
        assert_eq!(bins.best_fit(1 << 20), Some(4));
    }

    #[test]
    fn blocks_can_be_taken_out_of_the_middle_of_a_list() {
        let mut entries = entries(&[512; 4]);
        let mut bins = Bins::default();
        for idx in 0..4 {
            bins.insert(&mut entries, idx);
        }
        for idx in [1, 3, 0, 2] {
            assert!(bins.best_fit(512).is_some());
            bins.remove(&mut entries, idx);
            assert_ne!(bins.best_fit(512), Some(idx));
        }
        assert_eq!(bins.best_fit(512), None);
        assert_eq!(bins.summary, 0);
    }
}
