//! Steps a network on this machine's cores or on a GPU.

use super::cpu::CpuStepper;
use super::device::DeviceStepper;
use super::kernels::BoundKernel;
use super::parts::Parts;
use super::recorder::Recorder;
use crate::error::{Error, Result};

/// Spikes on their way to the synapses of a projection with state: for each step of the delay, a ring by step number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DelayLine {
    pub steps: Vec<Vec<u32>>,
}

pub(crate) enum Stepper {
    Cpu(Box<CpuStepper>),
    Device(Box<DeviceStepper>),
    /// Of a member of a batch, whose stepper makes the steps of all.
    Shared,
}

impl Stepper {
    /// A stepper of this machine's cores, which has run the kernels of initialisation.
    pub fn with_threads(parts: &Parts, kernels: &[BoundKernel], threads: usize) -> Result<Self> {
        let stepper = CpuStepper::new(parts, kernels, threads)?;
        CpuStepper::initialize(kernels)?;
        Ok(Self::Cpu(Box::new(stepper)))
    }

    /// Adds what arrives in step 0 from synapses that act all the time.
    pub fn start(&mut self) -> Result<()> {
        match self {
            Self::Cpu(stepper) => {
                stepper.start();
                Ok(())
            }
            Self::Device(stepper) => stepper.start(),
            Self::Shared => Err(of_batch()),
        }
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
        match self {
            Self::Cpu(stepper) => stepper.advance(parts, step, steps, reward, recorder),
            Self::Device(stepper) => {
                stepper.advance(&[parts], step, steps, reward, &mut [recorder])
            }
            Self::Shared => Err(of_batch()),
        }
    }

    /// Delivers what is still to be delivered, so that the state before `step` is whole.
    pub fn flush(&mut self, parts: &Parts, step: u64) -> Result<()> {
        match self {
            Self::Cpu(stepper) => stepper.flush(parts, step),
            Self::Device(_) | Self::Shared => Ok(()),
        }
    }

    /// Delivers what arrives in `step`, so that its rows can be looked at.
    pub fn settle(&mut self, parts: &Parts, step: u64) -> Result<()> {
        match self {
            Self::Cpu(stepper) => stepper.settle(parts, step),
            Self::Device(_) | Self::Shared => Ok(()),
        }
    }

    /// Counts the launches of `steps` steps, which took `wall_ns`, where nobody else does.
    pub fn count_launches(&mut self, steps: u64, wall_ns: u64) {
        match self {
            Self::Cpu(stepper) => stepper.count_launches(steps, wall_ns),
            Self::Device(_) | Self::Shared => {}
        }
    }

    /// Whether steps are replayed as graphs.
    pub const fn is_replayed(&self) -> bool {
        matches!(self, Self::Device(stepper) if stepper.is_replayed())
    }

    /// Whether steps are launches, as on a GPU.
    pub const fn is_by_launches(&self) -> bool {
        !matches!(self, Self::Cpu(_))
    }

    /// The spikes under way in a projection with state.
    pub fn delay_line(&self, projection: usize) -> Result<DelayLine> {
        match self {
            Self::Cpu(stepper) => Ok(stepper.delay_lines[projection].clone()),
            Self::Device(stepper) => stepper.delay_line(projection),
            Self::Shared => Err(of_batch()),
        }
    }

    pub fn set_delay_line(&mut self, projection: usize, line: DelayLine) -> Result<()> {
        match self {
            Self::Cpu(stepper) => {
                stepper.delay_lines[projection] = line;
                Ok(())
            }
            Self::Device(stepper) => stepper.set_delay_line(projection, &line),
            Self::Shared => Err(of_batch()),
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
            Self::Shared => Err(of_batch()),
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
            Self::Shared => Err(of_batch()),
        }
    }
}

fn of_batch() -> Error {
    Error::InvalidArgument("a member of a batch is stepped together with the others".to_owned())
}
