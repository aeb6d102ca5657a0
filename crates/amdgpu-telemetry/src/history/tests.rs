//! Against a model that keeps every sample, and the bounds that the contract states.

#![allow(clippy::float_cmp)] // Exact where the contract says so.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// All samples, and what the contract says of them.
#[derive(Default)]
struct Model {
    samples: Vec<(u64, f64)>,
}

impl Model {
    fn push(&mut self, time_ns: u64, value: f64) {
        let last = self.samples.last().map_or(0, |&(time, _)| time);
        self.samples.push((time_ns.max(last), value));
    }

    fn raw(&self) -> Vec<(u64, f64)> {
        let newest = self.samples.last().map_or(0, |&(time, _)| time);
        let from = self.samples.len().saturating_sub(MAX_RAW_SAMPLES);
        self.samples[from..]
            .iter()
            .copied()
            .filter(|&(time, _)| newest - time <= RAW_NS)
            .collect()
    }

    fn buckets(&self, width_ns: u64, kept: u64) -> BTreeMap<u64, Vec<f64>> {
        let mut buckets: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for &(time, value) in &self.samples {
            buckets.entry(time / width_ns).or_default().push(value);
        }
        let newest = buckets.keys().next_back().copied().unwrap_or(0);
        buckets.retain(|&bucket, _| bucket + kept > newest);
        buckets
    }
}

fn assert_tier_is_the_model(
    history: &History,
    model: &Model,
    resolution: Resolution,
    width_ns: u64,
    kept: u64,
) {
    let points = history.points(resolution, 0, u64::MAX);
    let buckets = model.buckets(width_ns, kept);
    assert_eq!(
        points.time_ns,
        buckets
            .keys()
            .map(|bucket| bucket * width_ns)
            .collect::<Vec<_>>()
    );
    let all = || model.samples.iter().map(|&(_, value)| value);
    let spread = all().fold(f64::MIN, f64::max) - all().fold(f64::MAX, f64::min);
    // Differences within a block have 24 bits; the mean of some values is as good as its sum.
    let tolerance = spread * 2_f64.powi(-23)
        + spread
            .abs()
            .max(all().fold(0.0, |most, value| value.abs().max(most)))
            * 1e-14;
    for (place, values) in buckets.values().enumerate() {
        let expected = [
            values.iter().copied().fold(f64::INFINITY, f64::min),
            values.iter().sum::<f64>() / values.len() as f64,
            values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        ];
        let found = [points.min[place], points.mean[place], points.max[place]];
        assert!(found[0] <= found[1] && found[1] <= found[2], "{found:?}");
        for (found, expected) in found.into_iter().zip(expected) {
            assert!(
                (found - expected).abs() <= tolerance,
                "{found} instead of {expected} ± {tolerance}"
            );
        }
    }
}

/// Steps between samples: usual ones, none, backwards, and leaps of hours.
fn steps() -> impl Strategy<Value = i64> {
    prop_oneof![
        10 => 0_i64..2_000_000_000,
        3 => Just(100_000_000_i64),
        1 => Just(0_i64),
        1 => -5_000_000_000_i64..0,
        1 => 0_i64..7_200_000_000_000,
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn histories_hold_what_the_model_holds(
        start_ns in 0_u64..1 << 60,
        samples in prop::collection::vec((steps(), prop_oneof![Just(42.0), -1e6_f64..1e6]), 1..1500),
        query in (0.0_f64..1.0, 0.0_f64..1.0),
    ) {
        let (mut history, mut model) = (History::default(), Model::default());
        let mut time_ns = start_ns;
        for (step, value) in samples {
            time_ns = time_ns.saturating_add_signed(step);
            history.push(time_ns, value);
            model.push(time_ns, value);
        }
        let raw = history.points(Resolution::Raw, 0, u64::MAX);
        prop_assert_eq!(raw.time_ns.into_iter().zip(raw.mean).collect::<Vec<_>>(), model.raw());
        assert_tier_is_the_model(&history, &model, Resolution::Tenths, TENTH_NS, TENTHS);
        assert_tier_is_the_model(&history, &model, Resolution::Seconds, SECOND_NS, SECONDS);

        // A part is the whole, cut.
        let (first, last) = (model.samples[0].0, model.samples[model.samples.len() - 1].0);
        let at = |share: f64| first + ((last - first) as f64 * share) as u64;
        let (from, to) = (at(query.0), at(query.1));
        for resolution in [Resolution::Raw, Resolution::Tenths, Resolution::Seconds] {
            let whole = history.points(resolution, 0, u64::MAX);
            let part = history.points(resolution, from, to);
            let expected: Vec<u64> = whole.time_ns.into_iter().filter(|time| (from..=to).contains(time)).collect();
            prop_assert_eq!(part.time_ns, expected);
        }
    }
}

#[test]
fn values_that_are_no_numbers_are_no_samples() {
    let mut history = History::default();
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e31, -1e300] {
        history.push(1, value);
    }
    assert_eq!(
        history.points(Resolution::Raw, 0, u64::MAX),
        Points::default()
    );
    assert_eq!(
        history.points(Resolution::Seconds, 0, u64::MAX),
        Points::default()
    );
}

#[test]
fn a_leap_to_the_end_of_time_is_one_bucket() {
    let mut history = History::default();
    history.push(0, 1.0);
    history.push(u64::MAX, 2.0);
    history.push(5, 3.0);
    let points = history.points(Resolution::Seconds, 0, u64::MAX);
    assert_eq!((points.min, points.max), (vec![2.0], vec![3.0]));
}

#[test]
fn more_than_a_day_takes_what_a_day_takes() {
    let mut history = History::default();
    let mut day_bytes = 0;
    for sample in 0..950_000_u64 {
        let value = (sample % 977) as f64 * 0.37;
        history.push(sample * TENTH_NS, value);
        if sample == 864_000 {
            day_bytes = history.bytes();
        }
    }
    assert_eq!(
        history
            .points(Resolution::Seconds, 0, u64::MAX)
            .time_ns
            .len(),
        SECONDS as usize
    );
    assert_eq!(
        history
            .points(Resolution::Tenths, 0, u64::MAX)
            .time_ns
            .len(),
        TENTHS as usize
    );
    assert!(
        history.bytes() < day_bytes + day_bytes / 50,
        "{} after {day_bytes}",
        history.bytes()
    );
    // A day of changing values: three numbers of four bytes a second, and a tenth of that for the rest.
    assert!(
        history.bytes() < 13 * SECONDS as usize * 11 / 10,
        "{}",
        history.bytes()
    );
}

#[test]
fn a_sensor_that_stands_still_takes_next_to_nothing() {
    let mut history = History::default();
    for second in 0..SECONDS {
        history.push(second * SECOND_NS, 85_899_345_920.0);
    }
    assert!(history.bytes() < 100_000, "{}", history.bytes());
    let points = history.points(Resolution::Seconds, 0, u64::MAX);
    assert_eq!(points.mean, vec![85_899_345_920.0; SECONDS as usize]);
}

#[test]
fn large_counters_keep_their_small_steps() {
    let mut history = History::default();
    for second in 0..1000 {
        history.push(second * SECOND_NS, 1e12 + second as f64);
    }
    let points = history.points(Resolution::Seconds, 0, u64::MAX);
    for (second, mean) in points.mean.iter().enumerate() {
        assert!((mean - 1e12 - second as f64).abs() < 1e-3);
    }
}

#[test]
fn old_blocks_are_given_back_on_demand() {
    let mut history = History::default();
    for second in 0..1000 {
        history.push(second * SECOND_NS, (second % 7) as f64);
    }
    let bytes = history.bytes();
    assert_eq!(history.oldest_block_ns(), Some(0));
    assert!(history.drop_oldest_block() > 0);
    assert_eq!(
        history.oldest_block_ns(),
        Some(SECONDS_OF_BLOCK * SECOND_NS)
    );
    assert!(history.bytes() < bytes);
    assert_eq!(
        history.points(Resolution::Seconds, 0, u64::MAX).time_ns[0],
        SECONDS_OF_BLOCK * SECOND_NS
    );
}
