//! Convolutions and their gradients by cuDNN and MIOpen.

mod queued;
mod verify;

use amdgpu_matrix::vendor::{ConvolutionShape, Session, VendorConvolution, VendorLibrary};

use super::{Sessions, tell_failure};
use crate::DeviceOps;
use queued::{Kind, NAME, submit};

pub use queued::Convolved;

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
