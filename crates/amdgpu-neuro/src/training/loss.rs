//! Losses, and their gradients with respect to the values or sums of the output layers.

use crate::error::{Error, Result};

/// The function that training minimises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Mean over samples of `-sum(target * ln(softmax))`, taken together with the softmax of the output layer so that no logarithm of a
    /// rounded zero is met.
    CrossEntropy,
    /// Mean over samples and outputs of `(output - target)²`.
    MeanSquaredError,
}

impl Loss {
    pub const ALL: [Self; 2] = [Self::CrossEntropy, Self::MeanSquaredError];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CrossEntropy => "cross_entropy",
            Self::MeanSquaredError => "mean_squared_error",
        }
    }

    /// # Errors
    ///
    /// No loss has this name.
    pub fn from_name(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|loss| loss.name() == name);
        found.ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            Error::InvalidArgument(format!("loss is {name:?}; known are {known}"))
        })
    }
}

/// What the outputs should be, for every sample of a data set.
#[derive(Clone, Copy, Debug)]
pub enum Targets<'a> {
    /// `[samples, outputs]`.
    Values(&'a [f32]),
    /// The right class of each sample.
    Labels(&'a [u32]),
}

impl Targets<'_> {
    /// # Errors
    ///
    /// Another number of targets than `count` samples of `outputs` values need.
    pub(crate) fn check_len(&self, count: usize, outputs: usize) -> Result<()> {
        let (len, wanted) = match self {
            Self::Values(values) => (values.len(), count.checked_mul(outputs)),
            Self::Labels(labels) => (labels.len(), Some(count)),
        };
        if wanted == Some(len) {
            return Ok(());
        }
        Err(Error::ShapeMismatch(format!(
            "there are {len} target values for {count} samples of {outputs} outputs"
        )))
    }

    /// The targets of one output layer's columns `first .. first + size` for a sample: value by value.
    fn row(&self, sample: usize, width: usize, first: usize, size: usize) -> Row<'_> {
        match self {
            Self::Values(values) => Row::Values(&values[sample * width + first..][..size]),
            Self::Labels(labels) => Row::Label(labels[sample] as usize),
        }
    }
}

#[derive(Clone, Copy)]
enum Row<'a> {
    Values(&'a [f32]),
    Label(usize),
}

impl Row<'_> {
    fn at(self, column: usize) -> f32 {
        match self {
            Self::Values(values) => values[column],
            Self::Label(label) => f32::from(u8::from(label == column)),
        }
    }

    fn total(self) -> f32 {
        match self {
            Self::Values(values) => values.iter().sum(),
            Self::Label(_) => 1.0,
        }
    }

    fn class(self) -> usize {
        match self {
            Self::Values(values) => largest(values),
            Self::Label(label) => label,
        }
    }
}

/// Position of the largest value, the first of equals.
fn largest(values: &[f32]) -> usize {
    let mut best = 0;
    for (place, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = place;
        }
    }
    best
}

/// Where an output layer's values stand in a row of targets.
#[derive(Clone, Copy, Debug)]
pub struct Columns {
    pub first: usize,
    pub size: usize,
    /// Of all output layers together.
    pub width: usize,
}

/// What one output layer adds to the sums of a batch.
#[derive(Clone, Copy, Debug, Default)]
pub struct Score {
    /// Sum over the samples, before it is divided by their number.
    pub loss: f64,
    /// Samples whose largest output is the right one.
    pub correct: u64,
}

/// Refuses a target that is NaN, infinite or, where targets are shares, negative.
pub(crate) fn check_target(value: f32, sample: usize, column: usize, is_share: bool) -> Result<()> {
    if !value.is_finite() {
        return Err(Error::NotFinite {
            what: "the targets".to_owned(),
            value,
            place: format!("[{sample}, {column}]"),
        });
    }
    if is_share && value < 0.0 {
        return Err(Error::InvalidArgument(format!(
            "cross entropy takes shares from 0; the target at [{sample}, {column}] is {value}"
        )));
    }
    Ok(())
}

/// Factor of the gradient of the cross entropy: the loss is the mean over the batch.
pub(crate) fn cross_entropy_share(samples: usize) -> f32 {
    1.0 / samples as f32
}

/// Factor of the gradient of squared errors: the loss is the mean over batch and outputs.
pub(crate) fn squared_error_share(samples: usize, width: usize) -> f32 {
    2.0 / (samples as f32 * width as f32)
}

/// Cross entropy of `sums[batch, size]`: writes their softmax to `values` and the gradient by the sums, divided by the batch, to `delta`.
pub(crate) fn cross_entropy(
    targets: &Targets<'_>,
    samples: &[u32],
    columns: Columns,
    sums: &[f32],
    values: &mut [f32],
    delta: &mut [f32],
) -> Result<Score> {
    let Columns { first, size, width } = columns;
    let share = cross_entropy_share(samples.len());
    let mut score = Score::default();
    let rows = sums
        .chunks_exact(size)
        .zip(values.chunks_exact_mut(size))
        .zip(delta.chunks_exact_mut(size));
    for (((sums, values), delta), &sample) in rows.zip(samples) {
        let row = targets.row(sample as usize, width, first, size);
        let top = sums.iter().fold(f32::NEG_INFINITY, |top, x| top.max(*x));
        let mut total = 0.0;
        for (value, sum) in values.iter_mut().zip(sums) {
            *value = (sum - top).exp();
            total += *value;
        }
        let logarithm = f64::from(total).ln();
        let inverse = 1.0 / total;
        let weight = row.total();
        for (column, ((value, sum), delta)) in values.iter_mut().zip(sums).zip(delta).enumerate() {
            let target = row.at(column);
            check_target(target, sample as usize, column + first, true)?;
            if target != 0.0 {
                score.loss += f64::from(target) * (logarithm - f64::from(sum - top));
            }
            *value *= inverse;
            *delta = share * (*value * weight - target);
        }
        score.correct += u64::from(largest(sums) == row.class());
    }
    Ok(score)
}

/// Squared errors of `values[batch, size]`; the gradient by the values, divided by batch and all outputs, goes to `delta`.
pub(crate) fn squared_error(
    targets: &Targets<'_>,
    samples: &[u32],
    columns: Columns,
    values: &[f32],
    delta: &mut [f32],
) -> Result<Score> {
    let Columns { first, size, width } = columns;
    let share = squared_error_share(samples.len(), width);
    let mut loss = 0.0;
    let rows = values.chunks_exact(size).zip(delta.chunks_exact_mut(size));
    for ((values, delta), &sample) in rows.zip(samples) {
        let row = targets.row(sample as usize, width, first, size);
        for (column, (value, delta)) in values.iter().zip(delta).enumerate() {
            let target = row.at(column);
            check_target(target, sample as usize, column + first, false)?;
            let error = value - target;
            loss += f64::from(error) * f64::from(error);
            *delta = share * error;
        }
    }
    Ok(Score {
        loss: loss / width as f64,
        correct: 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Columns = Columns {
        first: 0,
        size: 3,
        width: 3,
    };

    fn close(found: &[f32], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!(
                (f64::from(*found) - expected).abs() < 1e-6,
                "{found} {expected}"
            );
        }
    }

    #[test]
    fn losses_are_known_by_name() {
        for loss in Loss::ALL {
            assert_eq!(Loss::from_name(loss.name()).unwrap(), loss);
        }
        let error = Loss::from_name("hinge").unwrap_err().to_string();
        assert!(
            error.contains("known are cross_entropy, mean_squared_error"),
            "{error}"
        );
        assert_eq!(Loss::CrossEntropy.name(), "cross_entropy");
    }

    #[test]
    fn targets_are_as_many_as_samples_and_outputs_need() {
        assert!(Targets::Values(&[0.0; 6]).check_len(2, 3).is_ok());
        assert!(Targets::Labels(&[0, 1]).check_len(2, 3).is_ok());
        for (targets, len) in [
            (Targets::Values(&[0.0; 5]), 5),
            (Targets::Labels(&[0; 6]), 6),
            (Targets::Labels(&[0]), 1),
        ] {
            assert_eq!(
                targets.check_len(2, 3).unwrap_err().to_string(),
                Error::ShapeMismatch(format!(
                    "there are {len} target values for 2 samples of 3 outputs"
                ))
                .to_string()
            );
        }
        assert!(Targets::Values(&[]).check_len(usize::MAX, 2).is_err());
    }

    /// Against the formula in float64, for labels and for shares, and samples in another order.
    #[test]
    fn cross_entropy_and_its_gradient_follow_the_formula() {
        let sums = [1.0_f32, 2.0, -1.0, 0.5, 0.5, 3.0];
        let shares = [[0.2_f32, 0.0, 0.6], [0.0, 1.0, 0.0]];
        let flat = shares.concat();
        // The first row of the batch is sample 1.
        let order = [1, 0];
        for targets in [Targets::Values(&flat), Targets::Labels(&[2, 1])] {
            let (mut values, mut delta) = ([9.0; 6], [9.0; 6]);
            let score =
                cross_entropy(&targets, &order, ONE, &sums, &mut values, &mut delta).unwrap();
            let mut loss = 0.0;
            let (mut softmax, mut gradient) = (Vec::new(), Vec::new());
            for (row, &sample) in sums.chunks(3).zip(&order) {
                let target = |column: usize| match targets {
                    Targets::Values(_) => f64::from(shares[sample as usize][column]),
                    Targets::Labels(labels) => {
                        f64::from(u8::from(labels[sample as usize] as usize == column))
                    }
                };
                let total: f64 = row.iter().map(|sum| f64::from(*sum).exp()).sum();
                let weight: f64 = (0..3).map(target).sum();
                for (column, sum) in row.iter().enumerate() {
                    let value = f64::from(*sum).exp() / total;
                    loss -= target(column) * value.ln();
                    softmax.push(value);
                    gradient.push((value * weight - target(column)) / 2.0);
                }
            }
            assert!((score.loss - loss).abs() < 1e-6, "{} {loss}", score.loss);
            close(&values, &softmax);
            close(&delta, &gradient);
            // Largest outputs are 1 and 2: both classes are met, of shares and of labels alike.
            assert_eq!(score.correct, 2);
        }
    }

    #[test]
    fn squared_error_is_the_mean_over_all_outputs() {
        // The second of two output layers: two columns of five.
        let columns = Columns {
            first: 3,
            size: 2,
            width: 5,
        };
        let targets = [0.0, 0.0, 0.0, 1.0, 2.0, 0.0, 0.0, 0.0, -1.0, 0.5];
        let (values, mut delta) = ([1.5_f32, 2.0, 0.0, 0.0], [9.0; 4]);
        let score = squared_error(
            &Targets::Values(&targets),
            &[0, 1],
            columns,
            &values,
            &mut delta,
        )
        .unwrap();
        assert!((score.loss - (0.25 + 1.0 + 0.25) / 5.0).abs() < 1e-12);
        close(&delta, &[0.1, 0.0, 0.2, -0.1]);
        assert_eq!(score.correct, 0);
    }

    #[test]
    fn targets_that_are_no_numbers_or_no_shares_are_named() {
        let sums = [0.0_f32; 3];
        let mut buffers = ([0.0_f32; 3], [0.0_f32; 3]);
        let mut ask = |values: &[f32], is_share: bool| {
            let targets = Targets::Values(values);
            let (softmax, delta) = (&mut buffers.0, &mut buffers.1);
            let outcome = if is_share {
                cross_entropy(&targets, &[0], ONE, &sums, softmax, delta)
            } else {
                squared_error(&targets, &[0], ONE, &sums, delta)
            };
            outcome.map(drop).map_err(|error| error.to_string())
        };
        for is_share in [true, false] {
            for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                let message = ask(&[0.0, bad, 0.0], is_share).unwrap_err();
                assert!(
                    message.contains("the targets") && message.contains("[0, 1]"),
                    "{message}"
                );
            }
        }
        let message = ask(&[0.0, 0.0, -0.5], true).unwrap_err();
        assert!(
            message.ends_with("cross entropy takes shares from 0; the target at [0, 2] is -0.5"),
            "{message}"
        );
        assert_eq!(ask(&[0.0, 0.0, -0.5], false), Ok(()));
        assert_eq!(ask(&[0.0, 0.0, 0.0], true), Ok(()));
        assert_eq!(largest(&[1.0, 3.0, 3.0]), 1, "the first of equals");
    }
}
