//! Training of layered networks by back-propagation (Rumelhart, Hinton and Williams 1986).
//!
//! Contract
//! - A [`Trainer`] belongs to one [`LayeredNetwork`] and is handed the same one with every call. It owns what the optimizer keeps, and where in
//!   the samples the training stands: [`Trainer::state`] and [`Trainer::restore`] carry both over, and the training goes on with the same bits.
//! - What is computed goes through the trait [`operations::Operations`], which [`cpu::CpuOperations`] implements on the Matrix core and
//!   [`device::DeviceOperations`] on any device.
//! - The order of an epoch follows from (seed, epoch), matrix multiplications are those of the forward pass: any number of threads gives the
//!   same bits, and so does every device of a class.
//! - A batch changes all weights or none: new weights are computed beside the old ones, checked, and exchanged under the network's lock.
//!   Forward passes of other threads go on meanwhile. A gradient, weight or loss that is not finite is an error, and the network keeps
//!   what it had before the batch.
//! - The caller is asked after every batch whether to go on.

pub mod cpu;
pub mod device;
mod learner;
mod loss;
pub mod operations;
mod optimizer;
mod order;
mod readout;
mod slope;
pub(crate) mod tensors;
mod workspace;

use amdgpu_abi::ACTIVATION_SOFTMAX;
use amdgpu_telemetry::{Core, Kind, Record, emit, now_ns};

use crate::error::{Error, Result};
use crate::finite;
use crate::layered_network::{LayeredNetwork, count_on_device};

pub use learner::Learner;
pub use loss::{Loss, Targets};
pub use optimizer::Optimizer;
pub(crate) use optimizer::{AdamStep, StepSize};
pub use order::{order, split};
pub use workspace::Samples;

use cpu::CpuOperations;
use operations::{Operations, Tensors, TensorsRef};
use tensors::other_tensors;
use workspace::{Engine, Totals, Workspace};

/// How a network is trained.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingOptions {
    /// `None`: cross entropy where every output layer is softmax, else the mean squared error.
    pub loss: Option<Loss>,
    pub optimizer: Optimizer,
    pub batch_size: usize,
    /// Of each sample; 1 where no layer has a state.
    pub steps: usize,
    /// `penalty / 2 * sum(weight²)` is added to the loss; biases are free.
    pub l2_penalty: f64,
    /// Chooses the order of the samples.
    pub seed: u64,
    pub is_shuffled: bool,
    /// Let the Math core (Julia) do the optimizer's arithmetic; the bits are the same.
    pub uses_math_core: bool,
}

/// Where a training stands. `Default` is its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Position {
    /// Epochs that are complete.
    pub epoch: u32,
    /// Samples of the epoch in progress that were learnt.
    pub samples: u64,
    /// Batches since the beginning.
    pub step: u64,
    /// Of the epoch in progress.
    pub loss_sum: f64,
    pub correct: u64,
}

/// What an epoch, or an evaluation, gave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// Mean over the samples, with the penalty of weights in training.
    pub loss: f64,
    /// Share of right classes; `None` without classes.
    pub accuracy: Option<f64>,
    pub samples: u64,
}

/// Optimizer state: for each matrix and bias of the network, the numbers that its optimizer keeps.
pub type Slots = Vec<Vec<Vec<f32>>>;

/// See the module.
pub struct Trainer<O: Operations = CpuOperations> {
    options: TrainingOptions,
    loss: Loss,
    has_classes: bool,
    operations: O,
    workspace: Workspace<O>,
    /// Becomes the network's weights and biases when a batch is done.
    next: Tensors<O::Buffer>,
    slots: Vec<Vec<O::Buffer>>,
    position: Position,
}

impl Trainer {
    /// A trainer on this machine's cores.
    ///
    /// # Errors
    ///
    /// As [`Trainer::with_operations`]; the Matrix core (or Julia, when it was asked for) is missing.
    pub fn new(network: &LayeredNetwork, options: TrainingOptions) -> Result<Self> {
        let operations = CpuOperations::open(options.uses_math_core)?;
        Self::with_operations(network, options, operations)
    }
}

impl<O: Operations> Trainer<O> {
    /// A trainer on the device of `operations`.
    ///
    /// # Errors
    ///
    /// The options are out of range or do not fit the network; memory is out.
    pub fn with_operations(
        network: &LayeredNetwork,
        options: TrainingOptions,
        operations: O,
    ) -> Result<Self> {
        let loss = loss_of(network, &options)?;
        check_options(&options)?;
        network.check_steps(options.steps)?;
        let next = operations
            .with_parameters(network, |parameters| zeros_like(&operations, parameters))?;
        let slots = next
            .iter()
            .map(|tensor| {
                let len = operations.len(tensor);
                (0..options.optimizer.slots())
                    .map(|_| operations.zeros(len, &|| "the optimizer".to_owned()))
                    .collect()
            })
            .collect::<Result<_>>()?;
        let extent = (options.batch_size, options.steps);
        Ok(Self {
            loss,
            has_classes: loss == Loss::CrossEntropy && network.outputs.len() == 1,
            workspace: Workspace::new(network, &operations, extent, loss)?,
            operations,
            next,
            slots,
            position: Position::default(),
            options,
        })
    }

    /// What is made small.
    #[must_use]
    pub fn loss(&self) -> Loss {
        self.loss
    }

    #[must_use]
    pub fn position(&self) -> Position {
        self.position
    }

    /// A copy of what the optimizer keeps.
    ///
    /// # Errors
    ///
    /// Memory is out; the device fails.
    pub fn state(&self) -> Result<Slots> {
        let read = |slots: &Vec<O::Buffer>| {
            slots
                .iter()
                .map(|slot| self.operations.read(slot))
                .collect()
        };
        self.slots.iter().map(read).collect()
    }

    /// How many numbers the optimizer keeps.
    #[must_use]
    pub fn state_len(&self) -> usize {
        let slots = self.slots.iter().flatten();
        slots.map(|slot| self.operations.len(slot)).sum()
    }

    /// Go on from another trainer's state.
    ///
    /// # Errors
    ///
    /// The state is of another network or optimizer, or holds NaN or infinity. Nothing is changed then.
    pub fn restore(&mut self, slots: &Slots, position: Position) -> Result<()> {
        let lens: Vec<Vec<usize>> = slots
            .iter()
            .map(|slots| slots.iter().map(Vec::len).collect())
            .collect();
        let own: Vec<Vec<usize>> = self
            .slots
            .iter()
            .map(|slots| slots.iter().map(|slot| self.operations.len(slot)).collect())
            .collect();
        if lens != own {
            return Err(Error::ShapeMismatch(
                "the saved optimizer belongs to another network or is another optimizer".to_owned(),
            ));
        }
        for values in slots.iter().flatten() {
            finite::check_vector("the saved optimizer", values)?;
        }
        let saved = slots.iter().flatten();
        for (own, saved) in self.slots.iter_mut().flatten().zip(saved) {
            self.operations.write(saved, own)?;
        }
        self.position = position;
        Ok(())
    }

    /// Learn from `chosen` samples of `data` once, batch after batch; `after_batch` gets the samples that are done and says whether to go on.
    /// `None` when it said no: the next call goes on behind the last batch.
    ///
    /// # Errors
    ///
    /// Lengths that do not fit; a sample, target, loss, gradient or weight that is NaN or infinite; memory is out.
    pub fn epoch(
        &mut self,
        network: &LayeredNetwork,
        data: &Samples<'_>,
        chosen: &[u32],
        learning_rate: f64,
        after_batch: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Option<Report>> {
        // All of them are near the device where most are learnt from.
        let is_held_here = !self.operations.holds(data.x) && chosen.len() >= data.count.div_ceil(2);
        if is_held_here {
            self.hold(data.x, data.x.len() / data.count.max(1))?;
        }
        let learnt = self.learn(network, data, chosen, learning_rate, after_batch);
        if is_held_here {
            self.release();
        }
        // The network outlives the device.
        let caught_up = network.read().map(drop);
        let report = learnt?;
        caught_up?;
        if report.is_some() && network.snapshot.wants_weights() {
            network.snapshot.set_weights(network.weight_sample());
        }
        Ok(report)
    }

    /// Keeps samples near the device until [`Trainer::release`]: epochs over the same slice read it there, and see no change of it.
    ///
    /// # Errors
    ///
    /// The device fails.
    pub fn hold(&mut self, x: &[f32], of_sample: usize) -> Result<()> {
        self.operations.hold(x, of_sample)
    }

    /// Gives back what [`Trainer::hold`] took.
    pub fn release(&mut self) {
        self.operations.release();
    }

    fn learn(
        &mut self,
        network: &LayeredNetwork,
        data: &Samples<'_>,
        chosen: &[u32],
        learning_rate: f64,
        after_batch: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Option<Report>> {
        self.check_data(network, data, chosen)?;
        if !(learning_rate.is_finite() && learning_rate >= 0.0) {
            return Err(Error::InvalidArgument(format!(
                "learning_rate is {learning_rate}; it is a finite number from 0"
            )));
        }
        let start_ns = now_ns();
        let mut order = chosen.to_vec();
        if self.options.is_shuffled {
            order::shuffle_epoch(&mut order, self.options.seed, self.position.epoch);
        }
        let done = usize::try_from(self.position.samples).unwrap_or(usize::MAX);
        for batch in order
            .get(done..)
            .unwrap_or_default()
            .chunks(self.options.batch_size)
        {
            let batch_ns = now_ns();
            self.batch(network, data, batch, learning_rate)?;
            self.count_batch(network, batch_ns);
            if !after_batch(self.position.samples) {
                if self.position.samples < order.len() as u64 {
                    return Ok(None);
                }
                break;
            }
        }
        let totals = Totals {
            loss: self.position.loss_sum,
            samples: self.position.samples,
            correct: self.position.correct,
        };
        let report = self.report(totals);
        self.position = Position {
            epoch: self.position.epoch.saturating_add(1),
            step: self.position.step,
            ..Position::default()
        };
        emit(
            Record::new(Kind::NeuralUpdate, network.steps.name)
                .core(Core::Neuromorphic)
                .language(self.operations.language())
                .at(start_ns, now_ns().saturating_sub(start_ns))
                .value(report.samples)
                .detail(
                    report.loss.to_bits(),
                    report.accuracy.unwrap_or(f64::NAN).to_bits(),
                ),
        );
        network
            .snapshot
            .learnt(report.samples, report.loss, report.accuracy);
        Ok(Some(report))
    }

    /// Loss and accuracy over `chosen` samples; nothing is learnt.
    ///
    /// # Errors
    ///
    /// As [`Trainer::epoch`].
    pub fn evaluate(
        &mut self,
        network: &LayeredNetwork,
        data: &Samples<'_>,
        chosen: &[u32],
    ) -> Result<Report> {
        self.check_data(network, data, chosen)?;
        let mut totals = Totals::default();
        for batch in chosen.chunks(self.options.batch_size) {
            let batch_ns = now_ns();
            let (workspace, operations, loss) = (&mut self.workspace, &self.operations, self.loss);
            let found = operations.with_parameters(network, |parameters| {
                let engine = Engine {
                    network,
                    parameters,
                    operations,
                    loss,
                };
                workspace.forward(&engine, data, batch)
            })?;
            totals.add(found);
            self.count_batch(network, batch_ns);
        }
        Ok(self.report(totals))
    }

    fn count_batch(&self, network: &LayeredNetwork, start_ns: u64) {
        let duration_ns = now_ns().saturating_sub(start_ns);
        let language = self.operations.language();
        match self.operations.device() {
            Some(device) => count_on_device(device, language),
            None => network.steps.add_on_host(language, duration_ns),
        }
    }

    /// Loss of one batch and its gradients: for each layer the stacked weights' and the biases'. Nothing is learnt.
    ///
    /// # Errors
    ///
    /// As [`Trainer::epoch`], or there are more samples than a batch has.
    pub fn gradients(
        &mut self,
        network: &LayeredNetwork,
        data: &Samples<'_>,
    ) -> Result<(Report, NamedGradients)> {
        let chosen: Vec<u32> = (0..u32::try_from(data.count).unwrap_or(u32::MAX)).collect();
        self.check_data(network, data, &chosen)?;
        if data.count > self.options.batch_size || data.count == 0 {
            return Err(Error::ShapeMismatch(format!(
                "gradients are of 1 to {} samples; {} were given",
                self.options.batch_size, data.count
            )));
        }
        let totals = self.differentiate(network, data, &chosen)?;
        let gradients = &self.workspace.gradients;
        let mut named = NamedGradients::new();
        let weights = gradients.weights.iter();
        let weights = weights.map(|weight| self.operations.read(weight));
        let weights: Vec<_> = weights.collect::<Result<_>>()?;
        for (range, connection) in network.layout.ranges.iter().zip(&network.plan.connections) {
            let values = &weights[range.target][range.begin..range.begin + range.len];
            named.push((
                connection.name(),
                connection.shape.to_vec(),
                values.to_vec(),
            ));
        }
        for (layer, bias) in network.plan.layers.iter().zip(&gradients.biases) {
            if let Some(bias) = bias {
                let values = self.operations.read(bias)?;
                named.push((layer.name.clone(), vec![values.len()], values));
            }
        }
        Ok((self.report(totals), named))
    }

    fn check_data(
        &self,
        network: &LayeredNetwork,
        data: &Samples<'_>,
        chosen: &[u32],
    ) -> Result<()> {
        if data.steps != self.options.steps {
            return Err(Error::ShapeMismatch(format!(
                "samples of {} steps; the training was begun with {}",
                data.steps, self.options.steps
            )));
        }
        network.check_input_len(data.x.len(), data.count.saturating_mul(data.steps))?;
        data.targets.check_len(data.count, network.output_size())?;
        if matches!(data.targets, Targets::Labels(_)) && network.outputs.len() > 1 {
            return Err(Error::InvalidArgument(
                "labels are for a network with one output layer; give values for each output"
                    .to_owned(),
            ));
        }
        if let Targets::Labels(labels) = data.targets
            && let Some(sample) = labels
                .iter()
                .position(|label| *label as usize >= network.output_size())
        {
            return Err(Error::InvalidArgument(format!(
                "the label of sample {sample} is {}; the network has {} classes, 0 to {}",
                labels[sample],
                network.output_size(),
                network.output_size() - 1
            )));
        }
        if let Some(sample) = chosen.iter().find(|sample| **sample as usize >= data.count) {
            return Err(Error::ShapeMismatch(format!(
                "sample {sample} was chosen of {}",
                data.count
            )));
        }
        Ok(())
    }

    /// Forward and backward; the penalty is in the gradients and in the loss.
    fn differentiate(
        &mut self,
        network: &LayeredNetwork,
        data: &Samples<'_>,
        batch: &[u32],
    ) -> Result<Totals> {
        let (operations, loss) = (&self.operations, self.loss);
        let (workspace, next) = (&mut self.workspace, &self.next);
        let l2_penalty = self.options.l2_penalty;
        operations.with_parameters(network, |parameters| {
            check_same_tensors(operations, parameters, next.as_ref())?;
            let engine = Engine {
                network,
                parameters,
                operations,
                loss,
            };
            let mut totals = workspace.forward(&engine, data, batch)?;
            workspace.backward(&engine, batch.len())?;
            if l2_penalty > 0.0 {
                let penalty = l2_penalty as f32;
                let mut squares = 0.0;
                let gradients = workspace.gradients.weights.iter_mut();
                for (gradient, weight) in gradients.zip(parameters.weights) {
                    operations.add_penalty(weight, penalty, gradient, &mut squares)?;
                }
                totals.loss += 0.5 * l2_penalty * squares * batch.len() as f64;
            }
            Ok(totals)
        })
    }

    fn batch(
        &mut self,
        network: &LayeredNetwork,
        data: &Samples<'_>,
        batch: &[u32],
        learning_rate: f64,
    ) -> Result<()> {
        let totals = self.differentiate(network, data, batch)?;
        let gradients = &self.workspace.gradients;
        check_finite(&self.operations, "the gradient", gradients)?;
        let (operations, next) = (&self.operations, &mut self.next);
        operations.with_parameters(network, |parameters| {
            check_same_tensors(operations, parameters, next.as_ref())?;
            let mut pairs = next.iter_mut().zip(parameters.iter());
            pairs.try_for_each(|(next, current)| operations.copy(current, next))
        })?;
        let size = StepSize {
            learning_rate,
            step: self.position.step + 1,
        };
        let optimizer = self.options.optimizer;
        let gradients = self.workspace.gradients.iter();
        let tensors = self.next.iter_mut().zip(gradients).zip(&mut self.slots);
        for ((weights, gradients), slots) in tensors {
            let operations = &self.operations;
            operations.update(optimizer, size, gradients, slots, weights)?;
        }
        check_finite(&self.operations, "a weight", &self.next)?;
        self.operations.commit(network, &mut self.next)?;
        self.position.step += 1;
        self.position.samples += totals.samples;
        self.position.loss_sum += totals.loss;
        self.position.correct += totals.correct;
        Ok(())
    }

    fn report(&self, totals: Totals) -> Report {
        let samples = totals.samples.max(1) as f64;
        Report {
            loss: totals.loss / samples,
            accuracy: self.has_classes.then(|| totals.correct as f64 / samples),
            samples: totals.samples,
        }
    }
}

/// Name of a connection or layer, shape, values.
pub type NamedGradients = Vec<(String, Vec<usize>, Vec<f32>)>;

impl<O: Operations> std::fmt::Debug for Trainer<O> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Trainer")
            .field("options", &self.options)
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}

fn check_finite<O: Operations>(
    operations: &O,
    what: &str,
    tensors: &Tensors<O::Buffer>,
) -> Result<()> {
    let all: Vec<_> = tensors.iter().collect();
    if operations.are_finite(&all)? {
        return Ok(());
    }
    for values in all {
        if let Some((place, value)) = operations.first_not_finite(values, operations.len(values))? {
            return Err(Error::NotFinite {
                what: format!("{what} in training (a smaller learning rate may help)"),
                value,
                place: format!("[{place}]"),
            });
        }
    }
    Ok(())
}

/// Buffers of zeros of the same lengths.
fn zeros_like<O: Operations>(
    operations: &O,
    tensors: TensorsRef<'_, O::Buffer>,
) -> Result<Tensors<O::Buffer>> {
    let like =
        |tensor: &O::Buffer| operations.zeros(operations.len(tensor), &|| "gradients".to_owned());
    let biases = tensors.biases.iter();
    Ok(Tensors {
        weights: tensors.weights.iter().map(like).collect::<Result<_>>()?,
        biases: biases
            .map(|bias| bias.as_ref().map(like).transpose())
            .collect::<Result<_>>()?,
    })
}

/// A layer may get biases while a trainer is at work on it; what the trainer keeps no longer fits then.
fn check_same_tensors<O: Operations>(
    operations: &O,
    current: TensorsRef<'_, O::Buffer>,
    own: TensorsRef<'_, O::Buffer>,
) -> Result<()> {
    let lens = |tensors: TensorsRef<'_, O::Buffer>| -> Vec<usize> {
        tensors
            .iter()
            .map(|tensor| operations.len(tensor))
            .collect()
    };
    if lens(current) == lens(own) {
        Ok(())
    } else {
        Err(other_tensors())
    }
}

fn loss_of(network: &LayeredNetwork, options: &TrainingOptions) -> Result<Loss> {
    let other = network
        .outputs
        .iter()
        .find(|layer| network.activations[**layer].kind != ACTIVATION_SOFTMAX);
    match (options.loss, other) {
        (Some(Loss::CrossEntropy), Some(layer)) => Err(Error::InvalidArgument(format!(
            "cross entropy needs softmax outputs; layer '{}' has the activation {}: change it, or take the loss mean_squared_error",
            network.plan.layers[*layer].name, network.plan.layers[*layer].activation.kind
        ))),
        (Some(loss), _) => Ok(loss),
        (None, None) => Ok(Loss::CrossEntropy),
        (None, Some(_)) => Ok(Loss::MeanSquaredError),
    }
}

fn check_options(options: &TrainingOptions) -> Result<()> {
    let refuse = |message: String| Err(Error::InvalidArgument(message));
    if options.batch_size == 0 {
        return refuse("batch_size is 0; a batch has at least one sample".to_owned());
    }
    if !(options.l2_penalty.is_finite() && options.l2_penalty >= 0.0) {
        return refuse(format!(
            "the L2 penalty is {}; it is a finite number from 0",
            options.l2_penalty
        ));
    }
    let shares: &[(&str, f32)] = match &options.optimizer {
        Optimizer::Sgd => &[],
        Optimizer::Momentum { momentum } => &[("momentum", *momentum)],
        Optimizer::Adaptive { decay } => &[("decay", *decay)],
        Optimizer::Adam {
            beta_1,
            beta_2,
            epsilon,
        } => {
            if !(*epsilon > 0.0 && epsilon.is_finite()) {
                return refuse(format!(
                    "epsilon is {epsilon}; it is a finite number above 0"
                ));
            }
            &[("beta_1", *beta_1), ("beta_2", *beta_2)]
        }
    };
    for (name, value) in shares {
        if !(0.0..1.0).contains(value) {
            return refuse(format!("{name} is {value}; it lies from 0 to below 1"));
        }
    }
    Ok(())
}
