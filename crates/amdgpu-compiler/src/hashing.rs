//! Maps with a fast hash for keys that are small numbers made by the compiler itself. Keys that users choose (names) are
//! interned first, so nobody outside picks what is hashed here.

use std::hash::{BuildHasherDefault, Hasher};

/// Multiply-and-rotate hash over whole words.
#[derive(Clone, Copy, Debug, Default)]
pub struct WordHasher(u64);

/// 2^64 divided by the golden ratio: spreads consecutive numbers over the high bits (Knuth, TAOCP volume 3, 6.4).
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hasher for WordHasher {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.write_u64(u64::from(value));
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(23) ^ value).wrapping_mul(MULTIPLIER);
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }

    fn write_isize(&mut self, value: isize) {
        self.write_u64(value as u64);
    }
}

pub type WordMap<K, V> = std::collections::HashMap<K, V, BuildHasherDefault<WordHasher>>;
pub type WordSet<K> = std::collections::HashSet<K, BuildHasherDefault<WordHasher>>;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::hash::{BuildHasher, Hash};

    use super::*;

    /// Different values of one type have different hashes, in the low bits too, by which maps choose a place.
    fn spreads<T: Hash>(values: impl Iterator<Item = T>) {
        let builder = BuildHasherDefault::<WordHasher>::default();
        let hashes: Vec<u64> = values.map(|value| builder.hash_one(value)).collect();
        let whole: HashSet<u64> = hashes.iter().copied().collect();
        assert_eq!(whole.len(), hashes.len());
        let low: HashSet<u64> = hashes.iter().map(|hash| hash % 4096).collect();
        assert!(
            low.len() * 2 > hashes.len(),
            "{} of {}",
            low.len(),
            hashes.len()
        );
    }

    #[test]
    fn values_of_every_width_are_spread() {
        spreads(0..=u8::MAX);
        spreads(0..1000_u32);
        spreads(0..1000_u64);
        spreads(0..1000_usize);
        spreads(-500..500_isize);
        spreads((0..30_u32).flat_map(|one| (0..30_u32).map(move |other| (one, other))));
        spreads((0..500).map(|number| format!("a name with {number}")));
        spreads([Some(1_u32), None, Some(2)].into_iter());
    }
}
