//! Initial values of neurons and synapses.

use std::path::Path;

use amdgpu_hal::cpu::pool;

use super::connectivity::Shared;
use super::objects::Object;
use crate::error::{Error, Result};
use crate::initial;
use crate::npy;
use crate::plan::Initializer;
use crate::plan::expression::{Expression, Token};
use crate::plan::spiking::ValuesPlan;

/// Values that a thread makes in one turn.
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
    object: Object,
    seed: u64,
    fans: Fans,
    count: usize,
    base_directory: &Path,
    what: &str,
) -> Result<Vec<f32>> {
    let mut values = zeros(count, what)?;
    if let Initializer::File { path } = initializer {
        npy::read_into(&base_directory.join(path), &[count], &mut values)?;
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

/// Values of synapses by an expression of their two neurons; `visit` tells it the place, source and target of each.
pub(crate) fn of_pairs(
    code: &[Token],
    what: &str,
    values: &mut [f32],
    visit: impl FnOnce(&mut dyn FnMut(usize, u32, u32)),
) -> Result<()> {
    let expression = Expression::new(code).ok_or_else(|| {
        Error::InvalidDescription(format!("{what} have an expression that cannot be computed"))
    })?;
    visit(&mut |place, source, target| values[place] = expression.value(source, target) as f32);
    crate::finite::check_vector(what, values)
}

/// Values of a variable or parameter over its group. Ranges draw from one object at the positions of their neurons.
pub(crate) fn over_group(
    plan: &ValuesPlan,
    object: Object,
    seed: u64,
    size: usize,
    base_directory: &Path,
    what: &str,
) -> Result<Vec<f32>> {
    let mut values = zeros(size, what)?;
    for range in &plan.values {
        let part = &mut values[range.first..range.first + range.count];
        if let Initializer::File { path } = &range.value {
            npy::read_into(&base_directory.join(path), &[range.count], part)?;
        } else {
            let stream = object.stream(seed, 0);
            let fans = (1.0, range.count as f64);
            initial::fill_from(&range.value, stream, fans, range.first as u64, part);
        }
    }
    crate::finite::check_vector(what, &values)?;
    Ok(values)
}
