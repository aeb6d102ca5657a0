//! Reductions. Of complex numbers, sums and means are those of the parts; products are made by halves.

use amdgpu_abi::promotion::is_complex;
use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, Dims, row_major};
use amdgpu_matrix::{
    Complex, Elementwise, ElementwiseOptions, Matrix, Pairs, Reduce, ReduceOptions, TensorView,
};

use super::{on_device, pairs, part_of};
use crate::cpu::{self, Call, Host};
use crate::fallback::HostTensor;
use crate::host_memory::HostMemory;
use crate::operand::{Operand, Target};
use crate::operation::Reduction;
use crate::{DeviceOps, Error, Operation, Result, Scalar};

const OPTIONS: ElementwiseOptions = ElementwiseOptions {
    alpha: 0.0,
    thread_limit: None,
};

/// What a reduction of complex numbers is made of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Made {
    /// The same of real and imaginary parts.
    Parts,
    Products,
    /// Of the numbers as truth values.
    Truth,
    /// The sum of the variances of the parts; the root of it or not.
    Variance,
}

fn made_of(operation: Reduce) -> Result<Made> {
    match operation {
        Reduce::Sum | Reduce::Mean => Ok(Made::Parts),
        Reduce::Product => Ok(Made::Products),
        Reduce::Any | Reduce::All => Ok(Made::Truth),
        Reduce::Variance | Reduce::Deviation => Ok(Made::Variance),
        _ => Err(Error::refused(
            ErrorCode::UnsupportedDtype,
            format!(
                "{}: complex numbers have no order; reduce abs(x), real(x) or imag(x)",
                operation.name()
            ),
        )),
    }
}

/// Reduced axes counted from the first, and the shape of the result.
struct Axes {
    reduced: Vec<i64>,
    shape: Vec<i64>,
}

impl Axes {
    fn of(operation: Reduce, shape: &[i64], options: &ReduceOptions<'_>) -> Result<Self> {
        let reduced = operation.axes(shape, options)?;
        let mut result = Vec::with_capacity(shape.len());
        for (axis, extent) in shape.iter().enumerate() {
            if !reduced.contains(&axis) {
                result.push(*extent);
            } else if options.keeps_axes {
                result.push(1);
            }
        }
        Ok(Self {
            reduced: reduced.into_iter().map(|axis| axis as i64).collect(),
            shape: result,
        })
    }

    /// The same axes of pairs.
    fn options<'a>(&'a self, given: &ReduceOptions<'_>) -> ReduceOptions<'a> {
        ReduceOptions {
            axes: Some(&self.reduced),
            keeps_axes: given.keeps_axes,
            correction: given.correction,
            result: None,
            thread_limit: given.thread_limit,
        }
    }

    /// The axes of `rank` in the order in which the reduced ones are last.
    fn order(&self, rank: usize) -> Vec<usize> {
        let is_reduced = |axis: &usize| self.reduced.contains(&(*axis as i64));
        let kept = (0..rank).filter(|axis| !is_reduced(axis));
        kept.chain((0..rank).filter(is_reduced)).collect()
    }
}

fn result_dtype(made: Made, x: Dtype) -> Dtype {
    match made {
        Made::Parts | Made::Products => x,
        Made::Truth => Dtype::BOOL,
        Made::Variance => part_of(x),
    }
}

fn check_result(operation: Reduce, options: &ReduceOptions<'_>) -> Result<()> {
    if options.result.is_none() {
        return Ok(());
    }
    Err(Error::refused(
        ErrorCode::UnsupportedDtype,
        format!(
            "{}: complex results are not rounded to real dtypes; take real(x) or abs(x) first",
            operation.name()
        ),
    ))
}

/// `operation(x)` over `options.axes`, of real and complex numbers; the limit of threads is the CPU's alone, which computes where the device has
/// no kernel.
///
/// # Errors
///
/// `invalid-argument` for axes that do not exist, for nothing to choose from, or where `out` overlaps x; `shape-mismatch`; `unsupported-dtype`, as
/// for complex numbers where an order is needed.
pub fn reduce(
    ops: &DeviceOps,
    operation: Reduce,
    x: &Operand,
    out: Option<&Array>,
    options: &ReduceOptions<'_>,
) -> Result<Array> {
    let call = Call {
        ops,
        family: "reduce",
        name: operation.name(),
        inputs: &[("x", x)],
        out,
    };
    cpu::run_noted(
        &call,
        || Some(Operation::Reduce(Reduction::of(operation, options))),
        || reduce_on_device(ops, operation, x, out, options),
        |views, host| reduce_on_host(operation, &views[0], options, host),
    )
}

/// [`reduce`] in memory of the host.
///
/// # Errors
///
/// As [`reduce`], and those of the host.
pub fn reduce_on_host<H: Host>(
    operation: Reduce,
    x: &TensorView<'_>,
    options: &ReduceOptions<'_>,
    host: &mut H,
) -> std::result::Result<(), H::Error> {
    if !is_complex(x.dtype()) {
        return crate::reduce::on_host(operation, x, options, host);
    }
    check_result(operation, options)?;
    let made = made_of(operation)?;
    let axes = Axes::of(operation, x.shape(), options)?;
    let own = axes.options(options);
    let dtype = result_dtype(made, x.dtype());
    let mut memory = host.result(&axes.shape, dtype, false)?;
    check_out(operation.name(), &memory, &axes.shape, dtype)?;
    let len = cpu::len(x).saturating_mul(2);
    Ok(host.run(len, || match made {
        Made::Parts => {
            let parts = Pairs::of(x);
            // SAFETY: `x` outlives the call.
            let parts = unsafe { parts.view() }?;
            let mut memory = memory.pairs();
            Ok(Matrix::global()?.reduce(operation, &parts, &mut memory.view_mut()?, &own)?)
        }
        Made::Products => product_on_host(x, &axes, memory),
        Made::Truth => {
            let mut truth = HostTensor::new(x.shape(), Dtype::BOOL)?;
            let zero = [0.0_f32];
            let inputs = [*x, TensorView::from_slice(&zero, &[])?];
            let matrix = Matrix::global()?;
            matrix.complex_elementwise(
                Complex::NotEqual,
                &inputs,
                &mut truth.memory_mut().view_mut()?,
                &OPTIONS,
            )?;
            Ok(matrix.reduce(operation, &truth.view()?, &mut memory.view_mut()?, &own)?)
        }
        Made::Variance => variance_on_host(operation, x, &axes, &own, memory),
    })?)
}

fn variance_on_host(
    operation: Reduce,
    x: &TensorView<'_>,
    axes: &Axes,
    own: &ReduceOptions<'_>,
    mut memory: HostMemory,
) -> Result<()> {
    let matrix = Matrix::global()?;
    let mut shape = axes.shape.clone();
    shape.push(2);
    let mut both = HostTensor::new(&shape, part_of(x.dtype()))?;
    let parts = Pairs::of(x);
    // SAFETY: `x` outlives the call.
    let parts = unsafe { parts.view() }?;
    matrix.reduce(
        Reduce::Variance,
        &parts,
        &mut both.memory_mut().view_mut()?,
        own,
    )?;
    matrix.reduce(
        Reduce::Sum,
        &both.view()?,
        &mut memory.view_mut()?,
        &sum_of_last(own),
    )?;
    if operation == Reduce::Deviation {
        // SAFETY: the same memory, which the caller lends.
        let same = unsafe {
            HostMemory::strided(
                memory.data(),
                memory.dtype(),
                memory.shape(),
                memory.strides(),
            )
        };
        matrix.elementwise(
            Elementwise::Sqrt,
            &[same.view()?],
            &mut memory.view_mut()?,
            &OPTIONS,
        )?;
    }
    Ok(())
}

fn sum_of_last<'a>(own: &ReduceOptions<'_>) -> ReduceOptions<'a> {
    ReduceOptions {
        axes: Some(&[-1]),
        keeps_axes: false,
        correction: 0.0,
        result: None,
        thread_limit: own.thread_limit,
    }
}

/// Lines of numbers whose products are wanted, and the steps that halve them.
struct Lines {
    rest: i64,
    len: i64,
}

impl Lines {
    fn of(shape: &[i64], axes: &Axes) -> Self {
        let len = axes
            .reduced
            .iter()
            .map(|axis| shape[*axis as usize])
            .product();
        let kept = (0..shape.len()).filter(|axis| !axes.reduced.contains(&(*axis as i64)));
        Self {
            rest: kept.map(|axis| shape[axis]).product(),
            len,
        }
    }

    /// Products to make, one after the other: `count` elements from the first on times as many from `from` on.
    fn steps(&self) -> Vec<(i64, i64)> {
        let mut steps = Vec::new();
        let mut len = self.len;
        while len > 1 {
            let half = len / 2;
            steps.push((half, half));
            if len % 2 == 1 {
                steps.push((1, len - 1));
            }
            len = half;
        }
        steps
    }
}

fn product_on_host(x: &TensorView<'_>, axes: &Axes, mut memory: HostMemory) -> Result<()> {
    let matrix = Matrix::global()?;
    let lines = Lines::of(x.shape(), axes);
    if lines.len == 0 {
        return fill_with_one(&mut memory);
    }
    let order = axes.order(x.shape().len());
    let all = row_major(x.shape());
    let strides = x.strides().unwrap_or(&all);
    let shape: Dims = order.iter().map(|axis| x.shape()[*axis]).collect();
    let strides: Dims = order.iter().map(|axis| strides[*axis]).collect();
    // SAFETY: the elements of `x` in another order.
    let moved = unsafe {
        TensorView::from_parts(
            x.data(),
            x.dtype(),
            crate::host_memory::HOST,
            &shape,
            Some(&strides),
        )
    }?;
    let mut copy = HostTensor::new(&shape, x.dtype())?;
    matrix.complex_elementwise(
        Complex::Identity,
        &[moved],
        &mut copy.memory_mut().view_mut()?,
        &OPTIONS,
    )?;
    let data = copy.memory_mut().data();
    let stride = Dims::from_slice(&[lines.len, 1]);
    let part = |from: i64, count: i64| {
        let first = data.wrapping_byte_add(from as usize * x.dtype().size_bytes());
        // SAFETY: within the lines of the copy, which outlives the steps.
        unsafe { HostMemory::strided(first, x.dtype(), &[lines.rest, count], stride.clone()) }
    };
    for (count, from) in lines.steps() {
        let mut target = part(0, count);
        let (own, other) = (part(0, count), part(from, count));
        let inputs = [own.view()?, other.view()?];
        matrix.complex_elementwise(
            Complex::Multiply,
            &inputs,
            &mut target.view_mut()?,
            &OPTIONS,
        )?;
    }
    let first = part(0, 1);
    let own = row_major(&axes.shape);
    let spread: Dims = own.iter().map(|stride| stride * lines.len).collect();
    // SAFETY: the first element of every line.
    let products = unsafe {
        TensorView::from_parts(
            first.data(),
            x.dtype(),
            crate::host_memory::HOST,
            &axes.shape,
            Some(&spread),
        )
    }?;
    Ok(matrix.complex_elementwise(
        Complex::Identity,
        &[products],
        &mut memory.view_mut()?,
        &OPTIONS,
    )?)
}

fn fill_with_one(memory: &mut HostMemory) -> Result<()> {
    let matrix = Matrix::global()?;
    let (narrow, wide) = ([1.0_f32, 0.0], [1.0_f64, 0.0]);
    let one = if memory.dtype() == Dtype::C64 {
        TensorView::from_slice(&narrow, &[2])?
    } else {
        TensorView::from_slice(&wide, &[2])?
    };
    // SAFETY: the same memory, which the caller lends.
    let same = unsafe {
        HostMemory::strided(
            memory.data(),
            memory.dtype(),
            memory.shape(),
            memory.strides(),
        )
    };
    Ok(matrix.cast(&one, &mut same.pairs().view_mut()?, None)?)
}

pub(super) fn check_out(
    operation: &str,
    memory: &HostMemory,
    shape: &[i64],
    dtype: Dtype,
) -> Result<()> {
    if memory.dtype() != dtype {
        return Err(Error::refused(
            ErrorCode::UnsupportedDtype,
            format!(
                "{operation}: out has dtype {}, the result {}",
                memory.dtype().name().unwrap_or("?"),
                dtype.name().unwrap_or("?")
            ),
        ));
    }
    if memory.shape() != shape {
        return Err(Error::refused(
            ErrorCode::ShapeMismatch,
            format!(
                "{operation}: out has shape {:?}, the result {shape:?}",
                memory.shape()
            ),
        ));
    }
    Ok(())
}

/// [`reduce`] by kernels of the device.
fn reduce_on_device(
    ops: &DeviceOps,
    operation: Reduce,
    x: &Operand,
    out: Option<&Array>,
    options: &ReduceOptions<'_>,
) -> Result<Array> {
    if !is_complex(x.dtype) {
        return crate::reduce::on_device(ops, operation, x, out, options);
    }
    check_result(operation, options)?;
    let made = made_of(operation)?;
    let axes = Axes::of(operation, &x.shape, options)?;
    let own = axes.options(options);
    let target = Target {
        operation: operation.name(),
        device: ops.device(),
        out,
        inputs: &[x],
        may_alias: false,
        is_dense: true,
    };
    let result = target.resolve(&axes.shape, result_dtype(made, x.dtype))?;
    let array = result.clone().into_array()?;
    match made {
        Made::Parts => {
            crate::reduce::on_device(ops, operation, &pairs(x), Some(&array.pairs()), &own)?;
        }
        Made::Products => product_on_device(ops, x, &axes, &result)?,
        Made::Truth => {
            let zero = Operand::of_number(Scalar::Float(0.0), Dtype::F32);
            let truth = on_device(ops, Complex::NotEqual, &[x.clone(), zero], None)?;
            crate::reduce::on_device(
                ops,
                operation,
                &Operand::of_array(truth),
                Some(&array),
                &own,
            )?;
        }
        Made::Variance => {
            let both = crate::reduce::on_device(ops, Reduce::Variance, &pairs(x), None, &own)?;
            let both = Operand::of_array(both);
            crate::reduce::on_device(ops, Reduce::Sum, &both, Some(&array), &sum_of_last(&own))?;
            if operation == Reduce::Deviation {
                crate::elementwise::on_device(
                    ops,
                    Elementwise::Sqrt,
                    &[result],
                    Some(&array),
                    0.0,
                )?;
            }
        }
    }
    Ok(array)
}

fn product_on_device(ops: &DeviceOps, x: &Operand, axes: &Axes, result: &Operand) -> Result<()> {
    let lines = Lines::of(&x.shape, axes);
    if lines.len == 0 {
        let one = Operand::of_number(Scalar::Float(1.0), part_of(x.dtype));
        return super::compute(ops, Complex::Identity, &[one], result, x.dtype);
    }
    let moved = x.permuted(&axes.order(x.rank()));
    let target = Target {
        operation: "prod",
        device: ops.device(),
        out: None,
        inputs: &[],
        may_alias: false,
        is_dense: true,
    };
    let copy = target.resolve(&moved.shape, x.dtype)?;
    super::compute(ops, Complex::Identity, &[moved], &copy, x.dtype)?;
    let copy = copy.into_array()?;
    let part = |from: i64, count: i64| {
        let shape = Dims::from_slice(&[lines.rest, count]);
        Operand::of_array(copy.view_at(from, shape, Dims::from_slice(&[lines.len, 1])))
    };
    for (count, from) in lines.steps() {
        let target = part(0, count);
        super::compute(
            ops,
            Complex::Multiply,
            &[target.clone(), part(from, count)],
            &target,
            x.dtype,
        )?;
    }
    let spread = row_major(&axes.shape)
        .iter()
        .map(|stride| stride * lines.len)
        .collect();
    let products = copy.view_at(0, Dims::from_slice(&axes.shape), spread);
    super::compute(
        ops,
        Complex::Identity,
        &[Operand::of_array(products)],
        result,
        x.dtype,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_made_by_halves() {
        let steps = |len| Lines { rest: 1, len }.steps();
        assert_eq!(steps(1), []);
        assert_eq!(steps(2), [(1, 1)]);
        assert_eq!(steps(7), [(3, 3), (1, 6), (1, 1), (1, 2)]);
        assert_eq!(steps(8), [(4, 4), (2, 2), (1, 1)]);
    }

    #[test]
    fn reductions_without_an_order_are_the_only_ones() {
        for operation in Reduce::ALL {
            let is_ordered = matches!(
                operation,
                Reduce::Maximum | Reduce::Minimum | Reduce::Argmax | Reduce::Argmin
            );
            assert_eq!(
                made_of(operation).is_err(),
                is_ordered,
                "{}",
                operation.name()
            );
        }
    }
}
