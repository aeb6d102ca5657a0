//! Compiles generated kernels through AURA and binds their arguments to the arrays of a network, by role.

use std::borrow::Cow;
use std::sync::Arc;

use amdgpu_aura::{Argument, CompileRequest, Context, CoreType, Kernel, LaunchShape, Toolchain};
use amdgpu_compiler::CompileOptions;
use amdgpu_hal::LaunchConfig;

use super::group::{self, Group};
use super::kernel_signature::with_step_in_memory;
use super::memory::DeviceArray;
use super::projection::{Projection, ProjectionKind, StatefulSynapses};
use crate::error::{Error, Result};
use crate::plan::spiking::{ArgumentPlan, KernelPlan, Phase, Role, SpikingNetworkPlan};

/// Threads of a block. On the CPU a block is a loop over SIMD lanes, and partitions of neurons are whole blocks.
pub(crate) const BLOCK: usize = 256;
/// Threads of a block that goes through the synapses of a neuron: the widest vector of a CPU, a few waves of a GPU.
const CPU_ROW_BLOCK: usize = 16;
const GPU_ROW_BLOCK: usize = 256;
/// Blocks of a launch over spiking neurons; each takes every so many of them.
pub(crate) const ROW_BLOCKS: u64 = 4096;

/// An argument that changes from step to step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dynamic {
    Step,
    /// The row of the step, of an input of the kernel's own group.
    Row {
        group: usize,
        input: usize,
    },
    /// The row of the next step, from a neuron on.
    NextRow {
        group: usize,
        input: usize,
        first: usize,
    },
    Reward,
}

/// Positions of the arguments that say where rows or columns begin and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowArguments {
    pub starts: usize,
    pub ends: usize,
}

impl RowArguments {
    fn of(kernel: &KernelPlan) -> Option<Self> {
        let place = |role: Role| {
            let mut arguments = kernel.arguments.iter();
            arguments.position(|argument| argument.role == role)
        };
        let (starts, ends) = match kernel.phase {
            Phase::OnPre => (Role::RowStarts, Role::RowEnds),
            Phase::OnPost => (Role::ColumnStarts, Role::ColumnEnds),
            _ => return None,
        };
        Some(Self {
            starts: place(starts)?,
            ends: place(ends)?,
        })
    }
}

/// A kernel with its arguments.
pub(crate) struct BoundKernel {
    pub kernel: Arc<Kernel>,
    pub config: LaunchConfig,
    pub arguments: Vec<Argument>,
    pub dynamic: Vec<(usize, Dynamic)>,
    /// Of kernels that may be called for parts of rows or columns.
    pub rows: Option<RowArguments>,
    pub phase: Phase,
    pub group: Option<usize>,
    pub projection: Option<usize>,
}

impl std::fmt::Debug for BoundKernel {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("BoundKernel")
            .field("name", &self.kernel.facts().name)
            .finish_non_exhaustive()
    }
}

/// Spikes as the kernels of a projection get them.
#[derive(Debug)]
pub(crate) struct Events {
    pub list: DeviceArray<u32>,
    pub count: DeviceArray<u32>,
    /// One byte for each neuron, where a kernel asks for it.
    pub flags: DeviceArray<u8>,
}

impl Events {
    pub fn new(allocator: &amdgpu_memory::Allocator, neurons: usize) -> Result<Self> {
        Ok(Self {
            list: DeviceArray::zeros(allocator, neurons)?,
            count: DeviceArray::zeros(allocator, 1)?,
            flags: DeviceArray::zeros(allocator, neurons)?,
        })
    }
}

/// Events of both ends of a projection with state.
#[derive(Debug)]
pub(crate) struct EventPair {
    pub pre: Events,
    pub post: Events,
}

/// What arguments are bound to.
pub(crate) struct Bindings<'a> {
    pub plan: &'a SpikingNetworkPlan,
    pub groups: &'a [Group],
    pub projections: &'a [Projection],
    /// For projections with state, by position.
    pub events: &'a [Option<EventPair>],
    /// Where kernels find the number of the step, on devices that step by launches; else it is an argument.
    pub clock: Option<&'a DeviceArray<u64>>,
}

/// Places of a clock: the step, which becomes the next one when its spikes are delivered; the step of the spikes listed last; the first step
/// of the interval.
pub(crate) const CLOCK_WORDS: usize = 3;

/// Compile a kernel of a text.
pub(crate) fn compile(
    source: &str,
    kernel: &str,
    network: &str,
    context: &Context,
    toolchain: &dyn Toolchain,
) -> Result<Arc<Kernel>> {
    let request = CompileRequest {
        source,
        kernel_name: Some(kernel),
        core: CoreType::Neuromorphic,
        options: CompileOptions {
            name: format!("{network}.hip"),
            ..CompileOptions::default()
        },
    };
    let compiled = context.compile(&request, toolchain);
    compiled.map_err(|error| Error::from_core(&error))
}

/// The place of the clock at which a kernel finds its step: projections come after the delivery of its spikes.
pub(crate) const fn step_word(kernel: &KernelPlan) -> usize {
    if kernel.projection.is_some() { 1 } else { 0 }
}

/// Compile the kernel of a plan and bind it.
pub(crate) fn bind(
    kernel: &KernelPlan,
    bindings: &Bindings<'_>,
    context: &Context,
    toolchain: &dyn Toolchain,
) -> Result<BoundKernel> {
    let spiking = &bindings.plan.spiking;
    // With a clock the step is in memory.
    let text = match bindings.clock {
        Some(_) => with_step_in_memory(spiking, kernel)?,
        None => None,
    };
    let text = text.map_or(Cow::Borrowed(&*spiking.source), Cow::Owned);
    let compiled = compile(&text, &kernel.name, &bindings.plan.name, context, toolchain)?;
    let mut arguments = Vec::with_capacity(kernel.arguments.len());
    let mut dynamic = Vec::new();
    for (index, argument) in kernel.arguments.iter().enumerate() {
        let (value, changes) = match (kernel.group, kernel.projection) {
            (Some(group), _) => bindings.of_group(group, kernel, argument),
            (None, Some(projection)) => bindings.of_projection(projection, kernel, argument),
            (None, None) => None,
        }
        .ok_or_else(|| {
            Error::InvalidDescription(format!(
                "the kernel {:?} asks for {:?} {:?}, which the network does not have",
                kernel.name, argument.role, argument.name
            ))
        })?;
        arguments.push(value);
        dynamic.extend(changes.map(|change| (index, change)));
    }
    compiled
        .check_argument_count(arguments.len())
        .map_err(|error| Error::from_core(&error))?;
    let is_cpu = context.info().kind == amdgpu_hal::DeviceKind::Cpu;
    let (blocks, block) = bindings.shape(kernel, is_cpu);
    let config = compiled
        .check_shape(&LaunchShape {
            grid: [blocks as i64, 1, 1],
            block: [block as i64, 1, 1],
            shared_bytes: 0,
        })
        .map_err(|error| Error::from_core(&error))?;
    Ok(BoundKernel {
        kernel: compiled,
        config,
        arguments,
        dynamic,
        rows: RowArguments::of(kernel),
        phase: kernel.phase,
        group: kernel.group,
        projection: kernel.projection,
    })
}

type Bound = Option<(Argument, Option<Dynamic>)>;

#[expect(
    clippy::unnecessary_wraps,
    reason = "one of two forms of a binding, which may be missing"
)]
fn fixed(argument: Argument) -> Bound {
    Some((argument, None))
}

impl Bindings<'_> {
    /// Work-items of a kernel, where each is one neuron or synapse.
    fn items(&self, kernel: &KernelPlan) -> usize {
        match (kernel.group, kernel.projection) {
            (Some(group), _) => self.groups[group].size,
            (None, Some(projection)) => {
                let projection = &self.projections[projection];
                match (kernel.phase, &projection.kind) {
                    (Phase::TracePre, _) => projection.origin.size,
                    (Phase::TracePost, _) => projection.target.size,
                    (_, ProjectionKind::Stateful(synapses)) => synapses.count,
                    (_, ProjectionKind::Static { .. }) => 0,
                }
            }
            (None, None) => 0,
        }
    }

    /// Blocks, and threads of each.
    fn shape(&self, kernel: &KernelPlan, is_cpu: bool) -> (usize, usize) {
        if matches!(kernel.phase, Phase::OnPre | Phase::OnPost) {
            let block = if is_cpu { CPU_ROW_BLOCK } else { GPU_ROW_BLOCK };
            return (ROW_BLOCKS as usize, block);
        }
        (self.items(kernel).div_ceil(BLOCK).max(1), BLOCK)
    }

    fn shared(&self, kernel: &KernelPlan, argument: &ArgumentPlan) -> Bound {
        match argument.role {
            Role::Step => match self.clock {
                Some(clock) => fixed(clock.argument(step_word(kernel))),
                None => Some((Argument::Int(0), Some(Dynamic::Step))),
            },
            Role::Seed => fixed(Argument::Int(i128::from(self.plan.seed))),
            _ => None,
        }
    }

    fn of_group(&self, number: usize, kernel: &KernelPlan, argument: &ArgumentPlan) -> Bound {
        let group = &self.groups[number];
        let plan = &self.plan.spiking.groups[number];
        let name = argument.name.as_str();
        match argument.role {
            Role::Count => fixed(Argument::Int(group.size as i128)),
            Role::Parameter => fixed(Argument::Float(group::uniform_value(
                self.plan, number, name,
            )?)),
            Role::ParameterArray => {
                let index = plan.parameter_index(name)?;
                fixed(group.parameters[index].as_ref()?.argument(0))
            }
            Role::State => fixed(group.variables[plan.variable_index(name)?].argument(0)),
            Role::Input => {
                let input = plan.input_index(name)?;
                let change = Dynamic::Row {
                    group: number,
                    input,
                };
                Some((group.inputs[input].ring.argument(0), Some(change)))
            }
            Role::Unit => {
                let unit = group.inputs[plan.input_index(name)?].unit;
                fixed(Argument::Float(unit.value()))
            }
            Role::WideInput => {
                let wide = group.inputs[plan.input_index(name)?].wide.as_ref()?;
                fixed(wide.sums.argument(0))
            }
            Role::WideUnit => {
                let wide = group.inputs[plan.input_index(name)?].wide.as_ref()?;
                fixed(Argument::Float(wide.need.unit.value()))
            }
            Role::Refractory => fixed(group.refractory.as_ref()?.argument(0)),
            Role::Fired => fixed(group.fired.argument(0)),
            _ => self.shared(kernel, argument),
        }
    }

    fn of_projection(&self, number: usize, kernel: &KernelPlan, argument: &ArgumentPlan) -> Bound {
        let projection = &self.projections[number];
        let ProjectionKind::Stateful(synapses) = &projection.kind else {
            return None;
        };
        let plan = &self.plan.spiking.projections[number];
        let name = argument.name.as_str();
        let of_synapse = |list: &[crate::plan::spiking::SynapseVariablePlan]| {
            list.iter().position(|variable| variable.name == name)
        };
        let events = self.events[number].as_ref()?;
        let events = match kernel.phase {
            Phase::OnPre | Phase::TracePre => &events.pre,
            _ => &events.post,
        };
        let (target, target_plan) = (
            &self.groups[projection.target.group],
            &self.plan.spiking.groups[projection.target.group],
        );
        let source = self.groups.get(projection.origin.index);
        let source_plan = self.plan.spiking.groups.get(projection.origin.index);
        let (from, to) = (projection.origin.first, projection.target.first);
        match argument.role {
            Role::Count => fixed(Argument::Int(self.items(kernel) as i128)),
            Role::Parameter => fixed(Argument::Float(group::uniform_value(
                self.plan,
                projection.target.group,
                name,
            )?)),
            Role::SpikeList => fixed(events.list.argument(0)),
            Role::SpikeCount => fixed(events.count.argument(0)),
            Role::Events => fixed(events.flags.argument(0)),
            Role::SynapseState => {
                fixed(synapses.variables[of_synapse(&plan.variables)?].argument(0))
            }
            Role::PreState => {
                fixed(synapses.pre_variables[of_synapse(&plan.pre_variables)?].argument(0))
            }
            Role::PostState => {
                fixed(synapses.post_variables[of_synapse(&plan.post_variables)?].argument(0))
            }
            Role::TargetState => {
                fixed(target.variables[target_plan.variable_index(name)?].argument(to))
            }
            Role::SourceState => {
                fixed(source?.variables[source_plan?.variable_index(name)?].argument(from))
            }
            Role::TargetParameter => {
                let index = target_plan.parameter_index(name)?;
                fixed(target.parameters[index].as_ref()?.argument(to))
            }
            Role::SourceParameter => {
                let index = source_plan?.parameter_index(name)?;
                fixed(source?.parameters[index].as_ref()?.argument(from))
            }
            Role::Overflow => fixed(synapses.overflow.argument(0)),
            Role::Reward => Some((Argument::Float(0.0), Some(Dynamic::Reward))),
            _ => self
                .of_target_input(projection, synapses, kernel, argument)
                .or_else(|| rows_of(synapses, argument.role))
                .or_else(|| self.shared(kernel, argument)),
        }
    }

    /// What kernels add to an input of the target by.
    fn of_target_input(
        &self,
        projection: &Projection,
        synapses: &StatefulSynapses,
        kernel: &KernelPlan,
        argument: &ArgumentPlan,
    ) -> Bound {
        let target = &self.groups[projection.target.group];
        let target_plan = &self.plan.spiking.groups[projection.target.group];
        let (name, to) = (argument.name.as_str(), projection.target.first);
        match argument.role {
            Role::TargetInput => {
                let input = target_plan.input_index(name)?;
                if kernel.phase == Phase::Start {
                    // The row of step 0.
                    return fixed(target.inputs[input].ring.argument(to));
                }
                let change = Dynamic::NextRow {
                    group: projection.target.group,
                    input,
                    first: to,
                };
                Some((target.inputs[input].ring.argument(0), Some(change)))
            }
            Role::PerUnit => {
                let unit = target.inputs[target_plan.input_index(name)?].unit;
                fixed(Argument::Float(1.0 / unit.value()))
            }
            Role::MostUnits => {
                let unit = target.inputs[target_plan.input_index(name)?].unit;
                fixed(Argument::Float(unit.most(synapses.weight_bound)))
            }
            Role::WideTargetInput => {
                let wide = target.inputs[target_plan.input_index(name)?]
                    .wide
                    .as_ref()?;
                fixed(wide.sums.argument(to))
            }
            Role::PerWideUnit => {
                let wide = target.inputs[target_plan.input_index(name)?]
                    .wide
                    .as_ref()?;
                fixed(Argument::Float(1.0 / wide.need.unit.value()))
            }
            Role::MostWideUnits => {
                let wide = target.inputs[target_plan.input_index(name)?]
                    .wide
                    .as_ref()?;
                fixed(Argument::Float(wide.need.most))
            }
            _ => None,
        }
    }
}

/// The arrays that say which synapses there are.
fn rows_of(synapses: &StatefulSynapses, role: Role) -> Bound {
    // Ends are the starts of what follows.
    let ends = match role {
        Role::RowEnds => Some(&synapses.row_starts),
        Role::ColumnEnds => Some(synapses.column_starts.as_ref()?),
        _ => None,
    };
    if let Some(ends) = ends {
        return fixed(ends.argument(1));
    }
    let array = match role {
        Role::RowStarts => &synapses.row_starts,
        Role::Columns => &synapses.columns,
        Role::SynapseSources => synapses.sources.as_ref()?,
        Role::ColumnStarts => synapses.column_starts.as_ref()?,
        Role::ColumnSynapses => synapses.column_synapses.as_ref()?,
        Role::ColumnSources => synapses.column_sources.as_ref()?,
        Role::LastUpdate => synapses.last_update.as_ref()?,
        _ => return None,
    };
    fixed(array.argument(0))
}
