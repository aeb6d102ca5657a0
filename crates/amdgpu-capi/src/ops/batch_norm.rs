//! ops.h: batch normalisation and its gradients.

use amdgpu_ops::batch_norm::{
    BatchNormOptions, ChannelParameters, batch_norm, batch_norm_gradient, batch_norm_training,
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
}

// SAFETY: plain numbers; all zeros is a valid value.
unsafe impl Versioned for CBatchNormOptions {
    const NAME: &'static str = "agpu_ops_batch_norm_options";
    const FIRST_BYTES: usize = size_of::<Self>();
}

impl CBatchNormOptions {
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
        let more = given.parameters();
        let call = Call::of("batch_norm_training", &[("x", x)], &more, Handle::NULL)?;
        let made = batch_norm_training(
            &call.ops,
            call.operand(0),
            call.channel_parameters(),
            given.options(channel_axis),
        )?;
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
        let arrays = [("x", x), ("gradient", gradient)];
        let more = given.parameters();
        let call = Call::of("batch_norm_gradient", &arrays, &more, Handle::NULL)?;
        let made = batch_norm_gradient(
            &call.ops,
            call.operand(0),
            call.operand(1),
            call.optional(0),
            given.options(channel_axis),
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
