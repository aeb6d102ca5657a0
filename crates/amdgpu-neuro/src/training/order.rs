//! Which samples come when: permutations drawn by counters, so that an order depends on the seed and the epoch alone.

use crate::philox::philox4x32_10;

/// Objects of the random streams that no weight and no bias can have.
const SHUFFLE: u32 = u32::MAX;
const SPLIT: u32 = u32::MAX - 1;

/// Shuffles by Fisher and Yates (Durstenfeld 1964) with the numbers of `(seed, object, step)`.
fn shuffle(samples: &mut [u32], seed: u64, object: u32, step: u32) {
    let key = [seed as u32, (seed >> 32) as u32];
    for last in (1..samples.len()).rev() {
        let position = last as u64;
        let words = philox4x32_10(
            [position as u32, (position >> 32) as u32, object, step],
            key,
        );
        let word = u64::from(words[0]) | u64::from(words[1]) << 32;
        // The upper half of the product is uniform in 0 ..= last, up to 2^-32 (Lemire 2019, section 3).
        let other = (u128::from(word) * u128::from(position + 1)) >> 64;
        samples.swap(last, other as usize);
    }
}

/// The order of `epoch`.
pub(crate) fn shuffle_epoch(samples: &mut [u32], seed: u64, epoch: u32) {
    shuffle(samples, seed, SHUFFLE, epoch);
}

/// The order of `epoch` over `count` samples.
#[must_use]
pub fn order(count: u32, seed: u64, epoch: u32) -> Vec<u32> {
    let mut samples: Vec<u32> = (0..count).collect();
    shuffle_epoch(&mut samples, seed, epoch);
    samples
}

/// Splits `count` samples by chance: `count - held_back` to train with and `held_back` to validate with, both ascending.
#[must_use]
pub fn split(count: u32, held_back: u32, seed: u64) -> (Vec<u32>, Vec<u32>) {
    let mut samples: Vec<u32> = (0..count).collect();
    shuffle(&mut samples, seed, SPLIT, 0);
    let mut validation = samples.split_off(count.saturating_sub(held_back) as usize);
    samples.sort_unstable();
    validation.sort_unstable();
    (samples, validation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_is_a_permutation_that_seed_and_epoch_choose() {
        let order = |seed, epoch| {
            let mut samples: Vec<u32> = (0..1000).collect();
            shuffle_epoch(&mut samples, seed, epoch);
            samples
        };
        let mut sorted = order(1, 0);
        assert_eq!(sorted, order(1, 0));
        assert_ne!(sorted, order(1, 1));
        assert_ne!(sorted, order(2, 0));
        assert_ne!(sorted, order(1 << 32 | 1, 0));
        sorted.sort_unstable();
        assert_eq!(sorted, (0..1000).collect::<Vec<_>>());
    }

    #[test]
    fn every_place_is_as_likely() {
        let mut counts = [[0_u32; 4]; 4];
        for epoch in 0..4000 {
            let mut samples = [0, 1, 2, 3];
            shuffle_epoch(&mut samples, 9, epoch);
            for (place, sample) in samples.into_iter().enumerate() {
                counts[place][sample as usize] += 1;
            }
        }
        // Five standard errors of a binomial with 4000 draws at 1/4.
        for count in counts.as_flattened() {
            assert!((863..=1137).contains(count), "{counts:?}");
        }
    }

    #[test]
    fn a_split_has_every_sample_once() {
        let (training, validation) = split(10, 3, 5);
        assert_eq!((training.len(), validation.len()), (7, 3));
        let mut all = [training, validation].concat();
        all.sort_unstable();
        assert_eq!(all, (0..10).collect::<Vec<_>>());
        assert_eq!(split(3, 5, 0).0.len(), 0);
    }
}
