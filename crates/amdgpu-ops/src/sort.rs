//! Lines in order, the places that their elements come from, and where values belong in a sorted line.

use amdgpu_abi::Dtype;
use amdgpu_array::Array;
use amdgpu_hal::MemoryKind;
pub use amdgpu_matrix::SortOptions;
use amdgpu_matrix::{Matrix, resolve_axes};

use crate::fallback::{self, HostTensor};
use crate::host::{self, Input, Output};
use crate::operand::Operand;
use crate::{DeviceOps, Error, Result};

/// x in order along an axis. Equal elements stay in order, whether `stable` asks for it or not; -0.0 equals 0.0; NaN comes last, in both
/// directions.
///
/// # Errors
///
/// `invalid-argument` for an axis that does not exist, `unsupported-dtype`, `out-of-memory`.
pub fn sort(
    ops: &DeviceOps,
    x: &Operand,
    axis: i64,
    descending: bool,
    stable: bool,
) -> Result<Array> {
    run(ops, x, &options(axis, descending, stable, false))
}

/// The places, as int64, that the elements of [`sort`] come from.
///
/// # Errors
///
/// As [`sort`].
pub fn argsort(
    ops: &DeviceOps,
    x: &Operand,
    axis: i64,
    descending: bool,
    stable: bool,
) -> Result<Array> {
    run(ops, x, &options(axis, descending, stable, true))
}

/// Every order is a stable one: radix sorts are by themselves.
fn options(axis: i64, is_descending: bool, _stable: bool, gives_places: bool) -> SortOptions {
    SortOptions {
        axis,
        is_descending,
        gives_places,
        thread_limit: None,
    }
}

fn run(ops: &DeviceOps, x: &Operand, options: &SortOptions) -> Result<Array> {
    if !host::is_direct(ops) {
        return by_kernel(ops, x, options);
    }
    check(x, options)?;
    let result = options.result(x.dtype);
    let made = Array::empty(ops.device(), x.shape.clone(), result, MemoryKind::Device)?;
    let input = Input::of(x)?;
    Matrix::global()?.sort(&input.view()?, &mut Output::of(&made)?.view_mut()?, options)?;
    Ok(made)
}

fn check(x: &Operand, options: &SortOptions) -> Result<()> {
    x.check_dtype(options.name(), "x")?;
    resolve_axes(options.name(), &x.shape, &[options.axis])?;
    Ok(())
}

/// [`sort`] or [`argsort`] by kernels of the device, or, where it has none, by the CPU with a fallback that is counted.
///
/// # Errors
///
/// As [`sort`].
pub fn by_kernel(ops: &DeviceOps, x: &Operand, options: &SortOptions) -> Result<Array> {
    let done = on_device(ops, x, options);
    fallback::or_on_host(options.name(), ops, done, || {
        let host = HostTensor::of_operand(x)?;
        let mut result = HostTensor::new(&x.shape, options.result(x.dtype));
        Matrix::global()?.sort(&host.view()?, &mut result.view_mut()?, options)?;
        result.deliver(ops, options.name(), None)
    })
}

/// [`sort`] or [`argsort`] by kernels of the device.
///
/// # Errors
///
/// As [`sort`]; [`Error::NoKernel`]: none is written yet.
pub fn on_device(_ops: &DeviceOps, x: &Operand, options: &SortOptions) -> Result<Array> {
    check(x, options)?;
    Err(Error::no_kernel("sorting has no kernel for GPUs yet"))
}

/// For each of the values, how many elements of `sorted` stand before it, as int64: those that are smaller, and with `right` those that are
/// equal, too. NaN counts as larger than any number. On GPUs the CPU computes it, which is counted.
///
/// # Errors
///
/// `shape-mismatch` unless `sorted` has one axis, `unsupported-dtype` where the dtypes of both differ.
pub fn searchsorted(
    ops: &DeviceOps,
    sorted: &Operand,
    values: &Operand,
    right: bool,
) -> Result<Array> {
    const NAME: &str = "searchsorted";
    sorted.check_dtype(NAME, "sorted")?;
    values.check_dtype(NAME, "values")?;
    if host::is_direct(ops) {
        let shape = values.shape.clone();
        let made = Array::empty(ops.device(), shape, Dtype::I64, MemoryKind::Device)?;
        let inputs = (Input::of(sorted)?, Input::of(values)?);
        Matrix::global()?.search_sorted(
            &inputs.0.view()?,
            &inputs.1.view()?,
            right,
            &mut Output::of(&made)?.view_mut()?,
            None,
        )?;
        return Ok(made);
    }
    let none = Err(Error::no_kernel("searches have no kernel for GPUs yet"));
    fallback::or_on_host(NAME, ops, none, || {
        let hosts = HostTensor::of_operands([sorted, values])?;
        let mut result = HostTensor::new(&values.shape, Dtype::I64);
        Matrix::global()?.search_sorted(
            &hosts[0].view()?,
            &hosts[1].view()?,
            right,
            &mut result.view_mut()?,
            None,
        )?;
        result.deliver(ops, NAME, None)
    })
}
