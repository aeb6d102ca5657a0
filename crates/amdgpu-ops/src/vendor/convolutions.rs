//! Convolutions and their gradients by cuDNN and MIOpen.

mod verify;

use amdgpu_array::{Array, recording};
use amdgpu_matrix::ConvolvePass;
use amdgpu_matrix::vendor::{ConvolutionShape, Number, Session, VendorConvolution, VendorLibrary};
use smallvec::SmallVec;

use super::{Sessions, queue, tell_failure};
use crate::{DeviceOps, Result};

/// As the operation is called in messages and in telemetry.
const NAME: &str = "convolve";

/// What verdicts on a library are told apart by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kind {
    pass: ConvolvePass,
    number: Number,
    spatial: usize,
    is_channels_last: bool,
    has_bias: bool,
    /// 1, or 2 for more.
    groups: i64,
    /// 1, or 2 for more along any axis.
    dilation: i64,
}

impl Kind {
    fn of(shape: &ConvolutionShape) -> Self {
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

/// The libraries of a device that convolve.
#[derive(Default)]
pub struct ConvolutionLibraries(Sessions<VendorConvolution, Kind>);

impl ConvolutionLibraries {
    /// The libraries that are there, best first.
    pub fn all(&self, ops: &DeviceOps) -> Vec<VendorLibrary> {
        self.0.all((ops, NAME))
    }

    /// Whether a library may compute a convolution: there, found right for its kind, with an algorithm for this shape.
    pub fn is_usable(
        &self,
        ops: &DeviceOps,
        library: VendorLibrary,
        shape: &ConvolutionShape,
    ) -> bool {
        let kind = Kind::of(shape);
        let check = |session: &Session<VendorConvolution>| verify::is_right(ops, session, &kind);
        if !self.0.verdict((ops, NAME), library, kind, check) {
            return false;
        }
        let Some(session) = self.0.get((ops, NAME), library) else {
            return false;
        };
        // Where arrays lie changes nothing about the answer.
        let work = VendorConvolution {
            shape: *shape,
            image: 0,
            weight: 0,
            result: 0,
            bias: 0,
        };
        let stream = ops.device().device().default_stream();
        match session.prepare(&work, stream.as_ref()) {
            Ok(workspace) => workspace.is_some(),
            Err(error) => {
                tell_failure(NAME, library, &error);
                false
            }
        }
    }

    /// Tells why no library computes a convolution although `AMDGPU_MATMUL` demands one.
    pub fn tell_absence(&self, ops: &DeviceOps, shape: &ConvolutionShape) {
        let what = format!("{} convolutions of this kind", shape.number.name());
        self.0.tell_absence((ops, NAME), &what);
    }

    /// Computes by a library; false when it does not. What it fails with is told and counted.
    pub fn convolve(&self, ops: &DeviceOps, library: VendorLibrary, call: &Convolved<'_>) -> bool {
        let Some(session) = self.0.get((ops, NAME), library) else {
            return false;
        };
        submit(ops, session, call).unwrap_or_else(|error| {
            tell_failure(NAME, library, &error);
            false
        })
    }
}

/// Queues a convolution; false where the library does not compute it.
fn submit(
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
