//! Batch normalisation (Ioffe & Szegedy 2015) and its gradients: every channel is normalised over all other axes.
//!
//! Statistics are kept in float64 until they are used; the result is (x - mean) * scale + bias with scale = weight / sqrt(variance + epsilon)
//! computed in float64 and rounded once. float16 and bfloat16 values are computed in float32. Parameters, one value for each channel, lie on
//! any device. CPUs read them and compute by elementwise operations; other devices have kernels of their own, and no call waits for them.

mod on_device;

use amdgpu_abi::promotion::is_float;
use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, Dims};
use amdgpu_matrix::TensorView;

use smallvec::SmallVec;

use crate::cpu::Results;
use crate::elementwise::{Elementwise, elementwise};
use crate::operand::{Operand, Scalar, Target};
use crate::reduce::Reduce;
use crate::statistics::{converted, from_host_values, host_values, over, product};
use crate::transpose::dense;
use crate::{DeviceOps, Error, Operation, Result, cast, trace};

/// Means and factors outside of it lose digits as float32, or are infinite.
const FLOAT32_RANGE: (f64, f64) = (
    // 2^-120 and 2^120.
    f64::from_bits((1023 - 120) << 52),
    f64::from_bits((1023 + 120) << 52),
);

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchNormOptions {
    /// The axis of the channels; negative counts from the end.
    pub channel_axis: i64,
    /// Added to the variance; not negative.
    pub epsilon: f64,
}

/// What a call of batch normalisation is given beside its options; a factor of `None` is 1, an addend 0.
#[derive(Clone, Copy, Debug)]
pub struct ChannelParameters<'a> {
    pub weight: Option<&'a Operand>,
    pub bias: Option<&'a Operand>,
}

/// Normalises x with given statistics, as at inference. Parameters have one value for each channel.
///
/// # Errors
///
/// `shape-mismatch` when x has no such axis or a parameter another shape, `unsupported-dtype` unless x holds floats, `invalid-argument` for a
/// negative epsilon.
pub fn batch_norm(
    ops: &DeviceOps,
    x: &Operand,
    (mean, variance): (&Operand, &Operand),
    parameters: ChannelParameters<'_>,
    options: BatchNormOptions,
) -> Result<Array> {
    if trace::is_tracing() {
        let operation = Operation::BatchNorm {
            options,
            has_weight: parameters.weight.is_some(),
            has_bias: parameters.bias.is_some(),
        };
        let mut inputs: SmallVec<[&Operand; 5]> = SmallVec::from_slice(&[x, mean, variance]);
        inputs.extend(parameters.weight);
        inputs.extend(parameters.bias);
        return trace::noted(operation, &inputs, || {
            normalized(ops, x, (mean, variance), parameters, options)
        });
    }
    normalized(ops, x, (mean, variance), parameters, options)
}

/// Shape and dtype of the result of [`batch_norm`] for images, mean, variance and parameters of these shapes and dtypes.
pub(crate) fn describe(
    inputs: &[TensorView<'_>],
    options: BatchNormOptions,
) -> Result<(Dims, Dtype)> {
    let x = &inputs[0];
    let shape = Dims::from_slice(x.shape());
    let seen =
        Operand::of_number(Scalar::Int(0), x.dtype()).with_layout(shape.clone(), Dims::new());
    let channels = Channels::of("batch_norm", &seen, options)?;
    let names = ["mean", "variance", "weight", "bias"];
    for (name, values) in names.iter().zip(&inputs[1..]) {
        channels.check_count(name, values.shape())?;
    }
    Ok((shape, x.dtype()))
}

fn normalized(
    ops: &DeviceOps,
    x: &Operand,
    (mean, variance): (&Operand, &Operand),
    parameters: ChannelParameters<'_>,
    options: BatchNormOptions,
) -> Result<Array> {
    let channels = Channels::of("batch_norm", x, options)?;
    if !ops.computes_on_host() {
        return on_device::normalized(ops, x, (mean, variance), parameters, (&channels, options));
    }
    let mean = channels.values("mean", mean)?;
    let variance = channels.values("variance", variance)?;
    let weight = channels.values_or("weight", parameters.weight, 1.0)?;
    let bias = channels.values_or("bias", parameters.bias, 0.0)?;
    let scale: Vec<f64> = weight
        .iter()
        .zip(&variance)
        .map(|(weight, variance)| weight / (variance + options.epsilon).sqrt())
        .collect();
    let dtype = computed_dtype(x.dtype, [&mean, &scale]);
    let of_channels = |values: &[f64]| from_host_values(ops, values, &channels.shape, dtype);
    let inputs = [
        x.clone(),
        of_channels(&mean)?,
        of_channels(&scale)?,
        of_channels(&bias)?,
    ];
    let made = elementwise(ops, Elementwise::Standardize, &inputs, None, 0.0)?;
    converted(ops, &Operand::of_array(made), x.dtype)?.into_array()
}

/// What [`batch_norm_training`] gives.
#[derive(Debug)]
pub struct Trained {
    pub result: Array,
    /// Of each channel, float32 unless x is float64.
    pub mean: Array,
    /// Divided by the number of values, not by one less.
    pub variance: Array,
}

/// Normalises x with its own statistics, as in training.
///
/// # Errors
///
/// As [`batch_norm`].
pub fn batch_norm_training(
    ops: &DeviceOps,
    x: &Operand,
    parameters: ChannelParameters<'_>,
    options: BatchNormOptions,
) -> Result<Trained> {
    if trace::is_tracing() {
        let channels = Channels::of("batch_norm_training", x, options)?;
        let mean = channels.statistic(ops, Reduce::Mean, x)?;
        let variance = channels.statistic(ops, Reduce::Variance, x)?;
        let result = batch_norm(ops, x, (&mean, &variance), parameters, options)?;
        return Training {
            result,
            mean,
            variance,
        }
        .rounded(ops, x.dtype);
    }
    let places = TrainingPlaces::default();
    batch_norm_training_into(ops, x, parameters, options, &places)?.rounded(ops, x.dtype)
}

/// Where [`batch_norm_training_into`] writes to, on its device; what is `None` is not written.
#[derive(Clone, Copy, Debug, Default)]
pub struct TrainingPlaces<'a> {
    /// Receives the result; a new array otherwise.
    pub out: Option<&'a Array>,
    /// Receive the mean of each channel and 1 / sqrt(variance + epsilon), for the gradients.
    pub saved: Option<[&'a Array; 2]>,
    /// Running mean and variance of each channel, which move towards those of x by `momentum`; the variance divided by one less than the
    /// number of values.
    pub running: Option<[&'a Array; 2]>,
    pub momentum: f64,
}

/// What [`batch_norm_training_into`] gives: the result, and statistics in float64.
#[derive(Debug)]
pub struct Training {
    pub result: Array,
    mean: Operand,
    variance: Operand,
}

impl Training {
    /// With the statistics in the dtype of [`Trained`], for values of a dtype.
    ///
    /// # Errors
    ///
    /// What the device reports.
    pub fn rounded(self, ops: &DeviceOps, x: Dtype) -> Result<Trained> {
        let dtype = if x == Dtype::F64 {
            Dtype::F64
        } else {
            Dtype::F32
        };
        Ok(Trained {
            result: self.result,
            mean: converted(ops, &self.mean, dtype)?.into_array()?,
            variance: converted(ops, &self.variance, dtype)?.into_array()?,
        })
    }
}

/// [`batch_norm_training`] into memory that the caller gives, with what a training step keeps beside the result.
///
/// # Errors
///
/// As [`batch_norm_training`]; for places that do not fit as any `out`.
pub fn batch_norm_training_into(
    ops: &DeviceOps,
    x: &Operand,
    parameters: ChannelParameters<'_>,
    options: BatchNormOptions,
    places: &TrainingPlaces<'_>,
) -> Result<Training> {
    let channels = Channels::of("batch_norm_training", x, options)?;
    let out = channels.out(ops, x, (x, places.out))?;
    for array in places.saved.iter().chain(&places.running).flatten() {
        channels.check_place(ops, array)?;
    }
    if !ops.computes_on_host() {
        let given = (&channels, options);
        return on_device::trained(ops, x, parameters, given, (out.as_ref(), places));
    }
    let mean = channels.statistic(ops, Reduce::Mean, x)?;
    let variance = channels.statistic(ops, Reduce::Variance, x)?;
    let result = normalized(ops, x, (&mean, &variance), parameters, options)?;
    let values = [host_values(&mean)?, host_values(&variance)?];
    places.keep(ops, &values, (x.len(), options.epsilon))?;
    Ok(Training {
        result: moved(ops, result, out.as_ref())?,
        mean,
        variance,
    })
}

impl TrainingPlaces<'_> {
    /// Writes what is kept of a batch's means and variances.
    fn keep(
        &self,
        ops: &DeviceOps,
        [mean, variance]: &[Vec<f64>; 2],
        (len, epsilon): (i64, f64),
    ) -> Result<()> {
        let count = len as f64 / mean.len().max(1) as f64;
        let fill = |values: &[f64], place: &Array| {
            let made = from_host_values(ops, values, &place.shape, Dtype::F64)?;
            cast(ops, &made, place.dtype, Some(place)).map(drop)
        };
        if let Some([of_mean, of_scale]) = self.saved {
            fill(mean, of_mean)?;
            let scale = variance.iter().map(|one| 1.0 / (one + epsilon).sqrt());
            fill(&scale.collect::<Vec<_>>(), of_scale)?;
        }
        if let Some([of_mean, of_variance]) = self.running {
            let step = |place: &Array, values: &[f64], factor: f64| {
                let before = host_values(&Operand::of_array(place.clone()))?;
                let moved = before.iter().zip(values).map(|(before, value)| {
                    (1.0 - self.momentum) * before + self.momentum * (value * factor)
                });
                fill(&moved.collect::<Vec<_>>(), place)
            };
            step(of_mean, mean, 1.0)?;
            step(of_variance, variance, count / (count - 1.0).max(1.0))?;
        }
        Ok(())
    }
}

/// An array, or the place that its values were copied to.
fn moved(ops: &DeviceOps, made: Array, place: Option<&Array>) -> Result<Array> {
    match place {
        Some(place) => cast(ops, &Operand::of_array(made), place.dtype, Some(place)),
        None => Ok(made),
    }
}

/// What [`batch_norm_gradient`] gives, of the dtype of x.
#[derive(Debug)]
pub struct ChannelGradients {
    pub by_x: Array,
    pub by_weight: Array,
    pub by_bias: Array,
}

/// The gradients of [`batch_norm_training`]; `gradient` is that of its result.
///
/// # Errors
///
/// As [`batch_norm`]; `shape-mismatch` and `unsupported-dtype` where `gradient` is not like x.
pub fn batch_norm_gradient(
    ops: &DeviceOps,
    x: &Operand,
    gradient: &Operand,
    weight: Option<&Operand>,
    options: BatchNormOptions,
) -> Result<ChannelGradients> {
    let compute = || {
        let places = GradientPlaces::default();
        batch_norm_gradient_into(ops, (x, gradient), weight, options, &places)
    };
    if !trace::is_tracing() {
        return compute();
    }
    let mut inputs: SmallVec<[&Operand; 5]> = SmallVec::from_slice(&[x, gradient]);
    inputs.extend(weight);
    let made = trace::noted_all(Operation::BatchNormGradient(options), &inputs, || {
        compute().map(ChannelGradients::into_results)
    })?;
    match <[Array; 3]>::try_from(made.into_vec()) {
        Ok([by_x, by_weight, by_bias]) => Ok(ChannelGradients {
            by_x,
            by_weight,
            by_bias,
        }),
        Err(_) => Err(Error::refused(
            ErrorCode::Internal,
            "three gradients are made",
        )),
    }
}

impl ChannelGradients {
    /// In the order of the fields.
    pub(crate) fn into_results(self) -> Results {
        Results::from_iter([self.by_x, self.by_weight, self.by_bias])
    }
}

/// Shapes of the results of [`batch_norm_gradient`] for x, gradient and, where there is one, weight of these shapes and dtypes.
pub(crate) fn describe_gradient(
    inputs: &[TensorView<'_>],
    options: BatchNormOptions,
) -> Result<[Dims; 3]> {
    let seen = |view: &TensorView<'_>| {
        Operand::of_number(Scalar::Int(0), view.dtype())
            .with_layout(Dims::from_slice(view.shape()), Dims::new())
    };
    let x = seen(&inputs[0]);
    let channels = Channels::of("batch_norm_gradient", &x, options)?;
    channels.check_gradient(&x, &seen(&inputs[1]))?;
    if let Some(weight) = inputs.get(2) {
        channels.check_count("weight", weight.shape())?;
    }
    let each = Dims::from_slice(&[channels.count]);
    Ok([x.shape.clone(), each.clone(), each])
}

/// What [`batch_norm_gradient_into`] is given beside its inputs.
#[derive(Clone, Copy, Debug, Default)]
pub struct GradientPlaces<'a> {
    /// The mean of each channel and 1 / sqrt(variance + epsilon), as training saved them; computed again otherwise.
    pub saved: Option<[&'a Operand; 2]>,
    /// Receives the gradient by x; a new array otherwise.
    pub by_x: Option<&'a Array>,
    /// Receive the gradients by the parameters, in any float dtype; new arrays of that of x otherwise.
    pub by_weight: Option<&'a Array>,
    pub by_bias: Option<&'a Array>,
}

/// [`batch_norm_gradient`] of saved statistics, into memory that the caller gives.
///
/// # Errors
///
/// As [`batch_norm_gradient`]; for places that do not fit as any `out`.
pub fn batch_norm_gradient_into(
    ops: &DeviceOps,
    (x, gradient): (&Operand, &Operand),
    weight: Option<&Operand>,
    options: BatchNormOptions,
    places: &GradientPlaces<'_>,
) -> Result<ChannelGradients> {
    let channels = Channels::of("batch_norm_gradient", x, options)?;
    channels.check_gradient(x, gradient)?;
    let by_x = channels.out(ops, x, (gradient, places.by_x))?;
    for array in places.by_weight.iter().chain(&places.by_bias) {
        channels.check_place(ops, array)?;
    }
    if !ops.computes_on_host() {
        let given = (&channels, options);
        return on_device::gradients(ops, (x, gradient), weight, given, (by_x.as_ref(), places));
    }
    let made = gradients(
        ops,
        (x, gradient),
        weight,
        (&channels, options),
        places.saved,
    )?;
    let of_parameter = |made: Array, place: Option<&Array>| match place {
        Some(place) => moved(ops, made, Some(place)),
        None => converted(ops, &Operand::of_array(made), x.dtype)?.into_array(),
    };
    Ok(ChannelGradients {
        by_x: moved(ops, made.by_x, by_x.as_ref())?,
        by_weight: of_parameter(made.by_weight, places.by_weight)?,
        by_bias: of_parameter(made.by_bias, places.by_bias)?,
    })
}

/// The gradients by elementwise operations on the CPU; those by parameters in float64.
fn gradients(
    ops: &DeviceOps,
    (x, gradient): (&Operand, &Operand),
    weight: Option<&Operand>,
    (channels, options): (&Channels, BatchNormOptions),
    saved: Option<[&Operand; 2]>,
) -> Result<ChannelGradients> {
    let factor = channels.values_or("weight", weight, 1.0)?;
    let (mean, deviation) = if let Some([mean, scale]) = saved {
        (
            channels.values("saved_mean", mean)?,
            channels.values("saved_scale", scale)?,
        )
    } else {
        let variance = host_values(&channels.statistic(ops, Reduce::Variance, x)?)?;
        let deviation = variance.iter();
        let deviation = deviation.map(|variance| 1.0 / (variance + options.epsilon).sqrt());
        let mean = host_values(&channels.statistic(ops, Reduce::Mean, x)?)?;
        (mean, deviation.collect())
    };
    let dtype = computed_dtype(x.dtype, [&mean, &deviation]);
    let (name, count) = (x.dtype, x.len() / channels.count.max(1));
    let of_channels = |values: &[f64]| from_host_values(ops, values, &channels.shape, dtype);
    let standardize = |values: &Operand, mean: &[f64], scale: &[f64]| -> Result<Operand> {
        let zero = Operand::of_number(Scalar::Float(0.0), dtype);
        let inputs = [
            values.clone(),
            of_channels(mean)?,
            of_channels(scale)?,
            zero,
        ];
        let made = elementwise(ops, Elementwise::Standardize, &inputs, None, 0.0)?;
        Ok(Operand::of_array(made))
    };
    let (x, gradient) = (converted(ops, x, dtype)?, converted(ops, gradient, dtype)?);
    let normalised = standardize(&x, &mean, &deviation)?;
    let by_bias = channels.statistic(ops, Reduce::Sum, &gradient)?;
    let by_weight = channels.statistic(ops, Reduce::Sum, &product(ops, &normalised, &gradient)?)?;
    let scale: Vec<f64> = factor.iter().zip(&deviation).map(|(a, b)| a * b).collect();
    let level = host_values(&by_bias)?;
    let level: Vec<f64> = level.iter().map(|sum| sum / count as f64).collect();
    let slope = host_values(&by_weight)?;
    let slope: Vec<f64> = scale
        .iter()
        .zip(&slope)
        .map(|(scale, sum)| scale * sum / count as f64)
        .collect();
    let centred = standardize(&gradient, &level, &scale)?;
    let along = product(ops, &normalised, &of_channels(&slope)?)?;
    let by_x = elementwise(ops, Elementwise::Subtract, &[centred, along], None, 0.0)?;
    Ok(ChannelGradients {
        by_x: converted(ops, &Operand::of_array(by_x), name)?.into_array()?,
        by_weight: by_weight.into_array()?,
        by_bias: by_bias.into_array()?,
    })
}

/// float32 for what it holds in all digits, else float64.
fn computed_dtype(x: Dtype, statistics: [&[f64]; 2]) -> Dtype {
    if x != Dtype::F64 && fit_float32(statistics) {
        Dtype::F32
    } else {
        Dtype::F64
    }
}

/// Whether float32 holds values in all their digits; what is zero, infinite or NaN stays that.
fn fit_float32(statistics: [&[f64]; 2]) -> bool {
    let (least, most) = FLOAT32_RANGE;
    statistics.into_iter().flatten().all(|value| {
        let size = value.abs();
        size == 0.0 || !size.is_finite() || (least..=most).contains(&size)
    })
}

/// The channels of an array.
struct Channels {
    operation: &'static str,
    axis: usize,
    count: i64,
    /// In which their values are broadcast to the array's.
    shape: Dims,
    /// The other axes.
    others: Vec<i64>,
    of: Dims,
}

impl Channels {
    fn of(operation: &'static str, x: &Operand, options: BatchNormOptions) -> Result<Self> {
        let (rank, given) = (x.rank() as i64, options.channel_axis);
        let axis = if given < 0 { given + rank } else { given };
        if !(0..rank).contains(&axis) {
            let message = format!(
                "{operation}: channel_axis is {given}; x has shape {:?}",
                x.shape.as_slice()
            );
            return Err(Error::refused(ErrorCode::ShapeMismatch, message));
        }
        let epsilon = options.epsilon;
        if epsilon.is_nan() || epsilon < 0.0 {
            let message = format!("{operation}: eps is {epsilon}; it must not be negative");
            return Err(Error::refused(ErrorCode::InvalidArgument, message));
        }
        x.check_dtype(operation, "x")?;
        if !is_float(x.dtype) {
            let message = format!(
                "{operation}: x has dtype {}; floats are normalised",
                x.dtype.name().unwrap_or("?")
            );
            return Err(Error::refused(ErrorCode::UnsupportedDtype, message));
        }
        let count = x.shape[axis as usize];
        let mut shape = Dims::from_elem(1, x.rank());
        shape[axis as usize] = count;
        Ok(Self {
            operation,
            axis: axis as usize,
            count,
            shape,
            others: (0..rank).filter(|other| *other != axis).collect(),
            of: x.shape.clone(),
        })
    }

    /// Values of a parameter, which has one for each channel.
    fn check_count(&self, name: &str, shape: &[i64]) -> Result<()> {
        if shape == [self.count] {
            return Ok(());
        }
        let message = format!(
            "{}: {name} has shape {shape:?}; x of shape {:?} has {} channels",
            self.operation,
            self.of.as_slice(),
            self.count
        );
        Err(Error::refused(ErrorCode::ShapeMismatch, message))
    }

    fn values(&self, name: &str, parameter: &Operand) -> Result<Vec<f64>> {
        parameter.check_dtype(self.operation, name)?;
        self.check_count(name, &parameter.shape)?;
        host_values(parameter)
    }

    /// The memory of a parameter on the device of the call, without gaps; it is copied there from another.
    fn lent(&self, ops: &DeviceOps, name: &str, parameter: &Operand) -> Result<Array> {
        parameter.check_dtype(self.operation, name)?;
        self.check_count(name, &parameter.shape)?;
        Self::lent_of(ops, parameter)
    }

    fn lent_of(ops: &DeviceOps, parameter: &Operand) -> Result<Array> {
        let is_there = parameter
            .array
            .as_ref()
            .is_some_and(|array| array.device_name() == ops.device().name());
        if is_there && is_float(parameter.dtype) {
            return dense(ops, parameter);
        }
        let values = host_values(parameter)?;
        from_host_values(ops, &values, &parameter.shape, Dtype::F64)?.into_array()
    }

    fn values_or(&self, name: &str, parameter: Option<&Operand>, value: f64) -> Result<Vec<f64>> {
        parameter.map_or_else(
            || Ok(vec![value; self.count as usize]),
            |parameter| self.values(name, parameter),
        )
    }

    /// A mean, variance or sum of each channel in float64: those of float16 values need not fit float16.
    fn statistic(&self, ops: &DeviceOps, operation: Reduce, x: &Operand) -> Result<Operand> {
        over(ops, operation, x, &self.others, Some(Dtype::F64))
    }

    /// The place of a result like x; it may lie neither on x nor on `other`.
    fn out(
        &self,
        ops: &DeviceOps,
        x: &Operand,
        (other, out): (&Operand, Option<&Array>),
    ) -> Result<Option<Array>> {
        if out.is_none() {
            return Ok(None);
        }
        let target = Target {
            operation: self.operation,
            device: ops.device(),
            out,
            inputs: &[x, other],
            may_alias: false,
            is_dense: true,
        };
        target.resolve(&x.shape, x.dtype)?.into_array().map(Some)
    }

    /// Refuses a place for values of the channels that is no array of floats without gaps on the device.
    fn check_place(&self, ops: &DeviceOps, place: &Array) -> Result<()> {
        let target = Target {
            operation: self.operation,
            device: ops.device(),
            out: Some(place),
            inputs: &[],
            may_alias: true,
            is_dense: true,
        };
        if !is_float(place.dtype) {
            let message = format!(
                "{}: a place for values of the channels has dtype {}; they are floats",
                self.operation,
                place.dtype.name().unwrap_or("?")
            );
            return Err(Error::refused(ErrorCode::UnsupportedDtype, message));
        }
        target.resolve(&[self.count], place.dtype).map(drop)
    }

    fn check_gradient(&self, x: &Operand, gradient: &Operand) -> Result<()> {
        let operation = self.operation;
        if gradient.shape != x.shape {
            let message = format!(
                "{operation}: gradient has shape {:?}, x {:?}",
                gradient.shape.as_slice(),
                x.shape.as_slice()
            );
            return Err(Error::refused(ErrorCode::ShapeMismatch, message));
        }
        if gradient.dtype != x.dtype {
            let message = format!(
                "{operation}: x has dtype {} and gradient {}; both must be floats of one dtype",
                x.dtype.name().unwrap_or("?"),
                gradient.dtype.name().unwrap_or("?")
            );
            return Err(Error::refused(ErrorCode::UnsupportedDtype, message));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_beyond_float32_are_computed_in_float64() {
        assert_eq!(
            computed_dtype(Dtype::F16, [&[0.0, 1.5], &[f64::NAN]]),
            Dtype::F32
        );
        assert_eq!(computed_dtype(Dtype::F32, [&[1e-40], &[]]), Dtype::F64);
        assert_eq!(computed_dtype(Dtype::F32, [&[], &[1e38]]), Dtype::F64);
        assert_eq!(computed_dtype(Dtype::F64, [&[], &[]]), Dtype::F64);
        assert_eq!(
            computed_dtype(Dtype::BF16, [&[f64::INFINITY], &[2.0_f64.powi(120)]]),
            Dtype::F32
        );
    }
}
