//! What a series was: every sample of the last minute, then minimum, mean and maximum of buckets, ever wider the longer ago.
//!
//! Contract
//! - Raw samples of 60 s (at most [`MAX_RAW_SAMPLES`]), buckets of 100 ms for 10 minutes, buckets of 1 s for 24 hours.
//! - Only what was measured is there: a bucket without a sample is not listed, an absent value is no sample.
//! - Times are monotonic. A time before the last one counts as the last one, a leap forward leaves a gap; neither costs time or memory.
//! - Memory is bounded: [`History::bytes`] says how much of it a series takes, and [`History::drop_oldest_block`] gives the oldest hours
//!   back where a limit over all series asks for it.
//! - Values in buckets of closed blocks are exact to 2^-24 of their distance from the block's first value.

mod block;
mod raw;
mod tier;

use raw::Raw;
pub use raw::{MAX_RAW_SAMPLES, RAW_NS};
use tier::Tier;

/// Width of the buckets of the middle tier.
pub const TENTH_NS: u64 = 100_000_000;
/// Ten minutes of them.
const TENTHS: u64 = 6000;
/// Ten seconds: what is open, in full precision, stays small.
const TENTHS_OF_BLOCK: u64 = 100;
/// Width of the buckets of the last tier.
pub const SECOND_NS: u64 = 1_000_000_000;
/// A day of them.
const SECONDS: u64 = 86_400;
/// Five minutes.
const SECONDS_OF_BLOCK: u64 = 300;
/// Nothing here is measured in numbers that large; past it sums and 32-bit differences could overflow.
const MAX_MAGNITUDE: f64 = 1e30;

/// Which part of a history is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    Raw,
    Tenths,
    Seconds,
}

impl Resolution {
    /// `raw`, `10hz`, `1hz`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "raw" => Some(Self::Raw),
            "10hz" => Some(Self::Tenths),
            "1hz" => Some(Self::Seconds),
            _ => None,
        }
    }
}

/// Samples or buckets, oldest first; all vectors have the same length. The time of a bucket is its beginning.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Points {
    pub time_ns: Vec<u64>,
    pub min: Vec<f64>,
    pub mean: Vec<f64>,
    pub max: Vec<f64>,
}

impl Points {
    fn push(&mut self, time_ns: u64, [min, mean, max]: [f64; 3]) {
        self.time_ns.push(time_ns);
        self.min.push(min);
        self.mean.push(mean);
        self.max.push(max);
    }
}

/// The history of one series.
#[derive(Debug)]
pub struct History {
    raw: Raw,
    tenths: Tier,
    seconds: Tier,
    last_ns: u64,
}

impl Default for History {
    fn default() -> Self {
        Self {
            raw: Raw::default(),
            tenths: Tier::new(TENTH_NS, TENTHS, TENTHS_OF_BLOCK),
            seconds: Tier::new(SECOND_NS, SECONDS, SECONDS_OF_BLOCK),
            last_ns: 0,
        }
    }
}

impl History {
    /// Take a sample. What is no finite number of a plausible size is none.
    pub fn push(&mut self, time_ns: u64, value: f64) {
        if value.is_nan() || value.abs() > MAX_MAGNITUDE {
            return;
        }
        self.last_ns = self.last_ns.max(time_ns);
        self.raw.push(self.last_ns, value);
        self.tenths.push(self.last_ns, value);
        self.seconds.push(self.last_ns, value);
    }

    /// What lies in `start_ns..=end_ns`; a bucket counts by its beginning.
    #[must_use]
    pub fn points(&self, resolution: Resolution, start_ns: u64, end_ns: u64) -> Points {
        let mut points = Points::default();
        match resolution {
            Resolution::Raw => self.raw.points(start_ns, end_ns, &mut points),
            Resolution::Tenths => self.tenths.points(start_ns, end_ns, &mut points),
            Resolution::Seconds => self.seconds.points(start_ns, end_ns, &mut points),
        }
        points
    }

    /// Bytes this history takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.raw.bytes() + self.tenths.bytes() + self.seconds.bytes()
    }

    /// When the oldest closed block of seconds begins.
    #[must_use]
    pub fn oldest_block_ns(&self) -> Option<u64> {
        self.seconds.oldest_block_ns()
    }

    /// Forget the oldest closed block of seconds. Returns the bytes given back.
    pub fn drop_oldest_block(&mut self) -> usize {
        self.seconds.drop_oldest_block()
    }
}

#[cfg(test)]
mod tests;
