//! Stepping on the CPU device: neurons are split into partitions, each stepped by one thread at a time; a spike is delivered by every
//! partition to its own neurons. So nobody waits for a lock, and sums do not depend on the number of partitions.
//!
//! As many steps as the shortest delay covers are made in one go: in an interval each partition first delivers the spikes of the interval before,
//! then updates its neurons. Synapses with delays of their own are not delivered when their neuron spikes but when the spike arrives
//! ([`arrival`]). Nothing is allocated once buffers have their size.

mod arrival;
mod history;
mod partition;
mod synapses;

use std::ops::Range;

use amdgpu_aura::{DirectKernel, InsideLaunches};
use amdgpu_hal::cpu::pool;

use super::connectivity::Shared;
use super::group::Group;
use super::kernels::{BLOCK, BoundKernel, Dynamic};
use super::parts::Parts;
use super::projection::{Projection, ProjectionKind};
use super::recorder::Recorder;
use super::stepper::DelayLine;
use crate::error::{Error, Result};
use crate::plan::spiking::Phase;
use arrival::ArrivalPlan;
use history::History;
use partition::{Interval, Partition, SharedPartitions, SpikeLists};
use synapses::{SynapseKernel, collect, give, withdraw};

/// Steps made in one go at most: bounds the spikes that are kept between intervals.
const MAX_TURN_STEPS: u64 = 64;
/// Duration of an interval from which sharing it out pays: several times what handing it to another thread costs.
const PARALLEL_NS: u64 = 15_000;
/// Intervals between two measurements of how long an interval takes.
const MEASURE_EVERY: u64 = 64;
/// Neurons that make a partition worth while.
const PARTITION_NEURONS: usize = 512;

pub(crate) struct CpuStepper {
    partitions: Vec<Partition>,
    /// Of this interval and the one before: for each partition, for each group and source.
    lists: [Vec<Vec<SpikeLists>>; 2],
    current: usize,
    /// First step and number of steps of the interval whose spikes are still to be delivered.
    pending: Option<(u64, u64)>,
    updates: Vec<Vec<(usize, Dynamic)>>,
    /// With their numbers of blocks: see [`CpuStepper::start`].
    starts: Vec<StartKernel>,
    synapse_kernels: Vec<SynapseKernel>,
    by_arrival: ArrivalPlan,
    /// Weights changed since the tables of synapses delivered at arrival were made.
    is_stale: bool,
    history: History,
    /// The step whose spikes, delivered at arrival, are in the rings already.
    settled: Option<u64>,
    /// Steps to come whose rows in the rings may hold spikes that were delivered at arrival, or what a checkpoint brought.
    ring_steps: u64,
    longest_ring: u64,
    pub delay_lines: Vec<DelayLine>,
    /// Spikes of targets, kept for its memory.
    post: Vec<u32>,
    interval_steps: u64,
    intervals: u64,
    is_parallel: bool,
}

/// The part of `count` neurons that a partition has, in whole blocks.
fn part_of(count: usize, number: usize, parts: usize) -> Range<usize> {
    let blocks = count.div_ceil(BLOCK);
    let at = |number: usize| (blocks * number / parts * BLOCK).min(count);
    at(number)..at(number + 1)
}

fn direct(kernel: &BoundKernel) -> Result<DirectKernel> {
    DirectKernel::new(&kernel.kernel, &kernel.config, &kernel.arguments)
        .map_err(|error| Error::from_core(&error))?
        .ok_or_else(|| Error::InvalidArgument("this stepper is for the CPU device".to_owned()))
}

impl CpuStepper {
    pub fn new(parts: &Parts, kernels: &[BoundKernel], threads: usize) -> Result<Self> {
        let neurons: usize = parts.groups.iter().map(|group| group.size).sum();
        let partition_count = threads.min(neurons / PARTITION_NEURONS).max(1);
        let sizes: Vec<usize> = parts
            .groups
            .iter()
            .map(|group| group.size)
            .chain(parts.source_sizes.iter().copied())
            .collect();
        let update_of = |group: usize| {
            let mut updates = kernels
                .iter()
                .filter(|kernel| kernel.phase == Phase::Update);
            updates
                .find(|kernel| kernel.group == Some(group))
                .ok_or_else(|| Error::InvalidDescription("a group has no update kernel".to_owned()))
        };
        let mut partitions = Vec::new();
        for number in 0..partition_count {
            let updates = (0..parts.groups.len()).map(|group| direct(update_of(group)?));
            let neurons = sizes
                .iter()
                .map(|size| part_of(*size, number, partition_count));
            let updates = updates.collect::<Result<_>>()?;
            partitions.push(Partition::new(neurons.collect(), updates));
        }
        let mut updates = Vec::new();
        for group in 0..parts.groups.len() {
            updates.push(update_of(group)?.dynamic.clone());
        }
        let (synapse_kernels, starts) = synapse_kernels_of(parts, kernels, partition_count)?;
        let lists = || {
            let of_partition = || sizes.iter().map(|_| SpikeLists::default()).collect();
            (0..partition_count).map(|_| of_partition()).collect()
        };
        let by_arrival = ArrivalPlan::new(parts);
        let inputs = parts.groups.iter().flat_map(|group| &group.inputs);
        let longest_ring = inputs.map(|input| u64::from(input.slots)).max();
        let longest_ring = longest_ring.unwrap_or(0);
        let mut stepper = Self {
            history: History::new(sizes.len(), by_arrival.origins(), by_arrival.longest()),
            by_arrival,
            is_stale: false,
            settled: None,
            ring_steps: longest_ring,
            longest_ring,
            partitions,
            lists: [lists(), lists()],
            current: 0,
            pending: None,
            updates,
            starts,
            synapse_kernels,
            delay_lines: delay_lines(&parts.projections),
            post: Vec::new(),
            interval_steps: interval_steps(parts),
            intervals: 0,
            is_parallel: false,
        };
        stepper.make_tables(parts)?;
        Ok(stepper)
    }

    fn make_tables(&mut self, parts: &Parts) -> Result<()> {
        for partition in &mut self.partitions {
            partition.make_tables(parts, &self.by_arrival)?;
        }
        self.is_stale = false;
        Ok(())
    }

    /// Runs the kernels of initialisation, once.
    pub fn initialize(kernels: &[BoundKernel]) -> Result<()> {
        for kernel in kernels {
            if kernel.phase == Phase::Initialize {
                let launch = direct(kernel)?;
                // SAFETY: arguments were bound to arrays of the lengths that the plan gives; nothing else runs.
                unsafe { launch.run(0..u64::from(kernel.config.grid[0])) };
            }
        }
        Ok(())
    }

    /// Runs the kernels that add what arrives in step 0.
    pub fn start(&mut self) {
        for (blocks, kernel) in &self.starts {
            // SAFETY: arguments were bound to arrays of the lengths that the plan gives; nothing else runs.
            unsafe { kernel.run(0..*blocks) };
        }
        self.ring_steps = self.ring_steps.max(1);
    }

    /// Makes up to `steps` steps from `step` on and tells how many: as many as go together.
    pub fn advance(
        &mut self,
        parts: &Parts,
        step: u64,
        steps: u64,
        reward: Option<f32>,
        recorder: &mut Recorder,
    ) -> Result<u64> {
        let steps = steps.min(self.interval_steps);
        self.run_turn(parts, step, steps)?;
        self.pending = Some((step, steps));
        self.ring_steps = self.ring_steps.saturating_sub(steps);
        self.keep_spikes(step, steps);
        for (origin, _) in self.partitions[0].neurons.iter().enumerate() {
            for number in 0..steps {
                for lists in &self.lists[self.current] {
                    recorder.take(
                        origin,
                        step + number,
                        lists[origin].of_step(number as usize),
                    )?;
                }
            }
        }
        if !self.synapse_kernels.is_empty() {
            self.run_synapses(parts, step, reward)?;
        }
        Ok(steps)
    }

    /// Keeps the spikes of an interval for deliveries at the time of arrival.
    fn keep_spikes(&mut self, step: u64, steps: u64) {
        if !self.history.is_used() {
            return;
        }
        let lists = &self.lists[self.current];
        for number in 0..steps {
            for origin in self.by_arrival.origins() {
                let pieces = lists.iter().map(|of| of[origin].of_step(number as usize));
                self.history.take(origin, step + number, pieces);
            }
            self.history.advance(step + number);
        }
    }

    /// Delivers everything that is still to be delivered, so that the state before `step` is whole.
    pub fn flush(&mut self, parts: &Parts, step: u64) -> Result<()> {
        self.deliver_pending(parts)?;
        if self.history.is_used() {
            for partition in &mut self.partitions {
                partition.flush(parts, &self.history, step, self.settled);
            }
            self.history.clear();
            self.settled = None;
            self.ring_steps = self.longest_ring;
        }
        Ok(())
    }

    /// Delivers what arrives in `step`, so that its rows can be looked at.
    pub fn settle(&mut self, parts: &Parts, step: u64) -> Result<()> {
        self.deliver_pending(parts)?;
        if self.history.is_used() && self.settled != Some(step) {
            for partition in &mut self.partitions {
                partition.settle(parts, &self.history, step);
            }
            self.settled = Some(step);
            self.ring_steps = self.ring_steps.max(1);
        }
        Ok(())
    }

    fn deliver_pending(&mut self, parts: &Parts) -> Result<()> {
        if self.pending.is_some() {
            self.run_turn(parts, 0, 0)?;
            self.pending = None;
        }
        Ok(())
    }

    /// Takes over constant weights that were changed, with the next interval.
    pub fn weights_changed(&mut self, projection: usize) {
        self.is_stale |= self.by_arrival.is_by_arrival[projection];
    }

    /// Counts the launches of `steps` steps, which took `wall_ns`. How much of that was whose is estimated from a sample; together they had
    /// no more than the time of all threads.
    pub fn count_launches(&mut self, steps: u64, wall_ns: u64) {
        let room_ns = wall_ns as f64 * self.partitions.len().max(1) as f64;
        let updates = self
            .partitions
            .first()
            .into_iter()
            .flat_map(|partition| &partition.updates)
            .map(|kernel| kernel.take_launches(steps));
        let synapses = self
            .synapse_kernels
            .iter_mut()
            .map(|kernel| kernel.take_launches(steps));
        let launches: Vec<InsideLaunches<'_>> = updates.chain(synapses).collect();
        let estimated_ns: f64 = launches.iter().map(|kernel| kernel.time_ns).sum();
        let factor = (room_ns / estimated_ns.max(1.0)).min(1.0);
        for kernel in launches {
            kernel.count(factor);
        }
    }

    fn run_turn(&mut self, parts: &Parts, step: u64, steps: u64) -> Result<()> {
        if self.is_stale {
            self.make_tables(parts)?;
        }
        let pending = self.pending;
        let interval = Interval {
            parts,
            step,
            steps,
            ring_steps: self.ring_steps,
            settled: self.settled,
            history: &self.history,
            updates: &self.updates,
            is_by_arrival: &self.by_arrival.is_by_arrival,
        };
        let next = 1 - self.current;
        let [first, second] = &mut self.lists;
        let (old, new) = if self.current == 0 {
            (&*first, second)
        } else {
            (&*second, first)
        };
        let new = Shared::new(new);
        let count = self.partitions.len();
        let partitions = SharedPartitions::new(&mut self.partitions);
        let work = |range: Range<u64>| {
            for number in range {
                let number = number as usize;
                // SAFETY: every partition is in one range.
                let (partition, lists) = unsafe {
                    (
                        &mut partitions.slice(number..number + 1)[0],
                        &mut new.slice(number..number + 1)[0],
                    )
                };
                if let Some((first, steps)) = pending {
                    partition.deliver(&interval, first, steps, old);
                }
                partition.update(&interval, lists);
            }
        };
        let is_measured = self.intervals.is_multiple_of(MEASURE_EVERY);
        self.intervals += 1;
        if count == 1 {
            work(0..1);
        } else if is_measured {
            let begin_ns = amdgpu_telemetry::now_ns();
            work(0..count as u64);
            self.is_parallel = amdgpu_telemetry::now_ns() - begin_ns >= PARALLEL_NS;
        } else if self.is_parallel {
            pool::global()
                .parallel_for(count as u64, 1, &work)
                .map_err(|error| Error::from_core(&error))?;
        } else {
            work(0..count as u64);
        }
        self.current = next;
        Ok(())
    }

    fn run_synapses(&mut self, parts: &Parts, step: u64, reward: Option<f32>) -> Result<()> {
        let lists = &self.lists[self.current];
        for (number, line) in self.delay_lines.iter_mut().enumerate() {
            let (Some(events), projection) = (&parts.events[number], &parts.projections[number])
            else {
                continue;
            };
            // What leaves in this step is read again when the ring comes round, `delay` steps from now.
            let slots = line.steps.len() as u64;
            let (leaving, arriving) = ((step % slots) as usize, ((step + 1) % slots) as usize);
            let (origin, target) = (projection.origin, projection.target);
            let spikes = &mut line.steps[leaving];
            collect(lists, origin.index, origin.first, origin.size, spikes);
            give(&events.pre, &line.steps[arriving]);
            collect(
                lists,
                target.group,
                target.first,
                target.size,
                &mut self.post,
            );
            give(&events.post, &self.post);
        }
        let is_shared = self.partitions.len() > 1;
        for kernel in &mut self.synapse_kernels {
            kernel.run(parts, step, reward, is_shared)?;
        }
        for events in parts.events.iter().flatten() {
            withdraw(&events.pre);
            withdraw(&events.post);
        }
        Ok(())
    }
}

fn delay_lines(projections: &[Projection]) -> Vec<DelayLine> {
    let line = |projection: &Projection| match &projection.kind {
        ProjectionKind::Static { .. } => DelayLine::default(),
        ProjectionKind::Stateful(synapses) => DelayLine {
            steps: vec![Vec::new(); synapses.delay as usize + 1],
        },
    };
    projections.iter().map(line).collect()
}

/// A kernel that runs before step 0, with its number of blocks.
type StartKernel = (u64, DirectKernel);

/// The kernels of projections in the order in which they run, and those that run before step 0 with their numbers of blocks.
fn synapse_kernels_of(
    parts: &Parts,
    kernels: &[BoundKernel],
    partition_count: usize,
) -> Result<(Vec<SynapseKernel>, Vec<StartKernel>)> {
    let mut synapse_kernels = Vec::new();
    let mut starts = Vec::new();
    for kernel in kernels {
        if kernel.phase == Phase::Start {
            starts.push((u64::from(kernel.config.grid[0]), direct(kernel)?));
            continue;
        }
        if let Some(projection) = kernel.projection
            && !matches!(kernel.phase, Phase::Initialize)
        {
            let made = SynapseKernel::new(kernel, projection, parts, partition_count)?;
            synapse_kernels.push(made);
        }
    }
    synapse_kernels.sort_by_key(|kernel| (kernel.projection, kernel.phase.order()));
    Ok((synapse_kernels, starts))
}

/// Steps in which no spike of them can arrive.
fn interval_steps(parts: &Parts) -> u64 {
    let of_projection = |projection: &Projection| match &projection.kind {
        ProjectionKind::Static { synapses, .. } => u64::from(synapses.delays.range().0) + 1,
        ProjectionKind::Stateful(_) => 1,
    };
    let shortest = parts.projections.iter().map(of_projection).min();
    shortest.unwrap_or(MAX_TURN_STEPS).min(MAX_TURN_STEPS)
}

/// Puts the arguments of a step in place; `row_of` tells the row of this step of a group's input.
fn set_dynamic(
    kernel: &mut DirectKernel,
    dynamic: &[(usize, Dynamic)],
    groups: &[Group],
    step: u64,
    reward: Option<f32>,
    row_of: &mut dyn FnMut(usize, usize) -> u64,
) {
    for (index, change) in dynamic {
        match *change {
            Dynamic::Step => kernel.set_bytes(*index, &step.to_le_bytes()),
            Dynamic::Row { group, input } => {
                kernel.set_bytes(*index, &row_of(group, input).to_le_bytes());
            }
            Dynamic::NextRow {
                group,
                input,
                first,
            } => {
                let input = &groups[group].inputs[input];
                let address = input.ring.address(input.row(step + 1) + first);
                kernel.set_bytes(*index, &address.to_le_bytes());
            }
            Dynamic::Reward => {
                kernel.set_bytes(*index, &reward.unwrap_or(0.0).to_le_bytes());
            }
        }
    }
}
