//! A group: all neurons of one model on the device, with their state, parameters and rows of inputs.

use std::path::Path;

use amdgpu_memory::Allocator;

use super::fixed_point::FixedPointUnit;
use super::memory::DeviceArray;
use super::rng_streams::RngStream;
use super::values;
use crate::error::Result;
use crate::plan::Initializer;
use crate::plan::spiking::{RangePlan, Role, SpikingNetworkPlan, ValuesPlan};

/// Rows begin at a multiple of this many elements: 256 bytes, as allocations do.
const ROW_ALIGN: usize = 64;

/// A ring of rows of fixed-point numbers: what arrives at each neuron in each of the next steps.
#[derive(Debug)]
pub(crate) struct Input {
    pub ring: DeviceArray<i32>,
    pub slots: u32,
    pub stride: usize,
    pub unit: FixedPointUnit,
    /// Quanta that drives and synapses with state may bring to a neuron in a step, at most.
    pub reserved: f64,
    /// Where synapses add amounts that nothing bounds.
    pub wide: Option<Wide>,
}

/// Sums of 64 bits: what arrives at each neuron in the next step.
#[derive(Debug)]
pub(crate) struct Wide {
    pub sums: DeviceArray<i64>,
    pub need: WideNeed,
}

/// Of the sums of 64 bits of an input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WideNeed {
    pub unit: FixedPointUnit,
    /// The most units of one amount.
    pub most: f64,
}

impl Input {
    pub fn new(allocator: &Allocator, neurons: usize, need: InputNeed) -> Result<Self> {
        let InputNeed {
            slots,
            unit,
            reserved,
            wide,
        } = need;
        let stride = neurons.next_multiple_of(ROW_ALIGN);
        Ok(Self {
            ring: DeviceArray::zeros(allocator, stride * slots as usize)?,
            slots,
            stride,
            unit,
            reserved: reserved / unit.value(),
            wide: wide
                .map(|need| DeviceArray::zeros(allocator, neurons).map(|sums| Wide { sums, need }))
                .transpose()?,
        })
    }

    /// Place of the first element of the row of a step.
    pub fn row(&self, step: u64) -> usize {
        (step % u64::from(self.slots)) as usize * self.stride
    }
}

#[derive(Debug)]
pub(crate) struct Group {
    pub size: usize,
    pub variables: Vec<DeviceArray<f32>>,
    /// For those that a kernel takes as an array.
    pub parameters: Vec<Option<DeviceArray<f32>>>,
    pub inputs: Vec<Input>,
    pub refractory: Option<DeviceArray<i32>>,
    pub fired: DeviceArray<u8>,
}

/// Rows and unit that an input needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InputNeed {
    pub slots: u32,
    pub unit: FixedPointUnit,
    pub reserved: f64,
    pub wide: Option<WideNeed>,
}

impl Group {
    pub fn build(
        plan: &SpikingNetworkPlan,
        number: usize,
        needs: &[InputNeed],
        allocator: &Allocator,
        base_directory: &Path,
    ) -> Result<Self> {
        let group = &plan.spiking.groups[number];
        let size = group.size;
        let positions_at = |first: usize| {
            let mut populations = plan.spiking.populations.iter();
            let found = populations.find(|one| one.group == number && one.first == first);
            found.and_then(|population| population.positions.as_ref())
        };
        let values_of = |values: &ValuesPlan, object: RngStream| {
            let what = format!("{}.{}", group.name, values.name);
            let all = values::over_group(
                values,
                object,
                plan.seed,
                size,
                base_directory,
                positions_at,
                &what,
            )?;
            DeviceArray::from_slice(allocator, &all)
        };
        let variables = group.variables.iter().enumerate();
        let variables =
            variables.map(|(index, values)| values_of(values, RngStream::Variable(number, index)));
        let parameters = group.parameters.iter().enumerate().map(|(index, values)| {
            is_array(plan, number, &values.name)
                .then(|| values_of(values, RngStream::Parameter(number, index)))
                .transpose()
        });
        let inputs = needs.iter().map(|need| Input::new(allocator, size, *need));
        Ok(Self {
            size,
            variables: variables.collect::<Result<_>>()?,
            parameters: parameters.collect::<Result<_>>()?,
            inputs: inputs.collect::<Result<_>>()?,
            refractory: group
                .has_refractory
                .then(|| DeviceArray::zeros(allocator, size))
                .transpose()?,
            fired: DeviceArray::zeros(allocator, size)?,
        })
    }
}

/// Whether a kernel takes the parameter as an array.
fn is_array(plan: &SpikingNetworkPlan, group: usize, parameter: &str) -> bool {
    let spiking = &plan.spiking;
    spiking.kernels.iter().any(|kernel| {
        let ends = kernel.projection.map(|projection| {
            let projection = &spiking.projections[projection];
            (
                spiking.group_of(&projection.from),
                spiking.group_of(&projection.to),
            )
        });
        kernel.arguments.iter().any(|argument| {
            argument.name == parameter
                && match argument.role {
                    Role::ParameterArray => kernel.group == Some(group),
                    Role::SourceParameter => ends.is_some_and(|(from, _)| from == Some(group)),
                    Role::TargetParameter => ends.is_some_and(|(_, to)| to == Some(group)),
                    _ => false,
                }
        })
    })
}

/// The one value of a uniform parameter.
pub(crate) fn uniform_value(plan: &SpikingNetworkPlan, group: usize, name: &str) -> Option<f64> {
    let group = &plan.spiking.groups[group];
    let values = &group.parameters[group.parameter_index(name)?].values;
    match values.as_slice() {
        [
            RangePlan {
                value: Initializer::Constant { value },
                ..
            },
        ] => Some(*value),
        _ => None,
    }
}
