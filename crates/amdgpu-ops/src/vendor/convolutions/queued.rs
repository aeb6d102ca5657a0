//! Convolutions as libraries are asked for them, and their kinds.

use amdgpu_array::{Array, recording};
use amdgpu_matrix::ConvolvePass;
use amdgpu_matrix::vendor::{ConvolutionShape, Number, Session, VendorConvolution};
use smallvec::SmallVec;

use crate::vendor::queue;
use crate::{DeviceOps, Result};

/// As the operation is called in messages and in telemetry.
pub const NAME: &str = "convolve";

/// What verdicts on a library are told apart by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    pub pass: ConvolvePass,
    pub number: Number,
    pub spatial: usize,
    pub is_channels_last: bool,
    pub has_bias: bool,
    /// 1, or 2 for more.
    pub groups: i64,
    /// 1, or 2 for more along any axis.
    pub dilation: i64,
}

impl Kind {
    pub fn of(shape: &ConvolutionShape) -> Self {
        Self {
            pass: shape.pass,
            number: shape.number,
            spatial: shape.spatial,
            is_channels_last: shape.is_channels_last,
            has_bias: shape.has_bias,
            groups: shape.groups.min(2),
            dilation: shape.sliding.dilation.into_iter().fold(1, i64::max).min(2),
        }
    }
}

/// The arrays of a convolution, stored as its shape says; which of them is computed, its pass says.
#[derive(Clone, Copy, Debug)]
pub struct Convolved<'a> {
    pub shape: &'a ConvolutionShape,
    pub image: &'a Array,
    pub weight: &'a Array,
    pub result: &'a Array,
    pub bias: Option<&'a Array>,
}

/// Queues a convolution; false where the library does not compute it.
pub fn submit(
    ops: &DeviceOps,
    session: &Session<VendorConvolution>,
    call: &Convolved<'_>,
) -> Result<bool> {
    if recording::is_recording() {
        return Ok(false);
    }
    let address = |array: &Array| array.address().address();
    let work = VendorConvolution {
        shape: *call.shape,
        image: address(call.image),
        weight: address(call.weight),
        result: address(call.result),
        bias: call.bias.map_or(0, address),
    };
    let arrays: SmallVec<[&Array; 4]> = [
        Some(call.image),
        Some(call.weight),
        Some(call.result),
        call.bias,
    ]
    .into_iter()
    .flatten()
    .collect();
    // SAFETY: the arrays are of this device and as large as the shape says.
    unsafe { queue(ops, session, &work, &arrays) }
}
