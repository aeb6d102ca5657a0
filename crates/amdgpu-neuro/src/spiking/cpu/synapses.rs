//! Kernels of synapses with state on the CPU: rows and columns of spiking neurons are split into parts, one for each partition.
//!
//! A row is split by target: its targets are then those of one partition, whose sums no other thread touches at the same time. Sums are
//! atomic all the same, so any split gives the same bits; but words that two cores add to alternately cost several times as much. A column,
//! whose synapses are anywhere in memory, is split into parts of equal length.

use std::mem;
use std::ops::Range;

use amdgpu_aura::{DirectKernel, InsideLaunches};
use amdgpu_hal::cpu::pool;

use super::super::group::Group;
use super::super::kernels::{
    BLOCK, BoundKernel, Dynamic, EventPair, Events, ROW_BLOCKS, RowArguments,
};
use super::super::memory::DeviceArray;
use super::super::parts::Parts;
use super::super::projection::{ProjectionKind, StatefulSynapses};
use super::super::values;
use super::partition::{SpikeLists, within};
use super::{direct, part_of, set_dynamic};
use crate::error::{Error, Result};
use crate::plan::spiking::Phase;

/// Synapses of spikes from which sharing them out pays, at some nanoseconds for each: several times what waking a thread costs.
const SHARED_SYNAPSES: u64 = 2_048;
/// Neurons or synapses from which sharing out a kernel over all of them pays; they are read in order, at a fraction of a nanosecond each.
const SHARED_ITEMS: u64 = 65_536;
/// Pieces that the spiking neurons of a kernel that knows no parts of rows are split into at most.
const MAX_SYNAPSE_PIECES: u64 = 64;

/// Ends of the parts of rows or columns.
struct PartTable {
    lines: usize,
    /// For each part where it begins in each row, and at last the ends of the rows.
    borders: Vec<u32>,
}

impl PartTable {
    /// `border` tells where a part of a row begins.
    fn new(
        starts: &[u32],
        parts: usize,
        border: impl Fn(Range<usize>, usize) -> usize,
    ) -> Result<Self> {
        let lines = starts.len() - 1;
        let mut borders = values::zeros(lines * (parts + 1), "parts of the rows of synapses")?;
        for part in 0..=parts {
            let out = &mut borders[part * lines..(part + 1) * lines];
            for (out, ends) in out.iter_mut().zip(starts.windows(2)) {
                let line = ends[0] as usize..ends[1] as usize;
                *out = match part {
                    0 => line.start,
                    _ if part == parts => line.end,
                    _ => border(line, part),
                } as u32;
            }
        }
        Ok(Self { lines, borders })
    }

    fn of_targets(synapses: &StatefulSynapses, targets: &[Range<usize>]) -> Result<Self> {
        let (starts, columns) = (synapses.row_starts.look()?, synapses.columns.look()?);
        Self::new(&starts, targets.len(), |row, part| {
            let first = targets[part].start;
            let of_row = &columns[row.clone()];
            row.start + of_row.partition_point(|column| (*column as usize) < first)
        })
    }

    fn of_equal_parts(starts: &DeviceArray<u32>, parts: usize) -> Result<Self> {
        Self::new(&starts.look()?, parts, |column, part| {
            column.start + column.len() * part / parts
        })
    }

    /// Addresses of the beginnings and ends of a part.
    fn addresses(&self, part: usize) -> [u64; 2] {
        let of = |part: usize| self.borders[part * self.lines..].as_ptr() as u64;
        [of(part), of(part + 1)]
    }
}

/// A kernel of a projection with state.
pub(super) struct SynapseKernel {
    pub phase: Phase,
    pub projection: usize,
    dynamic: Vec<(usize, Dynamic)>,
    blocks: u64,
    kernel: DirectKernel,
    /// The kernel over parts of rows: one for each partition, empty where it does not take parts or there is one partition.
    parts: Vec<DirectKernel>,
    /// What `parts` read.
    _table: Option<PartTable>,
    /// Synapses of a row or column on average.
    synapses_per_spike: u64,
    /// Blocks that `kernel` and that each of `parts` ran since launches were counted.
    whole_blocks: u64,
    part_blocks: u64,
}

impl SynapseKernel {
    pub fn new(
        bound: &BoundKernel,
        projection: usize,
        parts: &Parts,
        count: usize,
    ) -> Result<Self> {
        let mut table = None;
        let mut kernels = Vec::new();
        let mut synapses_per_spike = 0;
        let of_projection = &parts.projections[projection];
        if let (ProjectionKind::Stateful(synapses), Some(arguments)) =
            (&of_projection.kind, bound.rows)
        {
            let target = of_projection.target;
            let is_row = bound.phase == Phase::OnPre;
            let lines = if is_row {
                of_projection.origin.size
            } else {
                target.size
            };
            synapses_per_spike = (synapses.count / lines.max(1)) as u64;
            if count > 1 {
                let made = if is_row {
                    let size = parts.groups[target.group].size;
                    let targets = (0..count).map(|part| {
                        let own = part_of(size, part, count);
                        let inside =
                            |place: usize| place.saturating_sub(target.first).min(target.size);
                        inside(own.start)..inside(own.end)
                    });
                    PartTable::of_targets(synapses, &targets.collect::<Vec<_>>())?
                } else {
                    let starts = synapses.column_starts.as_ref().ok_or_else(|| {
                        Error::InvalidDescription("a kernel of columns has none".to_owned())
                    })?;
                    PartTable::of_equal_parts(starts, count)?
                };
                for part in 0..count {
                    let mut kernel = direct(bound)?;
                    let RowArguments { starts, ends } = arguments;
                    for (argument, address) in [starts, ends].into_iter().zip(made.addresses(part))
                    {
                        kernel.set_bytes(argument, &address.to_le_bytes());
                    }
                    kernels.push(kernel);
                }
                table = Some(made);
            }
        }
        Ok(Self {
            phase: bound.phase,
            projection,
            dynamic: bound.dynamic.clone(),
            blocks: u64::from(bound.config.grid[0]),
            kernel: direct(bound)?,
            parts: kernels,
            _table: table,
            synapses_per_spike,
            whole_blocks: 0,
            part_blocks: 0,
        })
    }

    /// The launches of so many steps since the last call.
    pub fn take_launches(&mut self, launches: u64) -> InsideLaunches<'_> {
        let blocks = mem::take(&mut self.whole_blocks);
        let part_blocks = mem::take(&mut self.part_blocks);
        DirectKernel::take_uneven_launches(launches, &self.kernel, blocks, &self.parts, part_blocks)
    }

    pub fn run(
        &mut self,
        parts: &Parts,
        step: u64,
        reward: Option<f32>,
        is_shared: bool,
    ) -> Result<()> {
        let Some(EventPair { pre, post }) = &parts.events[self.projection] else {
            return Ok(());
        };
        // SAFETY: the count is one word of the CPU device's memory, and no kernel runs.
        let spikes = |events: &Events| u64::from(unsafe { events.count.host_ptr().read() });
        let of_events = match self.phase {
            Phase::OnPre => Some(spikes(pre)),
            Phase::OnPost => Some(spikes(post)),
            _ => None,
        };
        let blocks = match of_events {
            Some(spikes) => spikes.min(ROW_BLOCKS),
            None if self.phase == Phase::OnReward && reward.is_none() => 0,
            None => self.blocks,
        };
        if blocks == 0 {
            return Ok(());
        }
        let is_worth_it = match of_events {
            Some(spikes) if self.parts.is_empty() => spikes > 1,
            Some(spikes) => spikes * self.synapses_per_spike >= SHARED_SYNAPSES,
            None => blocks * BLOCK as u64 >= SHARED_ITEMS,
        };
        let groups = &parts.groups;
        if is_shared && is_worth_it && !self.parts.is_empty() {
            self.part_blocks += blocks;
        } else {
            self.whole_blocks += blocks;
        }
        if !(is_shared && is_worth_it) {
            put_arguments(&mut self.kernel, &self.dynamic, groups, step, reward);
            // SAFETY: arguments were bound to arrays of the lengths that the plan gives.
            unsafe { self.kernel.run(0..blocks) };
            return Ok(());
        }
        if self.parts.is_empty() {
            put_arguments(&mut self.kernel, &self.dynamic, groups, step, reward);
            let kernel = &self.kernel;
            // SAFETY: as above; blocks may run side by side, as on a GPU.
            let work = |range: Range<u64>| unsafe { kernel.run(range) };
            return pool::global()
                .parallel_for(blocks, blocks.div_ceil(MAX_SYNAPSE_PIECES), &work)
                .map_err(|error| Error::from_core(&error));
        }
        for kernel in &mut self.parts {
            put_arguments(kernel, &self.dynamic, groups, step, reward);
        }
        let kernels = &self.parts;
        let work = |range: Range<u64>| {
            for kernel in &kernels[range.start as usize..range.end as usize] {
                // SAFETY: as above; parts of rows have no synapse in common, and sums are atomic.
                unsafe { kernel.run(0..blocks) };
            }
        };
        pool::global()
            .parallel_for(kernels.len() as u64, 1, &work)
            .map_err(|error| Error::from_core(&error))
    }
}

fn put_arguments(
    kernel: &mut DirectKernel,
    dynamic: &[(usize, Dynamic)],
    groups: &[Group],
    step: u64,
    reward: Option<f32>,
) {
    let mut row_of = |group: usize, input: usize| {
        let input = &groups[group].inputs[input];
        input.ring.address(input.row(step))
    };
    set_dynamic(kernel, dynamic, groups, step, reward, &mut row_of);
}

/// The spikes of a range of a group or source in the first step of an interval, counted inside the range.
pub(super) fn collect(
    lists: &[Vec<SpikeLists>],
    origin: usize,
    first: usize,
    size: usize,
    out: &mut Vec<u32>,
) {
    out.clear();
    for list in lists {
        let spikes = within(list[origin].of_step(0), first, size);
        out.extend(spikes.iter().map(|index| index - first as u32));
    }
}

/// Shows spikes to kernels.
pub(super) fn give(events: &Events, spikes: &[u32]) {
    // SAFETY: the arrays have a place for every neuron; no kernel runs.
    unsafe {
        let list = events.list.host_ptr();
        let flags = events.flags.host_ptr();
        for (place, spike) in spikes.iter().enumerate() {
            list.add(place).write(*spike);
            flags.add(*spike as usize).write(1);
        }
        events.count.host_ptr().write(spikes.len() as u32);
    }
}

/// Takes them back.
pub(super) fn withdraw(events: &Events) {
    // SAFETY: as above; the list is as `give` left it.
    unsafe {
        let list = events.list.host_ptr();
        let flags = events.flags.host_ptr();
        for place in 0..events.count.host_ptr().read() {
            flags.add(list.add(place as usize).read() as usize).write(0);
        }
        events.count.host_ptr().write(0);
    }
}
