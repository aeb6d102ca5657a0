//! Softmax, normalisations over axes and their gradients: one generated kernel for each operation, pair of dtypes and width of a row.
//!
//! A block has ROWS x LANES work-items, as in `fold.rs`. Sums are carried in float64; the rest is computed, and rounded, step by step as the
//! CPU's implementation does.

use amdgpu_abi::Dtype;
use amdgpu_array::Array;
use amdgpu_matrix::{Matrix, TensorView, check_parameter};
pub use amdgpu_matrix::{Normalize, NormalizeOptions, RowAxes};
use smallvec::SmallVec;

use crate::cpu::{self, Call, Host};
use crate::div_ceil::DivCeil;
use crate::generated::normalize::Signature;
use crate::generated::source;
use crate::launch::{Shape, launch};
use crate::lines::Lines;
use crate::operand::{Operand, Target};
use crate::operation::Normalization;
use crate::transpose::dense;
use crate::{Arg, DeviceOps, Error, KernelKey, Operation, Result};

/// Rows beside each other in memory that a block normalises together.
const COLUMN_ROWS: i64 = 32;
/// Values of a lane, as long as rows have so many.
const LEAST_VALUES: i64 = 4;

/// Normalises `x` over some axes into `out`, which may be x itself. `parameters` are scale and shift of the shape of those axes, or fewer.
/// Where the device has no kernel, the CPU computes it.
///
/// # Errors
///
/// `invalid-argument` for axes that do not exist, a negative epsilon, or an `out` that overlaps an input; `shape-mismatch`,
/// `unsupported-dtype`.
pub fn normalize(
    ops: &DeviceOps,
    operation: Normalize,
    x: &Operand,
    parameters: &[Operand],
    out: Option<&Array>,
    options: &NormalizeOptions<'_>,
) -> Result<Array> {
    let mut inputs: SmallVec<[(&str, &Operand); 4]> = SmallVec::from_slice(&[("x", x)]);
    inputs.extend(operation.parameter_names().iter().copied().zip(parameters));
    let call = Call {
        ops,
        family: "normalize",
        name: operation.name(),
        inputs: &inputs,
        out,
    };
    cpu::run_noted(
        &call,
        || Some(Operation::Normalize(Normalization::of(operation, options))),
        || on_device(ops, operation, x, parameters, out, options),
        |views, host| on_host(operation, &views[0], &views[1..], options, host),
    )
}

/// Additions that take as long as the work on one element.
pub(crate) const COST: u64 = 12;

/// [`normalize`] in memory of the host.
///
/// # Errors
///
/// As [`normalize`], and those of the host.
pub fn on_host<H: Host>(
    operation: Normalize,
    x: &TensorView<'_>,
    parameters: &[TensorView<'_>],
    options: &NormalizeOptions<'_>,
    host: &mut H,
) -> std::result::Result<(), H::Error> {
    let additions = cpu::len(x).saturating_mul(COST);
    host.write(&operation.describe(x), additions, |out| {
        Ok(Matrix::global()?.normalize(operation, x, parameters, out, options)?)
    })
}

/// The gradient by the argument of a normalisation over some axes, into `out`, which may be `x` or `gradient` itself. `x` is the argument (of
/// the softmaxes the result), `gradient` that of the result, `scale` the factors of a norm. Where the device has no kernel, the CPU computes it.
///
/// # Errors
///
/// As [`normalize`]; `shape-mismatch` and `unsupported-dtype` where `gradient` is not like `x`.
pub fn normalize_gradient(
    ops: &DeviceOps,
    operation: Normalize,
    x: &Operand,
    gradient: &Operand,
    scale: Option<&Operand>,
    out: Option<&Array>,
    options: &NormalizeOptions<'_>,
) -> Result<Array> {
    let mut inputs: SmallVec<[(&str, &Operand); 4]> =
        SmallVec::from_slice(&[("x", x), ("gradient", gradient)]);
    inputs.extend(scale.map(|one| ("weight", one)));
    let call = Call {
        ops,
        family: "normalize_gradient",
        name: operation.gradient_name(),
        inputs: &inputs,
        out,
    };
    cpu::run_noted(
        &call,
        || {
            Some(Operation::NormalizeGradient(Normalization::of(
                operation, options,
            )))
        },
        || gradient_on_device(ops, operation, x, gradient, scale, out, options),
        |views, host| {
            gradient_on_host(operation, &views[0], &views[1], views.get(2), options, host)
        },
    )
}

/// [`normalize_gradient`] in memory of the host.
///
/// # Errors
///
/// As [`normalize_gradient`], and those of the host.
pub fn gradient_on_host<H: Host>(
    operation: Normalize,
    x: &TensorView<'_>,
    gradient: &TensorView<'_>,
    scale: Option<&TensorView<'_>>,
    options: &NormalizeOptions<'_>,
    host: &mut H,
) -> std::result::Result<(), H::Error> {
    let described = operation
        .describe_gradient(x, gradient)
        .map_err(Error::from)?;
    let additions = cpu::len(x).saturating_mul(COST);
    host.write(&described, additions, |out| {
        let matrix = Matrix::global()?;
        Ok(matrix.normalize_gradient(operation, x, gradient, scale, out, options)?)
    })
}

/// [`normalize`] by a kernel of the device.
///
/// # Errors
///
/// As [`normalize`]; [`Error::NoKernel`] for axes that are not beside each other.
pub fn on_device(
    ops: &DeviceOps,
    operation: Normalize,
    x: &Operand,
    parameters: &[Operand],
    out: Option<&Array>,
    options: &NormalizeOptions<'_>,
) -> Result<Array> {
    let name = operation.name();
    x.check_dtype(name, "x")?;
    let rows = Rows::of(name, &x.shape, options)?;
    let described = operation.describe(&x.view());
    let names = operation.parameter_names();
    let given = &parameters[..parameters.len().min(names.len())];
    for (parameter, argument) in given.iter().zip(names) {
        rows.check(name, argument, parameter, described.dtype)?;
    }
    let call = RowCall {
        name,
        operation,
        is_gradient: false,
        result: described.dtype,
        x,
        gradient: None,
        parameters: given,
        epsilon: options.epsilon,
    };
    call.run(ops, out, &rows)
}

/// [`normalize_gradient`] by a kernel of the device.
///
/// # Errors
///
/// As [`normalize_gradient`]; [`Error::NoKernel`] for axes that are not beside each other.
pub fn gradient_on_device(
    ops: &DeviceOps,
    operation: Normalize,
    x: &Operand,
    gradient: &Operand,
    scale: Option<&Operand>,
    out: Option<&Array>,
    options: &NormalizeOptions<'_>,
) -> Result<Array> {
    let name = operation.gradient_name();
    x.check_dtype(name, "x")?;
    gradient.check_dtype(name, "gradient")?;
    let described = operation.describe_gradient(&x.view(), &gradient.view())?;
    let rows = Rows::of(name, &x.shape, options)?;
    if let Some(scale) = scale {
        rows.check(name, "weight", scale, described.dtype)?;
    }
    let call = RowCall {
        name,
        operation,
        is_gradient: true,
        result: described.dtype,
        x,
        gradient: Some(gradient),
        parameters: scale.map(std::slice::from_ref).unwrap_or_default(),
        epsilon: options.epsilon,
    };
    call.run(ops, out, &rows)
}

/// The values that are normalised together.
struct Rows {
    lines: Lines,
    /// Extents of the normalised axes.
    shape: SmallVec<[i64; 6]>,
}

impl Rows {
    fn of(operation: &str, shape: &[i64], options: &NormalizeOptions<'_>) -> Result<Self> {
        let axes = options.axes.resolve(operation, shape)?;
        options.check(operation)?;
        let (first, last) = (axes[0], axes[axes.len() - 1]);
        if last - first + 1 != axes.len() {
            return Err(Error::no_kernel(format!(
                "{operation} over axes {axes:?}, which are not beside each other"
            )));
        }
        Ok(Self {
            lines: Lines::of(shape, first, last),
            shape: SmallVec::from_slice(&shape[first..=last]),
        })
    }

    fn check(
        &self,
        operation: &str,
        argument: &str,
        parameter: &Operand,
        result: Dtype,
    ) -> Result<()> {
        parameter.check_dtype(operation, argument)?;
        check_parameter(operation, argument, &parameter.view(), &self.shape, result)?;
        Ok(())
    }
}

/// A normalisation or its gradient with everything checked but `out`.
struct RowCall<'a> {
    name: &'a str,
    operation: Normalize,
    is_gradient: bool,
    result: Dtype,
    x: &'a Operand,
    gradient: Option<&'a Operand>,
    parameters: &'a [Operand],
    epsilon: f64,
}

impl RowCall<'_> {
    fn run(&self, ops: &DeviceOps, out: Option<&Array>, rows: &Rows) -> Result<Array> {
        let others = self.gradient.into_iter().chain(self.parameters);
        let inputs: SmallVec<[&Operand; 4]> = std::iter::once(self.x).chain(others).collect();
        let target = Target {
            operation: self.name,
            device: ops.device(),
            out,
            inputs: &inputs,
            may_alias: true,
            is_dense: true,
        };
        let made = target.resolve(&self.x.shape, self.result)?.into_array()?;
        if made.is_empty() {
            return Ok(made);
        }
        let lines = rows.lines;
        let parameters: SmallVec<[Dtype; 2]> =
            self.parameters.iter().map(|one| one.dtype).collect();
        let signature = Signature {
            operation: self.operation,
            is_gradient: self.is_gradient,
            x: self.x.dtype,
            result: self.result,
            parameters: &parameters,
            lanes: lanes(lines),
            is_column: lines.stride > 1,
        };
        let kernel = ops.kernel(key_of(&signature), "normalize", || signature.source())?;
        let dense = inputs
            .iter()
            .map(|one| dense(ops, one))
            .collect::<Result<SmallVec<[Array; 4]>>>()?;
        let mut args: SmallVec<[Arg<'_>; 8]> = SmallVec::new();
        args.push(Arg::Array(&dense[0]));
        args.push(Arg::Array(&made));
        args.extend(dense[1..].iter().map(Arg::Array));
        args.extend([lines.count, lines.length, lines.stride].map(Arg::from));
        args.push(Arg::Float(self.epsilon));
        let (across, in_block) = (signature.lanes, signature.rows());
        let shape = Shape {
            block: if signature.is_column {
                [in_block, across, 1]
            } else {
                [across, in_block, 1]
            },
            ..Shape::line(lines.count.div_ceil_positive(in_block), 1)
        };
        launch(&kernel, shape, &args)?;
        drop(args);
        Ok(made)
    }
}

fn key_of(signature: &Signature<'_>) -> KernelKey {
    let mut key = KernelKey::new("normalize")
        .text(signature.operation.name())
        .flag(signature.is_gradient)
        .dtype(signature.x)
        .dtype(signature.result)
        .with(signature.lanes as u64)
        .flag(signature.is_column);
    for dtype in signature.parameters {
        key = key.dtype(*dtype);
    }
    key
}

/// Work-items that share a row.
fn lanes(lines: Lines) -> i64 {
    if lines.stride > 1 {
        return source::BLOCK / COLUMN_ROWS;
    }
    let mut count = 1;
    while count < source::BLOCK && count * LEAST_VALUES < lines.length {
        count *= 2;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_rows_have_more_lanes() {
        let of = |length, stride| {
            lanes(Lines {
                count: 1,
                length,
                stride,
            })
        };
        assert_eq!(
            [1, 4, 5, 37, 1000, 100_000].map(|length| of(length, 1)),
            [1, 1, 2, 16, 256, 256]
        );
        assert_eq!(of(37, 5), 8);
    }

    #[test]
    fn rows_are_axes_beside_each_other() {
        let options = |axes| NormalizeOptions {
            axes,
            epsilon: 0.0,
            thread_limit: None,
        };
        let shape = [3, 4, 5];
        let rows = Rows::of("test", &shape, &options(RowAxes::Named(&[-1, 1]))).unwrap();
        assert_eq!(
            (rows.lines.length, rows.shape.as_slice()),
            (20, &[4, 5][..])
        );
        let apart = Rows::of("test", &shape, &options(RowAxes::Named(&[0, 2])));
        assert!(apart.is_err_and(|error| error.permits_fallback()));
        let wrong = Rows::of("test", &shape, &options(RowAxes::Last(&[5, 4])));
        assert!(wrong.is_err_and(|error| !error.permits_fallback()));
    }
}
