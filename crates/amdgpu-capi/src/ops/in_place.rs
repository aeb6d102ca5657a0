//! Operations on memory of a CPU device: views of the memory that addresses name, and no arrays.

use amdgpu_abi::Dtype;
use amdgpu_abi::promotion::{is_complex, is_float};
use amdgpu_array::{Dims, byte_range, is_contiguous};
use amdgpu_matrix::{ElementwiseOptions, Matrix};
use amdgpu_ops::complex::cast_on_host;
use amdgpu_ops::cpu::{HOST, Host, HostMemory};
use amdgpu_ops::elementwise::{Elementwise, on_host};
use amdgpu_ops::layer_norm::computed as computed_dtype;
use amdgpu_ops::{Error, Scalar, TensorView};
use smallvec::SmallVec;

use super::operand::{COperand, INTEGER, MEMORY, REAL};
use crate::objects::DeviceObject;
use crate::raw::{FEW_BYTES, are_settled, is_at_once};
use crate::status::Answer;

/// Operands at most; operations with more take the general path.
const LIMIT: usize = 4;

/// `operation(inputs...)`, or without one the conversion of the only input, in the memory of `out`. False where the general path has to look
/// at the call.
pub fn computed(
    device: &DeviceObject,
    operation: Option<Elementwise>,
    inputs: &[COperand],
    out: &COperand,
    alpha: f64,
) -> Answer<bool> {
    if operation == Some(Elementwise::Standardize) {
        return Ok(false);
    }
    let mut numbers = [0; LIMIT];
    let Some((target, views)) = seen(device, inputs.iter(), &mut numbers, out)? else {
        return Ok(false);
    };
    if operation.is_none() && is_moved_at_once(&target, &inputs[0], &views[0]) {
        return Ok(true);
    }
    let mut host = Given(&target);
    match operation {
        Some(operation) => {
            let options = ElementwiseOptions {
                alpha,
                thread_limit: None,
            };
            on_host(operation, &views, &options, &mut host)?;
        }
        None => cast_on_host(&views[0], target.shape, target.dtype, None, &mut host)?,
    }
    Ok(true)
}

/// What `multiply` does with views of the operands, in the memory of `out`. False as in [`computed`].
pub fn multiplied(
    device: &DeviceObject,
    inputs: &[&COperand],
    out: &COperand,
    multiply: impl FnOnce(&[TensorView<'_>], &mut Given<'_>) -> Result<(), Error>,
) -> Answer<bool> {
    let mut numbers = [0; LIMIT];
    let Some((target, views)) = seen(device, inputs.iter().copied(), &mut numbers, out)? else {
        return Ok(false);
    };
    multiply(&views, &mut Given(&target))?;
    Ok(true)
}

/// Copies a few elements as they are, or fills them with a number; false where they have gaps or another dtype, or share memory.
fn is_moved_at_once(target: &Memory<'_>, input: &COperand, view: &TensorView<'_>) -> bool {
    let (first, bytes) = target.range;
    if target.strides.is_some() || bytes > FEW_BYTES || view.dtype() != target.dtype {
        return false;
    }
    let to = std::ptr::with_exposed_provenance_mut::<u8>(first as usize);
    let from = view.data().cast::<u8>();
    if input.kind != MEMORY {
        let item_bytes = target.dtype.size_bytes();
        for element in 0..bytes as usize / item_bytes {
            // SAFETY: an element of the target, which nobody else uses during the call, and the number.
            unsafe {
                to.add(element * item_bytes)
                    .copy_from_nonoverlapping(from, item_bytes);
            }
        }
        return true;
    }
    let is_apart = (from as u64).abs_diff(first) >= bytes;
    if view.shape() != target.shape || view.strides().is_some() || !is_apart {
        return false;
    }
    // SAFETY: two ranges of that many bytes that share none, which nobody else uses during the call.
    unsafe { to.copy_from_nonoverlapping(from, bytes as usize) };
    true
}

/// The layer norm of rows of the last `row_axes` axes, with the mean of each and one over its deviation. `inputs` are x, scale and shift, the last
/// only behind the other. False as in [`computed`].
pub fn layer_normed(
    device: &DeviceObject,
    inputs: &[&COperand],
    row_axes: usize,
    epsilon: f64,
    outs: [&COperand; 3],
) -> Answer<bool> {
    if !is_at_once(device) {
        return Ok(false);
    }
    let all = inputs.iter().copied().chain(outs);
    let found: Option<SmallVec<[Memory<'_>; 6]>> = all.map(Memory::without_gaps).collect();
    let Some(found) = found else {
        return Ok(false);
    };
    let (given, outs) = found.split_at(inputs.len());
    let (x, [result, mean, inverse]) = (&given[0], outs) else {
        return Ok(false);
    };
    let Some(lead) = x.shape.len().checked_sub(row_axes) else {
        return Ok(false);
    };
    let (outer, row) = x.shape.split_at(lead);
    let (rows, length) = (outer.iter().product::<i64>(), row.iter().product::<i64>());
    let is_statistic = |one: &Memory<'_>| {
        one.dtype == computed_dtype(x.dtype) && one.shape.iter().product::<i64>() == rows
    };
    let is_parameter = |one: &Memory<'_>| one.shape == row && is_float(one.dtype);
    let ranges: SmallVec<[(u64, u64); 6]> = found.iter().map(|one| one.range).collect();
    let is_plain = is_float(x.dtype)
        && epsilon >= 0.0
        && (result.dtype, result.shape) == (x.dtype, x.shape)
        && given[1..].iter().all(is_parameter)
        && is_statistic(mean)
        && is_statistic(inverse)
        && are_settled(&ranges, device);
    if !is_plain {
        return Ok(false);
    }
    let (matrix, statistics, row) = ([rows, length], [rows], [length]);
    let x = x.seen(&matrix)?;
    let parameters: SmallVec<[TensorView<'_>; 2]> =
        { given[1..].iter().map(|one| one.seen(&row)) }.collect::<Answer<_>>()?;
    let (mut result, mut mean, mut inverse) = (
        result.host(&matrix),
        mean.host(&statistics),
        inverse.host(&statistics),
    );
    Matrix::global()?.layer_norm_with_statistics(
        &x,
        &parameters,
        &mut result.view_mut()?,
        [&mut mean.view_mut()?, &mut inverse.view_mut()?],
        epsilon,
    )?;
    Ok(true)
}

type Views<'a> = SmallVec<[TensorView<'a>; LIMIT]>;

/// The memory of the result, and views of the operands. `None` where the general path has to look at the call: memory that streams may still
/// use or that leaves its allocation, complex numbers, other devices, graphs in the making.
fn seen<'a>(
    device: &DeviceObject,
    inputs: impl ExactSizeIterator<Item = &'a COperand>,
    numbers: &'a mut [u64; LIMIT],
    out: &'a COperand,
) -> Answer<Option<(Memory<'a>, Views<'a>)>> {
    if !is_at_once(device) || inputs.len() > LIMIT {
        return Ok(None);
    }
    let Some(target) = Memory::of(out) else {
        return Ok(None);
    };
    let mut ranges: SmallVec<[(u64, u64); LIMIT + 1]> = SmallVec::new();
    ranges.push(target.range);
    let mut views = Views::new();
    for (input, number) in inputs.zip(numbers) {
        let Some(view) = view_of(input, number, &mut ranges)? else {
            return Ok(None);
        };
        views.push(view);
    }
    Ok(are_settled(&ranges, device).then_some((target, views)))
}

/// Memory that an operand names.
pub struct Memory<'a> {
    address: u64,
    dtype: Dtype,
    shape: &'a [i64],
    /// `None` for the row-major order without gaps.
    strides: Option<&'a [i64]>,
    /// Its first byte and how many there are.
    range: (u64, u64),
}

impl<'a> Memory<'a> {
    /// `None` where there is something to say about it.
    fn of(operand: &'a COperand) -> Option<Self> {
        if operand.kind != MEMORY || operand.dimensions > amdgpu_matrix::MAX_RANK as u32 {
            return None;
        }
        let dtype = operand.dtype.required("dtype").ok()?;
        let dtype = Dtype::from_name(dtype).filter(|dtype| !is_complex(*dtype))?;
        let count = operand.dimensions as usize;
        let shape = operand.shape.slice(count, "shape").ok()?;
        let strides = if operand.strides.is_null() {
            None
        } else {
            let given = operand.strides.slice(count, "strides").ok()?;
            (!is_contiguous(shape, given)).then_some(given)
        };
        let item_bytes = dtype.size_bytes();
        let (low, high) = match strides {
            Some(strides) => byte_range(shape, strides, item_bytes)?,
            None => (0, dense_bytes(shape, item_bytes)?),
        };
        let address = operand.address as u64;
        let first = address.checked_add_signed(low)?;
        let is_usable = address != 0 && address.is_multiple_of(item_bytes as u64);
        is_usable.then_some(Self {
            address,
            dtype,
            shape,
            strides,
            range: (first, (high - low) as u64),
        })
    }

    fn without_gaps(operand: &'a COperand) -> Option<Self> {
        Self::of(operand).filter(|memory| memory.strides.is_none())
    }

    fn view(&self) -> Answer<TensorView<'a>> {
        let data = std::ptr::with_exposed_provenance(self.address as usize);
        // SAFETY: the caller of the C function says that the memory is there, and used by nobody else during the call.
        Ok(unsafe { TensorView::from_parts(data, self.dtype, HOST, self.shape, self.strides) }?)
    }

    /// Memory without gaps in another shape of as many elements.
    fn seen<'s>(&self, shape: &'s [i64]) -> Answer<TensorView<'s>> {
        let data = std::ptr::with_exposed_provenance(self.address as usize);
        // SAFETY: as above.
        Ok(unsafe { TensorView::from_parts(data, self.dtype, HOST, shape, None) }?)
    }

    /// The same to be written.
    fn host(&self, shape: &[i64]) -> HostMemory {
        let data = std::ptr::with_exposed_provenance_mut(self.address as usize);
        // SAFETY: as above; the caller wants a result there.
        unsafe { HostMemory::dense(data, self.dtype, shape) }
    }
}

/// `None` where there are no elements, or more than addresses.
fn dense_bytes(shape: &[i64], item_bytes: usize) -> Option<i64> {
    let product = |bytes: i64, extent: &i64| bytes.checked_mul(*extent).filter(|all| *all > 0);
    shape.iter().try_fold(item_bytes as i64, product)
}

/// An operand as a view: of its memory, which is added to the ranges, or of a number, for which there is a place.
fn view_of<'a>(
    input: &'a COperand,
    number: &'a mut u64,
    ranges: &mut SmallVec<[(u64, u64); LIMIT + 1]>,
) -> Answer<Option<TensorView<'a>>> {
    if input.kind == MEMORY {
        let Some(memory) = Memory::of(input) else {
            return Ok(None);
        };
        ranges.push(memory.range);
        return memory.view().map(Some);
    }
    let dtype = Dtype::from_name(input.dtype.required("dtype")?);
    let Some(dtype) = dtype.filter(|dtype| !is_complex(*dtype)) else {
        return Ok(None);
    };
    let value = match input.kind {
        INTEGER => Scalar::Int(i128::from(input.integer)),
        REAL => Scalar::Float(input.real),
        _ => return Ok(None),
    };
    *number = value.element(dtype);
    let data = std::ptr::from_ref(number).cast();
    // SAFETY: a place of eight bytes, which no number here is wider than.
    Ok(Some(unsafe {
        TensorView::from_parts(data, dtype, HOST, &[], None)
    }?))
}

/// Results go to the memory of the caller.
pub struct Given<'a>(&'a Memory<'a>);

impl Host for Given<'_> {
    type Error = Error;

    fn has_out(&self) -> bool {
        true
    }

    fn result(&mut self, _: &[i64], _: Dtype, _: bool) -> Result<HostMemory, Error> {
        let memory = self.0;
        let Some(strides) = memory.strides else {
            return Ok(memory.host(memory.shape));
        };
        let data = std::ptr::with_exposed_provenance_mut(memory.address as usize);
        let strides = Dims::from_slice(strides);
        // SAFETY: as for inputs; the caller wants the result there.
        Ok(unsafe { HostMemory::strided(data, memory.dtype, memory.shape, strides) })
    }

    fn run<T: Send>(
        &mut self,
        _: u64,
        work: impl FnOnce() -> Result<T, Error> + Send,
    ) -> Result<T, Error> {
        work()
    }
}
