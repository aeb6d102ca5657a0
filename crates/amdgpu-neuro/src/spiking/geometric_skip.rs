//! Geometric skip: when all pairs of a row are connected with the same probability, the distance to the next synapse is a geometric random
//! number. It is drawn from a random word by comparing integers alone, so that every device draws the same.

use std::fmt;
use std::sync::Arc;

/// Longest table of thresholds: 4 MiB, for probabilities from 2.2e-5 on.
const MAX_THRESHOLDS: f64 = (1 << 20) as f64;
/// Random words there are.
const WORDS: f64 = 4_294_967_296.0;

/// How a distance is drawn.
#[derive(Clone)]
pub(crate) enum GeometricSkip {
    /// A distance is at least `g` where the word is below entry `g - 1`; entries descend.
    Table {
        thresholds: Arc<[u32]>,
        /// Distances for each halving of the word.
        per_octave: f32,
    },
    /// One over the logarithm of the probability of no synapse: for probabilities whose table would be long.
    Logarithm(f64),
}

impl fmt::Debug for GeometricSkip {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Table { thresholds, .. } => write!(formatter, "Table({})", thresholds.len()),
            Self::Logarithm(per_logarithm) => write!(formatter, "Logarithm({per_logarithm})"),
        }
    }
}

impl GeometricSkip {
    /// For a probability above 0 and below 1.
    pub fn new(probability: f64) -> Self {
        let logarithm = (1.0 - probability).ln();
        if logarithm == 0.0 {
            // 1 less so small a probability is 1: the table would never end.
            return Self::Logarithm(1.0 / (-probability).ln_1p());
        }
        if WORDS.ln() / -logarithm >= MAX_THRESHOLDS {
            return Self::Logarithm(1.0 / logarithm);
        }
        let mut thresholds = Vec::new();
        loop {
            let at_least = f64::from(thresholds.len() as u32 + 1);
            let words = (WORDS * (at_least * logarithm).exp()).floor() as u32;
            if words == 0 {
                break;
            }
            thresholds.push(words);
        }
        Self::Table {
            thresholds: thresholds.into(),
            per_octave: (-std::f64::consts::LN_2 / logarithm) as f32,
        }
    }

    /// The distance that a word stands for.
    #[inline]
    pub fn of(&self, word: u32) -> u64 {
        match self {
            Self::Table {
                thresholds,
                per_octave,
            } => {
                let guess = (octaves_below(word) * per_octave) as usize;
                let mut gap = guess.min(thresholds.len());
                while gap < thresholds.len() && word < thresholds[gap] {
                    gap += 1;
                }
                while gap > 0 && word >= thresholds[gap - 1] {
                    gap -= 1;
                }
                gap as u64
            }
            Self::Logarithm(per_logarithm) => {
                // In (0, 1], so that the logarithm is finite.
                let uniform = (f64::from(word) + 1.0) / WORDS;
                (uniform.ln() * per_logarithm) as u64
            }
        }
    }
}

/// About 32 less the binary logarithm of a word, not below 0: within 0.0002. It is only where the search of a table begins.
#[inline]
fn octaves_below(word: u32) -> f32 {
    let bits = ((word | 1) as f32).to_bits();
    let exponent = (bits >> 23) as f32 - 127.0;
    let mantissa = f32::from_bits(bits & 0x007f_ffff | 0x3f80_0000);
    // Interpolates the binary logarithm from 1 to 2 at Chebyshev's points.
    let mut logarithm = -0.078_440_68_f32;
    for coefficient in [0.626_032_2, -2.078_335_2, 4.029_211_4, -2.498_353_2] {
        logarithm = logarithm * mantissa + coefficient;
    }
    (32.0 - exponent - logarithm).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_have_the_cumulative_distribution_of_independent_trials() {
        for probability in [0.9_f64, 0.5, 0.1, 0.02, 1e-3, 3e-5, 1e-7] {
            let skip = GeometricSkip::new(probability);
            for part in 0..200_u32 {
                let word = part * 21_474_836 + 17;
                let gap = skip.of(word) as f64;
                // P(gap >= g) = (1 - p)^g: the word is below that of its own gap and not of the next.
                let below = |g: f64| WORDS * (g * (1.0 - probability).ln()).exp();
                assert!(f64::from(word) < below(gap) + 1.0, "{probability} {word}");
                assert!(
                    f64::from(word) >= below(gap + 1.0) - 1.0,
                    "{probability} {word}"
                );
            }
        }
    }

    #[test]
    fn probabilities_that_vanish_beside_one_have_distances_that_no_row_reaches() {
        for probability in [1e-17, 1e-40, f64::MIN_POSITIVE] {
            let gaps = GeometricSkip::new(probability);
            for word in [0, 1, 1 << 31] {
                assert!(gaps.of(word) > u64::from(u32::MAX), "{probability} {word}");
            }
        }
    }

    #[test]
    fn the_smallest_and_largest_words_have_a_distance() {
        for probability in [0.999, 0.5, 1e-4] {
            let skip = GeometricSkip::new(probability);
            let GeometricSkip::Table { thresholds, .. } = &skip else {
                panic!("a table for {probability}");
            };
            assert_eq!(skip.of(0), thresholds.len() as u64);
            assert_eq!(skip.of(u32::MAX), 0);
            assert!(thresholds.windows(2).all(|pair| pair[0] >= pair[1]));
        }
    }
}
