//! Everything that a network is made of, built from its plan in an order in which each thing knows what it needs: connectivity first,
//! which says how much can arrive at a neuron at once; then the units of inputs; then neurons; then weights in units.

use std::path::Path;

use amdgpu_aura::Context;
use amdgpu_memory::Allocator;

use super::group::{Group, InputNeed};
use super::kernels::{EventPair, Events};
use super::planner::MemoryEstimate;
use super::projection::{
    Bound, Draft, Projection, ProjectionKind, StatefulSynapses, origin_of, target_of,
};
use super::source::{CurrentDrive, PoissonDrive, Source};
use crate::error::{Error, Result};
use crate::plan::spiking::{Role, SourcePlan, SpikingNetworkPlan};

/// What a stepper works on.
#[derive(Debug)]
pub(crate) struct Parts {
    pub groups: Vec<Group>,
    pub projections: Vec<Projection>,
    /// For projections with state, by position.
    pub events: Vec<Option<EventPair>>,
    pub sources: Vec<Source>,
    pub source_sizes: Vec<usize>,
    pub poisson_drives: Vec<PoissonDrive>,
    pub current_drives: Vec<CurrentDrive>,
}

/// A projection before the units of inputs are known.
enum Made {
    Draft(Box<Draft>),
    Stateful(Box<StatefulSynapses>),
}

/// What a build reads.
struct Builder<'a> {
    plan: &'a SpikingNetworkPlan,
    names: &'a [String],
    memory: &'a MemoryEstimate,
    allocator: &'a Allocator,
    directory: &'a Path,
}

impl Parts {
    pub fn build(
        plan: &SpikingNetworkPlan,
        names: &[String],
        memory: &MemoryEstimate,
        context: &Context,
        directory: &Path,
    ) -> Result<Self> {
        let spiking = &plan.spiking;
        let builder = Builder {
            plan,
            names,
            memory,
            allocator: context
                .allocator()
                .map_err(|error| Error::from_core(&error))?,
            directory,
        };
        let mut bounds = Vec::new();
        for group in &spiking.groups {
            let of_group = group.inputs.iter().map(|_| Bound::new(group.size));
            bounds.push(of_group.collect::<Result<Vec<_>>>()?);
        }
        let made = builder.connect(&mut bounds)?;
        let mut poisson_drives = Vec::new();
        let mut current_drives = Vec::new();
        for number in 0..spiking.drives.len() {
            poisson_drives.extend(PoissonDrive::build(plan, number)?);
            current_drives.extend(CurrentDrive::build(plan, number));
        }
        for drive in &poisson_drives {
            let bound = &mut bounds[drive.target.group][drive.input];
            bound.add_everywhere(drive.target, drive.weight, drive.most_events());
            bound.reserved += drive.weight.abs() * drive.most_events();
        }
        let groups = builder.groups(&bounds)?;
        for drive in &mut poisson_drives {
            let unit = groups[drive.target.group].inputs[drive.input].unit;
            drive.units = unit.units(drive.weight);
        }
        let (projections, events) = builder.finish(made, &groups)?;
        let sources =
            (0..spiking.sources.len()).map(|number| Source::build(plan, number, directory));
        Ok(Self {
            groups,
            projections,
            events,
            sources: sources.collect::<Result<_>>()?,
            source_sizes: spiking.sources.iter().map(SourcePlan::size).collect(),
            poisson_drives,
            current_drives,
        })
    }
}

impl Builder<'_> {
    /// Makes the synapses of all projections, and learns what can arrive at each neuron.
    fn connect(&self, bounds: &mut [Vec<Bound>]) -> Result<Vec<Made>> {
        let Self {
            plan,
            names,
            allocator,
            directory,
            ..
        } = *self;
        let spiking = &plan.spiking;
        let mut made = Vec::with_capacity(names.len());
        for (number, name) in names.iter().enumerate() {
            let projection = &spiking.projections[number];
            let target = target_of(plan, projection)?;
            let group = &spiking.groups[target.group];
            if projection.variables.is_empty() {
                let input = projection.input.as_deref();
                let input = input.and_then(|input| group.input_index(input));
                let bound = &mut bounds[target.group][input.unwrap_or_default()];
                let storage = self.memory.projections[number].storage;
                let draft = Draft::build(plan, number, name, storage, bound, directory)?;
                made.push(Made::Draft(Box::new(draft)));
                continue;
            }
            let synapses = StatefulSynapses::build(plan, number, name, allocator, directory)?;
            for (index, input) in group.inputs.iter().enumerate() {
                let mut kernels = spiking.kernels_of(number);
                let bound = &mut bounds[target.group][index];
                if kernels.any(|kernel| kernel.takes(Role::TargetInput, input)) {
                    synapses.add_to(target, bound)?;
                }
                let mut kernels = spiking.kernels_of(number);
                if kernels.any(|kernel| kernel.takes(Role::WideTargetInput, input)) {
                    synapses.add_wide(plan, number, bound)?;
                }
            }
            made.push(Made::Stateful(Box::new(synapses)));
        }
        Ok(made)
    }

    fn groups(&self, bounds: &[Vec<Bound>]) -> Result<Vec<Group>> {
        let mut groups = Vec::with_capacity(bounds.len());
        // One length for all rings: what a step does repeats sooner.
        let longest_delay = bounds
            .iter()
            .flatten()
            .map(|bound| bound.longest_delay)
            .max();
        let slots = longest_delay.unwrap_or(0) + 1;
        for (number, group) in self.plan.spiking.groups.iter().enumerate() {
            let mut needs = Vec::with_capacity(group.inputs.len());
            for (bound, input) in bounds[number].iter().zip(&group.inputs) {
                needs.push(InputNeed {
                    slots,
                    unit: bound.unit(&format!("{}.{input}", group.name))?,
                    reserved: bound.reserved,
                    wide: bound.wide(&format!("{}.{input}", group.name))?,
                });
            }
            groups.push(Group::build(
                self.plan,
                number,
                &needs,
                self.allocator,
                self.directory,
            )?);
        }
        Ok(groups)
    }

    fn finish(
        &self,
        made: Vec<Made>,
        groups: &[Group],
    ) -> Result<(Vec<Projection>, Vec<Option<EventPair>>)> {
        let mut projections = Vec::with_capacity(made.len());
        let mut events = Vec::with_capacity(made.len());
        for ((number, name), made) in self.names.iter().enumerate().zip(made) {
            let projection = &self.plan.spiking.projections[number];
            let origin = origin_of(self.plan, &projection.from)?;
            let target = target_of(self.plan, projection)?;
            let (kind, pair) = match made {
                Made::Draft(draft) => {
                    let unit = groups[target.group].inputs[draft.input].unit;
                    let (input, synapses) = draft.finish(unit);
                    (ProjectionKind::Static { input, synapses }, None)
                }
                Made::Stateful(synapses) => {
                    let pair = EventPair {
                        pre: Events::new(self.allocator, origin.size)?,
                        post: Events::new(self.allocator, target.size)?,
                    };
                    (ProjectionKind::Stateful(synapses), Some(pair))
                }
            };
            projections.push(Projection {
                name: name.clone(),
                origin,
                target,
                kind,
            });
            events.push(pair);
        }
        Ok((projections, events))
    }
}
