//! Training of layered networks by back-propagation (Rumelhart, Hinton and Williams 1986) on the Matrix core.
//!
//! Contract
//! - A [`Trainer`] belongs to one [`Network`] and is handed the same one with every call. It owns what the optimizer keeps, and where in
//!   the samples the training stands: [`Trainer::state`] and [`Trainer::restore`] carry both over, and the training goes on with the same bits.
//! - The order of an epoch follows from (seed, epoch), the products from the Matrix core: any number of threads gives the same bits.
//! - A batch changes all weights or none: new weights are computed beside the old ones, checked, and exchanged under the network's lock.
//!   Forward passes of other threads go on meanwhile. A gradient, weight or loss that is not finite is an error, and the network keeps
//!   what it had before the batch.
//! - The caller is asked after every batch whether to go on.

mod loss;
mod optimizer;
mod order;
mod readout;
mod slope;
mod workspace;

use std::sync::Arc;

use amdgpu_abi::ACTIVATION_SOFTMAX;
use amdgpu_math::Math;
use amdgpu_matrix::Matrix;
use amdgpu_telemetry::{Core, Kind, Record, emit, now_ns};

use crate::backend::{DenseBackend, DenseBackendKind};
use crate::error::{Error, Result};
use crate::finite;
use crate::network::Network;
use crate::parameters::{Parameters, zeros};

pub use loss::{Loss, Targets};
pub use optimizer::Optimizer;
pub use order::{order, split};
pub use workspace::Samples;

use optimizer::{Arithmetic, StepSize};
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
pub struct Trainer {
    options: TrainingOptions,
    loss: Loss,
    has_classes: bool,
    dense: Arc<dyn DenseBackend>,
    matrix: &'static Matrix,
    arithmetic: Arithmetic,
    workspace: Workspace,
    /// Becomes the network's numbers when a batch is done.
    next: Parameters,
    slots: Slots,
    position: Position,
}

impl Trainer {
    /// # Errors
    ///
    /// The options are out of range or do not fit the network; the Matrix core (or Julia, when it was asked for) is missing; memory is out.
    pub fn new(network: &Network, options: TrainingOptions) -> Result<Self> {
        let loss = loss_of(network, &options)?;
        check_options(&options)?;
        network.check_steps(options.steps)?;
        let next = network.read().zeros_like()?;
        let slots = next
            .tensors()
            .map(|tensor| {
                (0..options.optimizer.slots())
                    .map(|_| zeros(tensor.len(), || "the optimizer".to_owned()))
                    .collect()
            })
            .collect::<Result<_>>()?;
        Ok(Self {
            loss,
            has_classes: loss == Loss::CrossEntropy && network.outputs.len() == 1,
            dense: DenseBackendKind::Matrix.open()?,
            matrix: Matrix::global().map_err(|error| Error::from_core(&error))?,
            arithmetic: if options.uses_math_core {
                Arithmetic::Julia(Math::global().map_err(|error| Error::from_core(&error))?)
            } else {
                Arithmetic::Rust
            },
            workspace: Workspace::new(network, options.batch_size, options.steps, loss)?,
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

    /// What the optimizer keeps.
    #[must_use]
    pub fn state(&self) -> &Slots {
        &self.slots
    }

    /// Go on from another trainer's state.
    ///
    /// # Errors
    ///
    /// The state is of another network or optimizer, or holds NaN or infinity. Nothing is changed then.
    pub fn restore(&mut self, slots: Slots, position: Position) -> Result<()> {
        let lens = |slots: &Slots| -> Vec<Vec<usize>> {
            slots
                .iter()
                .map(|slots| slots.iter().map(Vec::len).collect())
                .collect()
        };
        if lens(&slots) != lens(&self.slots) {
            return Err(Error::ShapeMismatch(
                "the saved optimizer belongs to another network or is another optimizer".to_owned(),
            ));
        }
        for values in slots.iter().flatten() {
            finite::check_vector("the saved optimizer", values)?;
        }
        self.slots = slots;
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
        network: &Network,
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
                .language(self.dense.language())
                .at(start_ns, now_ns().saturating_sub(start_ns))
                .value(report.samples)
                .detail(
                    report.loss.to_bits(),
                    report.accuracy.unwrap_or(f64::NAN).to_bits(),
                ),
        );
        network
            .board
            .learnt(report.samples, report.loss, report.accuracy);
        if network.board.wants_weights() {
            network.board.set_weights(network.weight_sample());
        }
        Ok(Some(report))
    }

    /// Loss and accuracy over `chosen` samples; nothing is learnt.
    ///
    /// # Errors
    ///
    /// As [`Trainer::epoch`].
    pub fn evaluate(
        &mut self,
        network: &Network,
        data: &Samples<'_>,
        chosen: &[u32],
    ) -> Result<Report> {
        self.check_data(network, data, chosen)?;
        let mut totals = Totals::default();
        for batch in chosen.chunks(self.options.batch_size) {
            let parameters = network.read();
            let engine = self.engine(network, &parameters);
            let batch_ns = now_ns();
            totals.add(self.workspace.forward(&engine, data, batch)?);
            self.count_batch(network, batch_ns);
        }
        Ok(self.report(totals))
    }

    fn count_batch(&self, network: &Network, start_ns: u64) {
        let duration_ns = now_ns().saturating_sub(start_ns);
        network
            .steps
            .add_on_host(self.dense.language(), duration_ns);
    }

    /// Loss of one batch and its gradients: for each layer the stacked weights' and the biases'. Nothing is learnt.
    ///
    /// # Errors
    ///
    /// As [`Trainer::epoch`], or there are more samples than a batch has.
    pub fn gradients(
        &mut self,
        network: &Network,
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
        let weights = network.layout.ranges.iter().zip(&network.plan.connections);
        let weights = weights.map(|(range, connection)| {
            (
                connection.name(),
                connection.shape.to_vec(),
                gradients.weight(*range).to_vec(),
            )
        });
        let biases = network.plan.layers.iter().zip(&gradients.biases);
        let biases = biases.filter_map(|(layer, bias)| {
            let bias = bias.clone()?;
            Some((layer.name.clone(), vec![bias.len()], bias))
        });
        Ok((self.report(totals), weights.chain(biases).collect()))
    }

    /// A layer may get biases while a trainer is at work on it; what the trainer keeps no longer fits then.
    fn check_same_tensors(&self, parameters: &Parameters) -> Result<()> {
        let lens = |parameters: &Parameters| -> Vec<usize> {
            parameters.tensors().map(Vec::len).collect()
        };
        if lens(parameters) == lens(&self.next) {
            return Ok(());
        }
        Err(Error::ShapeMismatch(
            "the network got other biases since its training began: begin a new one".to_owned(),
        ))
    }

    fn check_data(&self, network: &Network, data: &Samples<'_>, chosen: &[u32]) -> Result<()> {
        if data.steps != self.options.steps {
            return Err(Error::ShapeMismatch(format!(
                "samples of {} steps; the training was begun with {}",
                data.steps, self.options.steps
            )));
        }
        network.check_input_len(data.x, data.count.saturating_mul(data.steps))?;
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

    fn engine<'a>(&self, network: &'a Network, parameters: &'a Parameters) -> Engine<'a>
    where
        Self: 'a,
    {
        Engine {
            network,
            parameters,
            dense: self.dense.clone(),
            matrix: self.matrix,
            loss: self.loss,
        }
    }

    /// Forward and backward; the penalty is in the gradients and in the loss.
    fn differentiate(
        &mut self,
        network: &Network,
        data: &Samples<'_>,
        batch: &[u32],
    ) -> Result<Totals> {
        let parameters = network.read();
        self.check_same_tensors(&parameters)?;
        let engine = self.engine(network, &parameters);
        let mut totals = self.workspace.forward(&engine, data, batch)?;
        self.workspace.backward(&engine, batch.len())?;
        if self.options.l2_penalty > 0.0 {
            let penalty = self.options.l2_penalty as f32;
            let mut squares = 0.0;
            let pairs = self
                .workspace
                .gradients
                .weights
                .iter_mut()
                .zip(&parameters.weights);
            for (gradients, weights) in pairs {
                for (gradient, weight) in gradients.iter_mut().zip(weights) {
                    *gradient += penalty * weight;
                    squares += f64::from(*weight) * f64::from(*weight);
                }
            }
            totals.loss += 0.5 * self.options.l2_penalty * squares * batch.len() as f64;
        }
        Ok(totals)
    }

    fn batch(
        &mut self,
        network: &Network,
        data: &Samples<'_>,
        batch: &[u32],
        learning_rate: f64,
    ) -> Result<()> {
        let totals = self.differentiate(network, data, batch)?;
        let diverged =
            |what: &str| format!("{what} in training (a smaller learning rate may help)");
        for gradient in self.workspace.gradients.tensors() {
            finite::check_vector(&diverged("the gradient"), gradient)?;
        }
        {
            let parameters = network.read();
            self.check_same_tensors(&parameters)?;
            for (next, current) in self.next.tensors_mut().zip(parameters.tensors()) {
                next.copy_from_slice(current);
            }
        }
        let size = StepSize {
            learning_rate,
            step: self.position.step + 1,
        };
        let tensors = self
            .next
            .tensors_mut()
            .zip(self.workspace.gradients.tensors());
        for ((weights, gradients), slots) in tensors.zip(&mut self.slots) {
            optimizer::update(
                self.options.optimizer,
                self.arithmetic,
                size,
                gradients,
                slots,
                weights,
            )?;
            finite::check_vector(&diverged("a weight"), weights)?;
        }
        let mut parameters = network.write();
        self.check_same_tensors(&parameters)?;
        std::mem::swap(&mut parameters.weights, &mut self.next.weights);
        std::mem::swap(&mut parameters.biases, &mut self.next.biases);
        drop(parameters);
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

impl std::fmt::Debug for Trainer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Trainer")
            .field("options", &self.options)
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}

fn loss_of(network: &Network, options: &TrainingOptions) -> Result<Loss> {
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
