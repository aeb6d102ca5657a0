//! Reads and replaces synapses: sources, targets, weights, delays.

use std::ops::Range;

use amdgpu_hal::cpu::available_bytes;
use amdgpu_memory::readable;

use super::network::{Inner, SpikingNetwork};
use super::planner::USABLE;
use super::projection::{Projection, ProjectionKind, in_degree_bound};
use super::storage::{Delays, Targets, Weights};
use crate::error::{Error, Result};
use crate::finite;
use crate::plan::spiking::{ProjectionPlan, Role};

/// The variable of synapses with state that counts as their weight.
const WEIGHT: &str = "w";

/// Bytes of a synapse in a [`SynapseTable`].
const TABLE_BYTES: u64 = 20;

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

    /// The synapses of a projection, or those of some of its sources.
    ///
    /// # Errors
    ///
    /// There is no such projection or source; the table does not fit into memory, which is known before it is made.
    pub fn synapses(&self, name: &str, sources: Option<Range<usize>>) -> Result<SynapseTable> {
        let number = self.projection_index(name)?;
        let inner = self.lock();
        let projection = &inner.parts.projections[number];
        let size = projection.origin.size;
        let sources = sources.unwrap_or(0..size);
        if sources.start > sources.end || sources.end > size {
            return Err(Error::InvalidArgument(format!(
                "{name} has the sources 0 to {size}, the end excluded; {} to {} were asked for",
                sources.start, sources.end
            )));
        }
        self.check_table(number, name, &sources, size)?;
        let mut table = SynapseTable::default();
        let dt = self.plan.dt_seconds;
        match &projection.kind {
            ProjectionKind::Static { input, synapses } => {
                let group = &inner.parts.groups[projection.target.group];
                let unit = group.inputs[*input].unit.value();
                for source in sources {
                    synapses
                        .targets
                        .visit(source, &(0..u32::MAX), |number, target| {
                            table.sources.push(source as u32);
                            table.targets.push(target);
                            let units = match &synapses.weights {
                                Weights::Uniform(weight) => *weight,
                                Weights::Each(weights) => weights[number],
                            };
                            table.weights.push((f64::from(units) * unit) as f32);
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
                let range = starts[sources.start] as usize..starts[sources.end] as usize;
                for source in sources {
                    let count = (starts[source + 1] - starts[source]) as usize;
                    table
                        .sources
                        .extend(std::iter::repeat_n(source as u32, count));
                }
                if let Some(weight) = self.weight_variable(number) {
                    table.weights = synapses.variables[weight].read(range.clone())?;
                }
                table.delays_seconds = vec![f64::from(synapses.delay) * dt; range.len()];
                table.targets = synapses.columns.read(range)?;
            }
        }
        Ok(table)
    }

    /// Refuses a table that memory has no room for, before any of it is made: rows that are made on demand may be of any number.
    fn check_table(
        &self,
        number: usize,
        name: &str,
        sources: &Range<usize>,
        size: usize,
    ) -> Result<()> {
        let of_all = self.memory().projections[number].synapses as f64;
        let synapses = (of_all * sources.len() as f64 / size.max(1) as f64) as u64;
        let bytes = synapses.saturating_mul(TABLE_BYTES);
        let Some(free) = available_bytes() else {
            return Ok(());
        };
        if bytes as f64 <= free as f64 * USABLE {
            return Ok(());
        }
        let room = (free as f64 * USABLE / (bytes as f64 / sources.len().max(1) as f64)) as usize;
        Err(Error::OutOfMemory {
            what: format!(
                "a table of the {synapses} synapses of {name} from {} sources, {}, where {} are free: ask for fewer sources at a time, as in net.synapses(\"{name}\", sources=range(0, {}))",
                sources.len(),
                readable(bytes),
                readable(free),
                room.clamp(1, size)
            ),
            bytes: usize::try_from(bytes).unwrap_or(usize::MAX),
        })
    }

    /// Position of the variable that is the weight: `w`, or the first.
    pub(super) fn weight_variable(&self, number: usize) -> Option<usize> {
        variable_of(&self.plan.spiking.projections[number])
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
        let (input, units) = match kind {
            ProjectionKind::Stateful(synapses) => {
                // Amounts without a bound are looked at where they are added.
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
                let unit = parts.groups[target.group].inputs[*input].unit;
                let units: Vec<f64> = values
                    .iter()
                    .map(|value| (f64::from(*value) / unit.value()).round_ties_even())
                    .collect();
                (*input, units)
            }
        };
        let group = target.group;
        let limit = f64::from(i32::MAX) - parts.groups[group].inputs[input].reserved;
        let mut sums = vec![0.0_f64; parts.groups[group].size];
        for (other, projection) in parts.projections.iter().enumerate() {
            add_units(
                projection,
                (group, input),
                (other == number).then_some(&units),
                &mut sums,
            );
        }
        if let Some(place) = sums.iter().position(|sum| *sum > limit) {
            let unit = parts.groups[group].inputs[input].unit.value();
            return Err(Error::InvalidArgument(format!(
                "the weights of {name} are too large: what neuron {place} of its target's model may get in one step adds up to {:.4e}, and the weights of the text left room for {:.4e}; give the largest weights in the network text",
                sums[place] * unit,
                limit * unit
            )));
        }
        if let ProjectionKind::Static { synapses, .. } = &mut parts.projections[number].kind {
            synapses.weights = Weights::Each(units.iter().map(|value| *value as i32).collect());
        }
        stepper.weights_changed(parts, number)
    }
}

/// Position of the variable of a projection that is its weight.
pub(super) fn variable_of(projection: &ProjectionPlan) -> Option<usize> {
    let variables = &projection.variables;
    let named = variables.iter().position(|one| one.name == WEIGHT);
    named.or((!variables.is_empty()).then_some(0))
}

impl Inner {
    /// Refuses weights of their own for synapses that are stored with one.
    fn refuse_one_weight(&self, number: usize, name: &str) -> Result<()> {
        let ProjectionKind::Static { synapses, .. } = &self.parts.projections[number].kind else {
            return Ok(());
        };
        let Some(storage) = storage_of_one_weight(&synapses.targets, self.stepper.is_by_launches())
        else {
            return Ok(());
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
                synapses.targets.count(projection.origin.size)
            }
        }
    }
}

/// How synapses are stored that cannot have weights of their own.
pub(super) fn storage_of_one_weight(
    targets: &Targets,
    is_by_launches: bool,
) -> Option<&'static str> {
    match targets {
        Targets::Procedural(_) => Some("procedural"),
        Targets::GeometricSkip { .. } if is_by_launches => Some("gap_coded"),
        _ => None,
    }
}

/// Adds what a projection brings to an input at most, for each neuron of its group; `replaced` stands for its weights.
fn add_units(
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
    if let (Targets::Procedural(connector), Weights::Uniform(weight)) =
        (&synapses.targets, &synapses.weights)
    {
        // As when the unit was chosen: to visit the synapses may take hours.
        let units = f64::from(weight.unsigned_abs()) * in_degree_bound(connector);
        for sum in &mut sums[projection.target.first..][..projection.target.size] {
            *sum += units;
        }
        return;
    }
    for source in 0..projection.origin.size {
        synapses
            .targets
            .visit(source, &(0..u32::MAX), |number, target| {
                let units = match (replaced, &synapses.weights) {
                    (Some(values), _) => values[number].abs(),
                    (None, Weights::Uniform(weight)) => f64::from(weight.unsigned_abs()),
                    (None, Weights::Each(weights)) => f64::from(weights[number].unsigned_abs()),
                };
                sums[projection.target.first + target as usize] += units;
            });
    }
}
