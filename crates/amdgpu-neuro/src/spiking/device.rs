//! Stepping on a GPU: everything of a step is submitted to one stream, and the host waits only at the end of a turn, for the log of spikes.
//! The sums are integer additions, so the spikes are those of the CPU.
//!
//! Kernels find the step in the device's memory, so the launches of a step repeat once the rings of inputs have come round. That many steps
//! are recorded as a graph of the driver and replayed as one, where no generated kernel takes the number of the step.

mod own;
mod rows;

use std::sync::Arc;

use amdgpu_aura::{Argument, Context, Graph, GraphRecorder, Lane, Toolchain};
use amdgpu_hal::Stream;
use amdgpu_memory::Allocator;

use super::kernels::{BLOCK, BoundKernel, Dynamic, EventPair, Events};
use super::memory::DeviceArray;
use super::parts::Parts;
use super::projection::{Projection, ProjectionKind};
use super::recorder::Recorder;
use super::source::{Chances, Source};
use super::stepper::DelayLine;
use crate::error::{Error, Result};
use crate::plan::spiking::Phase;
use own::{Fields, OwnKernels, Prepared, blocks_of, integer, launch};
use rows::Deliveries;

/// Steps submitted before the host waits: enough that waiting does not count.
const MAX_TURN_STEPS: u64 = 256;
/// Steps of a graph: a replay then costs little beside its kernels, and making it little beside a short run.
const GRAPH_STEPS: u64 = 64;
/// Spikes that the log of a turn has room for at least; turns are shorter where every neuron could spike more often.
const LOG_SPIKES: usize = 1 << 24;
/// Places of the clock: the step, the step of the spikes listed last, the first step of the turn.
const CLOCK_WORDS: usize = 3;

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
    origins: Vec<OriginState>,
    /// Two counters of listed spikes for each origin, then one of logged spikes for each.
    counts: DeviceArray<u32>,
    clock: DeviceArray<u64>,
    _kept: Kept,
    /// Launches of every step before the updates, and behind them.
    before: Vec<Prepared>,
    list: Prepared,
    deliveries: Deliveries,
    collects: Vec<Prepared>,
    lines: Vec<Option<Line>>,
    updates: Vec<BoundKernel>,
    synapse_kernels: Vec<BoundKernel>,
    turn_steps: u64,
    /// The step that the device is at.
    next: Option<u64>,
    replay: Option<Replay>,
    is_replay_tried: bool,
}

impl DeviceStepper {
    pub fn new(
        parts: &Parts,
        kernels: Vec<BoundKernel>,
        context: &Context,
        toolchain: &dyn Toolchain,
    ) -> Result<Self> {
        let allocator = context
            .allocator()
            .map_err(|error| Error::from_core(&error))?;
        let device = context.device().map_err(|error| Error::from_core(&error))?;
        let stream = Arc::clone(device.default_stream());
        let own = OwnKernels::compile(&kernel_names(parts), context, toolchain)?;
        let group_sizes = parts.groups.iter().map(|group| group.size);
        let sizes: Vec<usize> = group_sizes
            .chain(parts.source_sizes.iter().copied())
            .collect();
        let all: usize = sizes.iter().sum();
        let turn_steps = (LOG_SPIKES / all.max(1)).clamp(1, MAX_TURN_STEPS as usize);
        let mut origins = Vec::with_capacity(sizes.len());
        for (number, size) in sizes.iter().copied().enumerate() {
            let is_source = number >= parts.groups.len();
            origins.push(OriginState {
                size,
                fired: is_source
                    .then(|| DeviceArray::zeros(allocator, size))
                    .transpose()?,
                list: DeviceArray::zeros(allocator, size)?,
                log_indices: DeviceArray::zeros(allocator, size * turn_steps)?,
                log_steps: DeviceArray::zeros(allocator, size * turn_steps)?,
            });
        }
        let counts = DeviceArray::zeros(allocator, 3 * sizes.len())?;
        let clock = DeviceArray::zeros(allocator, CLOCK_WORDS)?;
        let (mut updates, mut synapse_kernels) = (Vec::new(), Vec::new());
        for kernel in kernels {
            match (kernel.phase, kernel.projection) {
                (Phase::Initialize, _) => submit(&kernel, &kernel.arguments, &stream)?,
                (Phase::Update, _) => updates.push(kernel),
                (_, Some(_)) => synapse_kernels.push(kernel),
                _ => {}
            }
        }
        updates.sort_by_key(|kernel| kernel.group);
        synapse_kernels.sort_by_key(|kernel| (kernel.projection, kernel.phase.order()));
        let mut kept = Kept::default();
        let before = launches_before(parts, &origins, &clock, &own, allocator, &mut kept)?;
        let list = list_launch(parts, &origins, &counts, &clock, &own, allocator, &mut kept)?;
        let deliveries = Deliveries::new(parts, &origins, &counts, &clock, &own, allocator)?;
        let lines = lines_of(parts, allocator)?;
        let collects = collect_launches(parts, &origins, &lines, &clock, &own)?;
        Ok(Self {
            allocator: allocator.clone(),
            own,
            stream,
            origins,
            counts,
            clock,
            _kept: kept,
            before,
            list,
            deliveries,
            collects,
            lines,
            updates,
            synapse_kernels,
            turn_steps: turn_steps as u64,
            next: None,
            replay: None,
            is_replay_tried: false,
        })
    }

    /// Makes up to `steps` steps from `step` on and tells how many.
    pub fn turn(
        &mut self,
        parts: &Parts,
        step: u64,
        steps: u64,
        reward: Option<f32>,
        recorder: &mut Recorder,
    ) -> Result<u64> {
        let steps = steps.min(self.turn_steps);
        self.begin(step)?;
        self.prepare_replay(parts, steps)?;
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
                self.submit(parts, at, reward.take())?;
                at += 1;
            }
        }
        self.next = Some(end);
        self.take_spikes(step, recorder)?;
        Ok(steps)
    }

    /// Sets the clock and clears the counters for a turn.
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
        self.clock.write(0, &[step, step, step])
    }

    fn take_spikes(&self, step: u64, recorder: &mut Recorder) -> Result<()> {
        let logs = 2 * self.origins.len();
        let counts = self.counts.read(logs..logs + self.origins.len())?;
        for (number, (origin, count)) in self.origins.iter().zip(counts).enumerate() {
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
                recorder.take(number, step + u64::from(of_step[0].0), &indices)?;
            }
        }
        Ok(())
    }

    /// Records the steps after which launches repeat, once, if they do and turns are long enough.
    fn prepare_replay(&mut self, parts: &Parts, steps: u64) -> Result<()> {
        if self.is_replay_tried {
            return Ok(());
        }
        let slots = parts.groups.iter().flat_map(|group| &group.inputs);
        let period = slots.fold(1, |period, input| {
            least_multiple(period, input.slots.into())
        });
        let count = period * (GRAPH_STEPS / period).max(1);
        let kernels = self.updates.iter().chain(&self.synapse_kernels);
        let takes_step = kernels
            .flat_map(|kernel| &kernel.dynamic)
            .any(|(_, change)| *change == Dynamic::Step);
        if takes_step || count > self.turn_steps {
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
            self.record(parts, step, &mut recorder, lane)?;
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
            .chain(&self.collects)
    }

    /// Submits one step.
    fn submit(&self, parts: &Parts, step: u64, reward: Option<f32>) -> Result<()> {
        for launch in &self.before {
            launch.launch(&self.stream)?;
        }
        for update in &self.updates {
            submit(
                update,
                &arguments_of(update, parts, step, None),
                &self.stream,
            )?;
        }
        for launch in self.behind() {
            launch.launch(&self.stream)?;
        }
        for kernel in &self.synapse_kernels {
            if kernel.phase != Phase::OnReward || reward.is_some() {
                let arguments = arguments_of(kernel, parts, step, reward);
                submit(kernel, &arguments, &self.stream)?;
            }
        }
        Ok(())
    }

    /// Records one step without a reward.
    fn record(
        &self,
        parts: &Parts,
        step: u64,
        recorder: &mut GraphRecorder,
        lane: Lane,
    ) -> Result<()> {
        for launch in &self.before {
            launch.record(recorder, lane)?;
        }
        let bound = |kernel: &BoundKernel, recorder: &mut GraphRecorder| {
            let arguments = arguments_of(kernel, parts, step, None);
            let packed = kernel.kernel.pack_arguments(&arguments);
            let packed = packed.map_err(|error| Error::from_core(&error))?;
            recorder
                .launch(&kernel.kernel, kernel.config, &packed, lane)
                .map_err(|error| Error::from_core(&error))
        };
        for update in &self.updates {
            bound(update, recorder)?;
        }
        for launch in self.behind() {
            launch.record(recorder, lane)?;
        }
        for kernel in &self.synapse_kernels {
            if kernel.phase != Phase::OnReward {
                bound(kernel, recorder)?;
            }
        }
        Ok(())
    }

    /// The spikes under way in a projection with state.
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

    /// Takes over constant weights that were changed.
    pub fn weights_changed(&mut self, parts: &Parts) -> Result<()> {
        let Self {
            own,
            origins,
            counts,
            clock,
            allocator,
            ..
        } = self;
        self.deliveries = Deliveries::new(parts, origins, counts, clock, own, allocator)?;
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

/// Launches a generated kernel.
fn submit(bound: &BoundKernel, arguments: &[Argument], stream: &Arc<dyn Stream>) -> Result<()> {
    let packed = bound.kernel.pack_arguments(arguments);
    let packed = packed.map_err(|error| Error::from_core(&error))?;
    launch(&bound.kernel, &bound.config, &packed, stream)
}

/// The arguments of a generated kernel in a step.
fn arguments_of(
    bound: &BoundKernel,
    parts: &Parts,
    step: u64,
    reward: Option<f32>,
) -> Vec<Argument> {
    let mut arguments = bound.arguments.clone();
    for (index, change) in &bound.dynamic {
        arguments[*index] = match *change {
            Dynamic::Step => integer(step),
            Dynamic::Row { group, input } => {
                let input = &parts.groups[group].inputs[input];
                input.ring.argument(input.row(step))
            }
            Dynamic::NextRow {
                group,
                input,
                first,
            } => {
                let input = &parts.groups[group].inputs[input];
                input.ring.argument(input.row(step + 1) + first)
            }
            Dynamic::Reward => Argument::Float(f64::from(reward.unwrap_or(0.0))),
        };
    }
    arguments
}

/// The flags of a group or source.
fn fired_of<'a>(
    parts: &'a Parts,
    origins: &'a [OriginState],
    origin: usize,
) -> &'a DeviceArray<u8> {
    match &origins[origin].fired {
        Some(fired) => fired,
        None => &parts.groups[origin].fired,
    }
}

/// Launches of sources and drives: one for all of a kind.
fn launches_before(
    parts: &Parts,
    origins: &[OriginState],
    clock: &DeviceArray<u64>,
    own: &OwnKernels,
    allocator: &Allocator,
    kept: &mut Kept,
) -> Result<Vec<Prepared>> {
    let (mut random, mut listed, mut drives) =
        (Fields::default(), Fields::default(), Fields::default());
    let (mut random_count, mut listed_count, mut most) = (0, 0, 0);
    for (number, source) in parts.sources.iter().enumerate() {
        let origin = parts.groups.len() + number;
        let fired = fired_of(parts, origins, origin).address(0);
        match source {
            Source::Poisson {
                object,
                seed,
                chances,
            } => {
                let (each, chances) = match chances {
                    Chances::Uniform(chance) => (0, std::slice::from_ref(chance)),
                    Chances::Each(chances) => (1, chances.as_slice()),
                };
                let table = DeviceArray::from_slice(allocator, chances)?;
                random.wide(fired).wide(table.address(0)).wide(*seed);
                let size = origins[origin].size;
                random.number(object.number()).number(each);
                random.number(size as u32).number(0);
                kept.wide.push(table);
                random_count += 1;
                most = size.max(most);
            }
            Source::Spikes(spikes) => {
                let steps: Vec<u64> = spikes.iter().map(|(step, _)| *step).collect();
                let indices: Vec<u32> = spikes.iter().map(|(_, index)| *index).collect();
                let steps = DeviceArray::from_slice(allocator, &steps)?;
                let indices = DeviceArray::from_slice(allocator, &indices)?;
                listed.wide(fired).wide(steps.address(0));
                listed.wide(indices.address(0)).wide(spikes.len() as u64);
                kept.wide.push(steps);
                kept.words.push(indices);
                listed_count += 1;
            }
        }
    }
    let mut most_driven = 0;
    for drive in &parts.poisson_drives {
        let input = &parts.groups[drive.target.group].inputs[drive.input];
        let table = DeviceArray::from_slice(allocator, drive.table())?;
        drives.wide(input.ring.address(0)).wide(table.address(0));
        drives.wide(drive.seed()).number(drive.object().number());
        drives.number(drive.table().len() as u32);
        drives.number(drive.target.size as u32);
        drives.number(drive.target.first as u32);
        drives.number(input.slots).number(input.stride as u32);
        drives.signed(drive.quanta).number(0);
        kept.words.push(table);
        most_driven = drive.target.size.max(most_driven);
    }
    let mut launches = Vec::new();
    for (name, fields, grid) in [
        (
            "agpu_poisson_sources",
            random,
            [blocks_of(most), random_count],
        ),
        ("agpu_listed_sources", listed, [listed_count, 1]),
        (
            "agpu_poisson_drives",
            drives,
            [blocks_of(most_driven), parts.poisson_drives.len()],
        ),
    ] {
        if !fields.0.is_empty() {
            let table = DeviceArray::from_slice(allocator, &fields.0)?;
            launches.push(own.prepare(name, grid, &[table.argument(0), clock.argument(0)])?);
            kept.bytes.push(table);
        }
    }
    Ok(launches)
}

/// The launch that lists the spikes of a step, and clears the counters of projections with state.
fn list_launch(
    parts: &Parts,
    origins: &[OriginState],
    counts: &DeviceArray<u32>,
    clock: &DeviceArray<u64>,
    own: &OwnKernels,
    allocator: &Allocator,
    kept: &mut Kept,
) -> Result<Prepared> {
    let mut fields = Fields::default();
    for (number, origin) in origins.iter().enumerate() {
        fields.wide(fired_of(parts, origins, number).address(0));
        fields.wide(origin.list.address(0));
        fields.wide(counts.address(2 * number));
        fields.wide(origin.log_indices.address(0));
        fields.wide(origin.log_steps.address(0));
        fields.wide(counts.address(2 * origins.len() + number));
        fields.number(origin.size as u32).number(0);
    }
    let pairs = parts.events.iter().flatten();
    let cleared: Vec<u64> = pairs
        .flat_map(|EventPair { pre, post }| [pre.count.address(0), post.count.address(0)])
        .collect();
    let table = DeviceArray::from_slice(allocator, &fields.0)?;
    let cleared_table = DeviceArray::from_slice(allocator, &cleared)?;
    let most = origins.iter().map(|origin| origin.size).max();
    let prepared = own.prepare(
        "agpu_list_spikes",
        [blocks_of(most.unwrap_or(0)), origins.len()],
        &[
            table.argument(0),
            clock.argument(0),
            cleared_table.argument(0),
            integer(cleared.len() as u32),
        ],
    )?;
    kept.bytes.push(table);
    kept.wide.push(cleared_table);
    Ok(prepared)
}

fn lines_of(parts: &Parts, allocator: &Allocator) -> Result<Vec<Option<Line>>> {
    let line = |projection: &Projection| match &projection.kind {
        ProjectionKind::Static { .. } => Ok(None),
        ProjectionKind::Stateful(synapses) => {
            let pre_slots = synapses.delay + 1;
            let pre = projection.origin.size * pre_slots as usize;
            Ok(Some(Line {
                pre: DeviceArray::zeros(allocator, pre)?,
                pre_slots,
                post: DeviceArray::zeros(allocator, projection.target.size)?,
            }))
        }
    };
    parts.projections.iter().map(line).collect()
}

/// Launches that show spikes of both ends of projections with state to their kernels.
fn collect_launches(
    parts: &Parts,
    origins: &[OriginState],
    lines: &[Option<Line>],
    clock: &DeviceArray<u64>,
    own: &OwnKernels,
) -> Result<Vec<Prepared>> {
    let mut launches = Vec::new();
    for ((projection, line), pair) in parts.projections.iter().zip(lines).zip(&parts.events) {
        let (Some(line), Some(EventPair { pre, post })) = (line, pair) else {
            continue;
        };
        let (origin, target) = (projection.origin, projection.target);
        let mut collect = |index: usize,
                           first: usize,
                           size: usize,
                           line: &DeviceArray<u8>,
                           slots: u32,
                           events: &Events| {
            let arguments = [
                integer(size as u32),
                fired_of(parts, origins, index).argument(0),
                integer(first as u32),
                line.argument(0),
                integer(slots),
                clock.argument(0),
                events.flags.argument(0),
                events.list.argument(0),
                events.count.argument(0),
            ];
            launches.push(own.prepare("agpu_collect", [blocks_of(size), 1], &arguments)?);
            Ok::<(), Error>(())
        };
        collect(
            origin.index,
            origin.first,
            origin.size,
            &line.pre,
            line.pre_slots,
            pre,
        )?;
        collect(target.group, target.first, target.size, &line.post, 1, post)?;
    }
    Ok(launches)
}
