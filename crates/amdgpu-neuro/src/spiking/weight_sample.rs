//! A sample of the synapses of a network, for watchers. Its cost grows with the length of a few rows, not with the network.

use super::network::{Inner, SpikingNetwork};
use super::projection::ProjectionKind;
use super::storage::Weights;
use crate::error::Result;
use crate::watch::WeightSample;

impl SpikingNetwork {
    /// Of the first projection that learns, or the first at all. Nothing where there is none.
    pub(crate) fn weight_sample(&self, inner: &Inner) -> Result<Option<WeightSample>> {
        let projections = &inner.parts.projections;
        let learns = |number: &usize| {
            let kind = &projections[*number].kind;
            matches!(kind, ProjectionKind::Stateful(_)) && self.weight_variable(*number).is_some()
        };
        let chosen = (0..projections.len()).find(learns);
        let Some(number) = chosen.or((!projections.is_empty()).then_some(0)) else {
            return Ok(None);
        };
        let projection = &projections[number];
        let mut sample = WeightSample::empty(
            &self.names[number],
            projection.origin.size,
            projection.target.size,
        );
        for row in 0..sample.rows.len() {
            let source = sample.rows[row] as usize;
            match &projection.kind {
                ProjectionKind::Static { input, synapses } => {
                    let group = &inner.parts.groups[projection.target.group];
                    let unit = group.inputs[*input].unit.value();
                    synapses
                        .targets
                        .visit(source, &(0..u32::MAX), |synapse, target| {
                            let units = match &synapses.weights {
                                Weights::Uniform(weight) => *weight,
                                Weights::Each(weights) => weights[synapse],
                            };
                            sample.set(row, target, (f64::from(units) * unit) as f32);
                        });
                }
                ProjectionKind::Stateful(synapses) => {
                    let ends = synapses.row_starts.read(source..source + 2)?;
                    let range = ends[0] as usize..ends[1] as usize;
                    let targets = synapses.columns.read(range.clone())?;
                    let Some(weight) = self.weight_variable(number) else {
                        continue;
                    };
                    let weights = synapses.variables[weight].read(range)?;
                    for (target, weight) in targets.iter().zip(weights) {
                        sample.set(row, *target, weight);
                    }
                }
            }
        }
        Ok(Some(sample))
    }
}
