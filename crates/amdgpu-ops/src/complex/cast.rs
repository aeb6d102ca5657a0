//! Complex numbers in another dtype: each part is converted; real numbers get an imaginary part of zero.

use amdgpu_abi::promotion::{TENSOR_DTYPES, is_complex};
use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::Array;
use amdgpu_matrix::{Complex, ElementwiseOptions, Matrix, Pairs, TensorView};

use super::{compute, pairs};
use crate::cast::NAME;
use crate::cpu::{self, Call, Host};
use crate::operand::{Operand, Target};
use crate::{DeviceOps, Error, Operation, Result, Scalar};

/// Refuses conversions that would lose the imaginary part, as the array API standard asks, and to or from what is no number.
fn check(from: Dtype, to: Dtype) -> Result<()> {
    let name = |dtype: Dtype| dtype.name().unwrap_or("an unknown dtype");
    let is_known = |dtype: Dtype| is_complex(dtype) || TENSOR_DTYPES.contains(&dtype);
    let why = if !is_known(from) || !is_known(to) {
        format!(
            "no values are converted from {} to {}",
            name(from),
            name(to)
        )
    } else if is_complex(from) && !is_complex(to) && to != Dtype::BOOL {
        format!(
            "{} to {} would lose the imaginary part; take real(x), imag(x) or abs(x)",
            name(from),
            name(to)
        )
    } else {
        return Ok(());
    };
    Err(Error::refused(
        ErrorCode::UnsupportedDtype,
        format!("{NAME}: {why}"),
    ))
}

/// The values of x, real or complex, in another dtype, as NumPy's `astype(casting="unsafe")` converts them: floats are cut towards zero to integers, integers
/// keep their low bits, what is not zero is true, numbers are rounded once (to bfloat16 from float64 and int64 by way of float32, as
/// `ml_dtypes` does). What an integer dtype does not hold becomes the smallest int32, of int64, uint32 and uint64 the smallest int64, cut to
/// the low bits.
///
/// `out` may have any strides; x broadcasts to its shape. Both may be one view; where they overlap otherwise, copy x first.
///
/// # Errors
///
/// `unsupported-dtype`, which complex numbers to a real dtype are, `shape-mismatch` where x does not broadcast to `out`, `read-only`, `wrong-device`; `invalid-argument` for an `out` that
/// overlaps x or itself.
pub fn cast(ops: &DeviceOps, x: &Operand, dtype: Dtype, out: Option<&Array>) -> Result<Array> {
    let call = Call {
        ops,
        family: NAME,
        name: NAME,
        inputs: &[("x", x)],
        out,
    };
    let shape = out.map_or(&x.shape, |out| &out.shape).clone();
    cpu::run_noted(
        &call,
        || Some(Operation::Cast { dtype }),
        || cast_on_device(ops, x, dtype, out),
        |views, host| cast_on_host(&views[0], &shape, dtype, None, host),
    )
}

/// [`cast`] in memory of the host, to the shape that an `out` has, on so many threads at most.
///
/// # Errors
///
/// As [`cast`], and those of the host.
pub fn cast_on_host<H: Host>(
    x: &TensorView<'_>,
    shape: &[i64],
    dtype: Dtype,
    thread_limit: Option<u32>,
    host: &mut H,
) -> std::result::Result<(), H::Error> {
    if !is_complex(x.dtype()) && !is_complex(dtype) {
        return crate::cast::on_host(x, shape, dtype, thread_limit, host);
    }
    check(x.dtype(), dtype)?;
    crate::cast::check_broadcast(NAME, "x", x.shape(), shape)?;
    let mut memory = host.result(shape, dtype, false)?;
    super::reduce::check_out(NAME, &memory, shape, dtype)?;
    let additions = cpu::len(x).saturating_mul(2);
    Ok(host.run(additions, || {
        let matrix = Matrix::global()?;
        let zero = [0.0_f32];
        let zero = TensorView::from_slice(&zero, &[])?;
        if dtype == Dtype::BOOL {
            let options = ElementwiseOptions {
                alpha: 0.0,
                thread_limit,
            };
            return Ok(matrix.complex_elementwise(
                Complex::NotEqual,
                &[*x, zero],
                &mut memory.view_mut()?,
                &options,
            )?);
        }
        if !is_complex(x.dtype()) {
            matrix.cast(x, &mut memory.part(false).view_mut()?, thread_limit)?;
            return Ok(matrix.cast(&zero, &mut memory.part(true).view_mut()?, thread_limit)?);
        }
        let parts = Pairs::of(x);
        // SAFETY: `x` outlives the call.
        let parts = unsafe { parts.view() }?;
        Ok(matrix.cast(&parts, &mut memory.pairs().view_mut()?, thread_limit)?)
    })?)
}

/// [`cast`] by kernels of the device.
///
/// # Errors
///
/// As [`cast`]; `no-implementation` where no kernel can be made.
pub fn cast_on_device(
    ops: &DeviceOps,
    x: &Operand,
    dtype: Dtype,
    out: Option<&Array>,
) -> Result<Array> {
    if !is_complex(x.dtype) && !is_complex(dtype) {
        return crate::cast::on_device(ops, x, dtype, out);
    }
    check(x.dtype, dtype)?;
    let shape = out.map_or(&x.shape, |out| &out.shape);
    crate::cast::check_broadcast(NAME, "x", &x.shape, shape)?;
    let wide = x.broadcast_to(shape);
    let target = Target {
        operation: NAME,
        device: ops.device(),
        out,
        inputs: &[&wide],
        may_alias: true,
        is_dense: false,
    };
    let result = target.resolve(shape, dtype)?;
    let zero = Operand::of_number(Scalar::Float(0.0), Dtype::F32);
    if dtype == Dtype::BOOL {
        compute(ops, Complex::NotEqual, &[x.clone(), zero], &result, x.dtype)?;
        return result.into_array();
    }
    let array = result.into_array()?;
    if is_complex(x.dtype) {
        crate::cast::on_device(ops, &pairs(x), array.pairs().dtype, Some(&array.pairs()))?;
    } else {
        for (value, is_imaginary) in [(x, false), (&zero, true)] {
            let part = array.complex_part(is_imaginary);
            crate::cast::on_device(ops, value, part.dtype, Some(&part))?;
        }
    }
    Ok(array)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imaginary_parts_are_not_lost_in_silence() {
        assert!(check(Dtype::C64, Dtype::C128).is_ok());
        assert!(check(Dtype::I8, Dtype::C64).is_ok());
        assert!(check(Dtype::C64, Dtype::BOOL).is_ok());
        let said = check(Dtype::C64, Dtype::F32).unwrap_err().to_string();
        assert!(said.contains("real(x)"), "{said}");
    }
}
