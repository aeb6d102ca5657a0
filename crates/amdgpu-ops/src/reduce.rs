//! Reductions over axes: what each folds, and into which dtype.

use amdgpu_abi::Dtype;
use amdgpu_array::{Array, Dims};
use amdgpu_hal::MemoryKind;
use amdgpu_matrix::{Matrix, TensorView};
pub use amdgpu_matrix::{Reduce, ReduceOptions};
use smallvec::SmallVec;

use crate::cpu::{self, Host};
use crate::fold::{self, Choose, Problem, fold};
use crate::generated::reduce;
use crate::kernel_form::KernelForm;
use crate::operand::{Operand, Scalar, Target};
use crate::transpose::dense;
use crate::tuning::{self, Forms};
use crate::{DeviceOps, Error, KernelKey, Result};

/// [`crate::reduce()`] of real numbers in memory of the host.
///
/// # Errors
///
/// As there, and those of the host.
pub fn on_host<H: Host>(
    operation: Reduce,
    x: &TensorView<'_>,
    options: &ReduceOptions<'_>,
    host: &mut H,
) -> std::result::Result<(), H::Error> {
    let described = operation.describe(x, options).map_err(Error::from)?;
    host.write(&described, cpu::len(x), |out| {
        Ok(Matrix::global()?.reduce(operation, x, out, options)?)
    })
}

/// [`crate::reduce()`] of real numbers by kernels of the device.
///
/// # Errors
///
/// As there; `no-implementation` for too many axes.
pub fn on_device(
    ops: &DeviceOps,
    operation: Reduce,
    x: &Operand,
    out: Option<&Array>,
    options: &ReduceOptions<'_>,
) -> Result<Array> {
    on_device_as(ops, operation, x, out, options, None)
}

/// [`on_device`] with the form of its kernel that reads the values, which is one of [`forms`].
///
/// # Errors
///
/// As there.
pub fn on_device_as(
    ops: &DeviceOps,
    operation: Reduce,
    x: &Operand,
    out: Option<&Array>,
    options: &ReduceOptions<'_>,
    form: Option<KernelForm>,
) -> Result<Array> {
    let name = operation.name();
    x.check_dtype(name, "x")?;
    let in_memory = if x.is_number() {
        Some(Operand::of_array(dense(ops, x)?))
    } else {
        None
    };
    let values = in_memory.as_ref().unwrap_or(x);
    let reduced = operation.axes(&values.shape, options)?;
    let described = operation.describe_over(&reduced, &values.view(), options)?;
    operation.check_values(&values.shape, &reduced)?;
    let target = Target {
        operation: name,
        device: ops.device(),
        out,
        inputs: &[values],
        may_alias: false,
        is_dense: true,
    };
    let made = target
        .resolve(&described.shape, described.dtype)?
        .into_array()?;
    let kept: SmallVec<[usize; 6]> = (0..values.rank())
        .filter(|axis| !reduced.contains(axis))
        .collect();
    let axes = (kept.as_slice(), reduced.as_slice());
    let problem = |operation, result| problem_of(operation, values, axes, result, options);
    let own = problem(operation, described.dtype);
    let measured = |key: &KernelKey, forms: &Forms, subject: &dyn Fn() -> String| {
        tuning::form_of(ops, key, forms, subject)
    };
    let mean = if own.fold.has_shift && !made.is_empty() {
        // The mean first: deviations from anything else would leave fewer digits than values have.
        let shape = Dims::from_slice(&[made.len()]);
        let mean = Array::empty(ops.device(), shape, Dtype::F64, MemoryKind::Device)?;
        let problem = problem(Reduce::Mean, Dtype::F64);
        fold(ops, &problem, &mean, None, &measured)?;
        Some(mean)
    } else {
        None
    };
    let chosen: &Choose<'_> = match form {
        Some(form) => &move |_, _, _| form,
        None => &measured,
    };
    fold(ops, &own, &made, mean.as_ref(), chosen)?;
    Ok(made)
}

fn problem_of<'a>(
    operation: Reduce,
    values: &'a Operand,
    (kept, reduced): (&'a [usize], &'a [usize]),
    result: Dtype,
    options: &ReduceOptions<'_>,
) -> Problem<'a> {
    let count = reduced.iter().map(|axis| values.shape[*axis]).product();
    let computed = compute_dtype(operation, values.dtype);
    Problem {
        fold: reduce::fold(operation, values.dtype, computed),
        x: values,
        computed,
        result,
        kept,
        reduced,
        divisor: operation.divisor(count, options.correction),
    }
}

/// What the tuning database calls a reduction of an array without gaps by kernels of the device, and the forms that its kernel may have; `None`
/// where there is nothing to choose.
///
/// # Errors
///
/// As [`crate::reduce()`] for a shape and a dtype that do not fit.
pub fn forms(
    ops: &DeviceOps,
    operation: Reduce,
    (shape, dtype): (&[i64], Dtype),
    options: &ReduceOptions<'_>,
) -> Result<Option<(String, Forms)>> {
    let strides = amdgpu_array::row_major(shape);
    let values =
        Operand::of_number(Scalar::Int(0), dtype).with_layout(Dims::from_slice(shape), strides);
    values.check_dtype(operation.name(), "x")?;
    let reduced = operation.axes(shape, options)?;
    let described = operation.describe_over(&reduced, &values.view(), options)?;
    operation.check_values(shape, &reduced)?;
    let kept: SmallVec<[usize; 6]> = (0..shape.len())
        .filter(|axis| !reduced.contains(axis))
        .collect();
    let axes = (kept.as_slice(), reduced.as_slice());
    let problem = problem_of(operation, &values, axes, described.dtype, options);
    Ok(fold::forms(ops, &problem))
}

/// The dtype that kernels map values in: as the CPU's, but integers are summed with a sign, which leaves the same 64 bits.
fn compute_dtype(operation: Reduce, x: Dtype) -> Dtype {
    let (computed, _) = operation.dtypes(x);
    let is_sum = matches!(operation, Reduce::Sum | Reduce::Product);
    if is_sum && computed == Dtype::U64 {
        Dtype::I64
    } else {
        computed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_summed_with_a_sign() {
        assert_eq!(compute_dtype(Reduce::Sum, Dtype::U64), Dtype::I64);
        assert_eq!(compute_dtype(Reduce::Product, Dtype::BOOL), Dtype::I64);
        assert_eq!(compute_dtype(Reduce::Sum, Dtype::F16), Dtype::F32);
        assert_eq!(compute_dtype(Reduce::Maximum, Dtype::U64), Dtype::U64);
        assert_eq!(compute_dtype(Reduce::Mean, Dtype::I8), Dtype::F64);
    }
}
