//! ops.h: batch normalisation and its gradients.

use amdgpu_array::Array;
use amdgpu_ops::batch_norm::{
    BatchNormOptions, ChannelParameters, GradientPlaces, TrainingPlaces, batch_norm,
    batch_norm_gradient_into, batch_norm_training_into,
};

use super::Call;
use crate::borrowed::{Options, Out, Versioned};
use crate::handles::Handle;
use crate::status::{Answer, Failure, Status, answer};

/// As in Python and in PyTorch.
const EPSILON: f64 = 1e-5;

/// `agpu_ops_batch_norm_options`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CBatchNormOptions {
    size_bytes: u64,
    weight: Handle,
    bias: Handle,
    epsilon: f64,
    has_epsilon: u32,
    reserved: u32,
    out: Handle,
    saved_mean: Handle,
    saved_scale: Handle,
    running_mean: Handle,
    running_variance: Handle,
    momentum: f64,
    out_by_weight: Handle,
    out_by_bias: Handle,
}

// SAFETY: plain numbers; all zeros is a valid value.
unsafe impl Versioned for CBatchNormOptions {
    const NAME: &'static str = "agpu_ops_batch_norm_options";
    const FIRST_BYTES: usize = std::mem::offset_of!(Self, out);
}

/// Places in the order of [`CBatchNormOptions::optional`].
const SAVED: usize = 2;
const RUNNING: usize = 4;
const BY_PARAMETERS: usize = 6;

impl CBatchNormOptions {
    /// Weight and bias, and places.
    fn optional(&self) -> [(&'static str, Handle); 8] {
        [
            ("weight", self.weight),
            ("bias", self.bias),
            ("saved_mean", self.saved_mean),
            ("saved_scale", self.saved_scale),
            ("running_mean", self.running_mean),
            ("running_variance", self.running_variance),
            ("out_by_weight", self.out_by_weight),
            ("out_by_bias", self.out_by_bias),
        ]
    }

    /// Refuses fields that a function does not know, and one of a pair without the other.
    fn check(&self, operation: &str, unknown: &[(&str, Handle)]) -> Answer {
        if let Some((name, _)) = unknown.iter().find(|(_, handle)| !handle.is_null()) {
            let message = format!("{operation} does not know {name}; leave it NULL");
            return Err(Failure::invalid(message));
        }
        let pairs = [
            (
                "saved_mean",
                "saved_scale",
                [self.saved_mean, self.saved_scale],
            ),
            (
                "running_mean",
                "running_variance",
                [self.running_mean, self.running_variance],
            ),
        ];
        for (first, second, [one, other]) in pairs {
            if one.is_null() != other.is_null() {
                let message =
                    format!("{operation}: {first} and {second} are given both or not at all");
                return Err(Failure::invalid(message));
            }
        }
        Ok(())
    }

    fn running(&self) -> [(&'static str, Handle); 2] {
        [
            ("running_mean", self.running_mean),
            ("running_variance", self.running_variance),
        ]
    }

    fn saved(&self) -> [(&'static str, Handle); 2] {
        [
            ("saved_mean", self.saved_mean),
            ("saved_scale", self.saved_scale),
        ]
    }

    fn by_parameters(&self) -> [(&'static str, Handle); 2] {
        [
            ("out_by_weight", self.out_by_weight),
            ("out_by_bias", self.out_by_bias),
        ]
    }

    fn parameters(&self) -> [(&'static str, Handle); 2] {
        [("weight", self.weight), ("bias", self.bias)]
    }

    fn options(&self, channel_axis: i64) -> BatchNormOptions {
        BatchNormOptions {
            channel_axis,
            epsilon: if self.has_epsilon == 0 {
                EPSILON
            } else {
                self.epsilon
            },
        }
    }
}

impl Call {
    fn channel_parameters(&self) -> ChannelParameters<'_> {
        ChannelParameters {
            weight: self.optional(0),
            bias: self.optional(1),
        }
    }

    /// Two optional arrays that are given together.
    fn pair(&self, first: usize) -> Option<[&Array; 2]> {
        let array = |index: usize| self.optional(index)?.array.as_ref();
        Some([array(first)?, array(first + 1)?])
    }
}

/// Normalise with given statistics.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_batch_norm(
    x: Handle,
    mean: Handle,
    variance: Handle,
    channel_axis: i64,
    options: Options<CBatchNormOptions>,
    result: Out<Handle>,
) -> Status {
    answer(|| {
        let place = result.required("result")?;
        let given = options.read()?;
        let unknown = [given.saved(), given.running(), given.by_parameters()].concat();
        given.check("batch_norm", &unknown)?;
        given.check("batch_norm", &[("out", given.out)])?;
        let arrays = [("x", x), ("mean", mean), ("variance", variance)];
        let call = Call::of("batch_norm", &arrays, &given.parameters(), Handle::NULL)?;
        let statistics = (call.operand(1), call.operand(2));
        let made = batch_norm(
            &call.ops,
            call.operand(0),
            statistics,
            call.channel_parameters(),
            given.options(channel_axis),
        )?;
        place.write(call.insert(made));
        Ok(())
    })
}

/// Normalise with the statistics of x itself.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_batch_norm_training(
    x: Handle,
    channel_axis: i64,
    options: Options<CBatchNormOptions>,
    result: Out<Handle>,
    mean: Out<Handle>,
    variance: Out<Handle>,
) -> Status {
    answer(|| {
        let place = result.required("result")?;
        let statistics = (mean.optional(), variance.optional());
        let given = options.read()?;
        let name = "batch_norm_training";
        given.check(name, &given.by_parameters())?;
        let call = Call::of(name, &[("x", x)], &given.optional(), given.out)?;
        let places = TrainingPlaces {
            out: call.out(),
            saved: call.pair(SAVED),
            running: call.pair(RUNNING),
            momentum: given.momentum,
        };
        let x = call.operand(0);
        let made = batch_norm_training_into(
            &call.ops,
            x,
            call.channel_parameters(),
            given.options(channel_axis),
            &places,
        )?;
        if statistics.0.is_none() && statistics.1.is_none() {
            place.write(call.insert(made.result));
            return Ok(());
        }
        let made = made.rounded(&call.ops, x.dtype)?;
        place.write(call.insert(made.result));
        for (place, made) in [(statistics.0, made.mean), (statistics.1, made.variance)] {
            if let Some(place) = place {
                place.write(call.insert(made));
            }
        }
        Ok(())
    })
}

/// The gradients of [`agpu_ops_batch_norm_training`].
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_batch_norm_gradient(
    x: Handle,
    gradient: Handle,
    channel_axis: i64,
    options: Options<CBatchNormOptions>,
    by_x: Out<Handle>,
    by_weight: Out<Handle>,
    by_bias: Out<Handle>,
) -> Status {
    answer(|| -> Answer {
        let place = by_x.required("by_x")?;
        let parameters = (by_weight.optional(), by_bias.optional());
        let given = options.read()?;
        if !given.bias.is_null() {
            let message = "batch_norm_gradient does not depend on the bias; leave it NULL";
            return Err(Failure::invalid(message));
        }
        let name = "batch_norm_gradient";
        given.check(name, &given.running())?;
        let arrays = [("x", x), ("gradient", gradient)];
        let call = Call::of(name, &arrays, &given.optional(), given.out)?;
        let array = |index: usize| call.optional(index)?.array.as_ref();
        let places = GradientPlaces {
            saved: call
                .optional(SAVED)
                .zip(call.optional(SAVED + 1))
                .map(<[_; 2]>::from),
            by_x: call.out(),
            by_weight: array(BY_PARAMETERS),
            by_bias: array(BY_PARAMETERS + 1),
        };
        let made = batch_norm_gradient_into(
            &call.ops,
            (call.operand(0), call.operand(1)),
            call.optional(0),
            given.options(channel_axis),
            &places,
        )?;
        place.write(call.insert(made.by_x));
        for (place, made) in [(parameters.0, made.by_weight), (parameters.1, made.by_bias)] {
            if let Some(place) = place {
                place.write(call.insert(made));
            }
        }
        Ok(())
    })
}
