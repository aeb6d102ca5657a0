//! Time spent throttled, where a device tells only whether it is throttled now.

/// What holds a clock down, in the words of the label `reason`.
pub(super) const REASONS: [&str; 6] = [
    "power",
    "current",
    "thermal",
    "external",
    "reliability",
    "other",
];

/// A status that is looked at again and again, as seconds: a reason that stands at two looks is taken to have stood between them.
#[derive(Clone, Debug, Default)]
pub(super) struct ThrottleClock {
    last: Option<(u64, u8)>,
    seconds: [f64; REASONS.len()],
}

/// A set of [`REASONS`].
pub(super) fn bit(reason: &str) -> u8 {
    REASONS
        .iter()
        .position(|known| *known == reason)
        .map_or(0, |place| 1 << place)
}

impl ThrottleClock {
    /// Longest pause between two looks that is bridged: after a longer one nobody knows what was in between.
    const LONGEST_PAUSE_NS: u64 = 15_000_000_000;

    pub(super) fn look(&mut self, time_ns: u64, reasons: u8) {
        if let Some((last_ns, standing)) = self.last {
            let pause_ns = time_ns.saturating_sub(last_ns);
            if pause_ns <= Self::LONGEST_PAUSE_NS {
                for (place, seconds) in self.seconds.iter_mut().enumerate() {
                    if standing & reasons & (1 << place) != 0 {
                        *seconds += pause_ns as f64 * 1e-9;
                    }
                }
            }
        }
        self.last = Some((time_ns, reasons));
    }

    /// Reasons with their seconds so far.
    pub(super) fn seconds(&self) -> impl Iterator<Item = (&'static str, f64)> {
        REASONS.into_iter().zip(self.seconds)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::float_cmp)] // Whole seconds are exact.

    use super::*;

    fn seconds(clock: &ThrottleClock, reason: &str) -> f64 {
        clock.seconds().find(|(name, _)| *name == reason).unwrap().1
    }

    #[test]
    fn a_reason_counts_while_it_stands() {
        let mut clock = ThrottleClock::default();
        for (second, reasons) in [
            (0, bit("power")),
            (1, bit("power") | bit("thermal")),
            (2, bit("thermal")),
            (3, 0),
            (4, bit("thermal")),
        ] {
            clock.look(second * 1_000_000_000, reasons);
        }
        assert_eq!(seconds(&clock, "power"), 1.0);
        assert_eq!(seconds(&clock, "thermal"), 1.0);
        assert_eq!(seconds(&clock, "current"), 0.0);
    }

    #[test]
    fn a_long_pause_and_a_clock_that_runs_back_count_nothing() {
        let mut clock = ThrottleClock::default();
        clock.look(100_000_000_000, bit("power"));
        clock.look(200_000_000_000, bit("power"));
        clock.look(150_000_000_000, bit("power"));
        assert_eq!(seconds(&clock, "power"), 0.0);
    }
}
