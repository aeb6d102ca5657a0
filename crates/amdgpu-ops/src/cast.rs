//! Values in another dtype, and copies with any strides.

use amdgpu_abi::promotion::TENSOR_DTYPES;
use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, Dims, coalesce};
use amdgpu_matrix::Matrix;
use smallvec::SmallVec;

use crate::elementwise::DivCeil;
use crate::fallback::{self, HostTensor};
use crate::generated::cast::{OWN, cast_source};
use crate::generated::source;
use crate::host::{self, Input, Output};
use crate::launch::{Shape, launch};
use crate::operand::{Operand, Target};
use crate::{Arg, DeviceOps, Error, KernelKey, Result};

const NAME: &str = "cast";

/// The values of x in another dtype, as NumPy's `astype(casting="unsafe")` converts them: floats are cut towards zero to integers, integers
/// keep their low bits, what is not zero is true, numbers are rounded once (to bfloat16 from float64 and int64 by way of float32, as
/// `ml_dtypes` does). What an integer dtype does not hold becomes the smallest int32, of int64, uint32 and uint64 the smallest int64, cut to
/// the low bits.
///
/// `out` may have any strides; x broadcasts to its shape. Both may be one view; where they overlap otherwise, copy x first.
///
/// # Errors
///
/// `unsupported-dtype`, `shape-mismatch` where x does not broadcast to `out`, `read-only`, `wrong-device`; `invalid-argument` for an `out` that
/// overlaps x or itself.
pub fn cast(ops: &DeviceOps, x: &Operand, dtype: Dtype, out: Option<&Array>) -> Result<Array> {
    if !host::is_direct(ops) {
        return by_kernel(ops, x, dtype, out);
    }
    let made = resolve(ops, x, dtype, out)?;
    let input = Input::of(x)?;
    Matrix::global()?.cast(&input.view()?, &mut Output::of(&made)?.view_mut()?, None)?;
    Ok(made)
}

/// [`cast`] by a kernel of the device, or, where it has none, by the CPU with a fallback that is counted.
///
/// # Errors
///
/// As [`cast`].
pub fn by_kernel(ops: &DeviceOps, x: &Operand, dtype: Dtype, out: Option<&Array>) -> Result<Array> {
    let done = on_device(ops, x, dtype, out);
    fallback::or_on_host(NAME, ops, done, || {
        let host = HostTensor::of_operand(x)?;
        let shape = out.map_or(&x.shape, |out| &out.shape);
        let mut result = HostTensor::new(shape, dtype);
        Matrix::global()?.cast(&host.view()?, &mut result.view_mut()?, None)?;
        result.deliver(ops, NAME, out)
    })
}

/// [`cast`] by a kernel of the device.
///
/// # Errors
///
/// As [`cast`]; `no-implementation` where no kernel can be made.
pub fn on_device(ops: &DeviceOps, x: &Operand, dtype: Dtype, out: Option<&Array>) -> Result<Array> {
    let made = resolve(ops, x, dtype, out)?;
    write(ops, x, &Operand::of_array(made.clone()))?;
    Ok(made)
}

/// Checks the arguments; the array that receives the values.
fn resolve(ops: &DeviceOps, x: &Operand, dtype: Dtype, out: Option<&Array>) -> Result<Array> {
    x.check_dtype(NAME, "x")?;
    if !TENSOR_DTYPES.contains(&dtype) {
        return Err(Error::refused(
            ErrorCode::UnsupportedDtype,
            format!(
                "{NAME}: no values are converted to {}",
                dtype.name().unwrap_or("an unknown dtype")
            ),
        ));
    }
    let shape = out.map_or(&x.shape, |out| &out.shape);
    check_broadcast(NAME, "x", &x.shape, shape)?;
    let wide = x.broadcast_to(shape);
    let target = Target {
        operation: NAME,
        device: ops.device(),
        out,
        inputs: &[&wide],
        may_alias: true,
        is_dense: false,
    };
    target.resolve(shape, dtype)?.into_array()
}

/// Refuses a shape that does not broadcast to another one.
///
/// # Errors
///
/// `shape-mismatch`, in NumPy's words.
pub(crate) fn check_broadcast(
    operation: &str,
    name: &str,
    shape: &[i64],
    wanted: &[i64],
) -> Result<()> {
    let pairs = shape.iter().rev().zip(wanted.iter().rev());
    let fits = shape.len() <= wanted.len() && { pairs }
        .all(|(extent, wanted)| *extent == 1 || extent == wanted);
    if fits {
        return Ok(());
    }
    Err(Error::refused(
        ErrorCode::ShapeMismatch,
        format!("{operation}: {name} has shape {shape:?}, which does not broadcast to {wanted:?}"),
    ))
}

/// Writes x, converted and broadcast, to memory of any strides.
fn write(ops: &DeviceOps, x: &Operand, result: &Operand) -> Result<()> {
    let wide = x.broadcast_to(&result.shape);
    if result.is_empty() || (!x.is_number() && wide.is_same_view(result)) {
        return Ok(());
    }
    let (extents, strides) = coalesce(&result.shape, &[&result.strides, &wide.strides]);
    let count = result.len();
    let rank = extents.len();
    let is_flat = rank == 1 && strides.iter().all(|own| own[0] == 1);
    let key = KernelKey::new(NAME)
        .dtype(x.dtype)
        .dtype(result.dtype)
        .flag(x.is_number())
        .flag(x.is_dense())
        .flag(result.is_dense())
        .flag(source::is_narrow(count))
        .with(if is_flat { 0 } else { rank as u64 });
    let kernel = ops.kernel(key, NAME, || cast_source(x, result, rank, is_flat, count))?;
    let mut args: SmallVec<[Arg<'_>; 24]> = SmallVec::new();
    if x.is_number() {
        args.push(Arg::from(x.number.for_dtype(x.dtype)));
    } else {
        args.push(Arg::pointer(x));
    }
    args.push(Arg::pointer(result));
    args.push(Arg::from(count));
    if !is_flat {
        let both: Vec<Dims> = strides.into_iter().collect();
        args.extend(source::walk_arguments(&extents, &both));
    }
    let blocks = count.div_ceil_positive(source::BLOCK * OWN);
    launch(&kernel, Shape::line(blocks, source::BLOCK), &args)
}
