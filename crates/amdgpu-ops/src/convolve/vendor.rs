//! Convolutions by the vendor's library, which takes weights with their channels where images have them.

use amdgpu_array::{Array, is_row_major};
use amdgpu_hal::MemoryKind;
use amdgpu_matrix::vendor::{ConvolutionShape, VendorLibrary};
use amdgpu_matrix::{ConvolvePass, Fitted};
use smallvec::SmallVec;

use crate::archived::Archived;
use crate::operand::Operand;
use crate::transpose::{dense, write};
use crate::vendor::Convolved;
use crate::{DeviceOps, Result};

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
    let is_copied = is_weight && shape.is_channels_last && shape.weight[2..] != [1; 3];
    let target = if is_copied {
        let view = stored(shape, &Operand::of_array(made.clone()));
        Array::empty(ops.device(), view.shape, made.dtype, MemoryKind::Device)?
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
        let rank = target.shape.len();
        let axes: SmallVec<[usize; 5]> = [0, rank - 1].into_iter().chain(1..rank - 1).collect();
        let ordered = Operand::of_array(target).permuted(&axes);
        write(ops, &ordered, &Operand::of_array(made.clone()))?;
    }
    Ok(true)
}

/// Weights (outputs, channels, …) as they are stored: (outputs, …, channels) where images have their channels last.
fn stored(shape: &ConvolutionShape, weight: &Operand) -> Operand {
    if !shape.is_channels_last {
        return weight.clone();
    }
    let rank = weight.rank();
    let axes: SmallVec<[usize; 5]> = [0].into_iter().chain(2..rank).chain([1]).collect();
    weight.permuted(&axes)
}

/// Values in row-major order: the memory itself where it is so, though the array names its axes in another order, or a copy.
fn as_stored(ops: &DeviceOps, x: &Operand) -> Result<Array> {
    match &x.array {
        Some(array) if is_row_major(&x.shape, &x.strides) => Ok(array.clone()),
        _ => dense(ops, x),
    }
}
