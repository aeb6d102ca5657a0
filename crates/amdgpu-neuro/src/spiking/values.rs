//! Initial values of neurons and synapses.

use std::path::Path;
use std::sync::Arc;

use amdgpu_hal::cpu::pool;

use super::connectivity::{Connector, Shared};
use super::rng_streams::RngStream;
use crate::error::{Error, Result};
use crate::external_inputs::Origin;
use crate::initial;
use crate::npy;
use crate::plan::Initializer;
use crate::plan::expression::{Expression, Pair, Surroundings, Synapse, Token};
use crate::plan::positions::PositionsPlan;
use crate::plan::resolve::values_of;
use crate::plan::spiking::ValuesPlan;

/// Values that a thread makes at a time.
const VALUES_PER_TURN: u64 = 1 << 14;

/// How many synapses reach a target and leave a source on average, for rules that depend on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fans(pub f64, pub f64);

/// Memory for `count` values, zeroed.
pub(crate) fn zeros<T: Clone + Default>(count: usize, what: &str) -> Result<Vec<T>> {
    let mut values = Vec::new();
    values
        .try_reserve_exact(count)
        .map_err(|_| Error::OutOfMemory {
            what: what.to_owned(),
            bytes: count * size_of::<T>(),
        })?;
    values.resize(count, T::default());
    Ok(values)
}

/// `count` values of an object. Position `i` has the same value whatever the number of threads.
pub(crate) fn draw(
    initializer: &Initializer,
    object: RngStream,
    seed: u64,
    fans: Fans,
    count: usize,
    base_directory: &Path,
    what: &str,
) -> Result<Vec<f32>> {
    let mut values = zeros(count, what)?;
    if let Initializer::File { path } = initializer {
        npy::read_into(&base_directory.join(path), &[count], &mut values)?;
    } else if let Initializer::Array {
        name,
        values: given,
    } = initializer
    {
        copy(values_of(name, given.as_ref(), &[count])?, &mut values);
    } else {
        let stream = object.stream(seed, 0);
        let shared = Shared::new(&mut values);
        pool::global()
            .parallel_for(count as u64, VALUES_PER_TURN, &|range| {
                // SAFETY: the ranges do not overlap.
                let part = unsafe { shared.slice(range.start as usize..range.end as usize) };
                initial::fill_from(initializer, stream, (fans.0, fans.1), range.start, part);
            })
            .map_err(|error| Error::from_core(&error))?;
    }
    crate::finite::check_vector(what, &values)?;
    Ok(values)
}

/// Where values of synapses come from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SynapseValues<'a> {
    pub value: &'a Initializer,
    pub object: RngStream,
    pub seed: u64,
    pub fans: Fans,
    pub base_directory: &'a Path,
}

impl SynapseValues<'_> {
    /// One value for each of `count` synapses; `visit` tells what it is given the place, source and target of each.
    pub fn all(
        &self,
        count: usize,
        connector: &Connector,
        what: &str,
        visit: impl FnOnce(&mut dyn FnMut(usize, u32, u32)),
    ) -> Result<Vec<f32>> {
        let matrix = [connector.sources, connector.targets];
        let given = match self.value {
            Initializer::Expression { code } => {
                let mut values = zeros(count, what)?;
                self.compute(code, connector, what, &mut values, visit)?;
                return Ok(values);
            }
            Initializer::File { path } => {
                Some(Arc::new(npy::read(&self.base_directory.join(path))?))
            }
            Initializer::Array { values, .. } => values.clone(),
            _ => None,
        };
        match given {
            Some(given) if given.shape == matrix => {
                let mut values = zeros(count, what)?;
                visit(&mut |place, source, target| {
                    let at = source as usize * matrix[1] + target as usize;
                    values[place] = given.values[at] as f32;
                });
                crate::finite::check_vector(what, &values)?;
                Ok(values)
            }
            Some(given) if given.shape != [count] => Err(Error::InvalidDescription(format!(
                "{what}: {} has the shape {:?}, expected {matrix:?} or one value for each of the synapses, {:?}",
                origin_of(self.value),
                given.shape,
                [count]
            ))),
            _ => draw(
                self.value,
                self.object,
                self.seed,
                self.fans,
                count,
                self.base_directory,
                what,
            ),
        }
    }

    fn compute(
        &self,
        code: &[Token],
        connector: &Connector,
        what: &str,
        values: &mut [f32],
        visit: impl FnOnce(&mut dyn FnMut(usize, u32, u32)),
    ) -> Result<()> {
        let expression = Expression::new(code).ok_or_else(|| {
            Error::InvalidDescription(format!("{what} have an expression that cannot be computed"))
        })?;
        let around = Surroundings {
            pair: connector.space.as_deref().map(|space| space as &dyn Pair),
            seed: self.seed,
            object: self.object.number(),
        };
        visit(&mut |place, source, target| {
            let synapse = Synapse {
                place,
                source,
                target,
            };
            values[place] = expression.value(synapse, &around) as f32;
        });
        crate::finite::check_vector(what, values)
    }
}

/// Where given values are, for messages.
fn origin_of(value: &Initializer) -> String {
    match value {
        Initializer::File { path } => Origin::File(path.clone()).to_string(),
        Initializer::Array { name, .. } => Origin::Array(name.clone()).to_string(),
        _ => "the value".to_owned(),
    }
}

fn copy(given: &[f64], out: &mut [f32]) {
    for (value, given) in out.iter_mut().zip(given) {
        *value = *given as f32;
    }
}

/// Values of a variable or parameter over its group; `positions_at` tells where the neurons of the population that begins at a place of
/// the group are. Ranges draw from one object at the positions of their neurons.
pub(crate) fn over_group<'a>(
    plan: &ValuesPlan,
    object: RngStream,
    seed: u64,
    size: usize,
    base_directory: &Path,
    positions_at: impl Fn(usize) -> Option<&'a PositionsPlan>,
    what: &str,
) -> Result<Vec<f32>> {
    let mut values = zeros(size, what)?;
    for range in &plan.values {
        let part = &mut values[range.first..range.first + range.count];
        if let Initializer::File { path } = &range.value {
            npy::read_into(&base_directory.join(path), &[range.count], part)?;
        } else if let Initializer::Array {
            name,
            values: given,
        } = &range.value
        {
            copy(values_of(name, given.as_ref(), &[range.count])?, part);
        } else if let Initializer::Position { axis } = range.value {
            let positions = positions_at(range.first);
            if let Some(positions) = positions
                && axis >= positions.dimensions()
            {
                return Err(Error::InvalidDescription(format!(
                    "{what} uses axis {} of positions that have {}",
                    axis + 1,
                    positions.dimensions()
                )));
            }
            for (neuron, value) in part.iter_mut().enumerate() {
                *value = positions.map_or(0.0, |positions| positions.of(neuron)[axis]) as f32;
            }
        } else {
            let stream = object.stream(seed, 0);
            let fans = (1.0, range.count as f64);
            initial::fill_from(&range.value, stream, fans, range.first as u64, part);
        }
    }
    crate::finite::check_vector(what, &values)?;
    Ok(values)
}
