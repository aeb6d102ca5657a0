//! The device that steps a network: this machine's cores, or a GPU.

use amdgpu_aura::{Context, Toolchain};

use super::cpu::CpuStepper;
use super::device::DeviceStepper;
use super::kernels::BoundKernel;
use super::parts::Parts;
use super::recorder::Recorder;
use crate::error::Result;

/// Spikes on their way to the synapses of a projection with state: for each step of the delay, a ring by step number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DelayLine {
    pub steps: Vec<Vec<u32>>,
}

pub(crate) enum Stepper {
    Cpu(Box<CpuStepper>),
    Device(Box<DeviceStepper>),
}

impl Stepper {
    /// A stepper of the device of `context`, which has run the kernels of initialisation: with so many threads, or by launches.
    pub fn new(
        parts: &Parts,
        kernels: Vec<BoundKernel>,
        threads: Option<usize>,
        context: &Context,
        toolchain: &dyn Toolchain,
    ) -> Result<Self> {
        if let Some(threads) = threads {
            let stepper = CpuStepper::new(parts, &kernels, threads)?;
            CpuStepper::initialize(&kernels)?;
            return Ok(Self::Cpu(Box::new(stepper)));
        }
        let stepper = DeviceStepper::new(parts, kernels, context, toolchain)?;
        Ok(Self::Device(Box::new(stepper)))
    }

    /// Makes up to `steps` steps from `step` on and tells how many: as many as go together.
    pub fn turn(
        &mut self,
        parts: &Parts,
        step: u64,
        steps: u64,
        reward: Option<f32>,
        recorder: &mut Recorder,
    ) -> Result<u64> {
        match self {
            Self::Cpu(stepper) => stepper.turn(parts, step, steps, reward, recorder),
            Self::Device(stepper) => stepper.turn(parts, step, steps, reward, recorder),
        }
    }

    /// Delivers what is still to be delivered, so that the state before `step` is whole.
    pub fn flush(&mut self, parts: &Parts, step: u64) -> Result<()> {
        match self {
            Self::Cpu(stepper) => stepper.flush(parts, step),
            Self::Device(_) => Ok(()),
        }
    }

    /// Delivers what arrives in `step`, so that its rows can be looked at.
    pub fn settle(&mut self, parts: &Parts, step: u64) -> Result<()> {
        match self {
            Self::Cpu(stepper) => stepper.settle(parts, step),
            Self::Device(_) => Ok(()),
        }
    }

    /// Counts the launches of `steps` steps where nobody else does; returns the nanoseconds that are known of them.
    pub fn count_launches(&self, steps: u64) -> u64 {
        match self {
            Self::Cpu(stepper) => stepper.count_launches(steps),
            Self::Device(_) => 0,
        }
    }

    /// Whether steps are launches, as on a GPU.
    pub const fn is_by_launches(&self) -> bool {
        matches!(self, Self::Device(_))
    }

    /// The spikes under way in a projection with state.
    pub fn delay_line(&self, projection: usize) -> Result<DelayLine> {
        match self {
            Self::Cpu(stepper) => Ok(stepper.delay_lines[projection].clone()),
            Self::Device(stepper) => stepper.delay_line(projection),
        }
    }

    pub fn set_delay_line(&mut self, projection: usize, line: DelayLine) -> Result<()> {
        match self {
            Self::Cpu(stepper) => {
                stepper.delay_lines[projection] = line;
                Ok(())
            }
            Self::Device(stepper) => stepper.set_delay_line(projection, &line),
        }
    }

    /// Takes over the constant weights of every projection.
    pub fn all_weights_changed(&mut self, parts: &Parts) -> Result<()> {
        match self {
            Self::Cpu(stepper) => {
                (0..parts.projections.len()).for_each(|number| stepper.weights_changed(number));
                Ok(())
            }
            Self::Device(stepper) => stepper.weights_changed(parts),
        }
    }

    /// Takes over constant weights that were changed.
    pub fn weights_changed(&mut self, parts: &Parts, projection: usize) -> Result<()> {
        match self {
            Self::Cpu(stepper) => {
                stepper.weights_changed(projection);
                Ok(())
            }
            Self::Device(stepper) => stepper.weights_changed(parts),
        }
    }
}
