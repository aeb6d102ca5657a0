//! Operations on real and complex numbers. Those of real numbers have modules of their own; here is what complex numbers take beside them:
//! elementwise kernels, and what is made of the operations of real numbers by seeing an array of n complex numbers as one of n pairs.

mod cast;
mod matmul;
mod named;
mod prefix_products;
mod reduce;
mod scan;

use amdgpu_abi::Dtype;
use amdgpu_abi::promotion::{complex_part, is_complex};
use amdgpu_array::{Array, coalesce_all};
pub use amdgpu_matrix::{Complex, Pairs};
use amdgpu_matrix::{ElementwiseOptions, Matrix, TensorView};
use smallvec::SmallVec;

use crate::cpu::{self, Call, Host};
use crate::div_ceil::DivCeil;
use crate::generated::complex::ComplexText;
use crate::generated::elementwise::Kind;
use crate::generated::source;
use crate::launch::{Shape, launch};
use crate::operand::{Operand, Target, broadcast};
use crate::{Arg, DeviceOps, Error, KernelKey, Operation, Result};

pub use cast::{cast, cast_on_device, cast_on_host};
pub use matmul::{matmul, matmul_on_host};
pub use named::Named;
pub use reduce::{reduce, reduce_on_host};
pub use scan::{scan, scan_on_host};

/// Axes that are left when those are joined that can be; every one costs a division.
const RANK_LIMIT: usize = 12;

/// `operation(inputs...)`, broadcast, where the arrays lie; inputs of real dtypes have no imaginary part.
///
/// # Errors
///
/// `shape-mismatch` when the shapes do not broadcast, `unsupported-dtype`, `invalid-argument` for an `out` that overlaps an input without
/// being the same view; what the device reports.
pub fn complex_elementwise(
    ops: &DeviceOps,
    operation: Complex,
    inputs: &[Operand],
    out: Option<&Array>,
) -> Result<Array> {
    let named: SmallVec<[(&str, &Operand); 4]> =
        operation.inputs().iter().copied().zip(inputs).collect();
    let call = Call {
        ops,
        family: "elementwise",
        name: operation.name(),
        inputs: &named,
        out,
    };
    let options = ElementwiseOptions {
        alpha: 0.0,
        thread_limit: None,
    };
    cpu::run_noted(
        &call,
        || {
            Some(Operation::Elementwise {
                operation: Named::Complex(operation),
                alpha: 0.0,
            })
        },
        || on_device(ops, operation, inputs, out),
        |views, host| on_host(operation, views, &options, host).map(drop),
    )
}

/// [`complex_elementwise`] in memory of the host. Returns 0: when the result was there is not measured.
///
/// # Errors
///
/// As [`complex_elementwise`], and those of the host.
pub fn on_host<H: Host>(
    operation: Complex,
    inputs: &[TensorView<'_>],
    options: &ElementwiseOptions,
    host: &mut H,
) -> std::result::Result<u64, H::Error> {
    let described = operation.describe(inputs).map_err(Error::from)?;
    let len = described.shape.iter().product::<i64>() as u64;
    let additions = len.saturating_mul(operation.row().cost);
    host.write(&described, additions, |out| {
        Ok(Matrix::global()?.complex_elementwise(operation, inputs, out, options)?)
    })?;
    Ok(0)
}

/// [`complex_elementwise`] by a generated kernel of the device.
///
/// # Errors
///
/// As [`complex_elementwise`]; [`Error::NoKernel`] for too many axes.
pub fn on_device(
    ops: &DeviceOps,
    operation: Complex,
    inputs: &[Operand],
    out: Option<&Array>,
) -> Result<Array> {
    let name = operation.name();
    let mut named: SmallVec<[(&str, &Operand); 4]> = SmallVec::new();
    for (argument, input) in operation.inputs().iter().zip(inputs) {
        check_dtype(name, argument, input)?;
        named.push((argument, input));
    }
    let dtypes: SmallVec<[Dtype; 4]> = inputs.iter().map(|input| input.dtype).collect();
    let (common, result) = operation.result_dtypes(&dtypes)?;
    let shape = broadcast(name, &named)?;
    let reads: SmallVec<[&Operand; 4]> = inputs.iter().collect();
    let target = Target {
        operation: name,
        device: ops.device(),
        out,
        inputs: &reads,
        may_alias: true,
        is_dense: false,
    };
    let made = target.resolve(&shape, result)?;
    if let Some(real) = operation.pairwise(common, &dtypes)
        && inputs.iter().all(|input| !input.is_number())
    {
        let parts: SmallVec<[Operand; 4]> = inputs.iter().map(pairs).collect();
        let target = pairs(&made).into_array()?;
        crate::elementwise::on_device(ops, real, &parts, Some(&target), 0.0)?;
        return made.into_array();
    }
    compute(ops, operation, inputs, &made, operation.computed_in(common))?;
    made.into_array()
}

/// Refuses element types that operations do not compute.
fn check_dtype(operation: &str, argument: &str, input: &Operand) -> Result<()> {
    if is_complex(input.dtype) {
        return Ok(());
    }
    input.check_dtype(operation, argument)
}

/// A complex array as an array of one of its parts with one more axis, of two elements, behind the others.
pub(crate) fn pairs(x: &Operand) -> Operand {
    let Some(array) = &x.array else {
        return x.clone();
    };
    Operand::of_array(array.view(x.shape.clone(), x.strides.clone()).pairs())
}

fn compute(
    ops: &DeviceOps,
    operation: Complex,
    inputs: &[Operand],
    result: &Operand,
    computed: Dtype,
) -> Result<()> {
    if result.is_empty() {
        return Ok(());
    }
    let wide: Vec<Operand> = std::iter::once(result.clone())
        .chain(
            inputs
                .iter()
                .filter(|one| !one.is_number())
                .map(|one| one.broadcast_to(&result.shape)),
        )
        .collect();
    let all: SmallVec<[&[i64]; 6]> = wide.iter().map(|one| one.strides.as_slice()).collect();
    let (extents, strides) = coalesce_all(&result.shape, &all);
    let is_flat = wide.iter().all(Operand::is_dense);
    let rank = if is_flat { 0 } else { extents.len() };
    if rank > RANK_LIMIT {
        return Err(Error::no_kernel(format!(
            "{}: {rank} axes with strides of their own are more than {RANK_LIMIT}",
            operation.name()
        )));
    }
    let count = result.len();
    let kinds: SmallVec<[Kind; 4]> = inputs
        .iter()
        .map(|one| Kind {
            dtype: one.dtype,
            is_array: !one.is_number(),
        })
        .collect();
    let are_dense: SmallVec<[bool; 4]> = wide.iter().map(Operand::is_dense).collect();
    let text = ComplexText {
        operation,
        kinds: &kinds,
        result: result.dtype,
        computed,
        are_dense: &are_dense,
        rank,
        index: source::index_type(count),
    };
    let kernel = ops.kernel(key_of(&text, count), "complex_elementwise", || {
        text.source()
    })?;
    // Kernels know complex numbers as pairs of their parts.
    let lent: SmallVec<[Operand; 4]> = wide.iter().map(pairs).collect();
    let mut args: SmallVec<[Arg<'_>; 24]> = SmallVec::new();
    args.extend(inputs.iter().flat_map(number_arguments));
    // An axis of one element may make the pairs dense where the numbers are not: the text was written for these.
    args.extend(lent.iter().zip(&are_dense).filter_map(|(pair, is_dense)| {
        let array = pair.array.as_ref()?;
        Some(if *is_dense {
            Arg::Array(array)
        } else {
            Arg::Address(array)
        })
    }));
    args.push(Arg::from(count));
    if rank > 0 {
        args.extend_from_slice(&source::walk_arguments(&extents, &strides));
    }
    let blocks = count.div_ceil_positive(source::BLOCK);
    launch(&kernel, Shape::line(blocks, source::BLOCK), &args)
}

/// What a launch takes for a number: its parts, where it is complex.
fn number_arguments<'a>(number: &Operand) -> SmallVec<[Arg<'a>; 2]> {
    let mut parts = SmallVec::new();
    if number.is_number() {
        let real = number.number.for_dtype(complex_part(number.dtype));
        parts.push(Arg::from(real));
        if is_complex(number.dtype) {
            parts.push(Arg::from(number.imaginary));
        }
    }
    parts
}

fn key_of(text: &ComplexText<'_>, count: i64) -> KernelKey {
    let mut key = KernelKey::new("complex elementwise")
        .text(text.operation.name())
        .dtype(text.result)
        .dtype(text.computed)
        .with(text.rank as u64)
        .flag(source::is_narrow(count));
    for kind in text.kinds {
        key = key.dtype(kind.dtype).flag(kind.is_array);
    }
    for is_dense in text.are_dense {
        key = key.flag(*is_dense);
    }
    key
}

/// A dense copy in a complex dtype; the array itself where it is that already.
pub(crate) fn dense_in(ops: &DeviceOps, x: &Operand, dtype: Dtype) -> Result<Operand> {
    if x.dtype == dtype && x.is_dense() {
        return Ok(x.clone());
    }
    let target = Target {
        operation: "convert",
        device: ops.device(),
        out: None,
        inputs: &[],
        may_alias: false,
        is_dense: true,
    };
    let made = target.resolve(&x.shape, dtype)?;
    compute(
        ops,
        Complex::Identity,
        std::slice::from_ref(x),
        &made,
        dtype,
    )?;
    Ok(made)
}

/// The part that results of complex numbers have where they are real.
pub(crate) fn part_of(dtype: Dtype) -> Dtype {
    complex_part(dtype)
}
