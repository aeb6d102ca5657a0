//! Projections: synapses made from a plan, with weights in the fixed-point numbers of their input.

use std::path::Path;

use amdgpu_memory::Allocator;

use super::connectivity::{Connector, Rows};
use super::fixed_point::FixedPointUnit;
use super::group::WideNeed;
use super::memory::DeviceArray;
use super::planner::{self, MAX_DELAY_STEPS};
use super::rng_streams::RngStream;
use super::storage::{Delays, Synapses, Targets, Weights};
use super::values::{self, Fans, SynapseValues};
use crate::error::{Error, Result};
use crate::plan::Initializer;
use crate::plan::spiking::{
    PatternPlan, Phase, ProjectionPlan, Role, SpikingNetworkPlan, StorageKind, SynapseVariablePlan,
};

/// Standard deviations above the mean that the in-degree of rows made on demand is taken to have at most.
const DEGREE_DEVIATIONS: f64 = 8.0;

/// Where spikes come from: groups first, then sources, in one numbering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub index: usize,
    pub first: usize,
    pub size: usize,
}

/// A range of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub group: usize,
    pub first: usize,
    pub size: usize,
}

#[derive(Debug)]
pub(crate) struct Projection {
    pub name: String,
    pub origin: Origin,
    pub target: Target,
    pub kind: ProjectionKind,
}

#[derive(Debug)]
pub(crate) enum ProjectionKind {
    /// Constant weights, added to an input of the target's group.
    Static { input: usize, synapses: Synapses },
    /// Synapses with variables and kernels.
    Stateful(Box<StatefulSynapses>),
}

/// Synapses whose variables are arrays for kernels.
#[derive(Debug)]
pub(crate) struct StatefulSynapses {
    pub count: usize,
    pub delay: u32,
    pub row_starts: DeviceArray<u32>,
    pub columns: DeviceArray<u32>,
    pub sources: Option<DeviceArray<u32>>,
    pub column_starts: Option<DeviceArray<u32>>,
    pub column_synapses: Option<DeviceArray<u32>>,
    pub column_sources: Option<DeviceArray<u32>>,
    pub variables: Vec<DeviceArray<f32>>,
    pub pre_variables: Vec<DeviceArray<f32>>,
    pub post_variables: Vec<DeviceArray<f32>>,
    pub last_update: Option<DeviceArray<u32>>,
    /// Largest absolute amount that its kernels add to an input in a step for one synapse.
    pub weight_bound: f64,
    /// Largest absolute initial value of its variables.
    largest: f64,
    /// Synapses of a neuron, at most.
    pub in_degree: u64,
    /// Bits of the largest amount, in units, that had no place in a sum; 0 without one.
    pub overflow: DeviceArray<u32>,
}

/// Weights before their unit is known.
enum Raw {
    Uniform(f64),
    Each(Vec<f32>),
}

/// A projection whose input has no unit yet.
pub(crate) struct Draft {
    pub target: Target,
    pub input: usize,
    targets: Targets,
    weights: Raw,
    pub delays: Delays,
}

/// What may arrive at the neurons of an input at once.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    /// Sum of absolute weights, for each neuron of the group.
    pub sums: Vec<f64>,
    /// Most synapses of a neuron.
    pub terms: u64,
    pub longest_delay: u32,
    /// The part of the largest sum that is not of constant weights.
    pub reserved: f64,
    /// Size of the largest amounts for sums of 64 bits; 0 without any.
    pub wide_size: f64,
    /// Most amounts that arrive in such a sum at once.
    pub wide_terms: u64,
}

impl Bound {
    pub fn new(neurons: usize) -> Result<Self> {
        Ok(Self {
            sums: values::zeros(neurons, "the bounds of an input")?,
            terms: 0,
            longest_delay: 0,
            reserved: 0.0,
            wide_size: 0.0,
            wide_terms: 0,
        })
    }

    pub fn unit(&self, what: &str) -> Result<FixedPointUnit> {
        let bound = self.sums.iter().copied().fold(0.0, f64::max);
        FixedPointUnit::for_sums(bound, self.terms, what)
    }

    /// Of the sums of 64 bits, where synapses add amounts that nothing bounds.
    pub fn wide(&self, what: &str) -> Result<Option<WideNeed>> {
        if self.wide_size == 0.0 {
            return Ok(None);
        }
        Ok(Some(WideNeed {
            unit: FixedPointUnit::for_size(self.wide_size, what)?,
            most: FixedPointUnit::most_wide(self.wide_terms),
        }))
    }

    /// Adds at most `weight` for each of `count` events to the neurons of a range.
    pub fn add_everywhere(&mut self, target: Target, weight: f64, count: f64) {
        for sum in &mut self.sums[target.first..target.first + target.size] {
            *sum += weight.abs() * count;
        }
        self.terms += count.ceil() as u64;
    }
}

fn delay_steps(seconds: f64, dt_seconds: f64, name: &str) -> Result<u32> {
    let steps = (seconds / dt_seconds).round();
    if (0.0..=f64::from(MAX_DELAY_STEPS)).contains(&steps) {
        return Ok(steps as u32);
    }
    Err(Error::InvalidDescription(format!(
        "{name} has a delay of {seconds} s; with the step {dt_seconds} s delays from 0 to {} s are possible",
        f64::from(MAX_DELAY_STEPS) * dt_seconds
    )))
}

fn draw_delays(
    plan: &SpikingNetworkPlan,
    number: usize,
    name: &str,
    (count, connector): (usize, &Connector),
    base_directory: &Path,
    visit: impl FnOnce(&mut dyn FnMut(usize, u32, u32)),
) -> Result<Delays> {
    let delay = &plan.spiking.projections[number].delay_seconds;
    if let Initializer::Constant { value } = delay {
        return Ok(Delays::Uniform(delay_steps(*value, plan.dt_seconds, name)?));
    }
    let draw = SynapseValues {
        value: delay,
        object: RngStream::Delay(number),
        seed: plan.seed,
        fans: Fans(1.0, 1.0),
        base_directory,
    };
    let seconds = draw.all(count, connector, &format!("the delays of {name}"), visit)?;
    let mut steps = values::zeros(count, "the delays")?;
    for (step, seconds) in steps.iter_mut().zip(seconds) {
        // What a distribution puts below 0 is no delay at all.
        *step = delay_steps(f64::from(seconds).max(0.0), plan.dt_seconds, name)? as u16;
    }
    Ok(Delays::Each(steps))
}

/// Synapses of each target and source on average.
fn fans(connector: &Connector, synapses: usize) -> Fans {
    Fans(
        synapses as f64 / connector.targets as f64,
        synapses as f64 / connector.sources as f64,
    )
}

impl Draft {
    /// Make the synapses of a projection without variables, and add to the bound of its input what it can bring.
    pub fn build(
        plan: &SpikingNetworkPlan,
        number: usize,
        name: &str,
        storage: StorageKind,
        bound: &mut Bound,
        base_directory: &Path,
    ) -> Result<Self> {
        let projection = &plan.spiking.projections[number];
        let connector = planner::connector(plan, number);
        let (target, input) = ends(plan, projection)?;
        let (targets, count) = match storage {
            StorageKind::Dense => {
                let others = connector.targets - usize::from(connector.skips_self);
                let dense = Targets::Dense {
                    targets: connector.targets as u32,
                    skips_self: connector.skips_self,
                };
                (dense, others * connector.sources)
            }
            StorageKind::Procedural => (Targets::Procedural(connector.clone()), 0),
            kind => {
                let rows = connector.rows()?;
                let count = rows.columns.len();
                bound.count(&rows, target);
                (Targets::from_rows(kind, rows, connector.targets), count)
            }
        };
        let visit = |give: &mut dyn FnMut(usize, u32, u32)| {
            for source in 0..connector.sources {
                targets.visit(source, &(0..u32::MAX), |number, target| {
                    give(number, source as u32, target);
                });
            }
        };
        let weights = match &projection.weight {
            Initializer::Constant { value } => Raw::Uniform(*value),
            value => {
                let draw = SynapseValues {
                    value,
                    object: RngStream::Weight(number),
                    seed: plan.seed,
                    fans: fans(&connector, count),
                    base_directory,
                };
                let what = format!("the weights of {name}");
                Raw::Each(draw.all(count, &connector, &what, visit)?)
            }
        };
        let delays = draw_delays(
            plan,
            number,
            name,
            (count, &connector),
            base_directory,
            visit,
        )?;
        bound.longest_delay = bound.longest_delay.max(delays.range().1);
        let draft = Self {
            target,
            input,
            targets,
            weights,
            delays,
        };
        draft.add_to(bound, &connector);
        Ok(draft)
    }

    fn add_to(&self, bound: &mut Bound, connector: &Connector) {
        match (&self.targets, &self.weights) {
            (Targets::Procedural(_), Raw::Uniform(weight)) => {
                let degree = in_degree_bound(connector);
                bound.add_everywhere(self.target, *weight, degree);
            }
            (Targets::Dense { .. }, Raw::Uniform(weight)) => {
                bound.add_everywhere(self.target, *weight, connector.sources as f64);
            }
            (targets, weights) => {
                let sums = &mut bound.sums[self.target.first..][..self.target.size];
                for source in 0..connector.sources {
                    targets.visit(source, &(0..u32::MAX), |number, target| {
                        let weight = match weights {
                            Raw::Uniform(weight) => *weight,
                            Raw::Each(weights) => f64::from(weights[number]),
                        };
                        sums[target as usize] += weight.abs();
                    });
                }
                if matches!(targets, Targets::Dense { .. }) {
                    bound.terms += connector.sources as u64;
                }
            }
        }
    }

    pub fn finish(self, unit: FixedPointUnit) -> (usize, Synapses) {
        let weights = match self.weights {
            Raw::Uniform(weight) => Weights::Uniform(unit.units(weight)),
            Raw::Each(weights) => Weights::Each(
                weights
                    .into_iter()
                    .map(|weight| unit.units(f64::from(weight)))
                    .collect(),
            ),
        };
        let synapses = Synapses {
            targets: self.targets,
            weights,
            delays: self.delays,
        };
        (self.input, synapses)
    }
}

impl Bound {
    /// Counts the synapses of each neuron.
    fn count(&mut self, rows: &Rows, target: Target) {
        let mut counts = vec![0_u64; target.size];
        for column in &rows.columns {
            counts[*column as usize] += 1;
        }
        self.terms += counts.into_iter().max().unwrap_or(0);
    }
}

/// Initial values of a variable of each synapse; the rows are starts and targets.
fn draw_variable(
    plan: &SpikingNetworkPlan,
    (number, index): (usize, usize),
    name: &str,
    connector: &Connector,
    (starts, columns): (&[u64], &[u32]),
    base_directory: &Path,
) -> Result<Vec<f32>> {
    let variable = &plan.spiking.projections[number].variables[index];
    let what = format!("{name}.{}", variable.name);
    let draw = SynapseValues {
        value: &variable.value,
        object: RngStream::SynapseVariable(number, index),
        seed: plan.seed,
        fans: fans(connector, columns.len()),
        base_directory,
    };
    draw.all(columns.len(), connector, &what, |give| {
        for source in 0..connector.sources {
            let first = starts[source] as usize;
            let row = &columns[first..starts[source + 1] as usize];
            for (place, target) in row.iter().enumerate() {
                give(first + place, source as u32, *target);
            }
        }
    })
}

/// Target range and position of the input of a projection that has one.
fn ends(plan: &SpikingNetworkPlan, projection: &ProjectionPlan) -> Result<(Target, usize)> {
    let target = target_of(plan, projection)?;
    let group = &plan.spiking.groups[target.group];
    let input = projection
        .input
        .as_deref()
        .and_then(|input| group.input_index(input));
    let input = input
        .ok_or_else(|| Error::InvalidDescription(format!("{} has no input", projection.to)))?;
    Ok((target, input))
}

pub(crate) fn target_of(plan: &SpikingNetworkPlan, projection: &ProjectionPlan) -> Result<Target> {
    let population = plan.spiking.population(&projection.to).ok_or_else(|| {
        Error::InvalidDescription(format!("there is no population {:?}", projection.to))
    })?;
    Ok(Target {
        group: population.group,
        first: population.first,
        size: population.size,
    })
}

/// Where the spikes of a population or source are.
pub(crate) fn origin_of(plan: &SpikingNetworkPlan, name: &str) -> Result<Origin> {
    let spiking = &plan.spiking;
    if let Some(population) = spiking.population(name) {
        return Ok(Origin {
            index: population.group,
            first: population.first,
            size: population.size,
        });
    }
    let source = spiking.source_index(name).ok_or_else(|| {
        Error::InvalidDescription(format!("there is no population or source {name:?}"))
    })?;
    Ok(Origin {
        index: spiking.groups.len() + source,
        first: 0,
        size: spiking.sources[source].size(),
    })
}

/// Most synapses that a target has, when rows are made only on demand: certain but for odds of one in 10^15.
pub(crate) fn in_degree_bound(connector: &Connector) -> f64 {
    let sources = connector.sources as f64;
    let probability = match &connector.pattern {
        PatternPlan::Probability { probability } => *probability,
        PatternPlan::FixedOut { count } => *count as f64 / connector.targets as f64,
        PatternPlan::OneToOne {} => return 1.0,
        PatternPlan::Gaussian { .. } | PatternPlan::Convolution(_) => {
            return largest_in_degree(connector);
        }
        _ => 1.0,
    };
    let mean = sources * probability;
    let spread = (mean * (1.0 - probability).max(0.0)).sqrt();
    let bound = mean + DEGREE_DEVIATIONS * spread + 16.0;
    if connector.allow_multapses {
        bound
    } else {
        bound.min(sources)
    }
}

/// Most synapses that a target has, by making all rows.
fn largest_in_degree(connector: &Connector) -> f64 {
    let mut degrees = vec![0_u32; connector.targets];
    for source in 0..connector.sources {
        connector.row(source, |target| degrees[target as usize] += 1);
    }
    f64::from(degrees.into_iter().max().unwrap_or(0))
}

/// Synapses with variables have 32-bit numbers.
fn check_count(name: &str, count: usize) -> Result<()> {
    if u32::try_from(count).is_err() {
        return Err(Error::InvalidDescription(format!(
            "{name} has {count} synapses with variables; {} are possible",
            u32::MAX
        )));
    }
    Ok(())
}

/// The most synapses that end at one target.
fn most_of_one_target(columns: &[u32], targets: usize) -> Result<u64> {
    let counts = counts_of(columns, targets)?;
    Ok(counts.into_iter().max().unwrap_or(0).into())
}

/// Draws the variables that a projection keeps for each of its source or target neurons.
struct Traces<'a> {
    number: usize,
    name: &'a str,
    seed: u64,
    allocator: &'a Allocator,
    base_directory: &'a Path,
}

impl Traces<'_> {
    fn draw(
        &self,
        variables: &[SynapseVariablePlan],
        neurons: usize,
        stream: fn(usize, usize) -> RngStream,
    ) -> Result<Vec<DeviceArray<f32>>> {
        let variables = variables.iter().enumerate();
        let drawn = variables.map(|(index, variable)| {
            let what = format!("{}.{}", self.name, variable.name);
            let all = values::draw(
                &variable.value,
                stream(self.number, index),
                self.seed,
                Fans(1.0, 1.0),
                neurons,
                self.base_directory,
                &what,
            )?;
            DeviceArray::from_slice(self.allocator, &all)
        });
        drawn.collect()
    }
}

/// Synapses by their targets, and the source of each: what the kernels of a projection ask for.
#[derive(Default)]
struct SynapseOrder {
    sources: Option<Vec<u32>>,
    column_starts: Option<Vec<u32>>,
    column_synapses: Option<Vec<u32>>,
    column_sources: Option<Vec<u32>>,
}

impl SynapseOrder {
    fn of(
        plan: &SpikingNetworkPlan,
        number: usize,
        starts: &[u64],
        columns: &[u32],
        targets: usize,
    ) -> Result<Self> {
        let uses = |role| plan.spiking.projection_uses(number, role);
        let mut order = Self::default();
        let needs_sources = uses(Role::SynapseSources) || uses(Role::ColumnSources);
        let sources = if needs_sources {
            sources_of(starts)?
        } else {
            Vec::new()
        };
        if plan.spiking.has_phase(number, Phase::OnPost) {
            let (starts, synapses) = columns_of(columns, targets)?;
            order.column_starts = Some(starts);
            order.column_synapses = Some(synapses);
        }
        if uses(Role::ColumnSources) {
            let synapses = order.column_synapses.as_deref().unwrap_or_default();
            order.column_sources = Some(in_order(synapses, &sources)?);
        }
        order.sources = uses(Role::SynapseSources).then_some(sources);
        Ok(order)
    }

    /// The array of a role on the device, where it is asked for.
    fn array(&self, allocator: &Allocator, role: Role) -> Result<Option<DeviceArray<u32>>> {
        let values = match role {
            Role::SynapseSources => &self.sources,
            Role::ColumnStarts => &self.column_starts,
            Role::ColumnSynapses => &self.column_synapses,
            _ => &self.column_sources,
        };
        let values = values.as_ref();
        values
            .map(|values| DeviceArray::from_slice(allocator, values))
            .transpose()
    }
}

impl StatefulSynapses {
    pub fn build(
        plan: &SpikingNetworkPlan,
        number: usize,
        name: &str,
        allocator: &Allocator,
        base_directory: &Path,
    ) -> Result<Self> {
        let projection = &plan.spiking.projections[number];
        let connector = planner::connector(plan, number);
        let Rows { starts, columns } = connector.rows()?;
        let count = columns.len();
        check_count(name, count)?;
        let Initializer::Constant { value } = &projection.delay_seconds else {
            return Err(Error::InvalidDescription(format!(
                "{name} has synapses with variables and more than one delay"
            )));
        };
        let mut largest = 0.0_f32;
        let variables = 0..projection.variables.len();
        let variables = variables.map(|index| {
            let rows = (starts.as_slice(), columns.as_slice());
            let all = draw_variable(
                plan,
                (number, index),
                name,
                &connector,
                rows,
                base_directory,
            )?;
            largest = all
                .iter()
                .fold(largest, |largest, value| largest.max(value.abs()));
            DeviceArray::from_slice(allocator, &all)
        });
        let variables = variables.collect::<Result<Vec<_>>>()?;
        let order = SynapseOrder::of(plan, number, &starts, &columns, connector.targets)?;
        let row_starts: Vec<u32> = starts.iter().map(|start| *start as u32).collect();
        let traces = Traces {
            number,
            name,
            seed: plan.seed,
            allocator,
            base_directory,
        };
        Ok(Self {
            count,
            delay: delay_steps(*value, plan.dt_seconds, name)?,
            row_starts: DeviceArray::from_slice(allocator, &row_starts)?,
            columns: DeviceArray::from_slice(allocator, &columns)?,
            sources: order.array(allocator, Role::SynapseSources)?,
            column_starts: order.array(allocator, Role::ColumnStarts)?,
            column_synapses: order.array(allocator, Role::ColumnSynapses)?,
            column_sources: order.array(allocator, Role::ColumnSources)?,
            variables,
            weight_bound: projection.weight_bound.unwrap_or_default(),
            largest: f64::from(largest),
            in_degree: most_of_one_target(&columns, connector.targets)?,
            overflow: DeviceArray::zeros(allocator, 1)?,
            pre_variables: traces.draw(
                &projection.pre_variables,
                connector.sources,
                RngStream::PreVariable,
            )?,
            post_variables: traces.draw(
                &projection.post_variables,
                connector.targets,
                RngStream::PostVariable,
            )?,
            last_update: plan
                .spiking
                .projection_uses(number, Role::LastUpdate)
                .then(|| DeviceArray::zeros(allocator, count))
                .transpose()?,
        })
    }

    /// Adds to the bounds of the inputs that its kernels add to what they can bring.
    pub fn add_to(&self, target: Target, bound: &mut Bound) -> Result<()> {
        let weight = self.weight_bound;
        let counts = counts_of(&self.columns.read(0..self.count)?, target.size)?;
        for (sum, count) in bound.sums[target.first..].iter_mut().zip(&counts) {
            *sum += weight * f64::from(*count);
        }
        bound.terms += self.in_degree;
        bound.reserved += weight * self.in_degree as f64;
        Ok(())
    }

    /// Adds to the bound of an input the size of what its kernels add to sums of 64 bits.
    pub fn add_wide(
        &self,
        plan: &SpikingNetworkPlan,
        number: usize,
        bound: &mut Bound,
    ) -> Result<()> {
        let projection = &plan.spiking.projections[number];
        let mut size = projection.amounts.map_or(0.0, |amounts| amounts.scale);
        let is_told = matches!(
            projection.weight,
            Initializer::Constant { .. }
                | Initializer::Random { .. }
                | Initializer::Normal { .. }
                | Initializer::ClippedNormal { .. }
        );
        if !is_told {
            // The plan took such weights for 1.
            size *= self.largest;
        }
        if !(size > 0.0 && size.is_finite()) && self.count > 0 {
            return Err(Error::InvalidDescription(format!(
                "what the synapses of {} -> {} add is {size} at the start, and nothing says how large it becomes; bound it where it is added, as in target += clip(w, 0, w_max)",
                projection.from, projection.to
            )));
        }
        let additions = projection.amounts.map_or(1, |amounts| amounts.additions);
        bound.wide_size = bound.wide_size.max(size);
        bound.wide_terms += self.in_degree * u64::from(additions);
        Ok(())
    }
}

/// Synapses of each target.
fn counts_of(columns: &[u32], targets: usize) -> Result<Vec<u32>> {
    let mut counts = values::zeros(targets, "the synapses of each neuron")?;
    for column in columns {
        counts[*column as usize] += 1;
    }
    Ok(counts)
}

/// The source of each synapse.
fn sources_of(starts: &[u64]) -> Result<Vec<u32>> {
    let count = starts.last().copied().unwrap_or(0) as usize;
    let mut sources = values::zeros(count, "the sources of synapses")?;
    for (source, ends) in starts.windows(2).enumerate() {
        sources[ends[0] as usize..ends[1] as usize].fill(source as u32);
    }
    Ok(sources)
}

/// The values at some places, in their order.
fn in_order(places: &[u32], values: &[u32]) -> Result<Vec<u32>> {
    let mut ordered = values::zeros(places.len(), "the columns of synapses")?;
    for (ordered, place) in ordered.iter_mut().zip(places) {
        *ordered = values[*place as usize];
    }
    Ok(ordered)
}

/// Synapses by target: where each target begins, and the synapses in order.
fn columns_of(columns: &[u32], targets: usize) -> Result<(Vec<u32>, Vec<u32>)> {
    let mut starts: Vec<u32> = values::zeros(targets + 1, "the columns of synapses")?;
    for column in columns {
        starts[*column as usize + 1] += 1;
    }
    for target in 0..targets {
        starts[target + 1] += starts[target];
    }
    let mut next = starts.clone();
    let mut synapses = values::zeros(columns.len(), "the columns of synapses")?;
    for (number, column) in columns.iter().enumerate() {
        let place = &mut next[*column as usize];
        synapses[*place as usize] = number as u32;
        *place += 1;
    }
    Ok((starts, synapses))
}

#[cfg(test)]
mod tests;
