//! network.h: training of layered networks by back-propagation.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use amdgpu_hal::attention;
use amdgpu_neuro::LayeredNetwork;
use amdgpu_neuro::training::{
    Learner, Loss, Optimizer, Position, Report, Samples, Targets, TrainingOptions,
};

use crate::borrowed::{Described, Items, ItemsOut, Options, Out, Text, Versioned, fixed_text};
use crate::handles::{self, Handle, Object};
use crate::network::{NetworkObject, check_count, mismatch, ops_for};
use crate::objects::DeviceObject;
use crate::status::{Answer, Failure, Status, answer};

/// As in Python.
const BATCH_SIZE: usize = 32;

pub struct TrainerObject {
    // First: the device goes after the trainer's memory.
    learner: Mutex<Learner>,
    network: Arc<NetworkObject>,
    /// Of each sample.
    steps: usize,
    _device: Option<Arc<DeviceObject>>,
}

impl Object for TrainerObject {
    const KIND: u8 = 14;
}

impl TrainerObject {
    /// Trainings take turns; a trainer is whole whatever panicked.
    fn lock(&self) -> MutexGuard<'_, Learner> {
        self.learner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn network(&self) -> &LayeredNetwork {
        &self.network.0
    }
}

/// `agpu_optimizer_parameter`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OptimizerParameter {
    name: Text,
    value: f64,
}

/// `agpu_trainer_options`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CTrainerOptions {
    size_bytes: u64,
    device: Handle,
    loss: Text,
    optimizer: Text,
    parameters: Items<OptimizerParameter>,
    parameter_count: u64,
    batch_size: u64,
    steps: u64,
    l2_penalty: f64,
    seed: u64,
    keeps_order: u32,
    uses_kernels: u32,
}

// SAFETY: plain numbers and pointers; all zeros is a valid value.
unsafe impl Versioned for CTrainerOptions {
    const NAME: &'static str = "agpu_trainer_options";
    const FIRST_BYTES: usize = size_of::<Self>();
}

impl CTrainerOptions {
    fn optimizer(&self) -> Answer<Optimizer> {
        let name = self.optimizer.optional("optimizer")?.unwrap_or("adam");
        let given = self
            .parameters
            .slice(self.parameter_count as usize, "parameters")?;
        let parameters = given.iter().map(|parameter| {
            let name = parameter.name.required("name of a parameter")?;
            Ok((name.to_owned(), parameter.value as f32))
        });
        let parameters = parameters.collect::<Answer<Vec<_>>>()?;
        Ok(Optimizer::from_name(name, &parameters)?)
    }

    fn options(&self) -> Answer<TrainingOptions> {
        let loss = self.loss.optional("loss")?;
        let or = |given: u64, usual: usize| if given == 0 { usual } else { given as usize };
        Ok(TrainingOptions {
            loss: loss.map(Loss::from_name).transpose()?,
            optimizer: self.optimizer()?,
            batch_size: or(self.batch_size, BATCH_SIZE),
            steps: or(self.steps, 1),
            l2_penalty: self.l2_penalty,
            seed: self.seed,
            is_shuffled: self.keeps_order == 0,
            uses_math_core: false,
        })
    }
}

/// `agpu_trainer_facts`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TrainerFacts {
    size_bytes: u64,
    loss: [u8; 32],
    epochs: u64,
    batches: u64,
    state_count: u64,
}

// SAFETY: plain numbers; all zeros is a valid value.
unsafe impl Versioned for TrainerFacts {
    const NAME: &'static str = "agpu_trainer_facts";
    const FIRST_BYTES: usize = size_of::<Self>();
}

/// `agpu_training_samples`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TrainingSamples {
    size_bytes: u64,
    x: Items<f32>,
    values: Items<f32>,
    labels: Items<u32>,
    count: u64,
    chosen: Items<u32>,
    chosen_count: u64,
}

// SAFETY: plain numbers and pointers; all zeros is a valid value.
unsafe impl Versioned for TrainingSamples {
    const NAME: &'static str = "agpu_training_samples";
    const FIRST_BYTES: usize = size_of::<Self>();
}

impl TrainingSamples {
    /// The samples, and the numbers of those that are used.
    fn of<'a>(&self, trainer: &TrainerObject) -> Answer<(Samples<'a>, Vec<u32>)> {
        let (count, steps) = (self.count as usize, trainer.steps);
        let too_many = || mismatch(format!("{} samples are too many", self.count));
        let all = u32::try_from(count).map_err(|_| too_many())?;
        if count == 0 {
            return Err(Failure::invalid(
                "samples has count 0; there is nothing to learn from",
            ));
        }
        let inputs = trainer.network().input_size().checked_mul(steps);
        let inputs = inputs.and_then(|row| row.checked_mul(count));
        let outputs = trainer.network().output_size().checked_mul(count);
        let targets = match (self.values.is_null(), self.labels.is_null()) {
            (false, true) => {
                let len = outputs.ok_or_else(too_many)?;
                Targets::Values(self.values.slice(len, "values")?)
            }
            (true, false) => Targets::Labels(self.labels.slice(count, "labels")?),
            _ => return Err(Failure::invalid("samples have either values or labels")),
        };
        let samples = Samples {
            x: self.x.slice(inputs.ok_or_else(too_many)?, "x")?,
            count,
            steps,
            targets,
        };
        let chosen = self.chosen.slice(self.chosen_count as usize, "chosen")?;
        let chosen = if self.chosen.is_null() {
            (0..all).collect()
        } else {
            chosen.to_vec()
        };
        Ok((samples, chosen))
    }
}

/// `agpu_training_report`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TrainingReport {
    size_bytes: u64,
    loss: f64,
    accuracy: f64,
    samples: u64,
}

// SAFETY: plain numbers; all zeros is a valid value.
unsafe impl Versioned for TrainingReport {
    const NAME: &'static str = "agpu_training_report";
    const FIRST_BYTES: usize = size_of::<Self>();
}

impl From<Report> for TrainingReport {
    fn from(report: Report) -> Self {
        Self {
            size_bytes: size_of::<Self>() as u64,
            loss: report.loss,
            accuracy: report.accuracy.unwrap_or(f64::NAN),
            samples: report.samples,
        }
    }
}

/// A trainer of a layered network.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_trainer_create(
    network: Handle,
    options: Options<CTrainerOptions>,
    trainer: Out<Handle>,
) -> Status {
    answer(|| {
        let place = trainer.required("trainer")?;
        let network = handles::get::<NetworkObject>(network, "network")?;
        let given = options.read()?;
        let device = handles::get_optional::<DeviceObject>(given.device, "device")?;
        let options = given.options()?;
        let steps = options.steps;
        let ops = device
            .as_ref()
            .map(|device| ops_for(device.context.open_device()?, given.uses_kernels))
            .transpose()?
            // Where the CPU computes in place, the Matrix core trains.
            .filter(|ops| !ops.computes_on_host());
        let learner = Learner::new(&network.0, options, ops)?;
        place.write(handles::insert(Arc::new(TrainerObject {
            learner: Mutex::new(learner),
            network,
            steps,
            _device: device,
        })));
        Ok(())
    })
}

/// Facts of a trainer.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_trainer_info(trainer: Handle, info: Described<TrainerFacts>) -> Status {
    answer(|| {
        let place = info.required("info")?;
        let trainer = handles::get::<TrainerObject>(trainer, "trainer")?;
        let learner = trainer.lock();
        let position = learner.position();
        place.set(&TrainerFacts {
            size_bytes: size_of::<TrainerFacts>() as u64,
            loss: fixed_text(learner.loss().name()),
            epochs: u64::from(position.epoch),
            batches: position.step,
            state_count: learner.state_len() as u64,
        });
        Ok(())
    })
}

/// Learn from the samples once.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_trainer_epoch(
    trainer: Handle,
    samples: Options<TrainingSamples>,
    learning_rate: f64,
    report: Described<TrainingReport>,
) -> Status {
    answer(|| {
        let place = report.optional()?;
        let trainer = handles::get::<TrainerObject>(trainer, "trainer")?;
        let (samples, chosen) = samples.read()?.of(&trainer)?;
        // The network is whole between two batches: a signal handler of Python has to wait until then.
        let _deferral = attention::defer();
        let mut learner = trainer.lock();
        let network = trainer.network();
        let made = learner.epoch(network, &samples, &chosen, learning_rate, &mut |_| true)?;
        if let (Some(place), Some(made)) = (place, made) {
            place.set(&made.into());
        }
        Ok(())
    })
}

/// Loss and accuracy of the samples; nothing is learnt.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_trainer_evaluate(
    trainer: Handle,
    samples: Options<TrainingSamples>,
    report: Described<TrainingReport>,
) -> Status {
    answer(|| {
        let place = report.required("report")?;
        let trainer = handles::get::<TrainerObject>(trainer, "trainer")?;
        let (samples, chosen) = samples.read()?.of(&trainer)?;
        let made = trainer
            .lock()
            .evaluate(trainer.network(), &samples, &chosen)?;
        place.set(&made.into());
        Ok(())
    })
}

/// The gradient of the loss of one batch by every weight and bias; nothing is learnt.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_trainer_gradients(
    trainer: Handle,
    samples: Options<TrainingSamples>,
    values: ItemsOut<f32>,
    count: u64,
    report: Described<TrainingReport>,
) -> Status {
    answer(|| {
        let place = report.optional()?;
        let trainer = handles::get::<TrainerObject>(trainer, "trainer")?;
        let given = samples.read()?;
        if !given.chosen.is_null() {
            let message = "gradients are of all samples that are given; leave chosen NULL";
            return Err(Failure::invalid(message));
        }
        let (samples, _) = given.of(&trainer)?;
        check_count("values", count, trainer.network().parameter_count())?;
        let to = values.slice(count as usize, "values")?;
        let (made, gradients) = trainer.lock().gradients(trainer.network(), &samples)?;
        let all = gradients.iter().flat_map(|(_, _, values)| values);
        for (to, value) in to.iter_mut().zip(all) {
            *to = *value;
        }
        if let Some(place) = place {
            place.set(&made.into());
        }
        Ok(())
    })
}

/// What the optimizer keeps.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_trainer_state(trainer: Handle, values: ItemsOut<f32>, count: u64) -> Status {
    answer(|| {
        let trainer = handles::get::<TrainerObject>(trainer, "trainer")?;
        let state: Vec<f32> = trainer
            .lock()
            .state()?
            .into_iter()
            .flatten()
            .flatten()
            .collect();
        check_count("values", count, state.len())?;
        values
            .slice(count as usize, "values")?
            .copy_from_slice(&state);
        Ok(())
    })
}

/// Go on where another trainer was.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_trainer_restore(
    trainer: Handle,
    values: Items<f32>,
    count: u64,
    epochs: u64,
    batches: u64,
) -> Status {
    answer(|| {
        let trainer = handles::get::<TrainerObject>(trainer, "trainer")?;
        let mut learner = trainer.lock();
        let mut state = learner.state()?;
        let wanted = state.iter().flatten().map(Vec::len).sum();
        check_count("values", count, wanted)?;
        let mut rest = values.slice(count as usize, "values")?;
        for slot in state.iter_mut().flatten() {
            let (own, others) = rest.split_at(slot.len());
            slot.copy_from_slice(own);
            rest = others;
        }
        let epoch = u32::try_from(epochs).map_err(|_| {
            Failure::invalid(format!("epochs is {epochs}; it is at most {}", u32::MAX))
        })?;
        let position = Position {
            epoch,
            step: batches,
            ..Position::default()
        };
        Ok(learner.restore(&state, position)?)
    })
}
