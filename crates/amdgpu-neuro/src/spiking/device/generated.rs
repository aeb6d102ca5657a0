//! Launches generated kernels: with their own arguments for one network, through a table of arguments for a batch.

use std::sync::Arc;

use amdgpu_aura::{Argument, Context, GraphRecorder, Lane, LaunchShape, Toolchain};
use amdgpu_hal::Stream;
use amdgpu_memory::Allocator;

use super::super::kernel_signature::{RingParameter, with_table};
use super::super::kernels::{BoundKernel, Dynamic, compile, step_word};
use super::super::memory::DeviceArray;
use super::super::parts::Parts;
use super::own::{Fields, Prepared, integer, launch};
use crate::error::{Error, Result};
use crate::plan::spiking::{KernelPlan, Phase, SpikingNetworkPlan};

/// What a step gives to kernels.
#[derive(Clone, Copy)]
pub(super) struct Moment<'a> {
    pub members: &'a [&'a Parts],
    pub step: u64,
    pub reward: Option<f32>,
}

/// What is needed to bring kernels to a device.
#[derive(Clone, Copy)]
pub(super) struct Maker<'a> {
    pub plan: &'a SpikingNetworkPlan,
    pub clock: &'a DeviceArray<u64>,
    pub allocator: &'a Allocator,
    pub context: &'a Context,
    pub toolchain: &'a dyn Toolchain,
}

/// A kernel bound to every member of a batch.
struct Tabled {
    /// The kernel of each member alone, which packs its arguments.
    bound: Vec<BoundKernel>,
    /// What follows the arguments in each row.
    tails: Vec<Fields>,
    table: DeviceArray<u8>,
    prepared: Prepared,
}

enum Way {
    Alone(Box<BoundKernel>),
    Together(Box<Tabled>),
}

/// See the module.
pub(super) struct Generated {
    pub phase: Phase,
    pub group: Option<usize>,
    pub projection: Option<usize>,
    way: Way,
}

impl Generated {
    /// A kernel, bound to the arrays of each member.
    pub fn new(
        kernel: &KernelPlan,
        mut bound: Vec<BoundKernel>,
        members: &[&Parts],
        maker: Maker<'_>,
    ) -> Result<Self> {
        let way = if members.len() > 1 {
            Way::Together(Box::new(Tabled::new(kernel, bound, members, maker)?))
        } else {
            let missing = || Error::InvalidArgument("a batch has at least one member".to_owned());
            Way::Alone(Box::new(bound.pop().ok_or_else(missing)?))
        };
        Ok(Self {
            phase: kernel.phase,
            group: kernel.group,
            projection: kernel.projection,
            way,
        })
    }

    /// Whether launches repeat only when the rings of inputs have come round.
    pub fn is_periodic(&self) -> bool {
        matches!(&self.way, Way::Alone(bound) if !bound.dynamic.is_empty())
    }

    pub fn submit(&self, moment: Moment<'_>, stream: &Arc<dyn Stream>) -> Result<()> {
        match &self.way {
            Way::Alone(bound) => submit(bound, &arguments_of(bound, moment, 0), stream),
            Way::Together(tabled) => {
                if moment.reward.is_some() {
                    tabled.table.write(0, &tabled.rows(moment)?)?;
                }
                tabled.prepared.launch(stream)
            }
        }
    }

    /// Records the launch of a step without a reward.
    pub fn record(
        &self,
        moment: Moment<'_>,
        recorder: &mut GraphRecorder,
        lane: Lane,
    ) -> Result<()> {
        match &self.way {
            Way::Together(tabled) => tabled.prepared.record(recorder, lane),
            Way::Alone(bound) => {
                let packed = bound.kernel.pack_arguments(&arguments_of(bound, moment, 0));
                let packed = packed.map_err(|error| Error::from_core(&error))?;
                recorder
                    .launch(&bound.kernel, bound.config, &packed, lane)
                    .map_err(|error| Error::from_core(&error))
            }
        }
    }
}

impl Tabled {
    fn new(
        kernel: &KernelPlan,
        bound: Vec<BoundKernel>,
        members: &[&Parts],
        maker: Maker<'_>,
    ) -> Result<Self> {
        let rings: Vec<RingParameter> = bound[0]
            .dynamic
            .iter()
            .filter_map(|(index, change)| match change {
                Dynamic::Row { .. } => Some((*index, 0)),
                Dynamic::NextRow { .. } => Some((*index, 1)),
                Dynamic::Step | Dynamic::Reward => None,
            })
            .map(|(index, rows_ahead)| RingParameter { index, rows_ahead })
            .collect();
        let tails = bound.iter().zip(members).map(|(bound, parts)| {
            let mut tail = Fields::default();
            tail.wide(maker.clock.address(step_word(kernel)));
            for (_, change) in &bound.dynamic {
                if let Dynamic::Row { group, input } | Dynamic::NextRow { group, input, .. } =
                    *change
                {
                    let input = &parts.groups[group].inputs[input];
                    tail.number(input.slots).number(input.stride as u32);
                }
            }
            tail
        });
        let tails: Vec<Fields> = tails.collect();
        let text = with_table(&maker.plan.spiking, kernel, &rings)?;
        let compiled = compile(
            &text,
            &kernel.name,
            &maker.plan.name,
            maker.context,
            maker.toolchain,
        )?;
        let blocks = bound.iter().map(|one| one.config.grid[0]).max();
        let config = compiled
            .check_shape(&LaunchShape {
                grid: [blocks.unwrap_or(1).into(), bound.len() as i64, 1],
                block: bound[0].config.block.map(i64::from),
                shared_bytes: 0,
            })
            .map_err(|error| Error::from_core(&error))?;
        let first = Moment {
            members,
            step: 0,
            reward: None,
        };
        let table = DeviceArray::from_slice(maker.allocator, &rows(&bound, &tails, first)?)?;
        let arguments = compiled
            .pack_arguments(&[table.argument(0)])
            .map_err(|error| Error::from_core(&error))?;
        Ok(Self {
            bound,
            tails,
            table,
            prepared: Prepared {
                kernel: compiled,
                config,
                arguments,
            },
        })
    }

    fn rows(&self, moment: Moment<'_>) -> Result<Vec<u8>> {
        rows(&self.bound, &self.tails, moment)
    }
}

/// The rows of a table, in which rings stand at their beginning whatever the step is.
fn rows(bound: &[BoundKernel], tails: &[Fields], moment: Moment<'_>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for (member, (bound, tail)) in bound.iter().zip(tails).enumerate() {
        let mut arguments = bound.arguments.clone();
        for (index, change) in &bound.dynamic {
            match *change {
                Dynamic::NextRow {
                    group,
                    input,
                    first,
                } => {
                    let input = &moment.members[member].groups[group].inputs[input];
                    arguments[*index] = input.ring.argument(first);
                }
                Dynamic::Reward => arguments[*index] = reward_argument(moment.reward),
                Dynamic::Row { .. } | Dynamic::Step => {}
            }
        }
        let packed = bound.kernel.pack_arguments(&arguments);
        let packed = packed.map_err(|error| Error::from_core(&error))?;
        bytes.extend_from_slice(packed.bytes());
        bytes.resize(bytes.len().next_multiple_of(size_of::<u64>()), 0);
        bytes.extend_from_slice(&tail.0);
    }
    Ok(bytes)
}

/// Launches a generated kernel.
pub(super) fn submit(
    bound: &BoundKernel,
    arguments: &[Argument],
    stream: &Arc<dyn Stream>,
) -> Result<()> {
    let packed = bound.kernel.pack_arguments(arguments);
    let packed = packed.map_err(|error| Error::from_core(&error))?;
    launch(&bound.kernel, &bound.config, &packed, stream)
}

fn reward_argument(reward: Option<f32>) -> Argument {
    Argument::Float(f64::from(reward.unwrap_or(0.0)))
}

/// The arguments of a kernel of a member in a step.
fn arguments_of(bound: &BoundKernel, moment: Moment<'_>, member: usize) -> Vec<Argument> {
    let (parts, step) = (moment.members[member], moment.step);
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
            Dynamic::Reward => reward_argument(moment.reward),
        };
    }
    arguments
}
