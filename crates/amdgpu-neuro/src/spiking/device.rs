//! Stepping on a GPU: everything of a step is submitted to one stream, and the host waits only at the end of a turn, for the log of spikes.
//! The sums are integer additions, so the spikes are those of the CPU.

use std::sync::Arc;

use amdgpu_aura::{Argument, CompileRequest, Context, CoreType, Kernel, LaunchShape, Toolchain};
use amdgpu_compiler::CompileOptions;
use amdgpu_hal::{LaunchConfig, Stream};
use amdgpu_memory::Allocator;

use super::group::Input;
use super::kernels::{BLOCK, BoundKernel, Dynamic, EventPair, Events, ROW_BLOCKS};
use super::memory::DeviceArray;
use super::parts::Parts;
use super::projection::{Projection, ProjectionKind};
use super::recorder::Recorder;
use super::source::{Chances, Source};
use super::stepper::DelayLine;
use super::storage::{Delays, Synapses, Targets, Weights};
use crate::error::{Error, Result};
use crate::plan::spiking::Phase;

const SOURCE: &str = include_str!("device/kernels.hip");
/// Steps submitted before the host waits: enough that waiting does not count.
const MAX_TURN_STEPS: u64 = 256;
/// Spikes that the log of a turn has room for at least; turns are shorter where every neuron could spike more often.
const LOG_SPIKES: usize = 1 << 24;

/// Launch shapes of kernels with one work-item for each of so many things, or one block for each spike.
fn blocks_of(count: usize) -> i64 {
    count.div_ceil(BLOCK).max(1) as i64
}

/// The engine's own kernels.
struct OwnKernels {
    poisson_source: Arc<Kernel>,
    listed_source: Arc<Kernel>,
    poisson_drive: Arc<Kernel>,
    list_spikes: Arc<Kernel>,
    deliver: Arc<Kernel>,
    collect: Arc<Kernel>,
}

impl OwnKernels {
    fn compile(context: &Context, toolchain: &dyn Toolchain) -> Result<Self> {
        let compile = |name: &str| {
            let request = CompileRequest {
                source: SOURCE,
                kernel_name: Some(name),
                core: CoreType::Neuromorphic,
                options: CompileOptions {
                    name: "spiking_engine.hip".to_owned(),
                    ..CompileOptions::default()
                },
            };
            let compiled = context.compile(&request, toolchain);
            compiled.map_err(|error| Error::from_core(&error))
        };
        Ok(Self {
            poisson_source: compile("agpu_poisson_source")?,
            listed_source: compile("agpu_listed_source")?,
            poisson_drive: compile("agpu_poisson_drive")?,
            list_spikes: compile("agpu_list_spikes")?,
            deliver: compile("agpu_deliver")?,
            collect: compile("agpu_collect")?,
        })
    }
}

fn shape(kernel: &Kernel, blocks: i64) -> Result<LaunchConfig> {
    let shape = LaunchShape {
        grid: [blocks, 1, 1],
        block: [BLOCK as i64, 1, 1],
        shared_bytes: 0,
    };
    kernel
        .check_shape(&shape)
        .map_err(|error| Error::from_core(&error))
}

fn launch(
    kernel: &Kernel,
    config: &LaunchConfig,
    arguments: &[Argument],
    stream: &Arc<dyn Stream>,
) -> Result<()> {
    // SAFETY: arguments are arrays of this network, which live as long as the stepper and have the lengths that the kernels go through.
    unsafe { kernel.launch(config, arguments, Some(stream)) }
        .map(|_| ())
        .map_err(|error| Error::from_core(&error))
}

/// Spikes of one group or source on the device.
struct OriginState {
    size: usize,
    /// Of a source; groups have their own.
    fired: Option<DeviceArray<u8>>,
    list: DeviceArray<u32>,
    list_count: DeviceArray<u32>,
    log_indices: DeviceArray<u32>,
    log_steps: DeviceArray<u32>,
    log_count: DeviceArray<u32>,
}

/// The synapses of a projection without variables, as plain rows.
struct Rows {
    starts: DeviceArray<u64>,
    columns: DeviceArray<u32>,
    weights: Option<DeviceArray<i32>>,
    weight: i32,
    delays: Option<DeviceArray<u32>>,
    delay: u32,
}

/// A source's table on the device.
enum SourceState {
    Poisson(DeviceArray<u64>),
    Spikes(DeviceArray<u32>),
}

/// Flags of the steps that spikes of both ends of a projection are under way.
struct Line {
    pre: DeviceArray<u8>,
    pre_slots: u32,
    post: DeviceArray<u8>,
}

pub(crate) struct DeviceStepper {
    own: OwnKernels,
    allocator: Allocator,
    stream: Arc<dyn Stream>,
    origins: Vec<OriginState>,
    rows: Vec<Option<Rows>>,
    sources: Vec<SourceState>,
    tables: Vec<DeviceArray<u32>>,
    lines: Vec<Option<Line>>,
    updates: Vec<BoundKernel>,
    synapse_kernels: Vec<BoundKernel>,
    turn_steps: u64,
}

impl Rows {
    fn upload(allocator: &Allocator, synapses: &Synapses) -> Result<Self> {
        let Targets::Long { starts, columns } = &synapses.targets else {
            return Err(Error::InvalidArgument(
                "synapses of a GPU are kept in plain rows".to_owned(),
            ));
        };
        let (weights, weight) = match &synapses.weights {
            Weights::Uniform(weight) => (None, *weight),
            Weights::Each(weights) => (Some(DeviceArray::from_slice(allocator, weights)?), 0),
        };
        let (delays, delay) = match &synapses.delays {
            Delays::Uniform(delay) => (None, *delay),
            Delays::Each(delays) => {
                let wide: Vec<u32> = delays.iter().map(|delay| u32::from(*delay)).collect();
                (Some(DeviceArray::from_slice(allocator, &wide)?), 0)
            }
        };
        Ok(Self {
            starts: DeviceArray::from_slice(allocator, starts)?,
            columns: DeviceArray::from_slice(allocator, columns)?,
            weights,
            weight,
            delays,
            delay,
        })
    }
}

fn integer(value: impl Into<i128>) -> Argument {
    Argument::Int(value.into())
}

fn null() -> Argument {
    Argument::Pointer {
        address: 0,
        dtype: None,
        is_read_only: false,
        bytes: 0,
    }
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
                list_count: DeviceArray::zeros(allocator, 1)?,
                log_indices: DeviceArray::zeros(allocator, size * turn_steps)?,
                log_steps: DeviceArray::zeros(allocator, size * turn_steps)?,
                log_count: DeviceArray::zeros(allocator, 1)?,
            });
        }
        let rows = parts
            .projections
            .iter()
            .map(|projection| match &projection.kind {
                ProjectionKind::Static { synapses, .. } => {
                    Rows::upload(allocator, synapses).map(Some)
                }
                ProjectionKind::Stateful(_) => Ok(None),
            });
        let lines = parts
            .projections
            .iter()
            .map(|projection| match &projection.kind {
                ProjectionKind::Static { .. } => Ok(None),
                ProjectionKind::Stateful(synapses) => {
                    let pre_slots = synapses.delay + 1;
                    Ok(Some(Line {
                        pre: DeviceArray::zeros(
                            allocator,
                            projection.origin.size * pre_slots as usize,
                        )?,
                        pre_slots,
                        post: DeviceArray::zeros(allocator, projection.target.size)?,
                    }))
                }
            });
        let sources = parts.sources.iter().map(|source| match source {
            Source::Poisson { chances, .. } => {
                let chances = match chances {
                    Chances::Uniform(chance) => std::slice::from_ref(chance),
                    Chances::Each(chances) => chances,
                };
                DeviceArray::from_slice(allocator, chances).map(SourceState::Poisson)
            }
            Source::Spikes(spikes) => {
                let indices: Vec<u32> = spikes.iter().map(|(_, index)| *index).collect();
                DeviceArray::from_slice(allocator, &indices).map(SourceState::Spikes)
            }
        });
        let tables = parts
            .poisson_drives
            .iter()
            .map(|drive| DeviceArray::from_slice(allocator, drive.table()));
        let (mut updates, mut synapse_kernels) = (Vec::new(), Vec::new());
        let stream = Arc::clone(device.default_stream());
        for kernel in kernels {
            match (kernel.phase, kernel.projection) {
                (Phase::Initialize, _) => {
                    launch(&kernel.kernel, &kernel.config, &kernel.arguments, &stream)?;
                }
                (Phase::Update, _) => updates.push(kernel),
                (_, Some(_)) => synapse_kernels.push(kernel),
                _ => {}
            }
        }
        updates.sort_by_key(|kernel| kernel.group);
        synapse_kernels.sort_by_key(|kernel| (kernel.projection, kernel.phase.order()));
        Ok(Self {
            own: OwnKernels::compile(context, toolchain)?,
            allocator: allocator.clone(),
            stream,
            origins,
            rows: rows.collect::<Result<_>>()?,
            sources: sources.collect::<Result<_>>()?,
            tables: tables.collect::<Result<_>>()?,
            lines: lines.collect::<Result<_>>()?,
            updates,
            synapse_kernels,
            turn_steps: turn_steps as u64,
        })
    }

    /// Makes up to `steps` steps from `step` on and tells how many.
    pub fn turn(
        &self,
        parts: &Parts,
        step: u64,
        steps: u64,
        reward: Option<f32>,
        recorder: &mut Recorder,
    ) -> Result<u64> {
        let steps = steps.min(self.turn_steps);
        for origin in &self.origins {
            self.clear(&origin.log_count)?;
        }
        for number in 0..steps {
            let reward = reward.filter(|_| number == 0);
            self.submit(parts, step + number, number as u32, reward)?;
        }
        for (number, origin) in self.origins.iter().enumerate() {
            let count = origin.log_count.read(0..1)?[0] as usize;
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
        Ok(steps)
    }

    fn clear<T: super::memory::Element>(&self, array: &DeviceArray<T>) -> Result<()> {
        array.fill_zero(&self.stream)
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
    pub fn weights_changed(&mut self, parts: &Parts, projection: usize) -> Result<()> {
        let changed = &parts.projections[projection];
        if let ProjectionKind::Static { synapses, .. } = &changed.kind {
            self.rows[projection] = Some(Rows::upload(&self.allocator, synapses)?);
        }
        Ok(())
    }

    /// Submits one step.
    fn submit(&self, parts: &Parts, step: u64, number: u32, reward: Option<f32>) -> Result<()> {
        self.submit_sources(parts, step)?;
        self.submit_drives(parts, step)?;
        for update in &self.updates {
            self.submit_bound(update, parts, step, None)?;
        }
        for (index, origin) in self.origins.iter().enumerate() {
            self.clear(&origin.list_count)?;
            let kernel = &self.own.list_spikes;
            let arguments = [
                integer(origin.size as u32),
                self.fired(parts, index),
                origin.list.argument(0),
                origin.list_count.argument(0),
                origin.log_indices.argument(0),
                origin.log_steps.argument(0),
                origin.log_count.argument(0),
                integer(number),
            ];
            let config = shape(kernel, blocks_of(origin.size))?;
            launch(kernel, &config, &arguments, &self.stream)?;
        }
        for (rows, projection) in self.rows.iter().zip(&parts.projections) {
            if let Some(rows) = rows {
                self.submit_delivery(parts, rows, projection, step)?;
            }
        }
        self.submit_synapses(parts, step, reward)
    }

    /// The flags of a group or source.
    fn fired(&self, parts: &Parts, origin: usize) -> Argument {
        match &self.origins[origin].fired {
            Some(fired) => fired.argument(0),
            None => parts.groups[origin].fired.argument(0),
        }
    }

    fn submit_sources(&self, parts: &Parts, step: u64) -> Result<()> {
        for (number, (source, state)) in parts.sources.iter().zip(&self.sources).enumerate() {
            let index = parts.groups.len() + number;
            let size = self.origins[index].size;
            match (source, state) {
                (
                    Source::Poisson {
                        object,
                        seed,
                        chances,
                    },
                    SourceState::Poisson(table),
                ) => {
                    let kernel = &self.own.poisson_source;
                    let arguments = [
                        integer(size as u32),
                        self.fired(parts, index),
                        table.argument(0),
                        integer(u32::from(matches!(chances, Chances::Each(_)))),
                        integer(*seed),
                        integer(object.number()),
                        integer(step),
                    ];
                    launch(
                        kernel,
                        &shape(kernel, blocks_of(size))?,
                        &arguments,
                        &self.stream,
                    )?;
                }
                (Source::Spikes(spikes), SourceState::Spikes(indices)) => {
                    let begin = spikes.partition_point(|(at, _)| *at < step);
                    let end = spikes.partition_point(|(at, _)| *at <= step);
                    if let Some(fired) = &self.origins[index].fired {
                        self.clear(fired)?;
                    }
                    if begin == end {
                        continue;
                    }
                    let kernel = &self.own.listed_source;
                    let arguments = [
                        self.fired(parts, index),
                        indices.argument(0),
                        integer(begin as u32),
                        integer(end as u32),
                    ];
                    let config = shape(kernel, blocks_of(end - begin))?;
                    launch(kernel, &config, &arguments, &self.stream)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn submit_drives(&self, parts: &Parts, step: u64) -> Result<()> {
        for (drive, table) in parts.poisson_drives.iter().zip(&self.tables) {
            let input = &parts.groups[drive.target.group].inputs[drive.input];
            let kernel = &self.own.poisson_drive;
            let arguments = [
                integer(drive.target.size as u32),
                input.ring.argument(input.row(step) + drive.target.first),
                table.argument(0),
                integer(drive.table().len() as u32),
                integer(drive.quanta),
                integer(drive.seed()),
                integer(drive.object().number()),
                integer(step),
            ];
            let config = shape(kernel, blocks_of(drive.target.size))?;
            launch(kernel, &config, &arguments, &self.stream)?;
        }
        Ok(())
    }

    fn submit_delivery(
        &self,
        parts: &Parts,
        rows: &Rows,
        projection: &Projection,
        step: u64,
    ) -> Result<()> {
        let ProjectionKind::Static { input, .. } = &projection.kind else {
            return Ok(());
        };
        let origin = &self.origins[projection.origin.index];
        let input: &Input = &parts.groups[projection.target.group].inputs[*input];
        let kernel = &self.own.deliver;
        let arguments = [
            origin.list.argument(0),
            origin.list_count.argument(0),
            integer(projection.origin.first as u32),
            integer(projection.origin.size as u32),
            rows.starts.argument(0),
            rows.columns.argument(0),
            rows.weights
                .as_ref()
                .map_or_else(null, |all| all.argument(0)),
            integer(rows.weight),
            rows.delays
                .as_ref()
                .map_or_else(null, |all| all.argument(0)),
            integer(rows.delay),
            input.ring.argument(0),
            integer(input.slots),
            integer(input.stride as u32),
            integer(projection.target.first as u32),
            integer(step),
        ];
        let blocks = (origin.size as u64).min(ROW_BLOCKS) as i64;
        launch(kernel, &shape(kernel, blocks)?, &arguments, &self.stream)
    }

    fn submit_synapses(&self, parts: &Parts, step: u64, reward: Option<f32>) -> Result<()> {
        for ((projection, line), pair) in
            parts.projections.iter().zip(&self.lines).zip(&parts.events)
        {
            let (Some(line), Some(EventPair { pre, post })) = (line, pair) else {
                continue;
            };
            let (origin, target) = (projection.origin, projection.target);
            let from = (origin.index, origin.first, origin.size);
            self.submit_collect(parts, from, &line.pre, line.pre_slots, step, pre)?;
            let to = (target.group, target.first, target.size);
            self.submit_collect(parts, to, &line.post, 1, step, post)?;
        }
        for kernel in &self.synapse_kernels {
            if kernel.phase != Phase::OnReward || reward.is_some() {
                self.submit_bound(kernel, parts, step, reward)?;
            }
        }
        Ok(())
    }

    fn submit_collect(
        &self,
        parts: &Parts,
        (index, first, size): (usize, usize, usize),
        line: &DeviceArray<u8>,
        slots: u32,
        step: u64,
        events: &Events,
    ) -> Result<()> {
        self.clear(&events.count)?;
        let kernel = &self.own.collect;
        let arguments = [
            integer(size as u32),
            self.fired(parts, index),
            integer(first as u32),
            line.argument(0),
            integer(slots),
            integer(step),
            events.flags.argument(0),
            events.list.argument(0),
            events.count.argument(0),
        ];
        let config = shape(kernel, blocks_of(size))?;
        launch(kernel, &config, &arguments, &self.stream)
    }

    /// Launches a generated kernel with the arguments of a step.
    fn submit_bound(
        &self,
        bound: &BoundKernel,
        parts: &Parts,
        step: u64,
        reward: Option<f32>,
    ) -> Result<()> {
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
        launch(&bound.kernel, &bound.config, &arguments, &self.stream)
    }
}
