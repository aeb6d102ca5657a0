//! Prefix sums. Of complex numbers they are those of the parts.

use amdgpu_abi::ErrorCode;
use amdgpu_abi::promotion::is_complex;
use amdgpu_array::Array;
use amdgpu_matrix::{Described, Matrix, Pairs, Scan, TensorView, resolve_axes};

use super::pairs;
use super::reduce::check_out;
use crate::cpu::{self, Call, Host};
use crate::operand::{Operand, Target};
use crate::{DeviceOps, Error, Result};

fn check_scan(operation: Scan) -> Result<()> {
    if operation == Scan::Sum {
        return Ok(());
    }
    Err(Error::refused(
        ErrorCode::UnsupportedDtype,
        format!(
            "{}: prefix sums of complex numbers are there, and nothing else along a line; take exp(cumsum(log(x))) for products",
            operation.name()
        ),
    ))
}

/// `out[..., i] = out[..., i - 1]` joined with `x[..., i]` along `axis` for real and complex numbers; see [`crate::scan::scan`].
///
/// # Errors
///
/// As there; `unsupported-dtype` for what complex numbers are not joined by.
pub fn scan(
    ops: &DeviceOps,
    operation: Scan,
    x: &Operand,
    axis: i64,
    out: Option<&Array>,
) -> Result<Array> {
    if !is_complex(x.dtype) {
        return crate::scan::scan(ops, operation, x, axis, out);
    }
    let call = Call {
        ops,
        family: "scan",
        name: operation.name(),
        inputs: &[("x", x)],
        out,
    };
    cpu::run_one(
        &call,
        || on_device(ops, operation, x, axis, out),
        |views, host| scan_on_host(operation, &views[0], axis, None, host),
    )
}

/// [`scan`] in memory of the host, on so many threads at most.
///
/// # Errors
///
/// As [`scan`], and those of the host.
pub fn scan_on_host<H: Host>(
    operation: Scan,
    x: &TensorView<'_>,
    axis: i64,
    thread_limit: Option<u32>,
    host: &mut H,
) -> std::result::Result<(), H::Error> {
    if !is_complex(x.dtype()) {
        return crate::scan::on_host(operation, x, axis, thread_limit, host);
    }
    check_scan(operation)?;
    let axis = resolve_axes(operation.name(), x.shape(), &[axis]).map_err(Error::from)?[0] as i64;
    let described = Described {
        shape: x.shape().to_vec(),
        dtype: x.dtype(),
    };
    let memory = host.result(&described.shape, described.dtype, false)?;
    check_out(operation.name(), &memory, &described.shape, described.dtype)?;
    let mut memory = memory.pairs();
    let parts = Pairs::of(x);
    // SAFETY: `x` outlives the call.
    let parts = unsafe { parts.view() }.map_err(Error::from)?;
    Ok(host.run(cpu::len(&parts), || {
        Ok(Matrix::global()?.scan(
            operation,
            &parts,
            axis,
            &mut memory.view_mut()?,
            thread_limit,
        )?)
    })?)
}

/// [`scan`] of complex numbers by kernels of the device.
fn on_device(
    ops: &DeviceOps,
    operation: Scan,
    x: &Operand,
    axis: i64,
    out: Option<&Array>,
) -> Result<Array> {
    check_scan(operation)?;
    let axis = resolve_axes(operation.name(), &x.shape, &[axis])?[0] as i64;
    let target = Target {
        operation: operation.name(),
        device: ops.device(),
        out,
        inputs: &[x],
        may_alias: true,
        is_dense: true,
    };
    let array = target.resolve(&x.shape, x.dtype)?.into_array()?;
    crate::scan::on_device(ops, operation, &pairs(x), axis, Some(&array.pairs()))?;
    Ok(array)
}
