//! A source with the times at which its groups are due, and what reading it costs.

use std::sync::{Arc, Mutex};

use amdgpu_abi::MetricId;

use super::board::Board;
use crate::hub::{Hub, lock};
use crate::metrics::Counter;
use crate::sources::{Sink, Source, SourceSeries, Taken};

/// Share of a core that reading one source may take; five sources stay below 0.3 %.
pub const LANE_SHARE: f64 = 0.0006;
/// However dear a source is, it is read this often.
const LONGEST_PERIOD_NS: u64 = 60_000_000_000;
/// Weight of the newest cost in the running mean: one dear read in eight does not change the rhythm for long.
const COST_WEIGHT: f64 = 0.125;

struct Group {
    default_ns: u64,
    period_ns: u64,
    due_ns: u64,
    /// Processor time of a read; unknown until the second, since the first one searches folders and opens libraries.
    cost_ns: Option<f64>,
    reads: u64,
}

pub(super) struct Lane {
    source: Box<dyn Source>,
    series: SourceSeries,
    /// Index on the board of each series of the source; none for those past the limit.
    places: Vec<Option<usize>>,
    /// Series seen in the read that is under way.
    seen: Vec<bool>,
    groups: Vec<Group>,
    taken: Vec<Taken>,
    spent_ns: u64,
    spent: Counter,
}

impl Lane {
    pub(super) fn new(source: Box<dyn Source>, hub: &Arc<Hub>) -> Self {
        let groups = source
            .periods()
            .iter()
            .map(|period| Group {
                default_ns: period.as_nanos() as u64,
                period_ns: period.as_nanos() as u64,
                due_ns: 0,
                cost_ns: None,
                reads: 0,
            })
            .collect();
        Self {
            spent: hub.counter(MetricId::SamplingSecondsTotal, &[source.name()]),
            source,
            series: SourceSeries::default(),
            places: Vec::new(),
            seen: Vec::new(),
            groups,
            taken: Vec::new(),
            spent_ns: 0,
        }
    }

    /// Reads the groups that are due. Returns when the next one is.
    pub(super) fn read_due(&mut self, hub: &Hub, board: &Mutex<Board>) -> u64 {
        for number in 0..self.groups.len() {
            let now_ns = hub.now_ns();
            if self.groups[number].due_ns <= now_ns {
                self.read(number, hub, board, true);
                let group = &mut self.groups[number];
                // In step with the period; after a pause from now on, so that nothing is made up for.
                group.due_ns += group.period_ns;
                if group.due_ns <= now_ns {
                    group.due_ns = now_ns + group.period_ns;
                }
                // No hardware of this kind so far.
                if self.series.keys().is_empty() {
                    group.due_ns = now_ns + LONGEST_PERIOD_NS;
                }
            }
        }
        let due = self.groups.iter().map(|group| group.due_ns).min();
        due.unwrap_or(u64::MAX)
    }

    /// Reads all groups, whether due or not.
    pub(super) fn read_all(&mut self, hub: &Hub, board: &Mutex<Board>, is_mirrored: bool) {
        for number in 0..self.groups.len() {
            self.read(number, hub, board, is_mirrored);
        }
    }

    fn read(&mut self, number: usize, hub: &Hub, board: &Mutex<Board>, is_mirrored: bool) {
        let clock = hub.clock.get();
        let begin_ns = clock.thread_cpu_ns();
        self.taken.clear();
        let mut sink = Sink::new(clock, &mut self.series, &mut self.taken, number);
        self.source.read(number, &mut sink);
        self.publish(number, hub, board, is_mirrored);
        let cost_ns = clock.thread_cpu_ns().saturating_sub(begin_ns);
        self.spent_ns += cost_ns;
        self.spent.mirror(self.spent_ns as f64 * 1e-9);
        let group = &mut self.groups[number];
        group.reads += 1;
        if group.reads > 1 {
            let mean = group.cost_ns.unwrap_or(cost_ns as f64);
            group.cost_ns = Some(mean + (cost_ns as f64 - mean) * COST_WEIGHT);
            self.keep_to_share();
        }
    }

    /// Stretches all periods alike where the default ones would take more than the share.
    fn keep_to_share(&mut self) {
        let share: f64 = self
            .groups
            .iter()
            .map(|group| group.cost_ns.unwrap_or(0.0) / group.default_ns as f64)
            .sum();
        let stretch = (share / LANE_SHARE).max(1.0);
        for group in &mut self.groups {
            let longest = LONGEST_PERIOD_NS.max(group.default_ns) as f64;
            group.period_ns = (group.default_ns as f64 * stretch).min(longest) as u64;
        }
    }

    fn publish(&mut self, number: usize, hub: &Hub, board: &Mutex<Board>, is_mirrored: bool) {
        let mut board = lock(board);
        let source = self.source.name();
        for (key, group) in &self.series.keys()[self.places.len()..] {
            let period_ns = self.groups[*group].period_ns;
            self.places.push(board.add(key, source, period_ns));
        }
        self.seen.clear();
        self.seen.resize(self.places.len(), false);
        let hub = is_mirrored.then_some(hub);
        for taken in &self.taken {
            self.seen[taken.series] = true;
            if let Some(place) = self.places[taken.series] {
                board.set(place, taken.time_ns, &taken.value, hub);
            }
        }
        let (period_ns, now_ns) = (
            self.groups[number].period_ns,
            self.taken.last().map(|taken| taken.time_ns),
        );
        for (series, (_, group)) in self.series.keys().iter().enumerate() {
            if *group == number
                && let Some(place) = self.places[series]
            {
                board.set_period(place, period_ns);
                if !self.seen[series] {
                    board.set_gone(place, now_ns);
                }
            }
        }
    }
}
