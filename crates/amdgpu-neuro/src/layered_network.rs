//! A layered network: its plan, its weights and biases, and access to them.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use amdgpu_abi::{ACTIVATION_SOFTMAX, Activation, Language, MetricId};
use amdgpu_array::Array;
use amdgpu_telemetry::{Core, Counter, NameId, add_host_busy, counter, intern};

use crate::device::keepers::{Keepers, Placed};
use crate::error::{Error, Result};
use crate::external_inputs::{Arrays, ExternalInputs};
use crate::finite;
use crate::parameters::{Layout, Parameters, bias_name, weight_name};
use crate::plan::{LayeredNetworkPlan, NetworkPlan, Warning};
use crate::temporal::Temporal;
use crate::training::tensors::{Tensors, TensorsRef, other_tensors};
use crate::watch::{self, NetworkSnapshot, Population, WeightSample};

/// What a plan leaves open.
#[derive(Clone, Debug, Default)]
pub struct BuildOptions {
    /// Where relative paths of `file("…")` start; empty is the working directory.
    pub base_directory: PathBuf,
    /// What `array("…")` names.
    pub arrays: Arrays,
}

/// A network that can be stepped. See the crate root for what it promises.
#[derive(Debug)]
pub struct LayeredNetwork {
    pub(crate) plan: LayeredNetworkPlan,
    pub(crate) layout: Layout,
    pub(crate) activations: Vec<Activation>,
    /// Of layers with a state.
    pub(crate) temporal: Vec<Option<Temporal>>,
    pub(crate) order: Vec<usize>,
    pub(crate) input: usize,
    pub(crate) outputs: Vec<usize>,
    pub(crate) parameters: RwLock<Parameters>,
    /// Changes whenever numbers do; written under the lock of the parameters.
    version: AtomicU64,
    pub(crate) steps: CountedSteps,
    pub(crate) snapshot: Arc<NetworkSnapshot>,
    /// Devices that hold the numbers, too.
    pub(crate) keepers: Keepers,
}

/// Where the steps of a network are counted.
pub(crate) struct CountedSteps {
    pub total: Counter,
    /// Steps on this machine's cores as what the Neuromorphic core did there.
    host_operations: Counter,
    pub name: NameId,
}

impl CountedSteps {
    /// A pass over samples was computed by this machine's cores, by a library of `language`. The Nim library counts its calls itself.
    pub fn add_on_host(&self, language: Language, duration_ns: u64) {
        if language != Language::Nim {
            self.host_operations.increment();
            add_host_busy(Core::Neuromorphic, duration_ns);
        }
    }
}

/// A pass over samples was computed by a device.
pub(crate) fn count_on_device(device: &str, language: Language) {
    let labels = [device, Core::Neuromorphic.name(), language.name()];
    counter(MetricId::OperationsTotal, &labels).increment();
}

impl std::fmt::Debug for CountedSteps {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("CountedSteps")
    }
}

/// The network's snapshot, which watchers read from now on. Layers are computed by this machine's cores.
fn new_snapshot(plan: &LayeredNetworkPlan) -> Arc<NetworkSnapshot> {
    let layers = plan.layers.iter().map(|layer| Population {
        name: layer.name.clone(),
        size: layer.size,
        spikes: 0,
        rate_hz: None,
    });
    let snapshot = NetworkSnapshot::new(
        &plan.name,
        "layered",
        "cpu:0",
        plan.dt_seconds.unwrap_or_default(),
        layers.collect(),
    );
    let snapshot = Arc::new(snapshot);
    watch::register(&snapshot);
    snapshot
}

fn activations_of(plan: &LayeredNetworkPlan) -> Result<Vec<Activation>> {
    let layers = plan.layers.iter();
    layers
        .map(|layer| {
            layer.activation.to_abi().ok_or_else(|| {
                Error::InvalidDescription(format!("unknown activation {:?}", layer.activation.kind))
            })
        })
        .collect()
}

impl LayeredNetwork {
    /// Compile network text and build it, with the working directory as base directory.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] with every finding of the text; the Nim library is missing or stale; memory is out; a weight file is wrong.
    pub fn from_text(text: &str) -> Result<Self> {
        Self::build(&NetworkPlan::compile(text, "")?, &BuildOptions::default())
    }

    /// Build the network of a plan.
    ///
    /// # Errors
    ///
    /// The plan is that of a spiking network; memory is out; a weight file or array is wrong.
    pub fn build(plan: &NetworkPlan, options: &BuildOptions) -> Result<Self> {
        let mut plan = plan.layered()?.clone();
        plan.resolve(&ExternalInputs {
            base_directory: options.base_directory.clone(),
            arrays: options.arrays.clone(),
        })?;
        let layout = Layout::of(&plan)?;
        let parameters = Parameters::initial(&plan, &layout, &options.base_directory)?;
        let indices = plan.layer_indices();
        let index_of = |name: &String| {
            indices.get(name.as_str()).copied().ok_or_else(|| {
                Error::InvalidDescription(format!("the network plan has no layer {name:?}"))
            })
        };
        let order = plan.order.iter().map(index_of).collect::<Result<_>>()?;
        let outputs = plan.outputs.iter().map(index_of).collect::<Result<_>>()?;
        let input = index_of(&plan.input)?;
        let activations = activations_of(&plan)?;
        let temporal = plan.layers.iter();
        let temporal = temporal
            .map(|layer| Temporal::of(&layer.activation))
            .collect();
        let steps = CountedSteps {
            total: counter(MetricId::NetworkStepsTotal, &[&plan.name]),
            host_operations: counter(
                MetricId::OperationsTotal,
                &["cpu:0", Core::Neuromorphic.name(), Language::Rust.name()],
            ),
            name: intern(&plan.name),
        };
        let snapshot = new_snapshot(&plan);
        Ok(Self {
            plan,
            layout,
            activations,
            temporal,
            order,
            input,
            outputs,
            parameters: RwLock::new(parameters),
            version: AtomicU64::new(0),
            steps,
            snapshot,
            keepers: Keepers::new(),
        })
    }

    /// A few weights of the first connection, for watchers.
    pub(crate) fn weight_sample(&self) -> Option<WeightSample> {
        let connection = self.plan.connections.first()?;
        let [of_rows, of_columns] = connection.shape;
        let mut sample = WeightSample::empty(&connection.name(), of_rows, of_columns);
        let parameters = self.read().ok()?;
        let weights = parameters.weight(*self.layout.ranges.first()?);
        for row in 0..sample.rows.len() {
            let begin = sample.rows[row] as usize * of_columns;
            for column in sample.columns.clone() {
                sample.set(row, column, *weights.get(begin + column as usize)?);
            }
        }
        Some(sample)
    }

    #[must_use]
    pub fn plan(&self) -> &LayeredNetworkPlan {
        &self.plan
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.plan.name
    }

    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.plan.warnings
    }

    /// Values that one sample of the input has.
    #[must_use]
    pub fn input_size(&self) -> usize {
        self.plan.layers[self.input].size
    }

    /// Values that one sample of the output has: the sizes of all output layers together.
    #[must_use]
    pub fn output_size(&self) -> usize {
        self.outputs
            .iter()
            .map(|layer| self.plan.layers[*layer].size)
            .sum()
    }

    /// Whether a layer has a state, so that samples have steps.
    #[must_use]
    pub fn is_temporal(&self) -> bool {
        self.temporal.iter().any(Option::is_some)
    }

    /// Whether the softmax of a layer is taken behind the mean over the steps.
    pub(crate) fn is_pooled_softmax(&self, layer: usize) -> bool {
        self.is_temporal()
            && self.outputs.contains(&layer)
            && self.activations[layer].kind == ACTIVATION_SOFTMAX
    }

    /// Weights and biases together.
    #[must_use]
    pub fn parameter_count(&self) -> usize {
        let parameters = self.peek();
        let weights: usize = parameters.weights.iter().map(Vec::len).sum();
        let biases: usize = parameters.biases.iter().flatten().map(Vec::len).sum();
        weights + biases
    }

    /// Names of the connections, as [`LayeredNetwork::weights`] takes them: `from -> to`.
    pub fn connection_names(&self) -> impl Iterator<Item = String> + '_ {
        self.plan
            .connections
            .iter()
            .map(crate::plan::ConnectionPlan::name)
    }

    /// Shape `[inputs, outputs]` of a connection's weights.
    ///
    /// # Errors
    ///
    /// There is no such connection.
    pub fn weight_shape(&self, connection: &str) -> Result<[usize; 2]> {
        let number = self.connection_index(connection)?;
        Ok(self.plan.connections[number].shape)
    }

    /// A copy of a connection's weights and their shape `[inputs, outputs]`.
    ///
    /// # Errors
    ///
    /// There is no such connection; memory is out.
    pub fn weights(&self, connection: &str) -> Result<(Vec<f32>, [usize; 2])> {
        let number = self.connection_index(connection)?;
        let parameters = self.read()?;
        let weight = parameters.weight(self.layout.ranges[number]);
        let mut copy = crate::parameters::zeros(weight.len(), || weight_name(connection))?;
        copy.copy_from_slice(weight);
        Ok((copy, self.plan.connections[number].shape))
    }

    /// Replace a connection's weights by `values[inputs, outputs]`.
    ///
    /// # Errors
    ///
    /// There is no such connection; the number of values is wrong; a value is NaN or infinite. Nothing is changed then.
    pub fn set_weights(&self, connection: &str, values: &[f32]) -> Result<()> {
        let number = self.connection_index(connection)?;
        let shape = self.plan.connections[number].shape;
        let range = self.layout.ranges[number];
        if values.len() != range.len {
            return Err(Error::ShapeMismatch(format!(
                "{} has the shape {shape:?}, so {} values; {} were given",
                weight_name(&self.plan.connections[number].name()),
                range.len,
                values.len()
            )));
        }
        finite::check_matrix(
            &weight_name(&self.plan.connections[number].name()),
            values,
            range.outputs,
        )?;
        self.write()?.weight_mut(range).copy_from_slice(values);
        Ok(())
    }

    /// A copy of a layer's biases; `None` for a layer without.
    ///
    /// # Errors
    ///
    /// There is no such layer.
    pub fn biases(&self, layer: &str) -> Result<Option<Vec<f32>>> {
        let index = self.layer_index(layer)?;
        Ok(self.read()?.biases[index].clone())
    }

    /// Replace a layer's biases; a layer without gets some.
    ///
    /// # Errors
    ///
    /// There is no such layer; the number of values is wrong; a value is NaN or infinite. Nothing is changed then.
    pub fn set_biases(&self, layer: &str, values: &[f32]) -> Result<()> {
        let index = self.layer_index(layer)?;
        let size = self.plan.layers[index].size;
        if values.len() != size {
            return Err(Error::ShapeMismatch(format!(
                "{} has {size} values; {} were given",
                bias_name(layer),
                values.len()
            )));
        }
        finite::check_vector(&bias_name(layer), values)?;
        self.write()?.biases[index] = Some(values.to_vec());
        Ok(())
    }

    /// What the rule `bcm` of a connection compares squared outputs with; `None` before its first step and for other rules.
    ///
    /// # Errors
    ///
    /// There is no such connection.
    pub fn thresholds(&self, connection: &str) -> Result<Option<Vec<f32>>> {
        let number = self.connection_index(connection)?;
        Ok(self.read()?.thresholds[number].clone())
    }

    /// Put back what [`LayeredNetwork::thresholds`] gave.
    ///
    /// # Errors
    ///
    /// There is no such connection; the number of values is wrong; a value is NaN or infinite. Nothing is changed then.
    pub fn set_thresholds(&self, connection: &str, values: Option<&[f32]>) -> Result<()> {
        let number = self.connection_index(connection)?;
        let outputs = self.layout.ranges[number].outputs;
        if let Some(values) = values {
            if values.len() != outputs {
                return Err(Error::ShapeMismatch(format!(
                    "the thresholds of connection '{connection}' are {outputs} values; {} were given",
                    values.len()
                )));
            }
            finite::check_vector("the thresholds", values)?;
        }
        self.write()?.thresholds[number] = values.map(<[f32]>::to_vec);
        Ok(())
    }

    /// Another number whenever weights or biases may have changed since: copies of them elsewhere are right as long as it stays.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    fn layer_index(&self, name: &str) -> Result<usize> {
        self.plan.layer_index(name).ok_or_else(|| {
            let known: Vec<_> = self
                .plan
                .layers
                .iter()
                .take(12)
                .map(|layer| layer.name.as_str())
                .collect();
            Error::InvalidArgument(format!(
                "the network '{}' has no layer '{name}'; it has {}",
                self.plan.name,
                known.join(", ")
            ))
        })
    }

    /// Blanks around the arrow do not matter.
    fn connection_index(&self, name: &str) -> Result<usize> {
        let found = name.split_once("->").and_then(|(from, to)| {
            let (from, to) = (from.trim(), to.trim());
            self.plan
                .connections
                .iter()
                .position(|connection| connection.from == from && connection.to == to)
        });
        found.ok_or_else(|| {
            let known: Vec<_> = self.connection_names().take(12).collect();
            Error::InvalidArgument(format!(
                "the network '{}' has no connection '{name}'; it has {}",
                self.plan.name,
                known.join(", ")
            ))
        })
    }

    /// A panic while the lock is held cannot leave numbers half written: they are copied in one piece or swapped.
    fn lock(&self) -> RwLockWriteGuard<'_, Parameters> {
        self.parameters
            .write()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Numbers that may be older than those of a device: their lengths are right.
    fn peek(&self) -> RwLockReadGuard<'_, Parameters> {
        self.parameters
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The numbers; waits for a device that holds later ones.
    ///
    /// # Errors
    ///
    /// The device fails.
    pub(crate) fn read(&self) -> Result<RwLockReadGuard<'_, Parameters>> {
        loop {
            let guard = self.peek();
            if guard.ahead.is_none() {
                return Ok(guard);
            }
            drop(guard);
            self.lock().catch_up()?;
        }
    }

    /// The numbers, to be changed.
    ///
    /// # Errors
    ///
    /// As [`LayeredNetwork::read`].
    pub(crate) fn write(&self) -> Result<RwLockWriteGuard<'_, Parameters>> {
        let mut guard = self.lock();
        guard.catch_up()?;
        self.version.fetch_add(1, Ordering::Release);
        Ok(guard)
    }

    /// Numbers in a device's memory are the network's from now on. They come to the host when it asks for them.
    ///
    /// # Errors
    ///
    /// The network has got other biases meanwhile; `tensors` are as they were.
    pub(crate) fn follow(&self, tensors: &mut Tensors<Array>) -> Result<Arc<Placed>> {
        let mut guard = self.lock();
        let current = TensorsRef {
            weights: &guard.weights,
            biases: &guard.biases,
        };
        let given = tensors.as_ref();
        if !current
            .iter()
            .map(Vec::len)
            .eq(given.iter().map(|one| one.len() as usize))
        {
            return Err(other_tensors());
        }
        let version = self.version.fetch_add(1, Ordering::Release) + 1;
        let tensors = Tensors {
            weights: std::mem::take(&mut tensors.weights),
            biases: std::mem::take(&mut tensors.biases),
        };
        let placed = Arc::new(Placed { version, tensors });
        guard.ahead = Some(Arc::clone(&placed));
        Ok(placed)
    }
}
