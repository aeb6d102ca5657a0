//! Delivery at arrival, for synapses with individual delays: spikes are kept until they arrive and are then added to the one row of that step.
//! That row stays in the cache of a core, which a ring of rows for all delays would not.

use amdgpu_hal::cpu::pool;

use super::super::connectivity::Shared;
use super::super::parts::Parts;
use super::super::prefetch;
use super::super::projection::{Projection, ProjectionKind};
use super::super::storage::{Delays, Synapses, Targets, Weights};
use super::super::values;
use super::history::History;
use crate::error::{Error, Result};
use std::ops::Range;

/// Rows that a thread makes at a time.
const ROWS_AT_A_TIME: u64 = 64;
/// Synapses of a neuron and a delay on average, below which looking for them costs more than it saves.
const MIN_SEGMENT: u64 = 4;
/// Segments that are asked for ahead of the one that is delivered.
const AHEAD: usize = 6;

/// The projections whose synapses arrive in this order, and how they are put together.
#[derive(Debug, Default)]
pub(super) struct ArrivalPlan {
    sets: Vec<ArrivalSet>,
    /// By projection.
    pub is_by_arrival: Vec<bool>,
}

/// Projections from one group or source into one input.
#[derive(Clone, Debug)]
struct ArrivalSet {
    origin: usize,
    group: usize,
    input: usize,
    projections: Vec<usize>,
    /// Neurons of the origin that any of them comes from.
    rows: Range<usize>,
    /// Shortest and longest delay.
    delays: (u32, u32),
}

fn synapses_of(projection: &Projection) -> Option<(usize, &Synapses)> {
    match &projection.kind {
        ProjectionKind::Static { input, synapses } => Some((*input, synapses)),
        ProjectionKind::Stateful(_) => None,
    }
}

/// Delays of a projection whose rows are plain and whose delays are its own.
fn arrival_delays(synapses: &Synapses) -> Option<&[u16]> {
    match (&synapses.targets, &synapses.delays) {
        (Targets::Short(_) | Targets::Long { .. }, Delays::Each(delays)) => Some(delays),
        _ => None,
    }
}

impl ArrivalPlan {
    pub fn new(parts: &Parts) -> Self {
        let mut sets: Vec<ArrivalSet> = Vec::new();
        for (number, projection) in parts.projections.iter().enumerate() {
            let Some((input, synapses)) = synapses_of(projection) else {
                continue;
            };
            if arrival_delays(synapses).is_none_or(<[u16]>::is_empty) {
                continue;
            }
            let origin = projection.origin;
            let rows = origin.first..origin.first + origin.size;
            let delays = synapses.delays.range();
            let known = sets.iter_mut().find(|set| {
                (set.origin, set.group, set.input) == (origin.index, projection.target.group, input)
            });
            if let Some(set) = known {
                set.projections.push(number);
                set.rows = set.rows.start.min(rows.start)..set.rows.end.max(rows.end);
                set.delays = (set.delays.0.min(delays.0), set.delays.1.max(delays.1));
            } else {
                sets.push(ArrivalSet {
                    origin: origin.index,
                    group: projection.target.group,
                    input,
                    projections: vec![number],
                    rows,
                    delays,
                });
            }
        }
        sets.retain(|set| {
            let synapses: usize = set
                .projections
                .iter()
                .filter_map(|number| synapses_of(&parts.projections[*number]))
                .filter_map(|(_, synapses)| arrival_delays(synapses))
                .map(<[u16]>::len)
                .sum();
            let segments = set.rows.len() as u64 * set.delay_count() as u64;
            synapses as u64 >= MIN_SEGMENT * segments && u32::try_from(synapses).is_ok()
        });
        let mut is_by_arrival = vec![false; parts.projections.len()];
        for number in sets.iter().flat_map(|set| &set.projections) {
            is_by_arrival[*number] = true;
        }
        Self {
            sets,
            is_by_arrival,
        }
    }

    /// Whether any projection into a group is delivered at arrival.
    pub fn reaches(&self, group: usize) -> bool {
        self.sets.iter().any(|set| set.group == group)
    }

    /// Steps back from an update that spikes still arrive in it.
    pub fn longest(&self) -> Option<u32> {
        self.sets.iter().map(|set| set.delays.1).max()
    }

    /// Groups and sources whose spikes have to be kept.
    pub fn origins(&self) -> impl Iterator<Item = usize> {
        self.sets.iter().map(|set| set.origin)
    }

    /// The tables of a range of neurons of a group.
    pub fn tables(
        &self,
        parts: &Parts,
        group: usize,
        neurons: &Range<usize>,
    ) -> Result<Vec<ArrivalTable>> {
        let sets = self.sets.iter().filter(|set| set.group == group);
        sets.map(|set| ArrivalTable::build(parts, set, neurons))
            .collect()
    }
}

impl ArrivalSet {
    fn delay_count(&self) -> usize {
        (self.delays.1 - self.delays.0) as usize + 1
    }

    /// Calls `take` with delay, neuron of the group, and weight of every synapse of a neuron of the origin into a range of the group.
    fn visit(
        &self,
        parts: &Parts,
        row: usize,
        neurons: &Range<usize>,
        mut take: impl FnMut(u32, usize, i32),
    ) {
        for number in &self.projections {
            let projection = &parts.projections[*number];
            let (origin, target) = (projection.origin, projection.target);
            let begin = neurons.start.max(target.first);
            let end = neurons.end.min(target.first + target.size);
            let Some((_, synapses)) = synapses_of(projection) else {
                continue;
            };
            let Some(delays) = arrival_delays(synapses) else {
                continue;
            };
            if begin >= end || !(origin.first..origin.first + origin.size).contains(&row) {
                continue;
            }
            let wanted = (begin - target.first) as u32..(end - target.first) as u32;
            let source = row - origin.first;
            synapses.targets.visit(source, &wanted, |place, index| {
                let weight = match &synapses.weights {
                    Weights::Uniform(weight) => *weight,
                    Weights::Each(weights) => weights[place],
                };
                take(
                    u32::from(delays[place]),
                    target.first + index as usize,
                    weight,
                );
            });
        }
    }

    /// The one weight that all synapses have.
    fn uniform_weight(&self, parts: &Parts) -> Option<i32> {
        let weights = self.projections.iter().map(|number| {
            match &synapses_of(&parts.projections[*number])?.1.weights {
                Weights::Uniform(weight) => Some(*weight),
                Weights::Each(_) => None,
            }
        });
        let weights: Option<Vec<i32>> = weights.collect();
        let weights = weights?;
        let first = *weights.first()?;
        weights
            .iter()
            .all(|weight| *weight == first)
            .then_some(first)
    }
}

/// The synapses of a set into neurons of one range.
#[derive(Debug)]
pub(super) struct ArrivalTable {
    pub origin: usize,
    pub input: usize,
    first_row: usize,
    rows: usize,
    shortest: u32,
    delays: usize,
    /// Where the synapses of row r with delay d begin: entry `r * delays + d`; their end is the next entry.
    starts: Vec<u32>,
    /// Inside the range of neurons.
    columns: Vec<u16>,
    /// Empty where all are `weight`.
    weights: Vec<i32>,
    weight: i32,
}

/// A row's synapses of one delay.
pub(super) type Segment = (u32, u32);

impl ArrivalTable {
    fn build(parts: &Parts, set: &ArrivalSet, neurons: &Range<usize>) -> Result<Self> {
        let (rows, delays) = (set.rows.len(), set.delay_count());
        let (first_row, shortest) = (set.rows.start, set.delays.0);
        let what = "the synapses in the order of their delays";
        let mut starts: Vec<u32> = values::zeros(rows * delays + 1, what)?;
        let counts = Shared::new(&mut starts[1..]);
        let each_row = |work: &(dyn Fn(usize) + Sync)| {
            pool::global()
                .parallel_for(rows as u64, ROWS_AT_A_TIME, &|range| {
                    range.for_each(|row| work(row as usize));
                })
                .map_err(|error| Error::from_core(&error))
        };
        each_row(&|row| {
            // SAFETY: every row has counters of its own.
            let counts = unsafe { counts.slice(row * delays..(row + 1) * delays) };
            set.visit(parts, first_row + row, neurons, |delay, _, _| {
                counts[(delay - shortest) as usize] += 1;
            });
        })?;
        let mut total = 0;
        for start in &mut starts {
            total += *start;
            *start = total;
        }
        let uniform = set.uniform_weight(parts);
        let mut columns: Vec<u16> = values::zeros(total as usize, what)?;
        let kept_weights = if uniform.is_some() { 0 } else { total as usize };
        let mut weights: Vec<i32> = values::zeros(kept_weights, what)?;
        let (all_columns, all_weights) = (Shared::new(&mut columns), Shared::new(&mut weights));
        let starts_of = &starts;
        each_row(&|row| {
            let mut next = starts_of[row * delays..(row + 1) * delays].to_vec();
            set.visit(parts, first_row + row, neurons, |delay, neuron, weight| {
                let place = &mut next[(delay - shortest) as usize];
                // SAFETY: the first visit counted this place for this row and delay alone.
                unsafe {
                    all_columns.write(*place as usize, (neuron - neurons.start) as u16);
                    if uniform.is_none() {
                        all_weights.write(*place as usize, weight);
                    }
                }
                *place += 1;
            });
        })?;
        Ok(Self {
            origin: set.origin,
            input: set.input,
            first_row,
            rows,
            shortest,
            delays,
            starts,
            columns,
            weights,
            weight: uniform.unwrap_or(0),
        })
    }

    /// Delays, shortest first.
    pub fn delays(&self) -> Range<u32> {
        self.shortest..self.shortest + self.delays as u32
    }

    /// The segments of spikes that are `delay` steps under way.
    fn segments(&self, spikes: &[u32], delay: u32, out: &mut Vec<Segment>) {
        let delay = (delay - self.shortest) as usize;
        for spike in spikes {
            let row = (*spike as usize).wrapping_sub(self.first_row);
            if row < self.rows {
                let place = row * self.delays + delay;
                let (begin, end) = (self.starts[place], self.starts[place + 1]);
                if begin < end {
                    out.push((begin, end));
                }
            }
        }
    }

    /// Adds everything that arrives in a step to `row`, whose first element is the first neuron of the range. `segments` is kept for its
    /// memory.
    ///
    /// # Safety
    /// The row has every neuron of the range, and nobody else uses it.
    pub unsafe fn deliver_step(
        &self,
        history: &History,
        step: u64,
        row: *mut i32,
        segments: &mut Vec<Segment>,
    ) {
        segments.clear();
        for delay in self.delays() {
            if let Some(spikes) = history.spikes(self.origin, step, delay) {
                self.segments(spikes, delay, segments);
            }
        }
        // SAFETY: as the caller promises.
        unsafe { self.deliver(segments, row) };
    }

    /// Adds what spikes of one step bring after one delay.
    ///
    /// # Safety
    /// As [`Self::deliver_step`].
    pub unsafe fn deliver_delay(
        &self,
        spikes: &[u32],
        delay: u32,
        row: *mut i32,
        segments: &mut Vec<Segment>,
    ) {
        segments.clear();
        self.segments(spikes, delay, segments);
        // SAFETY: as the caller promises.
        unsafe { self.deliver(segments, row) };
    }

    unsafe fn deliver(&self, segments: &[Segment], row: *mut i32) {
        for (number, (begin, end)) in segments.iter().enumerate() {
            if let Some((begin, end)) = segments.get(number + AHEAD) {
                prefetch::range(&self.columns, *begin as usize, *end as usize);
                prefetch::range(&self.weights, *begin as usize, *end as usize);
            }
            let range = *begin as usize..*end as usize;
            let columns = &self.columns[range.clone()];
            // SAFETY: columns are neurons of the row.
            unsafe {
                if self.weights.is_empty() {
                    for column in columns {
                        add(row, *column, self.weight);
                    }
                } else {
                    for (column, weight) in columns.iter().zip(&self.weights[range]) {
                        add(row, *column, *weight);
                    }
                }
            }
        }
    }
}

/// # Safety
/// `column` is a neuron of the row.
#[inline]
unsafe fn add(row: *mut i32, column: u16, weight: i32) {
    // SAFETY: as the caller promises. Sums cannot leave the range: the unit was chosen for their largest possible value.
    unsafe {
        let place = row.add(usize::from(column));
        *place = (*place).wrapping_add(weight);
    }
}
