//! The indices of the elements that are not zero, and elements of another array in their places.

use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, Dims};
use amdgpu_hal::MemoryKind;
use amdgpu_matrix::{Described, Matrix, TensorView};
use smallvec::SmallVec;

use crate::cpu::{self, Call, Host};
use crate::div_ceil::DivCeil;
use crate::fallback;
use crate::generated::nonzero::{CHUNK, Found, Sought, nonzero_source};
use crate::generated::source;
use crate::launch::{Shape, launch};
use crate::operand::Operand;
use crate::scan::{self, Scan, ScanOptions};
use crate::transpose::dense;
use crate::{Arg, DeviceOps, Error, KernelKey, Result};

const NAME: &str = "nonzero";
const SELECT: &str = "masked_select";

/// The indices of the elements of x that are not zero, in row-major order: int64 of shape (count, axes of x). NaN is not zero.
///
/// How many there are decides the shape, so that the call waits for the device.
///
/// # Errors
///
/// `unsupported-dtype`, `out-of-memory`; `not-capturable` while a graph is recorded.
pub fn nonzero(ops: &DeviceOps, x: &Operand) -> Result<Array> {
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

/// [`nonzero`] in memory of the host, on so many threads at most.
///
/// # Errors
///
/// As [`nonzero`], and those of the host.
pub fn on_host<H: Host>(
    x: &TensorView<'_>,
    thread_limit: Option<u32>,
    host: &mut H,
) -> std::result::Result<(), H::Error> {
    let counts = host.run(cpu::len(x), || {
        Ok(Matrix::global()?.count_nonzero(x, thread_limit)?)
    })?;
    let described = Described {
        shape: vec![counts.total() as i64, x.shape().len() as i64],
        dtype: Dtype::I64,
    };
    host.write(&described, cpu::len(x), |out| {
        Ok(Matrix::global()?.nonzero(x, &counts, out, thread_limit)?)
    })
}

/// The elements of `x` where `mask` is not zero, in row-major order, as an array of one axis; both have one shape. How many there are decides the
/// shape of the result, so that the call waits for the device.
///
/// # Errors
///
/// `shape-mismatch` where the shapes differ; as [`nonzero`].
pub fn masked_select(ops: &DeviceOps, x: &Operand, mask: &Operand) -> Result<Array> {
    let call = Call {
        ops,
        family: NAME,
        name: SELECT,
        inputs: &[("x", x), ("mask", mask)],
        out: None,
    };
    cpu::run_one(
        &call,
        || select_on_device(ops, x, mask),
        |views, host| select_on_host(&views[0], &views[1], None, host),
    )
}

/// [`masked_select`] in memory of the host, on so many threads at most.
///
/// # Errors
///
/// As [`masked_select`], and those of the host.
pub fn select_on_host<H: Host>(
    x: &TensorView<'_>,
    mask: &TensorView<'_>,
    thread_limit: Option<u32>,
    host: &mut H,
) -> std::result::Result<(), H::Error> {
    check_shapes(x.shape(), mask.shape())?;
    let counts = host.run(cpu::len(mask), || {
        Ok(Matrix::global()?.count_nonzero(mask, thread_limit)?)
    })?;
    let described = Described {
        shape: vec![counts.total() as i64],
        dtype: x.dtype(),
    };
    host.write(&described, cpu::len(mask), |out| {
        Ok(Matrix::global()?.select(mask, &counts, x, out, thread_limit)?)
    })
}

fn check_shapes(x: &[i64], mask: &[i64]) -> Result<()> {
    if x == mask {
        return Ok(());
    }
    Err(Error::refused(
        ErrorCode::ShapeMismatch,
        format!("{SELECT}: x has shape {x:?} and the mask {mask:?}; they must be the same"),
    ))
}

/// [`masked_select`] by kernels of the device.
///
/// # Errors
///
/// As [`masked_select`]; what the device reports.
pub fn select_on_device(ops: &DeviceOps, x: &Operand, mask: &Operand) -> Result<Array> {
    mask.check_dtype(SELECT, "mask")?;
    check_shapes(&x.shape, &mask.shape)?;
    let vector = |count| -> Result<Array> {
        let shape = Dims::from_slice(&[count]);
        Ok(Array::empty(
            ops.device(),
            shape,
            x.dtype,
            MemoryKind::Device,
        )?)
    };
    if mask.is_empty() {
        return vector(0);
    }
    let ends = ends_of_chunks(ops, mask, Sought::NotZero)?;
    let made = vector(total(&ends)?)?;
    if !made.is_empty() {
        let what = (Sought::NotZero, Found::Selected(x.item_bytes()));
        run(ops, mask, what, (&ends, &made), Some(&dense(ops, x)?))?;
    }
    Ok(made)
}

fn empty(ops: &DeviceOps, count: i64, x: &Operand) -> Result<Array> {
    let shape = Dims::from_slice(&[count, x.rank() as i64]);
    let made = Array::empty(ops.device(), shape, Dtype::I64, MemoryKind::Device)?;
    Ok(made)
}

/// [`nonzero`] by kernels of the device: chunks are counted, the counts summed up, and the indices written behind those of the chunks before.
///
/// # Errors
///
/// As [`nonzero`]; what the device reports.
pub fn on_device(ops: &DeviceOps, x: &Operand) -> Result<Array> {
    x.check_dtype(NAME, "x")?;
    if x.is_empty() {
        return empty(ops, 0, x);
    }
    let ends = ends_of_chunks(ops, x, Sought::NotZero)?;
    let made = empty(ops, total(&ends)?, x)?;
    if !made.is_empty() {
        let what = (Sought::NotZero, Found::Indexed);
        run(ops, x, what, (&ends, &made), None)?;
    }
    Ok(made)
}

/// How many elements that are sought there are up to the end of each chunk.
pub(crate) fn ends_of_chunks(ops: &DeviceOps, x: &Operand, sought: Sought) -> Result<Array> {
    let chunks = x.len().div_ceil_positive(CHUNK);
    let counts = Array::empty(
        ops.device(),
        Dims::from_slice(&[chunks]),
        Dtype::I64,
        MemoryKind::Device,
    )?;
    run(ops, x, (sought, Found::Counted), (&counts, &counts), None)?;
    let sum = ScanOptions::new(Scan::Sum, 0);
    scan::on_device(ops, &Operand::of_array(counts), &sum, None)
}

/// The last of the ends; waits for the device.
pub(crate) fn total(ends: &Array) -> Result<i64> {
    let last = (ends.len() - 1) * size_of::<i64>() as i64;
    let bytes = fallback::read_bytes(ends, last, size_of::<i64>())?;
    Ok(bytes.first_chunk().copied().map_or(0, i64::from_ne_bytes))
}

/// Counts into `out`, or writes what is found to it.
pub(crate) fn run(
    ops: &DeviceOps,
    x: &Operand,
    (sought, found): (Sought, Found),
    (counts, out): (&Array, &Array),
    values: Option<&Array>,
) -> Result<()> {
    // Indices are told axis by axis; else an array without gaps is one line.
    let line;
    let x = if found != Found::Indexed && x.is_dense() && x.rank() > 1 {
        line = Operand::of_array(dense(ops, x)?.reshaped(&[x.len()])?);
        &line
    } else {
        x
    };
    let rank = x.rank();
    let key = KernelKey::new(NAME)
        .dtype(x.dtype)
        .with(rank as u64)
        .flag(x.is_number())
        .flag(x.is_dense())
        .flag(sought == Sought::Changed)
        .with(found.code());
    let kernel = ops.kernel(key, NAME, || nonzero_source(x, sought, found))?;
    let mut args: SmallVec<[Arg<'_>; 24]> = SmallVec::new();
    args.push(if x.is_number() {
        Arg::from(x.number.for_dtype(x.dtype))
    } else {
        Arg::pointer(x)
    });
    args.extend([Arg::Array(counts), Arg::Array(out)]);
    args.extend(values.map(Arg::Array));
    args.push(Arg::from(x.len()));
    if rank > 0 {
        args.extend_from_slice(&source::walk_arguments(
            &x.shape,
            std::slice::from_ref(&x.strides),
        ));
    }
    let chunks = x.len().div_ceil_positive(CHUNK);
    launch(&kernel, Shape::line(chunks, source::BLOCK), &args)
}
