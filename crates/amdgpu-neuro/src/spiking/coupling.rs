//! Neurons that pull at each other in every step (gap junctions): each step is explicit, so coupling that is too strong for it makes
//! neighbours overshoot each other ever further. Found from the synapses when a network is built.

use std::collections::BTreeMap;

use super::parts::Parts;
use super::projection::ProjectionKind;
use crate::error::Result;
use crate::plan::spiking::SpikingNetworkPlan;

/// What a step adds to a neuron for each unit of its own variable, and what it leaves of it.
struct Pull {
    of_neurons: Vec<f64>,
    decay: f64,
    /// The first projection that pulls.
    name: String,
}

/// A warning for each variable that coupling will make diverge.
///
/// A step multiplies the variables of a group by decay - gain L, where L is the Laplacian of the coupling. Its eigenvalues lie between 0 and
/// twice the largest sum of the couplings of one neuron (Gershgorin), and reach that in chains and grids; the step is stable while
/// gain times the largest eigenvalue is at most 1 + decay.
pub(super) fn warnings(
    plan: &SpikingNetworkPlan,
    names: &[String],
    parts: &Parts,
    weight_of: impl Fn(usize) -> Option<usize>,
) -> Result<Vec<String>> {
    let mut pulls: BTreeMap<(usize, &str), Pull> = BTreeMap::new();
    for (number, projection) in plan.spiking.projections.iter().enumerate() {
        let (Some(coupling), ProjectionKind::Stateful(synapses)) =
            (&projection.coupling, &parts.projections[number].kind)
        else {
            continue;
        };
        let target = parts.projections[number].target;
        let size = parts.groups[target.group].size;
        let pull = pulls
            .entry((target.group, coupling.variable.as_str()))
            .or_insert_with(|| Pull {
                of_neurons: vec![0.0; size],
                decay: coupling.decay,
                name: names[number].clone(),
            });
        pull.decay = pull.decay.min(coupling.decay);
        let weights = match weight_of(number) {
            Some(variable) => synapses.variables[variable].read(0..synapses.count)?,
            None => vec![0.0; synapses.count],
        };
        let columns = synapses.columns.read(0..synapses.count)?;
        for (column, weight) in columns.into_iter().zip(weights) {
            let amount = coupling.constant + coupling.of_weight * f64::from(weight);
            pull.of_neurons[target.first + column as usize] += (coupling.gain * amount).abs();
        }
    }
    let warnings = pulls.into_iter().filter_map(|((_, variable), pull)| {
        let strongest = pull.of_neurons.into_iter().fold(0.0, f64::max);
        let limit = f64::midpoint(1.0, pull.decay);
        (strongest > limit).then(|| {
            let dt = plan.dt_seconds;
            format!(
                "the coupling by {} is too strong for a step of {dt} s: neighbours change {variable} of a neuron by up to {strongest:.3} of their difference in a step, and the coupling, which is an explicit step, is sure to be stable up to {limit:.3}; give a dt of at most {:.2e} s, or couple less",
                pull.name,
                dt * limit / strongest
            )
        })
    });
    Ok(warnings.collect())
}
