//! The latest value of every series, and its history.

use std::collections::HashMap;

use amdgpu_abi::{MetricId, MetricKind};

use super::Reading;
use crate::history::{History, Points, Resolution};
use crate::hub::Hub;
use crate::metrics::{Counter, Gauge, MAX_VALUES_PER_LABEL};
use crate::sources::{Absence, SeriesKey, Value};

/// Series of all sources together. What is open of a history takes up to 24 KiB, so these take 48 MiB at most.
pub const MAX_SERIES: usize = 2048;
/// What histories may take: the day of 50 series that never stand still, or of hundreds of usual ones.
pub const HISTORY_BYTES: usize = 64 << 20;
/// How many samples come between two looks at the memory.
const SAMPLES_BETWEEN_LOOKS: u32 = 4096;

const NOT_READ: Absence = Absence::new("not read yet");
const GONE: Absence = Absence::new("the source tells it no more");

/// What a series is.
#[derive(Clone, Debug)]
pub struct SeriesInfo {
    pub key: SeriesKey,
    pub source: &'static str,
    /// How often it is read now.
    pub period_ns: u64,
}

/// Where the bus shows a series.
enum Mirror {
    /// Not asked for yet.
    Unknown,
    /// The bus counts it itself, or has no room for it.
    Nowhere,
    Gauge(Gauge),
    Counter(Counter),
}

#[derive(Default)]
pub(crate) struct Board {
    series: Vec<SeriesInfo>,
    times: Vec<u64>,
    /// Not-a-number where absent: frames are copied from here.
    values: Vec<f64>,
    reasons: Vec<Option<Absence>>,
    histories: Vec<History>,
    mirrors: Vec<Mirror>,
    by_key: HashMap<SeriesKey, usize>,
    samples: u32,
}

impl Board {
    /// The place of a series; none if another source has it already or there are too many.
    pub(super) fn add(
        &mut self,
        key: &SeriesKey,
        source: &'static str,
        period_ns: u64,
    ) -> Option<usize> {
        let place = self.series.len();
        if place >= MAX_SERIES || self.by_key.contains_key(key) {
            return None;
        }
        self.by_key.insert(key.clone(), place);
        self.series.push(SeriesInfo {
            key: key.clone(),
            source,
            period_ns,
        });
        self.times.push(0);
        self.values.push(f64::NAN);
        self.reasons.push(Some(NOT_READ));
        self.histories.push(History::default());
        self.mirrors.push(if is_mirrored(key, source) {
            Mirror::Unknown
        } else {
            Mirror::Nowhere
        });
        Some(place)
    }

    /// Take a value, and show it on `hub`.
    pub(super) fn set(&mut self, place: usize, time_ns: u64, value: &Value, hub: Option<&Hub>) {
        self.times[place] = time_ns;
        match value {
            Ok(number) => {
                self.values[place] = *number;
                self.reasons[place] = None;
                self.histories[place].push(time_ns, *number);
                self.look_at_memory();
            }
            Err(reason) => {
                self.values[place] = f64::NAN;
                if self.reasons[place].as_ref() != Some(reason) {
                    self.reasons[place] = Some(reason.clone());
                }
            }
        }
        if let Some(hub) = hub {
            self.mirror(place, hub);
        }
    }

    fn mirror(&mut self, place: usize, hub: &Hub) {
        let number = self.values[place];
        let mirror = &mut self.mirrors[place];
        if matches!(mirror, Mirror::Unknown) {
            if number.is_nan() {
                return;
            }
            let key = &self.series[place].key;
            let labels: Vec<&str> = key.labels.iter().map(|label| &**label).collect();
            *mirror = match key.metric.metric().kind {
                MetricKind::Gauge => Mirror::Gauge(hub.gauge(key.metric, &labels)),
                MetricKind::Counter => Mirror::Counter(hub.counter(key.metric, &labels)),
                MetricKind::Histogram => Mirror::Nowhere,
            };
        }
        match mirror {
            Mirror::Gauge(gauge) if number.is_nan() => gauge.clear(),
            Mirror::Gauge(gauge) => gauge.set(number),
            // A counter that cannot be read stays where it was.
            Mirror::Counter(counter) if !number.is_nan() => counter.mirror(number),
            _ => {}
        }
    }

    /// The source does not tell a series any more.
    pub(super) fn set_gone(&mut self, place: usize, time_ns: Option<u64>) {
        if !self.values[place].is_nan() || self.reasons[place].as_ref() != Some(&GONE) {
            let time_ns = time_ns.unwrap_or(self.times[place]);
            self.set(place, time_ns, &Err(GONE), None);
            if let Mirror::Gauge(gauge) = &self.mirrors[place] {
                gauge.clear();
            }
        }
    }

    pub(super) fn set_period(&mut self, place: usize, period_ns: u64) {
        self.series[place].period_ns = period_ns;
    }

    /// Nobody samples any more: what the bus shows would grow old.
    pub(super) fn clear_mirrors(&mut self) {
        for mirror in &self.mirrors {
            if let Mirror::Gauge(gauge) = mirror {
                gauge.clear();
            }
        }
    }

    fn look_at_memory(&mut self) {
        self.samples += 1;
        if self.samples < SAMPLES_BETWEEN_LOOKS {
            return;
        }
        self.samples = 0;
        self.keep_below(HISTORY_BYTES);
    }

    /// Forgets the oldest hours, whosever they are, until all histories together take no more than `limit_bytes`, or nothing closed is left.
    fn keep_below(&mut self, limit_bytes: usize) {
        let mut bytes = self.history_bytes();
        while bytes > limit_bytes {
            let oldest = self
                .histories
                .iter_mut()
                .filter(|history| history.oldest_block_ns().is_some())
                .min_by_key(|history| history.oldest_block_ns());
            let Some(oldest) = oldest else { return };
            bytes = bytes.saturating_sub(oldest.drop_oldest_block());
        }
    }

    pub(super) fn series(&self) -> &[SeriesInfo] {
        &self.series
    }

    pub(super) fn times(&self) -> &[u64] {
        &self.times
    }

    pub(super) fn values(&self) -> &[f64] {
        &self.values
    }

    pub(super) fn reasons(&self) -> &[Option<Absence>] {
        &self.reasons
    }

    pub(super) fn readings(&self) -> Vec<Reading> {
        self.series
            .iter()
            .enumerate()
            .map(|(place, info)| Reading {
                key: info.key.clone(),
                source: info.source,
                period_ns: info.period_ns,
                time_ns: self.times[place],
                value: match &self.reasons[place] {
                    None => Ok(self.values[place]),
                    Some(reason) => Err(reason.clone()),
                },
            })
            .collect()
    }

    pub(super) fn history(
        &self,
        place: usize,
        resolution: Resolution,
        start_ns: u64,
        end_ns: u64,
    ) -> Option<Points> {
        let history = self.histories.get(place)?;
        Some(history.points(resolution, start_ns, end_ns))
    }

    pub(super) fn history_bytes(&self) -> usize {
        self.histories.iter().map(History::bytes).sum()
    }
}

/// What the bus counts itself is there already; of processors it shows as many as a label may have values.
fn is_mirrored(key: &SeriesKey, source: &str) -> bool {
    let is_of_processor = matches!(
        key.metric,
        MetricId::ProcessorBusyRatio | MetricId::ProcessorClockHertz
    );
    let has_room = || {
        let number = key
            .label("processor")
            .and_then(|number| number.parse::<usize>().ok());
        number.is_some_and(|number| number < MAX_VALUES_PER_LABEL)
    };
    source != "runtime" && (!is_of_processor || has_room())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn past_the_limit_the_oldest_hours_of_all_series_go_first() {
        const SECOND: u64 = 1_000_000_000;
        let mut board = Board::default();
        let places: Vec<usize> = ["hip:0", "hip:1", "hip:2"]
            .into_iter()
            .map(|device| {
                let key = SeriesKey {
                    metric: MetricId::EnergyJoulesTotal,
                    labels: [device.into()].into(),
                };
                board.add(&key, "test", SECOND).unwrap()
            })
            .collect();
        // The third one starts an hour later.
        for second in 0..7200_u64 {
            for &place in &places[..if second < 3600 { 2 } else { 3 }] {
                board.set(
                    place,
                    second * SECOND,
                    &Ok((second * 7 % 1001) as f64),
                    None,
                );
            }
        }
        let beginnings = |board: &Board| {
            let first = |place: &usize| {
                let points = board
                    .history(*place, Resolution::Seconds, 0, u64::MAX)
                    .unwrap();
                points.time_ns[0] / SECOND
            };
            places.iter().map(first).collect::<Vec<_>>()
        };
        assert_eq!(beginnings(&board), [0, 0, 3600]);
        let limit = board.history_bytes() - 6000;
        board.keep_below(limit);
        assert!(board.history_bytes() <= limit);
        let after = beginnings(&board);
        assert!(
            after[0] > 0 && after[0] <= 3600 && after[0].abs_diff(after[1]) <= 300,
            "{after:?}"
        );
        assert_eq!(after[2], 3600);
        // Less than what is open: nothing closed is left, and that is the end of it.
        board.keep_below(0);
        assert!(beginnings(&board).iter().all(|&second| second >= 6900));
    }
}
