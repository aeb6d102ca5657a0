//! Places in the numbers of a key.

/// Words that a block of Philox has.
pub const BLOCK_WORDS: u64 = 4;
/// Bits of the counter below its last word, which counts jumps.
const JUMP_BITS: u32 = 32;

/// Where the next number comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stream {
    pub key: u64,
    /// In words of 32 bits; it wraps at 2^64.
    pub position: u64,
    /// The last word of the counter: each jump skips 2^96 blocks.
    pub jumps: u32,
}

impl Stream {
    /// The high half of the counter.
    #[must_use]
    pub fn high(&self) -> u64 {
        u64::from(self.jumps) << JUMP_BITS
    }

    /// The place of `count` elements of so many words each, which begin at a multiple of their words; this goes on behind them.
    #[must_use]
    pub fn take(&mut self, words_each: u64, count: u64) -> Self {
        let rest = self.position % words_each.min(BLOCK_WORDS);
        let mut taken = *self;
        if rest > 0 {
            taken.position = self
                .position
                .wrapping_add(words_each.min(BLOCK_WORDS) - rest);
        }
        self.position = taken.position.wrapping_add(words_each.wrapping_mul(count));
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_begin_at_multiples_of_their_words() {
        let mut stream = Stream::default();
        assert_eq!(stream.take(1, 3).position, 0);
        assert_eq!(stream.take(2, 1).position, 4);
        assert_eq!(stream.take(1, 1).position, 6);
        assert_eq!(stream.take(8, 2).position, 8);
        assert_eq!(stream.position, 24);
    }
}
