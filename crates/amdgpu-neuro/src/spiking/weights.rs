//! Synapses as the user sees them: sources, targets, weights, delays.

use super::network::{Inner, SpikingNetwork};
use super::projection::{Projection, ProjectionKind};
use super::storage::{Delays, Targets, Weights};
use crate::error::{Error, Result};
use crate::finite;
use crate::plan::spiking::Role;

/// The variable of synapses with state that counts as their weight.
const WEIGHT: &str = "w";

/// Synapses in their order: sources ascending, then targets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SynapseTable {
    /// Indices inside `from`.
    pub sources: Vec<u32>,
    /// Indices inside `to`.
    pub targets: Vec<u32>,
    pub weights: Vec<f32>,
    pub delays_seconds: Vec<f64>,
}

impl SpikingNetwork {
    /// Names of the projections.
    #[must_use]
    pub fn projection_names(&self) -> &[String] {
        &self.names
    }

    /// Blanks around the arrow do not matter.
    fn projection_index(&self, name: &str) -> Result<usize> {
        let bare = |text: &str| {
            let (from, to) = text.split_once("->").unwrap_or((text, ""));
            (from.trim().to_owned(), to.trim().to_owned())
        };
        let wanted = bare(name);
        let found = self.names.iter().position(|known| bare(known) == wanted);
        found.ok_or_else(|| {
            let known: Vec<_> = self.names.iter().take(12).map(String::as_str).collect();
            Error::InvalidArgument(format!(
                "the network '{}' has no connection '{name}'; it has {}",
                self.plan.name,
                known.join(", ")
            ))
        })
    }

    /// All synapses of a projection.
    ///
    /// # Errors
    ///
    /// There is no such projection; memory is out.
    pub fn synapses(&self, name: &str) -> Result<SynapseTable> {
        let number = self.projection_index(name)?;
        let inner = self.lock();
        let projection = &inner.parts.projections[number];
        let mut table = SynapseTable::default();
        let dt = self.plan.dt_seconds;
        match &projection.kind {
            ProjectionKind::Static { input, synapses } => {
                let group = &inner.parts.groups[projection.target.group];
                let quantum = group.inputs[*input].quantum.value();
                for source in 0..projection.origin.size {
                    synapses
                        .targets
                        .visit(source, &(0..u32::MAX), |number, target| {
                            table.sources.push(source as u32);
                            table.targets.push(target);
                            let quanta = match &synapses.weights {
                                Weights::Uniform(weight) => *weight,
                                Weights::Each(weights) => weights[number],
                            };
                            table.weights.push((f64::from(quanta) * quantum) as f32);
                            let delay = match &synapses.delays {
                                Delays::Uniform(delay) => *delay,
                                Delays::Each(delays) => u32::from(delays[number]),
                            };
                            table.delays_seconds.push(f64::from(delay) * dt);
                        });
                }
            }
            ProjectionKind::Stateful(synapses) => {
                let starts = synapses.row_starts.read(0..synapses.row_starts.len())?;
                for source in 0..projection.origin.size {
                    let count = (starts[source + 1] - starts[source]) as usize;
                    table
                        .sources
                        .extend(std::iter::repeat_n(source as u32, count));
                }
                table.targets = synapses.columns.read(0..synapses.count)?;
                if let Some(weight) = self.weight_variable(number) {
                    table.weights = synapses.variables[weight].read(0..synapses.count)?;
                }
                table.delays_seconds = vec![f64::from(synapses.delay) * dt; synapses.count];
            }
        }
        Ok(table)
    }

    /// Position of the variable that is the weight: `w`, or the first.
    pub(super) fn weight_variable(&self, number: usize) -> Option<usize> {
        let variables = &self.plan.spiking.projections[number].variables;
        let named = variables.iter().position(|one| one.name == WEIGHT);
        named.or((!variables.is_empty()).then_some(0))
    }

    /// Replace the weights of a projection, in the order of [`SpikingNetwork::synapses`].
    ///
    /// # Errors
    ///
    /// There is no such projection; the number of values is wrong; a value is NaN or infinite, or together they could leave the fixed-point
    /// range of their input. Nothing is changed then.
    pub fn set_weights(&self, name: &str, values: &[f32]) -> Result<()> {
        let number = self.projection_index(name)?;
        let mut inner = self.lock();
        inner.refuse_one_weight(number, name)?;
        let count = inner.synapse_count(number);
        if values.len() != count {
            return Err(Error::ShapeMismatch(format!(
                "{name} has {count} synapses; {} weights were given",
                values.len()
            )));
        }
        finite::check_vector(&format!("the weights of {name}"), values)?;
        let Inner { parts, stepper, .. } = &mut *inner;
        let weight = self.weight_variable(number);
        let Projection { target, kind, .. } = &parts.projections[number];
        let (input, quanta) = match kind {
            ProjectionKind::Stateful(synapses) => {
                let bound = synapses.weight_bound as f32;
                let is_added = self.plan.spiking.projection_uses(number, Role::TargetInput);
                if is_added && values.iter().any(|value| value.abs() > bound) {
                    return Err(Error::InvalidArgument(format!(
                        "the weights of {name} are too large: its rule keeps them within {bound}"
                    )));
                }
                let weight = weight.unwrap_or_default();
                return synapses.variables[weight].write(0, values);
            }
            ProjectionKind::Static { input, .. } => {
                let quantum = parts.groups[target.group].inputs[*input].quantum;
                let quanta: Vec<f64> = values
                    .iter()
                    .map(|value| (f64::from(*value) / quantum.value()).round_ties_even())
                    .collect();
                (*input, quanta)
            }
        };
        let group = target.group;
        let limit = f64::from(i32::MAX) - parts.groups[group].inputs[input].reserved;
        let mut sums = vec![0.0_f64; parts.groups[group].size];
        for (other, projection) in parts.projections.iter().enumerate() {
            add_quanta(
                projection,
                (group, input),
                (other == number).then_some(&quanta),
                &mut sums,
            );
        }
        if sums.iter().any(|sum| *sum > limit) {
            return Err(Error::InvalidArgument(format!(
                "the weights of {name} are too large for the range that was chosen by the initial ones; give the largest ones in the network text"
            )));
        }
        if let ProjectionKind::Static { synapses, .. } = &mut parts.projections[number].kind {
            synapses.weights = Weights::Each(quanta.iter().map(|value| *value as i32).collect());
        }
        stepper.weights_changed(parts, number)
    }
}

impl Inner {
    /// Refuses weights of their own for synapses that are stored with one.
    fn refuse_one_weight(&self, number: usize, name: &str) -> Result<()> {
        let ProjectionKind::Static { synapses, .. } = &self.parts.projections[number].kind else {
            return Ok(());
        };
        let storage = match synapses.targets {
            Targets::Procedural(_) => "procedural",
            Targets::Gaps { .. } if self.stepper.is_by_launches() => "gap_coded",
            _ => return Ok(()),
        };
        Err(Error::InvalidArgument(format!(
            "{name} is stored as {storage}: all its synapses have one weight; choose another storage"
        )))
    }

    fn synapse_count(&self, number: usize) -> usize {
        let projection = &self.parts.projections[number];
        match &projection.kind {
            ProjectionKind::Stateful(synapses) => synapses.count,
            ProjectionKind::Static { synapses, .. } => {
                let mut count = 0;
                for source in 0..projection.origin.size {
                    synapses
                        .targets
                        .visit(source, &(0..u32::MAX), |_, _| count += 1);
                }
                count
            }
        }
    }
}

/// Adds what a projection brings to an input at most, for each neuron of its group; `replaced` stands for its weights.
fn add_quanta(
    projection: &Projection,
    wanted: (usize, usize),
    replaced: Option<&Vec<f64>>,
    sums: &mut [f64],
) {
    let ProjectionKind::Static { input, synapses } = &projection.kind else {
        return;
    };
    if (projection.target.group, *input) != wanted {
        return;
    }
    for source in 0..projection.origin.size {
        synapses
            .targets
            .visit(source, &(0..u32::MAX), |number, target| {
                let quanta = match (replaced, &synapses.weights) {
                    (Some(values), _) => values[number].abs(),
                    (None, Weights::Uniform(weight)) => f64::from(weight.unsigned_abs()),
                    (None, Weights::Each(weights)) => f64::from(weights[number].unsigned_abs()),
                };
                sums[projection.target.first + target as usize] += quanta;
            });
    }
}
