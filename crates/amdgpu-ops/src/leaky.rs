//! Layers whose values at a step depend on those before: leaky integrators `u[t] = decay * u[t-1] + x[t]`, and leaky integrate-and-fire
//! neurons, which spike above 1 and lose 1 then. Backward through a spike the slope is that of the fast sigmoid (Zenke and Ganguli 2018).

use amdgpu_array::Array;

use crate::div_ceil::DivCeil;
use crate::generated::leaky::{backward_source, forward_source};
use crate::generated::source;
use crate::launch::{Shape, launch};
use crate::{Arg, DeviceOps, KernelKey, Result};

/// Neurons of a layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Neuron {
    /// Leaky integrate-and-fire; `slope` is the steepness of what stands for the derivative of a spike.
    Spiking { decay: f32, slope: f32 },
    /// Leaky integrator.
    Leaky { decay: f32 },
}

impl Neuron {
    fn is_spiking(self) -> bool {
        matches!(self, Self::Spiking { .. })
    }

    fn decay(self) -> f64 {
        match self {
            Self::Spiking { decay, .. } | Self::Leaky { decay } => f64::from(decay),
        }
    }

    fn slope(self) -> f64 {
        match self {
            Self::Spiking { slope, .. } => f64::from(slope),
            Self::Leaky { .. } => 0.0,
        }
    }
}

/// `[samples, steps, size]`.
pub type Extents = [usize; 3];

/// From what arrives at each step to values. `sums`, dense float32 of these extents, becomes the potentials; `values` is written.
///
/// # Errors
///
/// What the device reports.
pub fn forward(
    ops: &DeviceOps,
    neuron: Neuron,
    extents: Extents,
    sums: &Array,
    values: &Array,
) -> Result<()> {
    let key = KernelKey::new("leaky").flag(neuron.is_spiking());
    let kernel = ops.kernel(key, "leaky", || forward_source(neuron.is_spiking()))?;
    let [steps, size, count] = tail(extents);
    let args = [
        Arg::Array(sums),
        Arg::Array(values),
        Arg::Float(neuron.decay()),
        steps,
        size,
        count,
    ];
    run(&kernel, extents, &args)
}

/// From the gradient by the values to the one by what arrived, in place, through all steps; `potentials` are what [`forward`] left in `sums`.
///
/// # Errors
///
/// What the device reports.
pub fn backward(
    ops: &DeviceOps,
    neuron: Neuron,
    extents: Extents,
    potentials: &Array,
    delta: &Array,
) -> Result<()> {
    let key = KernelKey::new("leaky gradient").flag(neuron.is_spiking());
    let kernel = ops.kernel(key, "leaky_gradient", || {
        backward_source(neuron.is_spiking())
    })?;
    let [steps, size, count] = tail(extents);
    let args = [
        Arg::Array(potentials),
        Arg::Array(delta),
        Arg::Float(neuron.decay()),
        Arg::Float(neuron.slope()),
        steps,
        size,
        count,
    ];
    run(&kernel, extents, &args)
}

fn tail([samples, steps, size]: Extents) -> [Arg<'static>; 3] {
    [steps, size, samples * size].map(|one| Arg::from(one as i64))
}

fn run(
    kernel: &std::sync::Arc<amdgpu_aura::Kernel>,
    [samples, steps, size]: Extents,
    args: &[Arg<'_>],
) -> Result<()> {
    let count = (samples * size) as i64;
    if count == 0 || steps == 0 {
        return Ok(());
    }
    let blocks = count.div_ceil_positive(source::BLOCK);
    launch(kernel, Shape::line(blocks, source::BLOCK), args)
}
