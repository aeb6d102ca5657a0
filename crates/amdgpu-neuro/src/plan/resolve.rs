//! Puts files and arrays in the places of a plan that name them, and refuses what does not fit there.

use std::sync::Arc;

use super::inline_or_file::{ExternalList, InlineOrFile};
use super::positions::{MAX_DIMENSIONS, PositionsPlan};
use super::spiking::{
    ConvolutionPlan, DrivePlan, PatternPlan, ProjectionPlan, SourcePlan, SpikingNetworkPlan,
    SpikingPlan,
};
use super::{Initializer, LayeredNetworkPlan, check};
use crate::error::{Error, Result};
use crate::external_inputs::{Array, ExternalInputs, Origin};

fn refuse(what: &str, origin: &Origin, reason: &str) -> Error {
    Error::InvalidDescription(format!("{what}: {origin} {reason}"))
}

/// One number of an array as a list holds it.
trait Number: Sized {
    const NAME: &'static str;

    fn of(value: f64) -> Option<Self>;
}

impl Number for f64 {
    const NAME: &'static str = "a finite number";

    fn of(value: f64) -> Option<Self> {
        value.is_finite().then_some(value)
    }
}

impl Number for u32 {
    const NAME: &'static str = "a whole number from 0";

    fn of(value: f64) -> Option<Self> {
        let is_index = value >= 0.0 && value <= f64::from(Self::MAX) && value.fract() == 0.0;
        is_index.then_some(value as Self)
    }
}

impl Number for usize {
    const NAME: &'static str = u32::NAME;

    fn of(value: f64) -> Option<Self> {
        u32::of(value).map(|value| value as Self)
    }
}

/// A list's values, from where they are.
fn fill<T: Number>(
    values: &mut InlineOrFile<T>,
    inputs: &ExternalInputs,
    what: &str,
) -> Result<()> {
    let InlineOrFile::External(list) = &*values else {
        return Ok(());
    };
    let array = inputs.read(&list.origin, what)?;
    *values = InlineOrFile::new(column_of(&array, list, what)?);
    Ok(())
}

/// All values of an array with one axis, or a column of one that has two columns.
fn column_of<T: Number>(array: &Array, list: &ExternalList, what: &str) -> Result<Vec<T>> {
    let (first, step) = match (list.column, array.shape.as_slice()) {
        (None, [_]) => (0, 1),
        (Some(column), [_, 2]) => (column.min(1), 2),
        (column, shape) => {
            let wanted = if column.is_some() { "[n, 2]" } else { "[n]" };
            let reason = format!("has the shape {shape:?}, expected {wanted}");
            return Err(refuse(what, &list.origin, &reason));
        }
    };
    let own = array.values.iter().skip(first).step_by(step);
    own.enumerate()
        .map(|(row, value)| {
            T::of(*value).ok_or_else(|| {
                let reason = format!("holds {value} in row {row}, expected {}", T::NAME);
                refuse(what, &list.origin, &reason)
            })
        })
        .collect()
}

/// An initial value's array.
fn find(value: &mut Initializer, inputs: &ExternalInputs, what: &str) -> Result<()> {
    if let Initializer::Array { name, values } = value {
        *values = Some(inputs.read(&Origin::Array(name.clone()), what)?);
    }
    Ok(())
}

fn fill_positions(
    positions: &mut Option<PositionsPlan>,
    inputs: &ExternalInputs,
    what: &str,
) -> Result<()> {
    let Some(PositionsPlan::Points {
        dimensions,
        coordinates,
        period,
        ..
    }) = positions
    else {
        return Ok(());
    };
    let InlineOrFile::External(list) = &*coordinates else {
        return Ok(());
    };
    let array = inputs.read(&list.origin, what)?;
    let found = match array.shape.as_slice() {
        [_] => 1,
        [_, axes @ 1..=MAX_DIMENSIONS] => *axes,
        shape => {
            let reason = format!(
                "has the shape {shape:?}, expected a row for each neuron with 1 to {MAX_DIMENSIONS} coordinates"
            );
            return Err(refuse(what, &list.origin, &reason));
        }
    };
    if let Some(value) = array.values.iter().find(|value| !value.is_finite()) {
        return Err(refuse(what, &list.origin, &format!("holds {value}")));
    }
    *dimensions = Some(found);
    // One number is for every axis: how many there are only the values tell.
    if let Some(period) = period
        && let [all] = period[..]
    {
        period.resize(found, all);
    }
    *coordinates = InlineOrFile::new(array.values.clone());
    Ok(())
}

fn fill_pattern(pattern: &mut PatternPlan, inputs: &ExternalInputs, what: &str) -> Result<()> {
    match pattern {
        PatternPlan::Pairs { sources, targets } => {
            fill(
                sources,
                inputs,
                &format!("the sources of the pairs of {what}"),
            )?;
            fill(
                targets,
                inputs,
                &format!("the targets of the pairs of {what}"),
            )
        }
        PatternPlan::Convolution(convolution) => {
            let ConvolutionPlan { kernel, shape, .. } = &mut **convolution;
            let InlineOrFile::External(list) = &*kernel else {
                return Ok(());
            };
            let what = format!("the kernel of {what}");
            let array = inputs.read(&list.origin, &what)?;
            if let Some(value) = array.values.iter().find(|value| !value.is_finite()) {
                return Err(refuse(&what, &list.origin, &format!("holds {value}")));
            }
            shape.clone_from(&array.shape);
            *kernel = InlineOrFile::new(array.values.clone());
            Ok(())
        }
        _ => Ok(()),
    }
}

/// A pair that stands twice where each may stand once.
fn check_pairs(projection: &ProjectionPlan) -> Result<()> {
    let PatternPlan::Pairs { sources, targets } = &projection.pattern else {
        return Ok(());
    };
    if projection.allow_multapses {
        return Ok(());
    }
    let pairs = sources.values().iter().zip(targets.values());
    let mut pairs: Vec<_> = pairs.collect();
    pairs.sort_unstable();
    let Some(pair) = pairs.windows(2).find(|pair| pair[0] == pair[1]) else {
        return Ok(());
    };
    Err(Error::InvalidDescription(format!(
        "{} -> {}: the pair of source {} and target {} stands twice; multapses: true allows that",
        projection.from, projection.to, pair[0].0, pair[0].1
    )))
}

fn fill_projection(projection: &mut ProjectionPlan, inputs: &ExternalInputs) -> Result<()> {
    let what = format!("{} -> {}", projection.from, projection.to);
    fill_pattern(&mut projection.pattern, inputs, &what)?;
    check_pairs(projection)?;
    find(
        &mut projection.weight,
        inputs,
        &format!("the weights of {what}"),
    )?;
    find(
        &mut projection.delay_seconds,
        inputs,
        &format!("the delays of {what}"),
    )?;
    let of_synapses = projection.variables.iter_mut();
    let of_neurons = projection
        .pre_variables
        .iter_mut()
        .chain(&mut projection.post_variables);
    for variable in of_synapses.chain(of_neurons) {
        find(
            &mut variable.value,
            inputs,
            &format!("{what}.{}", variable.name),
        )?;
    }
    Ok(())
}

fn fill_sources(spiking: &mut SpikingPlan, inputs: &ExternalInputs) -> Result<()> {
    for source in &mut spiking.sources {
        let what = format!("source {:?}", source.name());
        let positions = match source {
            SourcePlan::Poisson {
                rate_hz, positions, ..
            } => {
                find(rate_hz, inputs, &format!("the rates of {what}"))?;
                positions
            }
            SourcePlan::Spikes {
                times_seconds,
                indices,
                positions,
                ..
            } => {
                fill(times_seconds, inputs, &format!("the times of {what}"))?;
                fill(indices, inputs, &format!("the indices of {what}"))?;
                positions
            }
        };
        fill_positions(positions, inputs, &format!("the positions of {what}"))?;
    }
    for drive in &mut spiking.drives {
        if let DrivePlan::Current {
            population,
            samples,
            ..
        } = drive
        {
            fill(
                samples,
                inputs,
                &format!("the samples that drive {population:?}"),
            )?;
        }
    }
    Ok(())
}

impl SpikingNetworkPlan {
    /// Reads what the plan names: afterwards every list is there, and fits.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, an array that was not given, values that do not fit where they are named.
    pub(crate) fn resolve(&mut self, inputs: &ExternalInputs) -> Result<()> {
        let spiking = &mut self.spiking;
        fill_sources(spiking, inputs)?;
        for population in &mut spiking.populations {
            let what = format!("the positions of {:?}", population.name);
            fill_positions(&mut population.positions, inputs, &what)?;
        }
        for group in &mut spiking.groups {
            for values in group.variables.iter_mut().chain(&mut group.parameters) {
                for range in &mut values.values {
                    let what = format!("{}.{}", group.name, values.name);
                    find(&mut range.value, inputs, &what)?;
                }
            }
        }
        for projection in &mut spiking.projections {
            fill_projection(projection, inputs)?;
        }
        check::check_spiking(self)
    }
}

impl LayeredNetworkPlan {
    /// Finds the arrays that weights and biases start as.
    ///
    /// # Errors
    ///
    /// An array that was not given.
    pub(crate) fn resolve(&mut self, inputs: &ExternalInputs) -> Result<()> {
        for connection in &mut self.connections {
            let what = format!("the weight of connection '{}'", connection.name());
            find(&mut connection.weight, inputs, &what)?;
        }
        for layer in &mut self.layers {
            if let Some(bias) = &mut layer.bias {
                find(bias, inputs, &format!("the bias of layer '{}'", layer.name))?;
            }
        }
        Ok(())
    }
}

/// The values of an array that has to have `shape`.
pub(crate) fn values_of<'a>(
    name: &str,
    values: Option<&'a Arc<Array>>,
    shape: &[usize],
) -> Result<&'a [f64]> {
    match values {
        Some(array) if array.shape == shape => Ok(&array.values),
        Some(array) => Err(Error::InvalidDescription(format!(
            "the array {name:?} has the shape {:?}, expected {shape:?}",
            array.shape
        ))),
        None => Err(Error::InvalidDescription(format!(
            "the array {name:?} was not given"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_taken_from_arrays_of_two_and_all_values_from_those_of_one_axis() {
        let array = |shape: &[usize]| Array {
            shape: shape.to_vec(),
            values: (0..shape.iter().product())
                .map(|value| value as f64)
                .collect(),
        };
        let column = |shape: &[usize], column: Option<usize>| {
            let given = ExternalList {
                origin: Origin::File("spikes.npy".into()),
                column,
            };
            column_of::<u32>(&array(shape), &given, "the indices of s").map_err(|e| e.to_string())
        };
        assert_eq!(column(&[3, 2], Some(0)), Ok(vec![0, 2, 4]));
        assert_eq!(column(&[3, 2], Some(1)), Ok(vec![1, 3, 5]));
        assert_eq!(column(&[4], None), Ok(vec![0, 1, 2, 3]));
        for (shape, wanted, expected) in [
            (
                &[3, 3][..],
                Some(0),
                "has the shape [3, 3], expected [n, 2]",
            ),
            (&[6], Some(0), "has the shape [6], expected [n, 2]"),
            (&[3, 2], None, "has the shape [3, 2], expected [n]"),
        ] {
            let text = column(shape, wanted).unwrap_err();
            assert!(
                text.contains("spikes.npy") && text.contains(expected),
                "{text}"
            );
        }
        let broken = Array {
            shape: vec![2, 2],
            values: vec![0.0, 1.0, 2.0, 1.5],
        };
        let given = ExternalList {
            origin: Origin::File("spikes.npy".into()),
            column: Some(1),
        };
        let text = column_of::<u32>(&broken, &given, "the indices of s").unwrap_err();
        let text = text.to_string();
        assert!(text.contains("holds 1.5 in row 1"), "{text}");
    }

    #[test]
    fn indices_are_whole_numbers_from_zero_to_what_32_bits_hold() {
        for (value, wanted) in [
            (0.0, Some(0)),
            (1.0, Some(1)),
            (4_294_967_295.0, Some(u32::MAX)),
            (4_294_967_296.0, None),
            (-1.0, None),
            (0.5, None),
            (f64::NAN, None),
            (f64::INFINITY, None),
        ] {
            assert_eq!(u32::of(value), wanted, "{value}");
            assert_eq!(
                usize::of(value),
                wanted.map(|index| index as usize),
                "{value}"
            );
        }
        assert_eq!(f64::of(-2.5), Some(-2.5));
        assert_eq!(f64::of(f64::NAN), None);
    }
}
