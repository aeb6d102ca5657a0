//! Philox4x32-10, a counter-based random number generator: value number `index` of a stream is computed from its position alone, so any
//! number of threads and any device draw the same numbers.
//!
//! Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011), section 4.3 for the constants.

pub mod lanes;

const ROUNDS: usize = 10;
const MULTIPLIER_0: u32 = 0xD251_1F53;
const MULTIPLIER_1: u32 = 0xCD9E_8D57;
/// Weyl sequence of the key: the golden ratio and sqrt(3) - 1.
const WEYL_0: u32 = 0x9E37_79B9;
const WEYL_1: u32 = 0xBB67_AE85;

/// Words that one block holds.
pub const BLOCK_WORDS: u64 = 4;

fn multiply(a: u32, b: u32) -> (u32, u32) {
    let product = u64::from(a) * u64::from(b);
    ((product >> 32) as u32, product as u32)
}

/// The block of random words at `counter` of the stream `key`.
#[must_use]
pub fn philox4x32_10(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let mut words = counter;
    let [mut key_0, mut key_1] = key;
    for _ in 0..ROUNDS {
        let (high_0, low_0) = multiply(MULTIPLIER_0, words[0]);
        let (high_1, low_1) = multiply(MULTIPLIER_1, words[2]);
        words = [
            high_1 ^ words[1] ^ key_0,
            low_1,
            high_0 ^ words[3] ^ key_1,
            low_0,
        ];
        key_0 = key_0.wrapping_add(WEYL_0);
        key_1 = key_1.wrapping_add(WEYL_1);
    }
    words
}

/// The random numbers of one object (a connection's weights, a layer's biases) at one step of a network.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    key: [u32; 2],
    object: u32,
    step: u32,
}

impl Stream {
    /// Step 0 is the initialisation.
    #[must_use]
    pub const fn new(seed: u64, object: u32, step: u32) -> Self {
        Self {
            key: [seed as u32, (seed >> 32) as u32],
            object,
            step,
        }
    }

    /// Block `number` of four words.
    #[must_use]
    pub fn block(self, number: u64) -> [u32; 4] {
        // The block number takes the lower two words of the counter, so no two (object, step) share a block.
        philox4x32_10(
            [number as u32, (number >> 32) as u32, self.object, self.step],
            self.key,
        )
    }

    /// Fills `out` with the numbers of positions `first ..`, each made by `draw` from the block of its position and its place in it.
    fn fill(self, first: u64, out: &mut [f32], draw: impl Fn(&[u32; 4], usize) -> f64) {
        let mut block_number = first / BLOCK_WORDS;
        let mut block = self.block(block_number);
        for (index, value) in (first..).zip(out) {
            if index / BLOCK_WORDS != block_number {
                block_number = index / BLOCK_WORDS;
                block = self.block(block_number);
            }
            *value = draw(&block, (index % BLOCK_WORDS) as usize) as f32;
        }
    }

    /// Uniform numbers in `[low, high]` at positions `first ..`.
    pub fn fill_uniform(self, first: u64, low: f64, high: f64, out: &mut [f32]) {
        self.fill(first, out, |block, place| {
            low + (high - low) * unit_interval(block[place])
        });
    }

    /// Normally distributed numbers at positions `first ..`, by Box and Muller 1958: each pair of words gives a pair of numbers.
    pub fn fill_normal(self, first: u64, mean: f64, standard_deviation: f64, out: &mut [f32]) {
        self.fill(first, out, |block, place| {
            let pair = place & !1;
            // In (0, 1], so that the logarithm is finite.
            let radius = (-2.0 * (1.0 - unit_interval(block[pair])).ln()).sqrt();
            let angle = std::f64::consts::TAU * unit_interval(block[pair + 1]);
            let unit = radius
                * if place == pair {
                    angle.cos()
                } else {
                    angle.sin()
                };
            mean + standard_deviation * unit
        });
    }
}

/// A word as a number in [0, 1).
pub(crate) fn unit_interval(word: u32) -> f64 {
    f64::from(word) * (1.0 / 4_294_967_296.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known answers published with Random123 (`kat_vectors`, philox4x32 with 10 rounds).
    #[test]
    fn blocks_equal_the_known_answers_of_random123() {
        assert_eq!(
            philox4x32_10([0; 4], [0; 2]),
            [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]
        );
        assert_eq!(
            philox4x32_10([u32::MAX; 4], [u32::MAX; 2]),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
        assert_eq!(
            philox4x32_10(
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0]
            ),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }

    #[test]
    fn any_split_of_a_range_gives_the_same_numbers() {
        let stream = Stream::new(0x1234_5678_9abc_def0, 3, 0);
        let mut whole = vec![0.0; 103];
        let mut normal = vec![0.0; 103];
        stream.fill_uniform(5, -1.0, 1.0, &mut whole);
        stream.fill_normal(5, 0.0, 1.0, &mut normal);
        for piece in [1, 2, 3, 4, 5, 7, 50] {
            let mut parts = vec![0.0; 103];
            let mut normal_parts = vec![0.0; 103];
            for (number, (uniform, gauss)) in parts
                .chunks_mut(piece)
                .zip(normal_parts.chunks_mut(piece))
                .enumerate()
            {
                let first = 5 + (number * piece) as u64;
                stream.fill_uniform(first, -1.0, 1.0, uniform);
                stream.fill_normal(first, 0.0, 1.0, gauss);
            }
            assert_eq!(parts, whole);
            assert_eq!(normal_parts, normal);
        }
    }

    #[test]
    fn seed_object_step_and_position_all_change_the_numbers() {
        let draw = |seed, object, step, first| {
            let mut out = [0.0_f32; 4];
            Stream::new(seed, object, step).fill_uniform(first, 0.0, 1.0, &mut out);
            out.map(f32::to_bits)
        };
        let base = draw(1, 1, 0, 0);
        for other in [
            draw(2, 1, 0, 0),
            draw(1 | 1 << 32, 1, 0, 0),
            draw(1, 2, 0, 0),
            draw(1, 1, 1, 0),
            draw(1, 1, 0, 4),
            draw(1, 1, 0, 1 << 34),
        ] {
            assert_ne!(base, other);
        }
    }

    #[test]
    fn moments_are_those_of_the_distribution() {
        let mut values = vec![0.0_f32; 400_000];
        let stream = Stream::new(7, 0, 0);
        let moments = |values: &[f32]| {
            let count = values.len() as f64;
            let mean = values.iter().map(|v| f64::from(*v)).sum::<f64>() / count;
            let variance = values
                .iter()
                .map(|v| (f64::from(*v) - mean).powi(2))
                .sum::<f64>()
                / count;
            (mean, variance)
        };
        stream.fill_uniform(0, -0.5, 0.5, &mut values);
        assert!(values.iter().all(|v| (-0.5..=0.5).contains(v)));
        let (mean, variance) = moments(&values);
        // Five standard errors: sqrt(1/12 / n) and about sqrt(1/180 / n).
        assert!(mean.abs() < 0.0023, "{mean}");
        assert!((variance - 1.0 / 12.0).abs() < 0.0006, "{variance}");
        stream.fill_normal(0, 2.0, 3.0, &mut values);
        let (mean, variance) = moments(&values);
        assert!((mean - 2.0).abs() < 0.024, "{mean}");
        assert!((variance - 9.0).abs() < 0.1, "{variance}");
    }
}
