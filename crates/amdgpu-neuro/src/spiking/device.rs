//! Stepping on a GPU: everything of a step is submitted to one stream, and the host waits only at the end of an interval, for the log of spikes.
//! The sums are integer additions, so the spikes are those of the CPU.
//!
//! Kernels find the step in the device's memory, so the launches of a step repeat once the rings of inputs have come round. That many steps
//! are recorded as a graph of the driver and replayed as one. The members of a batch are stepped by the same launches: kernels find what
//! belongs to each in tables.

mod generated;
mod launches;
mod own;
mod rows;

use std::sync::Arc;

use amdgpu_aura::{Context, Graph, GraphRecorder, Lane, Toolchain};
use amdgpu_hal::Stream;
use amdgpu_memory::Allocator;

use super::kernels::{BLOCK, BoundKernel, CLOCK_WORDS};
use super::memory::DeviceArray;
use super::parts::Parts;
use super::projection::ProjectionKind;
use super::recorder::Recorder;
use super::source::Source;
use super::stepper::DelayLine;
use crate::error::{Error, Result};
use crate::plan::spiking::{Phase, SpikingNetworkPlan};
use generated::{Generated, Maker, Moment};
use launches::{Fleet, collect_launch, launches_before, lines_of, list_launch};
use own::{OwnKernels, Prepared};
use rows::Deliveries;

/// Steps submitted before the host waits: enough that waiting does not count.
const MAX_TURN_STEPS: u64 = 256;
/// Steps of a graph: a replay then costs little beside its kernels, and making it little beside a short run.
const GRAPH_STEPS: u64 = 64;
/// Spikes that the log of an interval has room for at least; intervals are shorter where every neuron could spike more often.
const LOG_SPIKES: usize = 1 << 24;

/// Spikes of one group or source on the device.
struct OriginState {
    size: usize,
    /// Of a source; groups have their own.
    fired: Option<DeviceArray<u8>>,
    list: DeviceArray<u32>,
    log_indices: DeviceArray<u32>,
    log_steps: DeviceArray<u32>,
}

/// Flags of the steps that spikes of both ends of a projection are under way.
struct Line {
    pre: DeviceArray<u8>,
    pre_slots: u32,
    post: DeviceArray<u8>,
}

/// Tables that launches name by their addresses.
#[derive(Default)]
struct Kept {
    bytes: Vec<DeviceArray<u8>>,
    words: Vec<DeviceArray<u32>>,
    wide: Vec<DeviceArray<u64>>,
}

/// Steps that are replayed as one.
struct Replay {
    graph: Graph,
    steps: u64,
    /// The first step of a replay is a multiple of this, so that rows are those of the recording.
    period: u64,
}

pub(crate) struct DeviceStepper {
    allocator: Allocator,
    own: OwnKernels,
    stream: Arc<dyn Stream>,
    /// Of all members, one member after the other.
    origins: Vec<OriginState>,
    members: usize,
    /// Two counters of listed spikes for each origin, then one of logged spikes for each.
    counts: DeviceArray<u32>,
    clock: DeviceArray<u64>,
    _kept: Kept,
    /// Launches of every step before the updates, and behind them.
    before: Vec<Prepared>,
    list: Prepared,
    deliveries: Deliveries,
    collect: Option<Prepared>,
    lines: Vec<Option<Line>>,
    updates: Vec<Generated>,
    /// Of all members: see [`DeviceStepper::start`].
    starts: Vec<BoundKernel>,
    synapse_kernels: Vec<Generated>,
    interval_steps: u64,
    /// The step that the device is at.
    next: Option<u64>,
    replay: Option<Replay>,
    is_replay_tried: bool,
}

/// The generated kernels of a network, by when they run.
struct Sorted {
    updates: Vec<Generated>,
    synapse_kernels: Vec<Generated>,
    starts: Vec<BoundKernel>,
}

impl Sorted {
    /// Sorts the kernels of each member; those that initialise run now.
    fn new(
        kernels: Vec<Vec<BoundKernel>>,
        members: &[&Parts],
        maker: Maker<'_>,
        stream: &Arc<dyn Stream>,
    ) -> Result<Self> {
        let mut bound: Vec<_> = kernels.into_iter().map(Vec::into_iter).collect();
        let (mut updates, mut synapse_kernels) = (Vec::new(), Vec::new());
        let mut starts = Vec::new();
        for kernel in &maker.plan.spiking.kernels {
            let of_members: Vec<BoundKernel> =
                bound.iter_mut().filter_map(Iterator::next).collect();
            if kernel.phase == Phase::Initialize {
                for one in &of_members {
                    generated::submit(one, &one.arguments, stream)?;
                }
                continue;
            }
            if kernel.phase == Phase::Start {
                starts.extend(of_members);
                continue;
            }
            let made = Generated::new(kernel, of_members, members, maker)?;
            if kernel.phase == Phase::Update {
                updates.push(made);
            } else if kernel.projection.is_some() {
                synapse_kernels.push(made);
            }
        }
        updates.sort_by_key(|kernel| kernel.group);
        synapse_kernels.sort_by_key(|kernel| (kernel.projection, kernel.phase.order()));
        Ok(Self {
            updates,
            synapse_kernels,
            starts,
        })
    }
}

impl DeviceStepper {
    /// For networks of one plan but for seeds and listed spikes; `kernels` are those of each member, in the order of the plan, and know the
    /// `clock`.
    pub fn new(
        plan: &SpikingNetworkPlan,
        members: &[&Parts],
        kernels: Vec<Vec<BoundKernel>>,
        clock: DeviceArray<u64>,
        context: &Context,
        toolchain: &dyn Toolchain,
    ) -> Result<Self> {
        let allocator = context
            .allocator()
            .map_err(|error| Error::from_core(&error))?;
        let device = context.device().map_err(|error| Error::from_core(&error))?;
        let stream = Arc::clone(device.default_stream());
        let parts = members
            .first()
            .ok_or_else(|| Error::InvalidArgument("a batch has at least one member".to_owned()))?;
        let own = OwnKernels::compile(&kernel_names(parts), context, toolchain)?;
        let (origins, interval_steps) = origins_of(members, allocator)?;
        let fleet = Fleet {
            members,
            origins: &origins,
        };
        let counts = DeviceArray::zeros(allocator, 3 * origins.len())?;
        let maker = Maker {
            plan,
            clock: &clock,
            allocator,
            context,
            toolchain,
        };
        let Sorted {
            updates,
            synapse_kernels,
            starts,
        } = Sorted::new(kernels, members, maker, &stream)?;
        let mut kept = Kept::default();
        let before = launches_before(fleet, &clock, &own, allocator, &mut kept)?;
        let list = list_launch(fleet, &counts, &clock, &own, allocator, &mut kept)?;
        let deliveries = Deliveries::new(fleet, &counts, &clock, &own, allocator)?;
        let lines = lines_of(fleet, allocator)?;
        let collect = collect_launch(fleet, &lines, &clock, &own, allocator, &mut kept)?;
        Ok(Self {
            allocator: allocator.clone(),
            own,
            stream,
            origins,
            members: members.len(),
            counts,
            clock,
            _kept: kept,
            before,
            list,
            deliveries,
            collect,
            lines,
            updates,
            starts,
            synapse_kernels,
            interval_steps: interval_steps as u64,
            next: None,
            replay: None,
            is_replay_tried: false,
        })
    }

    /// Submits the kernels that add what arrives in step 0.
    pub fn start(&mut self) -> Result<()> {
        self.clock.write(0, &[0; CLOCK_WORDS])?;
        self.next = None;
        for one in &self.starts {
            generated::submit(one, &one.arguments, &self.stream)?;
        }
        Ok(())
    }

    /// Makes up to `steps` steps of every member from `step` on and tells how many.
    pub fn advance(
        &mut self,
        members: &[&Parts],
        step: u64,
        steps: u64,
        reward: Option<f32>,
        recorders: &mut [&mut Recorder],
    ) -> Result<u64> {
        let steps = steps.min(self.interval_steps);
        self.begin(step)?;
        self.prepare_replay(members, steps)?;
        let end = step + steps;
        let mut at = step;
        let mut reward = reward;
        while at < end {
            let replay = self.replay.as_ref().filter(|replay| {
                reward.is_none() && at.is_multiple_of(replay.period) && at + replay.steps <= end
            });
            if let Some(replay) = replay {
                // SAFETY: launches of this stepper's kernels on arrays that live as long as it does.
                unsafe { replay.graph.replay(Some(&self.stream)) }
                    .map_err(|error| Error::from_core(&error))?;
                at += replay.steps;
            } else {
                let reward = reward.take();
                self.submit(Moment {
                    members,
                    step: at,
                    reward,
                })?;
                at += 1;
            }
        }
        self.next = Some(end);
        self.take_spikes(step, recorders)?;
        Ok(steps)
    }

    /// Sets the clock and clears the counters for an interval.
    fn begin(&mut self, step: u64) -> Result<()> {
        let logs = 2 * self.origins.len();
        if self.next == Some(step) {
            self.counts.write(logs, &vec![0; self.origins.len()])?;
        } else {
            // Another time: nothing of the steps before counts.
            self.counts.fill_zero(&self.stream)?;
            for origin in &self.origins {
                if let Some(fired) = &origin.fired {
                    fired.fill_zero(&self.stream)?;
                }
            }
        }
        self.clock.write(0, &[step; CLOCK_WORDS])
    }

    fn take_spikes(&self, step: u64, recorders: &mut [&mut Recorder]) -> Result<()> {
        let logs = 2 * self.origins.len();
        let counts = self.counts.read(logs..logs + self.origins.len())?;
        let of_each = self.origins.len() / self.members;
        for (place, (origin, count)) in self.origins.iter().zip(counts).enumerate() {
            let count = count as usize;
            if count == 0 {
                continue;
            }
            let at = origin.log_steps.read(0..count)?;
            let indices = origin.log_indices.read(0..count)?;
            let mut spikes: Vec<(u32, u32)> = at.into_iter().zip(indices).collect();
            // Blocks log in any order.
            spikes.sort_unstable();
            for of_step in spikes.chunk_by(|one, next| one.0 == next.0) {
                let indices: Vec<u32> = of_step.iter().map(|(_, index)| *index).collect();
                recorders[place / of_each].take(
                    place % of_each,
                    step + u64::from(of_step[0].0),
                    &indices,
                )?;
            }
        }
        Ok(())
    }

    /// Records the steps after which launches repeat, once, if intervals are long enough.
    fn prepare_replay(&mut self, members: &[&Parts], steps: u64) -> Result<()> {
        if self.is_replay_tried {
            return Ok(());
        }
        let mut kernels = self.updates.iter().chain(&self.synapse_kernels);
        let mut period = 1;
        if kernels.any(Generated::is_periodic) {
            let slots = members[0].groups.iter().flat_map(|group| &group.inputs);
            period = slots.fold(1, |period, input| {
                least_multiple(period, input.slots.into())
            });
        }
        let count = period * (GRAPH_STEPS / period).max(1);
        if count > self.interval_steps {
            self.is_replay_tried = true;
            return Ok(());
        }
        if steps < count {
            return Ok(());
        }
        self.is_replay_tried = true;
        let lane = Lane::of(Some(&self.stream));
        let mut recorder = GraphRecorder::default();
        for step in 0..count {
            let reward = None;
            let moment = Moment {
                members,
                step,
                reward,
            };
            self.record(moment, &mut recorder, lane)?;
        }
        let graph = recorder
            .finish()
            .map_err(|error| Error::from_core(&error))?;
        self.replay = Some(Replay {
            graph,
            steps: count,
            period,
        });
        Ok(())
    }

    /// The own launches of a step behind its updates, in order.
    fn behind(&self) -> impl Iterator<Item = &Prepared> {
        std::iter::once(&self.list)
            .chain(&self.deliveries.launches)
            .chain(&self.collect)
    }

    /// Submits one step.
    fn submit(&self, moment: Moment<'_>) -> Result<()> {
        for launch in &self.before {
            launch.launch(&self.stream)?;
        }
        for update in &self.updates {
            update.submit(
                Moment {
                    reward: None,
                    ..moment
                },
                &self.stream,
            )?;
        }
        for launch in self.behind() {
            launch.launch(&self.stream)?;
        }
        for kernel in &self.synapse_kernels {
            let is_rewarded = kernel.phase == Phase::OnReward;
            let reward = moment.reward.filter(|_| is_rewarded);
            if !is_rewarded || reward.is_some() {
                kernel.submit(Moment { reward, ..moment }, &self.stream)?;
            }
        }
        Ok(())
    }

    /// Records one step without a reward.
    fn record(&self, moment: Moment<'_>, recorder: &mut GraphRecorder, lane: Lane) -> Result<()> {
        for launch in &self.before {
            launch.record(recorder, lane)?;
        }
        for update in &self.updates {
            update.record(moment, recorder, lane)?;
        }
        for launch in self.behind() {
            launch.record(recorder, lane)?;
        }
        for kernel in &self.synapse_kernels {
            if kernel.phase != Phase::OnReward {
                kernel.record(moment, recorder, lane)?;
            }
        }
        Ok(())
    }

    /// Whether steps are replayed as graphs.
    pub const fn is_replayed(&self) -> bool {
        self.replay.is_some()
    }

    /// The spikes under way in a projection with state, of the only member.
    pub fn delay_line(&self, projection: usize) -> Result<DelayLine> {
        let Some(line) = &self.lines[projection] else {
            return Ok(DelayLine::default());
        };
        let flags = line.pre.read(0..line.pre.len())?;
        let neurons = line.pre.len() / line.pre_slots as usize;
        let list = |flags: &[u8]| {
            let fired = flags.iter().enumerate().filter(|(_, flag)| **flag != 0);
            fired.map(|(index, _)| index as u32).collect()
        };
        Ok(DelayLine {
            steps: flags.chunks(neurons.max(1)).map(list).collect(),
        })
    }

    pub fn set_delay_line(&self, projection: usize, given: &DelayLine) -> Result<()> {
        let Some(line) = &self.lines[projection] else {
            return Ok(());
        };
        let mut flags = vec![0_u8; line.pre.len()];
        let neurons = line.pre.len() / line.pre_slots as usize;
        for (flags, spikes) in flags.chunks_mut(neurons.max(1)).zip(&given.steps) {
            for spike in spikes {
                flags[*spike as usize] = 1;
            }
        }
        line.pre.write(0, &flags)
    }

    /// Takes over constant weights of the only member that were changed.
    pub fn weights_changed(&mut self, parts: &Parts) -> Result<()> {
        let Self {
            own,
            origins,
            counts,
            clock,
            allocator,
            ..
        } = self;
        let members = &[parts];
        let fleet = Fleet { members, origins };
        self.deliveries = Deliveries::new(fleet, counts, clock, own, allocator)?;
        self.replay = None;
        self.is_replay_tried = false;
        Ok(())
    }
}

fn greatest_divisor(one: u64, other: u64) -> u64 {
    if other == 0 {
        one
    } else {
        greatest_divisor(other, one % other)
    }
}

fn least_multiple(one: u64, other: u64) -> u64 {
    one / greatest_divisor(one, other) * other
}

/// Room for the spikes of all members, and the steps of an interval.
fn origins_of(members: &[&Parts], allocator: &Allocator) -> Result<(Vec<OriginState>, usize)> {
    let sizes_of = |parts: &Parts| -> Vec<usize> {
        let groups = parts.groups.iter().map(|group| group.size);
        groups.chain(parts.source_sizes.iter().copied()).collect()
    };
    let all: usize = members.iter().flat_map(|parts| sizes_of(parts)).sum();
    let interval_steps = (LOG_SPIKES / all.max(1)).clamp(1, MAX_TURN_STEPS as usize);
    let mut origins = Vec::new();
    for parts in members {
        for (number, size) in sizes_of(parts).into_iter().enumerate() {
            let is_source = number >= parts.groups.len();
            origins.push(OriginState {
                size,
                fired: is_source
                    .then(|| DeviceArray::zeros(allocator, size))
                    .transpose()?,
                list: DeviceArray::zeros(allocator, size)?,
                log_indices: DeviceArray::zeros(allocator, size * interval_steps)?,
                log_steps: DeviceArray::zeros(allocator, size * interval_steps)?,
            });
        }
    }
    Ok((origins, interval_steps))
}

/// The engine's kernels that a network needs.
fn kernel_names(parts: &Parts) -> Vec<&'static str> {
    let mut names = vec!["agpu_list_spikes"];
    let sources = &parts.sources;
    if sources
        .iter()
        .any(|one| matches!(one, Source::Poisson { .. }))
    {
        names.push("agpu_poisson_sources");
    }
    if sources.iter().any(|one| matches!(one, Source::Spikes(_))) {
        names.push("agpu_listed_sources");
    }
    if !parts.poisson_drives.is_empty() {
        names.push("agpu_poisson_drives");
    }
    let mut projections = parts.projections.iter();
    if projections.any(|one| matches!(one.kind, ProjectionKind::Stateful(_))) {
        names.push("agpu_collect");
    }
    names.extend(rows::kernel_names(parts));
    names
}
