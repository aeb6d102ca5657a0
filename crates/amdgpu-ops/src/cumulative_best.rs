//! The largest or smallest value so far along an axis, and where it stands.
//!
//! The values are a scan. An element that equals its result is the last of the best values so far, or NaN: the largest index of such an element up
//! to each place is a scan, too.

use amdgpu_abi::promotion::is_float;
use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, Dims};
use amdgpu_matrix::{
    Elementwise, ElementwiseOptions, Matrix, Scan, ScanOptions, TensorView, resolve_axes,
};

use crate::cpu::{self, Call, Host, Outs, Results};
use crate::fallback::HostTensor;
use crate::host_memory::HOST;
use crate::operand::Operand;
use crate::{DeviceOps, Error, Operation, Result, Scalar, elementwise, scan};

/// Additions that take as long as all passes over an element.
const ADDITIONS: u64 = 8;

/// The best value up to each element of x and its int64 index, of equal ones the last; NaN is better than any number and stays. `options` ask for
/// maxima or minima.
///
/// # Errors
///
/// `invalid-argument` for another scan, one that is exclusive or runs from the end, and an axis that does not exist; `unsupported-dtype`.
pub fn cumulative_best(
    ops: &DeviceOps,
    x: &Operand,
    options: &ScanOptions,
) -> Result<(Array, Array)> {
    cpu::pair(cumulative_best_into(ops, x, options, &[])?)
}

/// [`cumulative_best`] with memory for values and indices, or without.
pub(crate) fn cumulative_best_into(
    ops: &DeviceOps,
    x: &Operand,
    options: &ScanOptions,
    outs: &Outs<'_>,
) -> Result<Results> {
    let call = Call {
        ops,
        family: "scan",
        name: options.name(),
        inputs: &[("x", x)],
        out: None,
    };
    cpu::run_into(
        &call,
        outs,
        || Operation::CumulativeBest(*options),
        || on_device(ops, x, options).map(|both| Results::from_iter([both.0, both.1])),
        |views, host| on_host(&views[0], options, host),
    )
}

/// The axis, counted from 0.
fn check(shape: &[i64], options: &ScanOptions) -> Result<usize> {
    let is_best = matches!(options.operation, Scan::Maximum | Scan::Minimum);
    if is_best && !options.is_exclusive && !options.is_reversed {
        return Ok(resolve_axes(options.name(), shape, &[options.axis])?[0]);
    }
    Err(Error::refused(
        ErrorCode::InvalidArgument,
        format!(
            "{}: indices are those of cummax and cummin, from the first element on",
            options.name()
        ),
    ))
}

/// The indices along an axis, and the shape that broadcasts them to x.
fn indices(shape: &[i64], axis: usize) -> (Vec<i64>, Dims) {
    let mut line = Dims::from_elem(1, shape.len());
    line[axis] = shape[axis];
    ((0..shape[axis]).collect(), line)
}

/// [`cumulative_best`] in memory of the host, which is asked for the values first and then for the indices.
///
/// # Errors
///
/// As [`cumulative_best`], and those of the host.
pub fn on_host<H: Host>(
    x: &TensorView<'_>,
    options: &ScanOptions,
    host: &mut H,
) -> std::result::Result<(), H::Error> {
    let axis = check(x.shape(), options)?;
    let described = options.operation.describe(x);
    let mut values = host.result(&described.shape, described.dtype, false)?;
    let mut places = host.result(&described.shape, Dtype::I64, false)?;
    let additions = cpu::len(x).saturating_mul(ADDITIONS);
    Ok(host.run(additions, || {
        let matrix = Matrix::global()?;
        matrix.scan(x, &mut values.view_mut()?, options)?;
        let compute = |operation, inputs: &[TensorView<'_>], dtype| -> Result<HostTensor> {
            let given = ElementwiseOptions {
                alpha: 0.0,
                thread_limit: options.thread_limit,
            };
            let mut made = HostTensor::new(x.shape(), dtype)?;
            let mut memory = made.memory_mut();
            matrix.elementwise(operation, inputs, &mut memory.view_mut()?, &given)?;
            Ok(made)
        };
        let mut is_best = compute(Elementwise::Equal, &[*x, values.view()?], Dtype::BOOL)?;
        if is_float(x.dtype()) {
            let is_nan = compute(Elementwise::Isnan, &[*x], Dtype::BOOL)?;
            let either = [is_best.view()?, is_nan.view()?];
            is_best = compute(Elementwise::LogicalOr, &either, Dtype::BOOL)?;
        }
        let (numbers, line) = indices(x.shape(), axis);
        let none = [0_i64];
        let view = |data: &[i64], shape| {
            // SAFETY: the numbers fill the shape, and outlive the view.
            unsafe { TensorView::from_parts(data.as_ptr().cast(), Dtype::I64, HOST, shape, None) }
        };
        let (numbers, zero) = (view(&numbers, &line)?, view(&none, &[])?);
        let chosen = [is_best.view()?, numbers, zero];
        let marked = compute(Elementwise::Where, &chosen, Dtype::I64)?;
        let last = ScanOptions {
            operation: Scan::Maximum,
            ..*options
        };
        Ok(matrix.scan(&marked.view()?, &mut places.view_mut()?, &last)?)
    })?)
}

/// [`cumulative_best`] by kernels of the device.
///
/// # Errors
///
/// As [`cumulative_best`]; what the device reports.
pub fn on_device(ops: &DeviceOps, x: &Operand, options: &ScanOptions) -> Result<(Array, Array)> {
    let axis = check(&x.shape, options)?;
    let values = scan::on_device(ops, x, options, None)?;
    let compute = |operation, inputs: &[Operand]| -> Result<Operand> {
        elementwise::on_device(ops, operation, inputs, None, 0.0).map(Operand::of_array)
    };
    let best = Operand::of_array(values.clone());
    let mut is_best = compute(Elementwise::Equal, &[x.clone(), best])?;
    if is_float(x.dtype) {
        let is_nan = compute(Elementwise::Isnan, std::slice::from_ref(x))?;
        is_best = compute(Elementwise::LogicalOr, &[is_best, is_nan])?;
    }
    let (numbers, line) = indices(&x.shape, axis);
    let bytes: Vec<u8> = numbers.iter().flat_map(|one| one.to_ne_bytes()).collect();
    let numbers = Array::from_host(ops.device(), &bytes, line, Dtype::I64)?;
    let zero = Operand::of_number(Scalar::Int(0), Dtype::I64);
    let marked = compute(
        Elementwise::Where,
        &[is_best, Operand::of_array(numbers), zero],
    )?;
    let last = ScanOptions {
        operation: Scan::Maximum,
        ..*options
    };
    let places = scan::on_device(ops, &marked, &last, None)?;
    Ok((values, places))
}
