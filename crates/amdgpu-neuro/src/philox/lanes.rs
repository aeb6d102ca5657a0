//! Many blocks at a time: the same words as [`Stream::block`], computed in SIMD lanes where the machine has them.

use super::{MULTIPLIER_0, MULTIPLIER_1, ROUNDS, Stream, WEYL_0, WEYL_1};

/// Blocks that are computed together: the lanes of the widest registers.
const LANES: usize = 16;
/// Words that [`Stream::words`] gives.
pub const WORDS: usize = 4 * LANES;

/// The words of blocks `first_block ..`, one block behind the other.
type Words = [u32; WORDS];

#[expect(
    clippy::inline_always,
    reason = "compiled anew for the instructions of each caller"
)]
#[inline(always)]
fn compute(stream: Stream, first_block: u64, out: &mut Words) {
    let mut a = [0_u32; LANES];
    let mut b = [0_u32; LANES];
    let mut c = [stream.object; LANES];
    let mut d = [stream.step; LANES];
    for lane in 0..LANES {
        let number = first_block + lane as u64;
        a[lane] = number as u32;
        b[lane] = (number >> 32) as u32;
    }
    let [mut key_0, mut key_1] = stream.key;
    for _ in 0..ROUNDS {
        for lane in 0..LANES {
            let first = u64::from(a[lane]) * u64::from(MULTIPLIER_0);
            let second = u64::from(c[lane]) * u64::from(MULTIPLIER_1);
            a[lane] = (second >> 32) as u32 ^ b[lane] ^ key_0;
            b[lane] = second as u32;
            c[lane] = (first >> 32) as u32 ^ d[lane] ^ key_1;
            d[lane] = first as u32;
        }
        key_0 = key_0.wrapping_add(WEYL_0);
        key_1 = key_1.wrapping_add(WEYL_1);
    }
    for lane in 0..LANES {
        out[4 * lane] = a[lane];
        out[4 * lane + 1] = b[lane];
        out[4 * lane + 2] = c[lane];
        out[4 * lane + 3] = d[lane];
    }
}

/// For each word, how many entries of an ascending table it reaches.
#[expect(
    clippy::inline_always,
    reason = "compiled anew for the instructions of each caller"
)]
#[inline(always)]
fn count(words: &Words, table: &[u32], out: &mut Words) {
    *out = [0; WORDS];
    for threshold in table {
        for (count, word) in out.iter_mut().zip(words) {
            *count += u32::from(word >= threshold);
        }
    }
}

macro_rules! version {
    ($words:ident, $counts:ident, $features:literal) => {
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $features)]
        fn $words(stream: Stream, first_block: u64, out: &mut Words) {
            compute(stream, first_block, out);
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $features)]
        fn $counts(words: &Words, table: &[u32], out: &mut Words) {
            count(words, table, out);
        }
    };
}

version!(
    words_avx512,
    counts_avx512,
    "avx512f,avx512dq,avx512bw,avx512vl"
);
version!(words_avx2, counts_avx2, "avx2");

/// What the machine can do; found out once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    Plain,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Width {
    /// The widest that this machine has.
    #[must_use]
    pub fn of_machine() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            let has_avx512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl");
            if has_avx512 {
                return Self::Avx512;
            }
            if is_x86_feature_detected!("avx2") {
                return Self::Avx2;
            }
        }
        Self::Plain
    }

    /// The words of blocks `first_block ..`.
    pub fn words(self, stream: Stream, first_block: u64, out: &mut Words) {
        match self {
            Self::Plain => compute(stream, first_block, out),
            // SAFETY: the value is made only where the machine has these instructions.
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => unsafe { words_avx2(stream, first_block, out) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => unsafe { words_avx512(stream, first_block, out) },
        }
    }

    /// For each word, how many entries of an ascending table it reaches.
    pub fn counts(self, words: &Words, table: &[u32], out: &mut Words) {
        match self {
            Self::Plain => count(words, table, out),
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => unsafe { counts_avx2(words, table, out) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => unsafe { counts_avx512(words, table, out) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_give_the_words_of_single_blocks() {
        let stream = Stream::new(0x1234_5678_9abc_def0, 77, 9);
        for first in [0, 3, (1 << 32) - 5] {
            let mut wanted = [0; WORDS];
            for (number, block) in wanted.chunks_mut(4).enumerate() {
                block.copy_from_slice(&stream.block(first + number as u64));
            }
            for width in [Width::Plain, Width::of_machine()] {
                let mut words = [0; WORDS];
                width.words(stream, first, &mut words);
                assert_eq!(words, wanted);
                let table = [1 << 20, 1 << 30, 1 << 31, 3 << 30];
                let mut counts = [0; WORDS];
                width.counts(&words, &table, &mut counts);
                for (count, word) in counts.iter().zip(&words) {
                    let reached = table.iter().filter(|entry| word >= entry).count();
                    assert_eq!(*count as usize, reached);
                }
            }
        }
    }
}
