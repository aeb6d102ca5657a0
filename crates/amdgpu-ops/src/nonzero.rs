//! The indices of the elements that are not zero.

use amdgpu_abi::Dtype;
use amdgpu_array::{Array, Dims};
use amdgpu_hal::MemoryKind;
use amdgpu_matrix::{Described, Matrix, TensorView};
use smallvec::SmallVec;

use crate::cpu::{self, Call, Host};
use crate::div_ceil::DivCeil;
use crate::fallback;
use crate::generated::nonzero::{CHUNK, nonzero_source};
use crate::generated::source;
use crate::launch::{Shape, launch};
use crate::operand::Operand;
use crate::scan::{self, Scan};
use crate::{Arg, DeviceOps, KernelKey, Result};

const NAME: &str = "nonzero";

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
    let count = x.len();
    if count == 0 {
        return empty(ops, 0, x);
    }
    let chunks = count.div_ceil_positive(CHUNK);
    let counts = Array::empty(
        ops.device(),
        Dims::from_slice(&[chunks]),
        Dtype::I64,
        MemoryKind::Device,
    )?;
    run(ops, x, &counts, &counts, chunks)?;
    let ends = scan::on_device(ops, Scan::Sum, &Operand::of_array(counts), 0, None)?;
    let last = (chunks - 1) * size_of::<i64>() as i64;
    let bytes = fallback::read_bytes(&ends, last, size_of::<i64>())?;
    let total = bytes.first_chunk().copied().map_or(0, i64::from_ne_bytes);
    let made = empty(ops, total, x)?;
    if !made.is_empty() {
        run(ops, x, &ends, &made, chunks)?;
    }
    Ok(made)
}

/// Counts into `out` where that is the counts, else writes indices.
fn run(ops: &DeviceOps, x: &Operand, counts: &Array, out: &Array, chunks: i64) -> Result<()> {
    let counts_only = out.shape.len() == 1;
    let rank = x.rank();
    let key = KernelKey::new(NAME)
        .dtype(x.dtype)
        .with(rank as u64)
        .flag(x.is_number())
        .flag(x.is_dense())
        .flag(counts_only);
    let kernel = ops.kernel(key, NAME, || nonzero_source(x, counts_only))?;
    let mut args: SmallVec<[Arg<'_>; 24]> = SmallVec::new();
    args.push(if x.is_number() {
        Arg::from(x.number.for_dtype(x.dtype))
    } else {
        Arg::pointer(x)
    });
    args.extend([Arg::Array(counts), Arg::Array(out), Arg::from(x.len())]);
    if rank > 0 {
        args.extend_from_slice(&source::walk_arguments(
            &x.shape,
            std::slice::from_ref(&x.strides),
        ));
    }
    launch(&kernel, Shape::line(chunks, source::BLOCK), &args)
}
