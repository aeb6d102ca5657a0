//! Batch normalisation by kernels of a device, in the order of its stream: nothing waits for the host.

use std::sync::Arc;

use amdgpu_abi::Dtype;
use amdgpu_array::{Array, Dims};
use amdgpu_aura::Kernel;
use amdgpu_hal::MemoryKind;
use smallvec::SmallVec;

use super::{
    BatchNormOptions, ChannelGradients, ChannelParameters, Channels, FLOAT32_RANGE, GradientPlaces,
    Training, TrainingPlaces,
};
use crate::div_ceil::DivCeil;
use crate::generated::channels::{self, Body, PER_ITEM, ROWS};
use crate::generated::moments::{self, Runs, Sums};
use crate::generated::source;
use crate::launch::{Shape, launch};
use crate::operand::Operand;
use crate::transpose::dense;
use crate::{Arg, DeviceOps, KernelKey, Result};

/// Work-items of the one block that computes the factors of all channels.
const FACTOR_ITEMS: i64 = 1024;
/// Elements of a channel that a block sums, so that each of its work-items loads enough of them, and the blocks of a few channels fill a device.
const PART_ELEMENTS: i64 = 8192;
const MAX_PARTS: i64 = 128;
/// The same where channels are adjacent and a block sums 32 of them.
const PART_ROWS: i64 = 1024;
const MAX_ROW_PARTS: i64 = 512;

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
    given.compute(ops, Body::Normalised, &factors, None, None)
}

/// x normalised with its own statistics.
pub(super) fn trained(
    ops: &DeviceOps,
    x: &Operand,
    parameters: ChannelParameters<'_>,
    (channels, options): (&Channels, BatchNormOptions),
    (out, places): (Option<&Array>, &TrainingPlaces<'_>),
) -> Result<Training> {
    let given = Elements::of(ops, x, channels)?;
    let [mean, variance] = given.statistics(ops, options.epsilon, places)?;
    let statistics = (&mean, &variance);
    let factors = factors(ops, statistics, parameters, (channels, options))?;
    Ok(Training {
        result: given.compute(ops, Body::Normalised, &factors, None, out)?,
        mean,
        variance,
    })
}

/// The gradients of [`batch_norm_training`](super::batch_norm_training).
pub(super) fn gradients(
    ops: &DeviceOps,
    (x, gradient): (&Operand, &Operand),
    weight: Option<&Operand>,
    (channels, options): (&Channels, BatchNormOptions),
    (out, places): (Option<&Array>, &GradientPlaces<'_>),
) -> Result<ChannelGradients> {
    let none = ChannelParameters {
        weight: None,
        bias: None,
    };
    let given = Elements::of(ops, x, channels)?;
    let factors = if let Some([mean, scale]) = places.saved {
        saved_factors(ops, (mean, scale), channels)?
    } else {
        let [mean, variance] =
            given.statistics(ops, options.epsilon, &TrainingPlaces::default())?;
        factors(ops, (&mean, &variance), none, (channels, options))?
    };
    let passed = dense(ops, gradient)?;
    let own = |place: Option<&Array>| match place {
        Some(place) => Ok(place.clone()),
        None => made_of(ops, &[channels.count], x.dtype),
    };
    let [by_weight, by_bias] = [own(places.by_weight)?, own(places.by_bias)?];
    let sums = given.sums(ops, Sums::Products, Some((&passed, &factors)))?;
    let slopes = given.slopes(ops, &sums, (weight, &factors), [&by_weight, &by_bias])?;
    let read = Some((&passed, &slopes));
    let by_x = given.compute(ops, Body::Gradient, &factors, read, out)?;
    Ok(ChannelGradients {
        by_x,
        by_weight,
        by_bias,
    })
}

fn made_of(ops: &DeviceOps, shape: &[i64], dtype: Dtype) -> Result<Array> {
    let (device, kind) = (ops.device(), MemoryKind::Device);
    Ok(Array::empty(device, shape, dtype, kind)?)
}

/// Factors of channels whose scales are known.
fn saved_factors(
    ops: &DeviceOps,
    (mean, scale): (&Operand, &Operand),
    channels: &Channels,
) -> Result<Array> {
    let mean = channels.lent(ops, "saved_mean", mean)?;
    let scale = channels.lent(ops, "saved_scale", scale)?;
    let made = factor_memory(ops, channels.count)?;
    if channels.count == 0 {
        return Ok(made);
    }
    let dtypes = [mean.dtype, scale.dtype];
    let key = KernelKey::new("saved channel factors")
        .dtype(dtypes[0])
        .dtype(dtypes[1]);
    let kernel = ops.kernel(key, "channel_factors", || {
        channels::saved_factors_source(dtypes, FLOAT32_RANGE)
    })?;
    launch_factors(&kernel, ([&mean, &scale], [&mean, &mean]), &made, 0.0)?;
    Ok(made)
}

/// Launches what writes the factors of channels: from mean and variance, weight and bias.
fn launch_factors(
    kernel: &Arc<Kernel>,
    ([mean, variance], [weight, bias]): ([&Array; 2], [&Array; 2]),
    made: &Array,
    epsilon: f64,
) -> Result<()> {
    let args = [
        Arg::Array(mean),
        Arg::Array(variance),
        Arg::Array(weight),
        Arg::Array(bias),
        Arg::Array(made),
        Arg::from(mean.len()),
        Arg::Float(epsilon),
    ];
    launch(kernel, Shape::line(1, FACTOR_ITEMS), &args)
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
    let beside = [weight, bias].map(|one| one.as_ref().unwrap_or(mean));
    launch_factors(&kernel, ([mean, variance], beside), &made, options.epsilon)?;
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

    /// Elements of a channel.
    fn of_channel(&self) -> i64 {
        self.x.len() / self.channels.max(1)
    }

    /// Parts that the sums of a channel are cut into.
    fn parts(&self) -> i64 {
        parts_of(self.of_channel(), self.inner == 1)
    }

    /// The sums of parts of the channels, two of each; with the gradient and the factors, where there are products.
    fn sums(&self, ops: &DeviceOps, sums: Sums, passed: Option<(&Array, &Array)>) -> Result<Array> {
        let (count, parts) = (self.of_channel(), self.parts());
        let made = made_of(ops, &[parts, self.channels, 2], Dtype::F64)?;
        if made.is_empty() {
            return Ok(made);
        }
        let runs = match self.inner {
            1 => Runs::Across,
            inner if inner % moments::GROUP == 0 => Runs::Groups,
            _ => Runs::Any,
        };
        let all = self.x.len();
        let key = KernelKey::new("channel sums")
            .text(sums.name())
            .dtype(self.x.dtype)
            .with(runs as u64)
            .flag(source::is_narrow(all));
        let kernel = ops.kernel(key, "channel_sums", || {
            moments::sums_source(sums, self.x.dtype, runs, all)
        })?;
        let mut args: SmallVec<[Arg<'_>; 8]> = SmallVec::new();
        args.extend([Arg::Array(&self.x), Arg::Array(&made)]);
        args.extend(
            passed
                .into_iter()
                .flat_map(|(gradient, factors)| [gradient, factors].map(Arg::Array)),
        );
        // Whole groups.
        let length = count.div_ceil_positive(parts * moments::GROUP) * moments::GROUP;
        args.extend([count, self.inner, self.channels, length].map(Arg::from));
        let columns = if runs == Runs::Across {
            self.channels.div_ceil_positive(moments::LANES)
        } else {
            self.channels
        };
        launch(&kernel, Shape::line(columns * parts, moments::ITEMS), &args)?;
        drop(args);
        Ok(made)
    }

    /// Mean and variance of each channel, in float64; what training keeps is written, too.
    fn statistics(
        &self,
        ops: &DeviceOps,
        epsilon: f64,
        places: &TrainingPlaces<'_>,
    ) -> Result<[Operand; 2]> {
        let [mean, variance] = [(); 2].map(|()| made_of(ops, &[self.channels], Dtype::F64));
        let (mean, variance) = (mean?, variance?);
        let made = || [&mean, &variance].map(|one| Operand::of_array(one.clone()));
        if self.channels == 0 {
            return Ok(made());
        }
        let sums = self.sums(ops, Sums::Moments, None)?;
        // In the place of what is not kept stands the mean.
        let [saved_mean, saved_scale] = places.saved.unwrap_or([&mean; 2]);
        let [running_mean, running_variance] = places.running.unwrap_or([&mean; 2]);
        let kept = [saved_mean, saved_scale, running_mean, running_variance];
        let dtypes = kept.map(|one| one.dtype);
        let x = self.x.dtype;
        let key = dtypes
            .iter()
            .fold(KernelKey::new("channel statistics").dtype(x), |key, one| {
                key.dtype(*one)
            });
        let kernel = ops.kernel(key, "channel_statistics", || {
            moments::statistics_source(x, dtypes)
        })?;
        let mut args: SmallVec<[Arg<'_>; 16]> = SmallVec::new();
        args.extend([&sums, &self.x, &mean, &variance].map(Arg::Array));
        args.extend(kept.map(Arg::Array));
        args.extend([self.channels, self.parts(), self.inner].map(Arg::from));
        let count = self.of_channel() as f64;
        args.extend([count, epsilon, places.momentum].map(Arg::Float));
        let is_kept = [places.saved.is_some(), places.running.is_some()];
        args.extend(is_kept.map(|is_kept| Arg::from(i64::from(is_kept))));
        launch(&kernel, self.of_channels(), &args)?;
        drop(args);
        Ok(made())
    }

    /// A work-item for each channel.
    fn of_channels(&self) -> Shape {
        let blocks = self.channels.div_ceil_positive(moments::ITEMS);
        Shape::line(blocks, moments::ITEMS)
    }

    /// Levels, scales and slopes of the channels, and the gradients by weight and bias, from the sums of the gradient and of its products.
    fn slopes(
        &self,
        ops: &DeviceOps,
        sums: &Array,
        (weight, factors): (Option<&Operand>, &Array),
        [by_weight, by_bias]: [&Array; 2],
    ) -> Result<Array> {
        let made = factor_memory(ops, self.channels)?;
        if self.channels == 0 {
            return Ok(made);
        }
        let weight = weight
            .map(|weight| Channels::lent_of(ops, weight))
            .transpose()?;
        let dtype = weight.as_ref().map(|array| array.dtype);
        let key = KernelKey::new("channel slopes")
            .flag(dtype.is_some())
            .dtype(dtype.unwrap_or(Dtype::F32))
            .dtype(by_weight.dtype)
            .dtype(by_bias.dtype);
        let kernel = ops.kernel(key, "channel_slopes", || {
            moments::slopes_source(dtype, by_weight.dtype, by_bias.dtype)
        })?;
        let args = [
            Arg::Array(sums),
            Arg::Array(weight.as_ref().unwrap_or(factors)),
            Arg::Array(factors),
            Arg::Array(&made),
            Arg::Array(by_weight),
            Arg::Array(by_bias),
            Arg::from(self.channels),
            Arg::from(self.parts()),
            Arg::Float(self.of_channel() as f64),
        ];
        launch(&kernel, self.of_channels(), &args)?;
        Ok(made)
    }

    fn compute(
        &self,
        ops: &DeviceOps,
        body: Body,
        factors: &Array,
        passed: Option<(&Array, &Array)>,
        out: Option<&Array>,
    ) -> Result<Array> {
        let made = match out {
            Some(out) => out.clone(),
            None => made_of(ops, &self.shape, self.x.dtype)?,
        };
        let count = self.x.len();
        if count == 0 {
            return Ok(made);
        }
        let is_across = channels::is_across(self.channels, self.inner);
        let key = KernelKey::new("channels")
            .text(body.name())
            .dtype(self.x.dtype)
            .flag(source::is_narrow(count))
            .flag(is_across);
        let kernel = ops.kernel(key, "channels", || {
            channels::source(body, self.x.dtype, count, is_across)
        })?;
        let mut args = vec![Arg::Array(&self.x), Arg::Array(&made), Arg::Array(factors)];
        if let Some((gradient, slopes)) = passed {
            args.extend([gradient, slopes].map(Arg::Array));
        }
        args.extend([count, self.inner, self.channels].map(Arg::from));
        let blocks = count.div_ceil_positive(source::BLOCK * PER_ITEM);
        launch(&kernel, Shape::line(blocks, source::BLOCK), &args)?;
        drop(args);
        Ok(made)
    }
}

/// Parts that the sums of a channel of so many elements are cut into: a pure function, so that sums have the same order in every run.
fn parts_of(count: i64, is_across: bool) -> i64 {
    let (elements, most) = if is_across {
        (PART_ROWS, MAX_ROW_PARTS)
    } else {
        (PART_ELEMENTS, MAX_PARTS)
    };
    count.div_ceil_positive(elements).clamp(1, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_channels_are_summed_in_parts() {
        let parts: Vec<_> = [0, 1, PART_ELEMENTS, PART_ELEMENTS + 1, 1 << 40]
            .map(|count| parts_of(count, false))
            .to_vec();
        assert_eq!(parts, [1, 1, 1, 2, MAX_PARTS]);
        assert_eq!(parts_of(PART_ROWS + 1, true), 2);
    }
}
