//! A trainer on this machine's cores or on a device, for callers that learn only at run time which of the two it is.

use std::sync::Arc;

use amdgpu_ops::DeviceOps;

use super::device::DeviceOperations;
use super::{Loss, NamedGradients, Position, Report, Samples, Slots, Trainer, TrainingOptions};
use crate::error::Result;
use crate::layered_network::LayeredNetwork;

/// See the module. What its functions do and refuse is that of [`Trainer`]'s of the same name.
pub struct Learner(Kind);

enum Kind {
    Host(Box<Trainer>),
    Device(Box<Trainer<DeviceOperations>>),
}

macro_rules! either {
    ($kind:expr, $trainer:ident => $work:expr) => {
        match $kind {
            Kind::Host($trainer) => $work,
            Kind::Device($trainer) => $work,
        }
    };
}

#[allow(clippy::missing_errors_doc, reason = "those of Trainer")]
impl Learner {
    /// A trainer on a device; without one on this machine's cores.
    pub fn new(
        network: &LayeredNetwork,
        options: TrainingOptions,
        ops: Option<Arc<DeviceOps>>,
    ) -> Result<Self> {
        let kind = match ops {
            None => Kind::Host(Box::new(Trainer::new(network, options)?)),
            Some(ops) => {
                let operations = DeviceOperations::new(ops);
                let trainer = Trainer::with_operations(network, options, operations)?;
                Kind::Device(Box::new(trainer))
            }
        };
        Ok(Self(kind))
    }

    #[must_use]
    pub fn loss(&self) -> Loss {
        either!(&self.0, trainer => trainer.loss())
    }

    #[must_use]
    pub fn position(&self) -> Position {
        either!(&self.0, trainer => trainer.position())
    }

    pub fn state(&self) -> Result<Slots> {
        either!(&self.0, trainer => trainer.state())
    }

    #[must_use]
    pub fn state_len(&self) -> usize {
        either!(&self.0, trainer => trainer.state_len())
    }

    pub fn restore(&mut self, slots: &Slots, position: Position) -> Result<()> {
        either!(&mut self.0, trainer => trainer.restore(slots, position))
    }

    pub fn hold(&mut self, x: &[f32], of_sample: usize) -> Result<()> {
        either!(&mut self.0, trainer => trainer.hold(x, of_sample))
    }

    pub fn release(&mut self) {
        either!(&mut self.0, trainer => trainer.release());
    }

    pub fn epoch(
        &mut self,
        network: &LayeredNetwork,
        data: &Samples<'_>,
        chosen: &[u32],
        learning_rate: f64,
        after_batch: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Option<Report>> {
        either!(&mut self.0, trainer => {
            trainer.epoch(network, data, chosen, learning_rate, after_batch)
        })
    }

    pub fn evaluate(
        &mut self,
        network: &LayeredNetwork,
        data: &Samples<'_>,
        chosen: &[u32],
    ) -> Result<Report> {
        either!(&mut self.0, trainer => trainer.evaluate(network, data, chosen))
    }

    pub fn gradients(
        &mut self,
        network: &LayeredNetwork,
        data: &Samples<'_>,
    ) -> Result<(Report, NamedGradients)> {
        either!(&mut self.0, trainer => trainer.gradients(network, data))
    }
}
