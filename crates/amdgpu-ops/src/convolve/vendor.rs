//! Convolutions by the vendor's library, which takes weights with their channels where images have them.

use amdgpu_array::{Array, is_contiguous, is_row_major};
use amdgpu_hal::MemoryKind;
use amdgpu_matrix::vendor::{ConvolutionShape, VendorLibrary};
use amdgpu_matrix::{ConvolvePass, Fitted};
use smallvec::SmallVec;

use super::channels_behind;
use crate::archived::Archived;
use crate::operand::Operand;
use crate::transpose::dense;
use crate::vendor::Convolved;
use crate::{DeviceOps, Result, cast};

/// Computes into an array that has elements; false where the library does not, and the array holds nothing of use then.
///
/// # Errors
///
/// What the device reports for copies.
pub fn convolve(
    ops: &DeviceOps,
    library: VendorLibrary,
    (shape, fitted): (&ConvolutionShape, &Fitted),
    inputs: &[Operand],
    made: &Array,
) -> Result<bool> {
    let mut given: SmallVec<[&Operand; 3]> = inputs.iter().collect();
    if fitted.swaps_inputs {
        given.swap(0, 1);
    }
    let first = dense(ops, given[0])?;
    let is_weight = shape.pass == ConvolvePass::WeightGradient;
    let second = if is_weight {
        dense(ops, given[1])?
    } else {
        as_stored(ops, &stored(shape, given[1]))?
    };
    let bias = given.get(2).map(|bias| dense(ops, bias)).transpose()?;
    // Weights of one tap lie in both orders at once.
    let view = stored(shape, &Operand::of_array(made.clone()));
    let is_copied = is_weight && !is_contiguous(&view.shape, &view.strides);
    let target = if is_copied {
        Array::empty(
            ops.device(),
            view.shape.clone(),
            made.dtype,
            MemoryKind::Device,
        )?
    } else {
        made.clone()
    };
    let (image, weight, result) = match shape.pass {
        ConvolvePass::Forward => (&first, &second, &target),
        ConvolvePass::ImageGradient => (&target, &second, &first),
        ConvolvePass::WeightGradient => (&first, &target, &second),
    };
    let call = Convolved {
        shape,
        image,
        weight,
        result,
        bias: bias.as_ref(),
    };
    let libraries = &Archived::of(ops).convolutions.libraries;
    if !libraries.convolve(ops, library, &call) {
        return Ok(false);
    }
    if is_copied {
        let place = made.view(view.shape, view.strides);
        cast::on_device(ops, &Operand::of_array(target), made.dtype, Some(&place))?;
    }
    Ok(true)
}

/// Weights (outputs, channels, …) as they are stored: (outputs, …, channels) where images have their channels last.
fn stored(shape: &ConvolutionShape, weight: &Operand) -> Operand {
    if !shape.is_channels_last {
        return weight.clone();
    }
    channels_behind(weight)
}

/// Values in row-major order: the memory itself where it is so, though the array names its axes in another order, or a copy.
fn as_stored(ops: &DeviceOps, x: &Operand) -> Result<Array> {
    match &x.array {
        Some(array) if is_row_major(&x.shape, &x.strides) => Ok(array.clone()),
        _ => dense(ops, x),
    }
}
