//! The elements of a line that differ from the one before: of sorted lines the different values.

use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, Dims};
use amdgpu_hal::MemoryKind;
use amdgpu_matrix::{Described, Elementwise, ElementwiseOptions, Matrix, TensorView};

use crate::cpu::{self, Call, Host};
use crate::generated::nonzero::{Found, Sought};
use crate::host_memory::{HOST, HostMemory};
use crate::nonzero::{ends_of_chunks, run, total};
use crate::operand::Operand;
use crate::transpose::dense;
use crate::{DeviceOps, Error, Result};

const NAME: &str = "unique_consecutive";

/// The first element of x, and those that are not equal to the one before, as `PyTorch`'s `unique_consecutive`. NaN is equal to nothing, -0.0 to 0.0.
///
/// How many there are decides the shape of the result, so that the call waits for the device.
///
/// # Errors
///
/// `shape-mismatch` unless x has one axis, `unsupported-dtype`, `out-of-memory`; `not-capturable` while a graph is recorded.
pub fn unique_consecutive(ops: &DeviceOps, x: &Operand) -> Result<Array> {
    let call = Call {
        ops,
        family: NAME,
        name: NAME,
        inputs: &[("x", x)],
        out: None,
    };
    cpu::run_one(
        &call,
        || on_device(ops, x),
        |views, host| on_host(&views[0], None, host),
    )
}

fn check(shape: &[i64]) -> Result<()> {
    if shape.len() == 1 {
        return Ok(());
    }
    Err(Error::refused(
        ErrorCode::ShapeMismatch,
        format!("{NAME}: x has shape {shape:?}; it must have one axis"),
    ))
}

/// [`unique_consecutive`] in memory of the host, on so many threads at most.
///
/// # Errors
///
/// As [`unique_consecutive`], and those of the host.
pub fn on_host<H: Host>(
    x: &TensorView<'_>,
    thread_limit: Option<u32>,
    host: &mut H,
) -> std::result::Result<(), H::Error> {
    check(x.shape())?;
    let shape = [x.shape()[0]];
    let work = cpu::len(x).saturating_mul(2);
    let mut mask = vec![1_u8; shape[0] as usize];
    let counts = host.run(work, || {
        note_changes(x, &mut mask, thread_limit)?;
        Ok(Matrix::global()?.count_nonzero(&mask_view(&mask, &shape)?, thread_limit)?)
    })?;
    let described = Described {
        shape: vec![counts.total() as i64],
        dtype: x.dtype(),
    };
    host.write(&described, work, |out| {
        Ok(Matrix::global()?.select(&mask_view(&mask, &shape)?, &counts, x, out, thread_limit)?)
    })
}

fn mask_view<'a>(mask: &'a [u8], shape: &'a [i64; 1]) -> Result<TensorView<'a>> {
    // SAFETY: a truth value is a byte, and the mask has as many as the shape says and outlives the view.
    Ok(unsafe { TensorView::from_parts(mask.as_ptr().cast(), Dtype::BOOL, HOST, shape, None)? })
}

/// Notes from the second element on which differ from the one before.
fn note_changes(x: &TensorView<'_>, mask: &mut [u8], thread_limit: Option<u32>) -> Result<()> {
    let Some((_, changes)) = mask.split_first_mut() else {
        return Ok(());
    };
    let shape = [changes.len() as i64];
    // SAFETY: the mask has a byte for each of these elements.
    let mut memory = unsafe { HostMemory::dense(changes.as_mut_ptr().cast(), Dtype::BOOL, &shape) };
    let options = ElementwiseOptions {
        alpha: 0.0,
        thread_limit,
    };
    let stride = x.strides().map_or(1, |strides| strides[0]);
    let distance = stride * x.dtype().size_bytes() as i64;
    let part = |offset_bytes: i64| -> Result<TensorView<'_>> {
        // SAFETY: one element fewer than x has, from its first or second one on.
        Ok(unsafe {
            let data = x.data().cast::<u8>().offset(offset_bytes as isize);
            TensorView::from_parts(data.cast(), x.dtype(), HOST, &shape, x.strides())?
        })
    };
    let inputs = [part(distance)?, part(0)?];
    Matrix::global()?.elementwise(
        Elementwise::NotEqual,
        &inputs,
        &mut memory.view_mut()?,
        &options,
    )?;
    Ok(())
}

/// [`unique_consecutive`] by kernels of the device, as [`crate::nonzero::on_device`].
///
/// # Errors
///
/// As [`unique_consecutive`]; what the device reports.
pub fn on_device(ops: &DeviceOps, x: &Operand) -> Result<Array> {
    x.check_dtype(NAME, "x")?;
    check(&x.shape)?;
    let vector = |count: i64| {
        let shape = Dims::from_slice(&[count]);
        Array::empty(ops.device(), shape, x.dtype, MemoryKind::Device)
    };
    if x.is_empty() {
        return Ok(vector(0)?);
    }
    let values = dense(ops, x)?;
    let line = Operand::of_array(values.clone());
    let ends = ends_of_chunks(ops, &line, Sought::Changed)?;
    let made = vector(total(&ends)?)?;
    let what = (Sought::Changed, Found::Selected(x.item_bytes()));
    run(ops, &line, what, (&ends, &made), Some(&values))?;
    Ok(made)
}
