//! Batch normalisation by kernels of a device, in the order of its stream: nothing waits for the host.

use amdgpu_abi::Dtype;
use amdgpu_abi::promotion::compute_type;
use amdgpu_array::{Array, Dims};
use amdgpu_hal::MemoryKind;

use super::{BatchNormOptions, ChannelGradients, ChannelParameters, Channels, FLOAT32_RANGE};
use crate::div_ceil::DivCeil;
use crate::generated::channels::{self, Body, PER_ITEM, ROWS};
use crate::generated::source;
use crate::launch::{Shape, launch};
use crate::operand::Operand;
use crate::reduce::Reduce;
use crate::statistics::converted;
use crate::transpose::dense;
use crate::{Arg, DeviceOps, KernelKey, Result};

/// Work-items of the one block that computes the factors of all channels.
const FACTOR_ITEMS: i64 = 1024;

/// x normalised with given statistics.
pub(super) fn normalized(
    ops: &DeviceOps,
    x: &Operand,
    (mean, variance): (&Operand, &Operand),
    parameters: ChannelParameters<'_>,
    (channels, options): (&Channels, BatchNormOptions),
) -> Result<Array> {
    let factors = factors(ops, (mean, variance), parameters, (channels, options))?;
    let given = Elements::of(ops, x, channels)?;
    given.compute(ops, Body::Normalised, &factors, None)
}

/// The gradients of [`batch_norm_training`](super::batch_norm_training).
pub(super) fn gradients(
    ops: &DeviceOps,
    (x, gradient): (&Operand, &Operand),
    weight: Option<&Operand>,
    (channels, options): (&Channels, BatchNormOptions),
) -> Result<ChannelGradients> {
    let mean = channels.statistic(ops, Reduce::Mean, x)?;
    let variance = channels.statistic(ops, Reduce::Variance, x)?;
    let none = ChannelParameters {
        weight: None,
        bias: None,
    };
    let factors = factors(ops, (&mean, &variance), none, (channels, options))?;
    let given = Elements::of(ops, x, channels)?;
    let passed = dense(ops, gradient)?;
    let products = given.compute(ops, Body::Products, &factors, Some((&passed, None)))?;
    let by_bias = channels.statistic(ops, Reduce::Sum, gradient)?;
    let by_weight = channels.statistic(ops, Reduce::Sum, &Operand::of_array(products))?;
    let count = x.len() / channels.count.max(1);
    let slopes = slopes(ops, (&by_bias, &by_weight), weight, (&factors, count))?;
    let by_x = given.compute(
        ops,
        Body::Gradient,
        &factors,
        Some((&passed, Some(&slopes))),
    )?;
    Ok(ChannelGradients {
        by_x,
        by_weight: converted(ops, &by_weight, x.dtype)?.into_array()?,
        by_bias: converted(ops, &by_bias, x.dtype)?.into_array()?,
    })
}

/// Means, scales and shifts of the channels, as kernels read them.
fn factors(
    ops: &DeviceOps,
    (mean, variance): (&Operand, &Operand),
    parameters: ChannelParameters<'_>,
    (channels, options): (&Channels, BatchNormOptions),
) -> Result<Array> {
    let given = [("mean", Some(mean)), ("variance", Some(variance))];
    let optional = [("weight", parameters.weight), ("bias", parameters.bias)];
    let lent = given.into_iter().chain(optional).map(|(name, operand)| {
        operand
            .map(|operand| channels.lent(ops, name, operand))
            .transpose()
    });
    let lent = lent.collect::<Result<Vec<Option<Array>>>>()?;
    let [Some(mean), Some(variance), weight, bias] = lent.as_slice() else {
        unreachable!("mean and variance are there")
    };
    let dtype = |one: &Option<Array>| one.as_ref().map(|array| array.dtype);
    let (statistics, own) = ([mean.dtype, variance.dtype], [dtype(weight), dtype(bias)]);
    let made = factor_memory(ops, channels.count)?;
    if channels.count == 0 {
        return Ok(made);
    }
    let key = own
        .iter()
        .fold(KernelKey::new("channel factors"), |key, one| {
            key.flag(one.is_some()).dtype(one.unwrap_or(Dtype::F32))
        })
        .dtype(statistics[0])
        .dtype(statistics[1]);
    let kernel = ops.kernel(key, "channel_factors", || {
        channels::factors_source(statistics, own, FLOAT32_RANGE)
    })?;
    let args = [
        Arg::Array(mean),
        Arg::Array(variance),
        Arg::Array(weight.as_ref().unwrap_or(mean)),
        Arg::Array(bias.as_ref().unwrap_or(mean)),
        Arg::Array(&made),
        Arg::from(channels.count),
        Arg::Float(options.epsilon),
    ];
    launch(&kernel, Shape::line(1, FACTOR_ITEMS), &args)?;
    Ok(made)
}

/// Levels, scales and slopes of the channels, from the sums of the gradient and of its products with what was normalised.
fn slopes(
    ops: &DeviceOps,
    (sums, products): (&Operand, &Operand),
    weight: Option<&Operand>,
    (factors, count): (&Array, i64),
) -> Result<Array> {
    let (sums, products) = (dense(ops, sums)?, dense(ops, products)?);
    let channels = sums.len();
    let made = factor_memory(ops, channels)?;
    if channels == 0 {
        return Ok(made);
    }
    let weight = weight
        .map(|weight| Channels::lent_of(ops, weight))
        .transpose()?;
    let dtype = weight.as_ref().map(|array| array.dtype);
    let key = KernelKey::new("channel slopes")
        .flag(dtype.is_some())
        .dtype(dtype.unwrap_or(Dtype::F32));
    let kernel = ops.kernel(key, "channel_slopes", || channels::slopes_source(dtype))?;
    let args = [
        Arg::Array(&sums),
        Arg::Array(&products),
        Arg::Array(weight.as_ref().unwrap_or(&sums)),
        Arg::Array(factors),
        Arg::Array(&made),
        Arg::from(channels),
        Arg::Float(count as f64),
    ];
    launch(&kernel, Shape::line(1, FACTOR_ITEMS), &args)?;
    Ok(made)
}

/// Three float64 and three float32 for each channel, and a flag.
fn factor_memory(ops: &DeviceOps, channels: i64) -> Result<Array> {
    let halves = ROWS * channels + 1;
    let doubles = ROWS * channels + halves.div_ceil_positive(2);
    let shape = [doubles];
    Ok(Array::empty(
        ops.device(),
        shape.as_slice(),
        Dtype::F64,
        MemoryKind::Device,
    )?)
}

/// Elements in row-major order, whose channels follow each other with every `inner` of them.
struct Elements {
    x: Array,
    shape: Dims,
    inner: i64,
    channels: i64,
}

impl Elements {
    fn of(ops: &DeviceOps, x: &Operand, channels: &Channels) -> Result<Self> {
        Ok(Self {
            x: dense(ops, x)?,
            shape: x.shape.clone(),
            inner: x.shape[channels.axis + 1..].iter().product(),
            channels: channels.count,
        })
    }

    fn compute(
        &self,
        ops: &DeviceOps,
        body: Body,
        factors: &Array,
        passed: Option<(&Array, Option<&Array>)>,
    ) -> Result<Array> {
        let dtype = if body == Body::Products {
            compute_type(self.x.dtype)
        } else {
            self.x.dtype
        };
        let shape = self.shape.as_slice();
        let made = Array::empty(ops.device(), shape, dtype, MemoryKind::Device)?;
        let count = self.x.len();
        if count == 0 {
            return Ok(made);
        }
        let key = KernelKey::new("channels")
            .text(body.name())
            .dtype(self.x.dtype)
            .flag(source::is_narrow(count));
        let kernel = ops.kernel(key, "channels", || {
            channels::source(body, self.x.dtype, count)
        })?;
        let mut args = vec![Arg::Array(&self.x), Arg::Array(&made), Arg::Array(factors)];
        if let Some((gradient, slopes)) = passed {
            args.push(Arg::Array(gradient));
            args.extend(slopes.map(Arg::Array));
        }
        args.extend([count, self.inner, self.channels].map(Arg::from));
        let blocks = count.div_ceil_positive(source::BLOCK * PER_ITEM);
        launch(&kernel, Shape::line(blocks, source::BLOCK), &args)?;
        drop(args);
        Ok(made)
    }
}
