//! Values in another dtype, and copies with any strides.

use amdgpu_abi::promotion::is_tensor_dtype;
use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, Dims, coalesce};
use amdgpu_matrix::{Matrix, TensorView};
use smallvec::SmallVec;

use crate::cpu::{self, Host};
use crate::div_ceil::DivCeil;
use crate::elementwise::{memory_order, permuted};
use crate::generated::cast::{OWN, cast_source};
use crate::generated::source;
use crate::launch::{Shape, launch};
use crate::operand::{Operand, Target};
use crate::{Arg, DeviceOps, Error, KernelKey, Result};

pub(crate) const NAME: &str = "cast";

/// [`crate::cast()`] of real numbers in memory of the host, to the shape that an `out` has, on so many threads at most.
///
/// # Errors
///
/// As there, and those of the host.
pub fn on_host<H: Host>(
    x: &TensorView<'_>,
    shape: &[i64],
    dtype: Dtype,
    thread_limit: Option<u32>,
    host: &mut H,
) -> std::result::Result<(), H::Error> {
    check_known(dtype)?;
    check_broadcast(NAME, "x", x.shape(), shape)?;
    let mut memory = host.result(shape, dtype, false)?;
    if memory.dtype() != dtype {
        let message = format!(
            "{NAME}: out has dtype {}; the result has {}",
            memory.dtype().name().unwrap_or("?"),
            dtype.name().unwrap_or("?")
        );
        return Err(Error::refused(ErrorCode::UnsupportedDtype, message).into());
    }
    Ok(host.run(cpu::len(x), || {
        Ok(Matrix::global()?.cast(x, &mut memory.view_mut()?, thread_limit)?)
    })?)
}

fn check_known(dtype: Dtype) -> Result<()> {
    if is_tensor_dtype(dtype) {
        return Ok(());
    }
    Err(Error::refused(
        ErrorCode::UnsupportedDtype,
        format!(
            "{NAME}: no values are converted to {}",
            dtype.name().unwrap_or("an unknown dtype")
        ),
    ))
}

/// [`crate::cast()`] of real numbers by a kernel of the device.
///
/// # Errors
///
/// As there; `no-implementation` where no kernel can be made.
pub fn on_device(ops: &DeviceOps, x: &Operand, dtype: Dtype, out: Option<&Array>) -> Result<Array> {
    let made = resolve(ops, x, dtype, out)?;
    write(ops, x, &Operand::of_array(made.clone()))?;
    Ok(made)
}

/// Checks the arguments; the array that receives the values.
fn resolve(ops: &DeviceOps, x: &Operand, dtype: Dtype, out: Option<&Array>) -> Result<Array> {
    x.check_dtype(NAME, "x")?;
    check_known(dtype)?;
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
    let (extents, strides) = match memory_order(&result.shape, &result.strides) {
        None => coalesce(&result.shape, [&result.strides, &wide.strides]),
        Some(order) => {
            let [shape, to, from] = [&result.shape, &result.strides, &wide.strides]
                .map(|numbers| permuted(numbers, &order));
            coalesce(&shape, [&to, &from])
        }
    };
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
        args.extend_from_slice(&source::walk_arguments(&extents, &both));
    }
    let blocks = count.div_ceil_positive(source::BLOCK * OWN);
    launch(&kernel, Shape::line(blocks, source::BLOCK), &args)
}
