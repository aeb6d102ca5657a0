//! Which of many things that come one after the other are timed.

/// Of those that are sampled one in this many is timed: enough for a histogram, and too few to be felt.
pub const SAMPLED_EVERY: u64 = 64;
/// The first ones are all timed: what happens a few times is seen as it is.
pub const FIRST_TIMED: u64 = 1024;

/// Whether the one with this number is timed: one in [`SAMPLED_EVERY`], the first among them, spread so that no rhythm of the program meets the
/// same ones each time. Multiples of the golden ratio are even in [0, 1), whatever step they are taken with (D. Knuth, "The Art of Computer
/// Programming", 6.4).
#[inline]
#[must_use]
pub fn is_in_sample(number: u32) -> bool {
    const GOLDEN: u32 = 0x9e37_79b9;
    number.wrapping_mul(GOLDEN) < u32::MAX / SAMPLED_EVERY as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_even_whatever_rhythm_it_meets() {
        assert!(is_in_sample(0));
        for step in 1..=64_u32 {
            let taken = (0..64_000)
                .filter(|number| is_in_sample(number * step))
                .count();
            assert!(
                (900..=1100).contains(&taken),
                "{taken} of 64,000 with step {step}"
            );
        }
    }
}
