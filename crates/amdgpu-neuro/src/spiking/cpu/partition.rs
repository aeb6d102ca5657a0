//! A partition: a range of the neurons of each group and source, stepped by one thread at a time.

use std::ops::Range;

use amdgpu_aura::DirectKernel;

use super::super::connectivity::Shared;
use super::super::group::Input;
use super::super::kernels::{BLOCK, Dynamic};
use super::super::parts::Parts;
use super::super::projection::ProjectionKind;
use super::super::storage::{Ring, SHORT_BLOCK};
use super::super::values;
use super::arrival::{ArrivalPlan, ArrivalTable, Segment};
use super::history::History;
use super::set_dynamic;
use crate::error::Result;

/// Spikes ahead of the one that is delivered, whose place in the rows is asked for, and whose row is.
const AHEAD_INDEX: usize = 8;
const AHEAD_ROW: usize = 3;

/// Spikes of one group or source in the steps of an interval.
#[derive(Debug, Default)]
pub(super) struct SpikeLists {
    indices: Vec<u32>,
    /// Where each step ends.
    ends: Vec<usize>,
}

impl SpikeLists {
    fn clear(&mut self) {
        self.indices.clear();
        self.ends.clear();
    }

    pub fn of_step(&self, number: usize) -> &[u32] {
        let begin = if number == 0 {
            0
        } else {
            self.ends[number - 1]
        };
        &self.indices[begin..self.ends[number]]
    }
}

/// Neurons of a group that are updated together, after the delivery, at arrival, of the spikes that reach them.
struct Piece {
    neurons: Range<usize>,
    tables: Vec<ArrivalTable>,
}

/// What an interval of all partitions works on.
pub(super) struct Interval<'a> {
    pub parts: &'a Parts,
    pub step: u64,
    pub steps: u64,
    /// Steps from the first one on whose rows in the rings may hold something.
    pub ring_steps: u64,
    /// The step whose spikes, delivered at arrival, are in its rows already.
    pub settled: Option<u64>,
    pub history: &'a History,
    pub updates: &'a [Vec<(usize, Dynamic)>],
    pub is_by_arrival: &'a [bool],
}

pub(super) struct Partition {
    /// Neurons of each group, and of each source.
    pub neurons: Vec<Range<usize>>,
    pub updates: Vec<DirectKernel>,
    /// Of each group.
    pieces: Vec<Vec<Piece>>,
    /// For each group and input a row that stands for that of a ring, where only synapses delivered at arrival and drives bring something: it stays in the
    /// cache, and is zero between two updates. Empty for other inputs.
    scratch: Vec<Vec<Vec<i32>>>,
    segments: Vec<Segment>,
}

impl Partition {
    pub fn new(neurons: Vec<Range<usize>>, updates: Vec<DirectKernel>) -> Self {
        Self {
            neurons,
            updates,
            pieces: Vec::new(),
            scratch: Vec::new(),
            segments: Vec::new(),
        }
    }

    /// Makes the tables of synapses that are delivered at arrival, from weights and delays as they are now.
    pub fn make_tables(&mut self, parts: &Parts, by_arrival: &ArrivalPlan) -> Result<()> {
        self.pieces.clear();
        self.scratch.clear();
        for (number, group) in parts.groups.iter().enumerate() {
            let neurons = self.neurons[number].clone();
            let is_reached = by_arrival.reaches(number);
            let count = if is_reached {
                neurons.len().div_ceil(SHORT_BLOCK)
            } else {
                1
            };
            let mut pieces = Vec::with_capacity(count);
            for place in 0..count {
                let range = super::part_of(neurons.len(), place, count);
                let range = neurons.start + range.start..neurons.start + range.end;
                pieces.push(Piece {
                    tables: by_arrival.tables(parts, number, &range)?,
                    neurons: range,
                });
            }
            let longest = pieces.iter().map(|piece| piece.neurons.len()).max();
            let mut scratch = Vec::with_capacity(group.inputs.len());
            for input in 0..group.inputs.len() {
                let is_alone = is_reached && is_by_arrival_alone(parts, by_arrival, number, input);
                let len = if is_alone { longest.unwrap_or(0) } else { 0 };
                scratch.push(values::zeros(len, "what arrives in a step")?);
            }
            self.pieces.push(pieces);
            self.scratch.push(scratch);
        }
        Ok(())
    }

    /// Adds the spikes of an interval to the rows of this partition's neurons.
    pub fn deliver(
        &self,
        interval: &Interval<'_>,
        first_step: u64,
        steps: u64,
        lists: &[Vec<SpikeLists>],
    ) {
        let parts = interval.parts;
        for (projection, is_by_arrival) in parts.projections.iter().zip(interval.is_by_arrival) {
            let ProjectionKind::Static { input, synapses } = &projection.kind else {
                continue;
            };
            let (origin, target) = (projection.origin, projection.target);
            let own = &self.neurons[target.group];
            let begin = own.start.max(target.first);
            let end = own.end.min(target.first + target.size);
            if *is_by_arrival || begin >= end {
                continue;
            }
            let wanted = (begin - target.first) as u32..(end - target.first) as u32;
            let input = &parts.groups[target.group].inputs[*input];
            let ring = Ring {
                rows: input.ring.host_ptr(),
                slots: input.slots,
                stride: input.stride,
                first: target.first,
            };
            let mut begin = wanted.start;
            while begin < wanted.end {
                let piece = begin..synapses.targets.piece_end(begin).min(wanted.end);
                begin = piece.end;
                for number in 0..steps as usize {
                    let step = first_step + number as u64;
                    for list in lists {
                        let spikes = list[origin.index].of_step(number);
                        let spikes = within(spikes, origin.first, origin.size);
                        for (place, spike) in spikes.iter().enumerate() {
                            let source = |spike: &u32| *spike as usize - origin.first;
                            if let Some(next) = spikes.get(place + AHEAD_INDEX) {
                                synapses.targets.prefetch_index(source(next), piece.start);
                            }
                            if let Some(next) = spikes.get(place + AHEAD_ROW) {
                                synapses.targets.prefetch_row(source(next), piece.start);
                            }
                            // SAFETY: the ring has a slot for the longest delay and every neuron of the group; this partition alone uses
                            // the neurons in `piece`.
                            unsafe { synapses.deliver(source(spike), step, &piece, ring) };
                        }
                    }
                }
            }
        }
    }

    /// Steps this partition's neurons and lists the spikes.
    pub fn update(&mut self, interval: &Interval<'_>, lists: &mut [SpikeLists]) {
        let parts = interval.parts;
        lists.iter_mut().for_each(SpikeLists::clear);
        let group_count = parts.groups.len();
        for step in interval.step..interval.step + interval.steps {
            for (number, source) in parts.sources.iter().enumerate() {
                let list = &mut lists[group_count + number];
                source.spikes_of(step, &self.neurons[group_count + number], &mut list.indices);
                list.ends.push(list.indices.len());
            }
            for (number, list) in lists[..group_count].iter_mut().enumerate() {
                for piece in 0..self.pieces[number].len() {
                    self.update_piece(interval, step, number, piece, list);
                }
                list.ends.push(list.indices.len());
            }
        }
    }

    fn update_piece(
        &mut self,
        interval: &Interval<'_>,
        step: u64,
        number: usize,
        piece: usize,
        list: &mut SpikeLists,
    ) {
        let group = &interval.parts.groups[number];
        let Piece { neurons, tables } = &self.pieces[number][piece];
        if neurons.is_empty() {
            return;
        }
        let needs_ring = step < interval.step + interval.ring_steps;
        let scratch = &mut self.scratch[number];
        // The row of an input: its first element is neuron 0 of the group.
        let mut row_of = |input: usize| {
            let scratch = &mut scratch[input];
            if needs_ring || scratch.is_empty() {
                return ring_row(&group.inputs[input], step);
            }
            scratch.as_mut_ptr().wrapping_sub(neurons.start)
        };
        for drive in &interval.parts.poisson_drives {
            if drive.target.group == number {
                // SAFETY: the row has every neuron of the range, and this partition alone uses its own.
                unsafe { drive.add(step, neurons, row_of(drive.input)) };
            }
        }
        if interval.settled != Some(step) {
            for table in tables {
                let row = row_of(table.input).wrapping_add(neurons.start);
                // SAFETY: as above.
                unsafe { table.deliver_step(interval.history, step, row, &mut self.segments) };
            }
        }
        let kernel = &mut self.updates[number];
        let dynamic = &interval.updates[number];
        set_dynamic(
            kernel,
            dynamic,
            &interval.parts.groups,
            step,
            None,
            &mut |_, input| row_of(input) as u64,
        );
        let blocks = neurons.start as u64 / BLOCK as u64..neurons.end.div_ceil(BLOCK) as u64;
        // SAFETY: arguments were bound to arrays over the group, rows to arrays over the neurons of these blocks; this partition alone runs
        // them.
        unsafe { kernel.run(blocks) };
        // SAFETY: the flags of the group; those of the range are this partition's.
        unsafe { list_fired(group.fired.host_ptr(), neurons, &mut list.indices) };
    }

    /// Adds what arrives in a step by delivery at arrival to its rows in the rings.
    pub fn settle(&mut self, parts: &Parts, history: &History, step: u64) {
        let Self {
            pieces, segments, ..
        } = self;
        for (group, pieces) in parts.groups.iter().zip(pieces) {
            for Piece { neurons, tables } in pieces {
                for table in tables {
                    let row =
                        ring_row(&group.inputs[table.input], step).wrapping_add(neurons.start);
                    // SAFETY: the row has every neuron of the group; nothing else runs.
                    unsafe { table.deliver_step(history, step, row, segments) };
                }
            }
        }
    }

    /// Adds everything that is under way to synapses that are delivered at arrival, and arrives at `step` or later, to the rings; not what was settled.
    pub fn flush(&mut self, parts: &Parts, history: &History, step: u64, settled: Option<u64>) {
        let Self {
            pieces, segments, ..
        } = self;
        for (group, pieces) in parts.groups.iter().zip(pieces) {
            for Piece { neurons, tables } in pieces {
                for table in tables {
                    for at in history.steps() {
                        let Some(spikes) = history.of_step(table.origin, at) else {
                            continue;
                        };
                        for delay in table.delays() {
                            let arrival = at + 1 + u64::from(delay);
                            if arrival < step || settled == Some(arrival) {
                                continue;
                            }
                            let row = ring_row(&group.inputs[table.input], arrival)
                                .wrapping_add(neurons.start);
                            // SAFETY: as above; the ring has a row for every delay.
                            unsafe { table.deliver_delay(spikes, delay, row, segments) };
                        }
                    }
                }
            }
        }
    }
}

/// The row of a step in a ring.
fn ring_row(input: &Input, step: u64) -> *mut i32 {
    input.ring.host_ptr().wrapping_add(input.row(step))
}

/// Whether nothing but synapses delivered at arrival and drives brings anything to an input.
fn is_by_arrival_alone(
    parts: &Parts,
    by_arrival: &ArrivalPlan,
    group: usize,
    input: usize,
) -> bool {
    let mut projections = parts.projections.iter().zip(&by_arrival.is_by_arrival);
    projections.all(|(projection, is_by_arrival)| {
        projection.target.group != group
            || match &projection.kind {
                ProjectionKind::Static { input: own, .. } => *own != input || *is_by_arrival,
                ProjectionKind::Stateful(_) => false,
            }
    })
}

/// Those of sorted indices that are in a range.
pub(super) fn within(spikes: &[u32], first: usize, size: usize) -> &[u32] {
    let begin = spikes.partition_point(|index| (*index as usize) < first);
    let end = spikes.partition_point(|index| (*index as usize) < first + size);
    &spikes[begin..end]
}

/// Appends the neurons of a range whose flag is set.
///
/// # Safety
/// Flags of the range are readable, and nobody writes them. The range begins at a multiple of [`BLOCK`].
unsafe fn list_fired(flags: *const u8, range: &Range<usize>, out: &mut Vec<u32>) {
    /// Flags looked at together.
    const WIDTH: usize = 64;
    // SAFETY: as the caller promises.
    let flags = unsafe { std::slice::from_raw_parts(flags.add(range.start), range.len()) };
    for (number, chunk) in flags.chunks(WIDTH).enumerate() {
        if chunk.iter().fold(0, |any, flag| any | flag) != 0 {
            let first = range.start + number * WIDTH;
            for (place, flag) in chunk.iter().enumerate() {
                if *flag != 0 {
                    out.push((first + place) as u32);
                }
            }
        }
    }
}

/// Partitions that are worked on by several threads, each by one.
pub(super) type SharedPartitions = Shared<Partition>;
