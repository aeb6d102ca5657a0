//! float32 arrays of a device, as layers see them.

use amdgpu_abi::Dtype;
use amdgpu_array::{Array, Dims, row_major};
use amdgpu_hal::MemoryKind;
use amdgpu_ops::reduce::{Reduce, ReduceOptions};
use amdgpu_ops::{DeviceOps, Elementwise, Operand, elementwise, reduce};

use crate::error::Result;

/// A shape of the array crate.
pub(crate) fn dims<const RANK: usize>(shape: [usize; RANK]) -> Dims {
    shape.iter().map(|extent| *extent as i64).collect()
}

/// Values of the host in a new array.
pub(crate) fn upload<const RANK: usize>(
    ops: &DeviceOps,
    values: &[f32],
    shape: [usize; RANK],
) -> Result<Array> {
    Ok(Array::from_host(
        ops.device(),
        bytes_of(values),
        dims(shape),
        Dtype::F32,
    )?)
}

/// The bytes of numbers.
pub(crate) fn bytes_of<T: Copy>(values: &[T]) -> &[u8] {
    // SAFETY: the types that are given here are numbers, of which every byte is set.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// The numbers of an array, in row-major order.
pub(crate) fn read(array: &Array) -> Result<Vec<f32>> {
    Ok(numbers(&array.read()?, f32::from_ne_bytes))
}

/// Numbers from their bytes.
pub(crate) fn numbers<T, const BYTES: usize>(
    bytes: &[u8],
    of: impl Fn([u8; BYTES]) -> T,
) -> Vec<T> {
    let (chunks, _) = bytes.as_chunks::<BYTES>();
    chunks.iter().map(|chunk| of(*chunk)).collect()
}

/// The elements from `first` on, of a dense array, as an array of this shape.
pub(crate) fn part<const RANK: usize>(array: &Array, first: usize, shape: [usize; RANK]) -> Array {
    let shape = dims(shape);
    let strides = row_major(&shape);
    array.view_at(first as i64, shape, strides)
}

/// The first elements of a dense array as an array of this shape.
pub(crate) fn reshaped<const RANK: usize>(array: &Array, shape: [usize; RANK]) -> Array {
    part(array, 0, shape)
}

/// Whether no value of these arrays is NaN or infinite: one look of the host for all of them.
pub(crate) fn are_finite(ops: &DeviceOps, arrays: &[&Array]) -> Result<bool> {
    let options = ReduceOptions {
        axes: None,
        keeps_axes: false,
        correction: 0.0,
        result: None,
        thread_limit: None,
    };
    let arrays: Vec<_> = arrays.iter().filter(|array| !array.is_empty()).collect();
    if arrays.is_empty() {
        return Ok(true);
    }
    let truths = dims([arrays.len()]);
    let truths = Array::empty(ops.device(), truths, Dtype::BOOL, MemoryKind::Device)?;
    for (place, array) in arrays.iter().enumerate() {
        let own = part(&truths, place, []);
        let operand = [Operand::of_array((**array).clone())];
        let are_finite = elementwise(ops, Elementwise::Isfinite, &operand, None, 0.0)?;
        let are_finite = Operand::of_array(are_finite);
        reduce(ops, Reduce::All, &are_finite, Some(&own), &options)?;
    }
    Ok(truths.read()?.iter().all(|truth| *truth != 0))
}
