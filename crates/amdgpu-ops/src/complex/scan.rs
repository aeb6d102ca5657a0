//! Prefix sums and products. Sums of complex numbers are those of the parts.

use amdgpu_abi::ErrorCode;
use amdgpu_abi::promotion::is_complex;
use amdgpu_array::Array;
use amdgpu_matrix::{Described, Matrix, Pairs, Scan, ScanOptions, TensorView, resolve_axes};

use super::reduce::check_out;
use super::{pairs, prefix_products};
use crate::cpu::{self, Call, Host};
use crate::operand::{Operand, Target};
use crate::{DeviceOps, Error, Operation, Result};

fn check_scan(operation: Scan) -> Result<()> {
    if matches!(operation, Scan::Sum | Scan::Product) {
        return Ok(());
    }
    Err(Error::refused(
        ErrorCode::UnsupportedDtype,
        format!(
            "{}: complex numbers have no order and are no truth values; scan abs(x), real(x) or x != 0",
            operation.name()
        ),
    ))
}

/// The scan of the parts, which have one more axis, the last.
fn options_of_parts(options: &ScanOptions, shape: &[i64]) -> Result<ScanOptions> {
    check_scan(options.operation)?;
    let axis = resolve_axes(options.name(), shape, &[options.axis])?[0] as i64;
    Ok(ScanOptions { axis, ..*options })
}

/// `out[..., i] = out[..., i - 1]` joined with `x[..., i]` along an axis, of real and complex numbers. `out` may be x itself, unless the scan is
/// exclusive. Where the device has no kernel, the CPU computes it.
///
/// # Errors
///
/// `invalid-argument` for an axis that does not exist or an `out` that overlaps x otherwise; `shape-mismatch`; `unsupported-dtype`, as for what
/// complex numbers are not joined by.
pub fn scan(
    ops: &DeviceOps,
    x: &Operand,
    options: &ScanOptions,
    out: Option<&Array>,
) -> Result<Array> {
    let call = Call {
        ops,
        family: "scan",
        name: options.name(),
        inputs: &[("x", x)],
        out,
    };
    cpu::run_noted(
        &call,
        || Some(Operation::Scan(*options)),
        || scan_on_device(ops, x, options, out),
        |views, host| scan_on_host(&views[0], options, host),
    )
}

/// [`scan`] in memory of the host.
///
/// # Errors
///
/// As [`scan`], and those of the host.
pub fn scan_on_host<H: Host>(
    x: &TensorView<'_>,
    options: &ScanOptions,
    host: &mut H,
) -> std::result::Result<(), H::Error> {
    if !is_complex(x.dtype()) {
        return crate::scan::on_host(x, options, host);
    }
    let of_parts = options_of_parts(options, x.shape())?;
    let described = Described {
        shape: x.shape().to_vec(),
        dtype: x.dtype(),
    };
    let memory = host.result(&described.shape, described.dtype, false)?;
    check_out(options.name(), &memory, &described.shape, described.dtype)?;
    if options.operation == Scan::Product {
        let multiplications = cpu::len(x).saturating_mul(8);
        let multiply = move || prefix_products::on_host(x, options, &memory);
        return Ok(host.run(multiplications, multiply)?);
    }
    let mut memory = memory.pairs();
    let parts = Pairs::of(x);
    // SAFETY: `x` outlives the call.
    let parts = unsafe { parts.view() }.map_err(Error::from)?;
    Ok(host.run(cpu::len(&parts), || {
        Ok(Matrix::global()?.scan(&parts, &mut memory.view_mut()?, &of_parts)?)
    })?)
}

/// [`scan`] by kernels of the device.
fn scan_on_device(
    ops: &DeviceOps,
    x: &Operand,
    options: &ScanOptions,
    out: Option<&Array>,
) -> Result<Array> {
    if !is_complex(x.dtype) {
        return crate::scan::on_device(ops, x, options, out);
    }
    let of_parts = options_of_parts(options, &x.shape)?;
    let target = Target {
        operation: options.name(),
        device: ops.device(),
        out,
        inputs: &[x],
        may_alias: true,
        is_dense: true,
    };
    let array = target.resolve(&x.shape, x.dtype)?.into_array()?;
    if options.operation == Scan::Product {
        prefix_products::on_device(ops, x, options, &array)?;
        return Ok(array);
    }
    crate::scan::on_device(ops, &pairs(x), &of_parts, Some(&array.pairs()))?;
    Ok(array)
}
