//! Elementwise operations: dense arrays of one shape are read and written 16 bytes at a time, everything else walks its strides.

mod host;

use std::sync::Arc;

use amdgpu_abi::promotion::{as_float, compute_type, is_float, is_unsigned};
use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, Dims, coalesce_all, element_count};
use amdgpu_aura::Kernel;
pub use amdgpu_matrix::Elementwise;
pub use amdgpu_matrix::ElementwiseOptions;
use arrayvec::ArrayVec;
use smallvec::SmallVec;

use crate::cast;
use crate::cpu::{self, Call};
use crate::div_ceil::DivCeil;
use crate::generated::elementwise::{Body, Kind, LINE_BYTES, Rows, Signature, VECTOR_BYTES, Walk};
use crate::generated::{formulas, source};
use crate::kernel_form::KernelForm;
use crate::launch::{Shape, launch};
use crate::operand::{Operand, Scalar, Target, broadcast};
use crate::{Arg, DeviceOps, Error, KernelKey, Named, Operation, Result};

pub use host::on_host;

/// One of each operand: at most six inputs of a kernel's own statements, and the result.
type Few<T> = ArrayVec<T, 8>;

/// Axes that are left when those are joined that can be; every one costs a division.
const RANK_LIMIT: usize = 12;

/// `operation(inputs...)`, broadcast, where the arrays lie; `alpha` is the slope of `leaky_relu` and the scale of `elu`.
///
/// # Errors
///
/// As [`on_device`], but for [`Error::NoKernel`]: what no kernel computes the CPU does, counted and told once.
pub fn elementwise(
    ops: &DeviceOps,
    operation: Elementwise,
    inputs: &[Operand],
    out: Option<&Array>,
    alpha: f64,
) -> Result<Array> {
    let named = named(operation, inputs)?;
    let call = Call {
        ops,
        family: "elementwise",
        name: operation.name(),
        inputs: &named,
        out,
    };
    let options = ElementwiseOptions {
        alpha,
        thread_limit: None,
    };
    cpu::run_noted(
        &call,
        || {
            Some(Operation::Elementwise {
                operation: Named::Any(operation),
                alpha,
            })
        },
        || on_device(ops, operation, inputs, out, alpha),
        |views, host| match operation {
            Elementwise::Standardize => host::standardize(views, &options, host),
            _ => on_host(operation, views, &options, host).map(drop),
        },
    )
}

/// `operation(inputs...)`, broadcast, by a generated kernel of the device; `alpha` is the slope of `leaky_relu` and the scale of `elu`.
///
/// # Errors
///
/// `shape-mismatch` when the shapes do not broadcast, `unsupported-dtype`, `invalid-argument` for an `out` that overlaps an input without
/// being the same view; [`Error::NoKernel`] for what no kernel computes.
pub fn on_device(
    ops: &DeviceOps,
    operation: Elementwise,
    inputs: &[Operand],
    out: Option<&Array>,
    alpha: f64,
) -> Result<Array> {
    let name = operation.name();
    let named = named(operation, inputs)?;
    for (argument, input) in &named {
        input.check_dtype(name, argument)?;
    }
    let (common, result) = result_dtypes(operation, inputs)?;
    let shape = broadcast(name, &named)?;
    let reads: Few<&Operand> = inputs.iter().collect();
    let target = Target {
        operation: name,
        device: ops.device(),
        out,
        inputs: &reads,
        may_alias: true,
        is_dense: false,
    };
    let made = target.resolve(&shape, result)?;
    let body = body_of(operation, common, inputs)?;
    compute(ops, &body, inputs, &made, compute_type(common), alpha)?;
    made.into_array()
}

/// Inputs with their names.
fn named(operation: Elementwise, inputs: &[Operand]) -> Result<Few<(&'static str, &Operand)>> {
    let names = operation.inputs();
    if inputs.len() != names.len() {
        return Err(Error::refused(
            ErrorCode::InvalidArgument,
            format!(
                "{} takes {} inputs ({}), not {}",
                operation.name(),
                names.len(),
                names.join(", "),
                inputs.len()
            ),
        ));
    }
    Ok(names.iter().copied().zip(inputs).collect())
}

/// The dtype in which inputs meet, and that of the result.
///
/// # Errors
///
/// `unsupported-dtype` where the operation does not take them.
pub fn result_dtypes(operation: Elementwise, inputs: &[Operand]) -> Result<(Dtype, Dtype)> {
    let dtypes: Few<Dtype> = inputs.iter().map(|input| input.dtype).collect();
    let (common, result) = operation.result_dtypes(&dtypes)?;
    if operation == Elementwise::Standardize {
        // Statistics are wider than images of half precision; what they make has the images' dtype.
        return Ok((common, as_float(dtypes[0])));
    }
    Ok((common, result))
}

/// Powers of integers, whose exponents must not be negative: known of a number and of unsigned ones.
fn whole_power(exponent: &Operand) -> Result<Body> {
    let is_known = exponent.array.is_none() && matches!(exponent.number, Scalar::Int(0..));
    if !is_known && !is_unsigned(exponent.dtype) {
        return Err(Error::no_kernel(
            "powers of integers, whose exponents have to be looked at first",
        ));
    }
    Ok(Body::Statements {
        name: "power".into(),
        text: WHOLE_POWER.into(),
    })
}

/// a^b of integers by squaring; products wrap.
const WHOLE_POWER: &str = "unsigned long long product = 1, base = (unsigned long long)x, left = (unsigned long long)y; \
    while (left != 0) { if (left & 1) product *= base; base *= base; left >>= 1; } return (C)product;";

/// What is computed of inputs that meet in `common`.
fn body_of(operation: Elementwise, common: Dtype, inputs: &[Operand]) -> Result<Body> {
    if operation == Elementwise::Standardize {
        return Ok(Body::Standardize);
    }
    if operation == Elementwise::Power && !is_float(common) {
        return whole_power(&inputs[1]);
    }
    let done = operation.computed_as(common).name();
    if formulas::formula(done, compute_type(common)).is_none() {
        return Err(Error::no_kernel(format!(
            "there is no generated kernel for {done}"
        )));
    }
    Ok(Body::Named(done))
}

/// Launch the kernel that writes `body(operands...)`, computed in a dtype, to a result of the shape they broadcast to.
///
/// # Errors
///
/// [`Error::NoKernel`] for too many axes; what the device reports.
pub fn compute(
    ops: &DeviceOps,
    body: &Body,
    operands: &[Operand],
    result: &Operand,
    computed: Dtype,
    alpha: f64,
) -> Result<()> {
    let usual = usual_form(body);
    compute_as(ops, body, operands, result, (computed, alpha), usual)
}

/// The form of kernels without strides and with them, where nothing was measured.
#[must_use]
pub fn usual_form(body: &Body) -> KernelForm {
    KernelForm {
        block: source::BLOCK,
        ahead: body.packs_in_flight(),
    }
}

/// [`compute`] by a kernel of that form, which changes no bit.
///
/// # Errors
///
/// As there.
pub fn compute_as(
    ops: &DeviceOps,
    body: &Body,
    operands: &[Operand],
    result: &Operand,
    (computed, alpha): (Dtype, f64),
    form: KernelForm,
) -> Result<()> {
    if result.is_empty() {
        return Ok(());
    }
    let chosen = choose(ops, body, operands, result, (computed, form))?;
    let mut args: SmallVec<[Arg<'_>; 24]> = SmallVec::new();
    args.push(Arg::Float(alpha));
    let numbers = operands.iter().filter(|operand| operand.is_number());
    args.extend(numbers.map(|operand| Arg::from(operand.number.for_dtype(computed))));
    let arrays = operands.iter().filter_map(|operand| operand.array.as_ref());
    let memory = result.array.iter().chain(arrays);
    args.extend(memory.zip(&chosen.are_direct).map(pointer));
    args.extend(chosen.tail.iter().copied());
    launch(
        &chosen.kernel,
        Shape::line(chosen.blocks, form.block),
        &args,
    )
}

/// A kernel with what does not change while shapes, strides and dtypes stay.
struct Chosen {
    kernel: Arc<Kernel>,
    blocks: i64,
    /// For the result and each array, whether the launch takes the array; else its address.
    are_direct: SmallVec<[bool; 4]>,
    /// Arguments behind the arrays.
    tail: SmallVec<[Arg<'static>; 16]>,
}

fn choose(
    ops: &DeviceOps,
    body: &Body,
    operands: &[Operand],
    result: &Operand,
    (computed, form): (Dtype, KernelForm),
) -> Result<Chosen> {
    let kinds: Few<Kind> = operands
        .iter()
        .map(|operand| Kind {
            dtype: operand.dtype,
            is_array: !operand.is_number(),
        })
        .collect();
    let signature = Signature {
        body,
        kinds: &kinds,
        result: result.dtype,
        computed,
    };
    let count = result.len();
    let pack = signature.pack() as i64;
    let arrays = || operands.iter().filter(|operand| !operand.is_number());
    let is_aligned = |one: &Operand| one.address().is_multiple_of(VECTOR_BYTES as u64);
    let are_aligned = is_aligned(result) && arrays().all(is_aligned);
    let is_flat = are_aligned
        && result.is_dense()
        && arrays().all(|one| one.shape == result.shape && one.is_dense());
    if is_flat {
        let key = key_of(&signature, "elementwise flat").with(form.ahead as u64);
        let source = || signature.flat_source(form.ahead);
        let kernel = ops.kernel(key, "elementwise", source)?;
        return Ok(Chosen {
            kernel,
            blocks: count.div_ceil_positive(pack * form.block * form.ahead),
            are_direct: SmallVec::from_elem(true, 1 + arrays().count()),
            tail: SmallVec::from_slice(&[Arg::from(count)]),
        });
    }
    let wide: Few<(&Operand, Dims)> = std::iter::once(result)
        .chain(arrays())
        .map(|operand| (operand, operand.broadcast_strides(result.rank())))
        .collect();
    choose_strided(ops, &signature, &wide, (are_aligned, form))
}

/// The axes from the one whose neighbours lie furthest apart on, where that is another order than that of the axes: work-items beside each other
/// write side by side then. Images with their channels last are an example.
pub(crate) fn memory_order(shape: &[i64], strides: &[i64]) -> Option<SmallVec<[usize; 6]>> {
    let distance = |axis: &usize| {
        if shape[*axis] == 1 {
            // Never walked.
            i64::MAX
        } else {
            strides[*axis].abs()
        }
    };
    let mut order: SmallVec<[usize; 6]> = (0..shape.len()).collect();
    order.sort_by_key(|axis| std::cmp::Reverse(distance(axis)));
    let is_other = order.iter().filter(|axis| shape[**axis] != 1);
    let walked = (0..shape.len()).filter(|axis| shape[*axis] != 1);
    (!is_other.copied().eq(walked)).then_some(order)
}

/// Numbers of axes in another order.
pub(crate) fn permuted(numbers: &[i64], order: &[usize]) -> Dims {
    order.iter().map(|axis| numbers[*axis]).collect()
}

fn choose_strided(
    ops: &DeviceOps,
    signature: &Signature<'_>,
    wide: &[(&Operand, Dims)],
    (are_aligned, form): (bool, KernelForm),
) -> Result<Chosen> {
    let result = wide[0].0;
    let (count, pack) = (result.len(), signature.pack() as i64);
    let ordered: Few<Dims>;
    let mut shape = result.shape.clone();
    let mut all: Few<&[i64]> = wide.iter().map(|(_, strides)| strides.as_slice()).collect();
    if let Some(order) = memory_order(&result.shape, all[0]) {
        ordered = all.iter().map(|own| permuted(own, &order)).collect();
        all = ordered.iter().map(Dims::as_slice).collect();
        shape = permuted(&shape, &order);
    }
    let (extents, strides) = coalesce_all(&shape, &all);
    let rank = extents.len();
    if rank > RANK_LIMIT {
        return Err(Error::no_kernel(format!(
            "{}: {rank} axes with strides of their own are more than {RANK_LIMIT}",
            signature.body.name()
        )));
    }
    // Neighbours along the last axis are read together where each array has them side by side, or one value for all of them.
    let last = rank - 1;
    let side_by_side = |own: &Dims| {
        own[last] == 0 || (own[last] == 1 && own[..last].iter().all(|stride| stride % pack == 0))
    };
    let is_packed = are_aligned
        && extents[last] % pack == 0
        && strides[0][last] == 1
        && strides.iter().all(side_by_side);
    let repeats: Vec<bool> = strides
        .iter()
        .map(|own| is_packed && own[last] == 0)
        .collect();
    let walk = Walk {
        are_dense: wide
            .iter()
            .map(|(one, strides)| one.is_dense_as(&result.shape, strides))
            .collect(),
        rank,
        index: source::index_type(count),
        pack: if is_packed { pack as usize } else { 1 },
        repeats,
        ahead: if is_packed { form.ahead } else { 1 },
    };
    let mut key = key_of(signature, "elementwise strided")
        .with(rank as u64)
        .flag(source::is_narrow(count))
        .flag(is_packed)
        .with(walk.ahead as u64);
    for (is_dense, repeats) in walk.are_dense.iter().zip(&walk.repeats) {
        key = key.flag(*is_dense).flag(*repeats);
    }
    let kernel = ops.kernel(key, "elementwise", || signature.strided_source(&walk))?;
    let mut tail: SmallVec<[Arg<'static>; 16]> = SmallVec::from_slice(&[Arg::from(count)]);
    tail.extend_from_slice(&source::walk_arguments(&extents, &strides));
    Ok(Chosen {
        kernel,
        blocks: count.div_ceil_positive(walk.pack as i64 * form.block * walk.ahead),
        are_direct: walk.are_dense.iter().copied().collect(),
        tail,
    })
}

/// A row has so many elements at least where a kernel walks row by row.
const ROW_ELEMENTS: i64 = 256;
/// ... and at most, so that blocks are counted in 31 bits.
const LONGEST_ROW: i64 = 1 << 36;
/// The form of kernels that walk rows, where nothing was measured. Each work-item has one element: several from places apart of one row would be
/// as many streams of reads and writes, which memory serves slower than one (60 M float32 in 10.8 ms with 8, in 8.4 with one, on a Zen 5).
pub const ROW_FORM: KernelForm = KernelForm {
    block: 1024,
    ahead: 1,
};
/// Rows of fewer elements stream only where each begins with a cache line.
const LONG_ROW: i64 = 8192;
/// Work-items of a block are a multiple of the lanes of the widest vectors.
const LANES: i64 = 16;

/// As [`compute`] for arrays, on a device whose neighbouring work-items are lanes of one vector: each block computes a part of one row. False,
/// and nothing is computed, where rows are short or their elements do not lie side by side. The form is [`ROW_FORM`], or has smaller blocks.
///
/// # Errors
///
/// As [`compute`].
pub fn compute_rows(
    ops: &DeviceOps,
    body: &Body,
    arrays: &[Operand],
    result: &Operand,
    computed: Dtype,
    form: KernelForm,
) -> Result<bool> {
    let wide: Few<(&Operand, Dims)> = std::iter::once(result)
        .chain(arrays)
        .map(|operand| (operand, operand.broadcast_strides(result.rank())))
        .collect();
    let all: Few<&[i64]> = wide.iter().map(|(_, strides)| strides.as_slice()).collect();
    let (extents, strides) = coalesce_all(&result.shape, &all);
    let last = extents.len() - 1;
    let (width, rows) = (extents[last], element_count(&extents[..last]));
    let are_walked = (ROW_ELEMENTS..=LONGEST_ROW).contains(&width)
        && source::is_narrow(rows)
        && strides[0][last] == 1
        && strides.iter().all(|own| matches!(own[last], 0 | 1))
        && last < RANK_LIMIT
        && arrays.iter().all(|one| !one.is_number());
    if !are_walked {
        return Ok(false);
    }
    let lines = Lines::of(ops, arrays, result, &strides[0], width);
    let (chunks, block) = cut_row(width + lines.before, form.block, lines.multiple);
    let is_row_first = rows > source::GRID_LIMIT;
    if is_row_first && chunks > source::GRID_LIMIT {
        return Ok(false);
    }
    let walk = Rows {
        is_row_first,
        streams: lines.are_streamed,
        are_dense: wide
            .iter()
            .map(|(one, strides)| one.is_dense_as(&result.shape, strides))
            .collect(),
        rank: last,
        repeats: strides[1..].iter().map(|own| own[last] == 0).collect(),
    };
    let kernel = kernel_of_rows(ops, body, arrays, (result.dtype, computed), &walk)?;
    let mut args: SmallVec<[Arg<'_>; 24]> = SmallVec::from_slice(&[Arg::Float(0.0)]);
    let memory = wide.iter().filter_map(|(one, _)| one.array.as_ref());
    args.extend(memory.zip(&walk.are_dense).map(pointer));
    args.push(Arg::from(width));
    if last > 0 {
        let outer: Vec<Dims> = (strides.iter())
            .map(|own| Dims::from_slice(&own[..last]))
            .collect();
        args.extend_from_slice(&source::walk_arguments(&extents[..last], &outer));
    }
    let shape = Shape {
        grid: if is_row_first {
            [rows, chunks, 1]
        } else {
            [chunks, rows, 1]
        },
        block: [block, 1, 1],
        shared_bytes: 0,
    };
    launch(&kernel, shape, &args)?;
    Ok(true)
}

/// How blocks of a row lie to the cache lines of the result.
struct Lines {
    /// Stores bypass the caches, and blocks begin with lines.
    are_streamed: bool,
    /// Elements that the first block of a row may have in front of it: what is left of the line in which the row begins.
    before: i64,
    /// Of which the work-items of a block are a multiple.
    multiple: i64,
}

impl Lines {
    /// Stores bypass the caches by the rule of the Zig library (`streamedBytes`): not where the result takes the place of an input, whose lines
    /// are in the caches by then.
    fn of(
        ops: &DeviceOps,
        arrays: &[Operand],
        result: &Operand,
        strides: &[i64],
        width: i64,
    ) -> Self {
        let line = (LINE_BYTES / result.dtype.size_bytes()) as i64;
        let outer = &strides[..strides.len() - 1];
        let begin_rows = result.address().is_multiple_of(LINE_BYTES as u64)
            && outer.iter().all(|stride| stride % line == 0);
        let level3_bytes = ops.device().info().caches.level3_bytes.unwrap_or(8 << 20);
        let bytes = result.len().unsigned_abs() * result.dtype.size_bytes() as u64;
        let are_streamed = bytes >= (level3_bytes / 2).min(32 << 20)
            && (begin_rows || width >= LONG_ROW)
            && !arrays.iter().any(|one| one.overlaps(result));
        let before = if are_streamed && !begin_rows {
            line - 1
        } else {
            0
        };
        Self {
            are_streamed,
            before,
            multiple: line.max(LANES),
        }
    }
}

/// Blocks of a row, and their work-items.
fn cut_row(width: i64, most: i64, multiple: i64) -> (i64, i64) {
    let chunks = width.div_ceil_positive(most);
    let block = width.div_ceil_positive(chunks);
    if chunks == 1 {
        return (chunks, block);
    }
    (chunks, block.div_ceil_positive(multiple) * multiple)
}

fn kernel_of_rows(
    ops: &DeviceOps,
    body: &Body,
    arrays: &[Operand],
    (result, computed): (Dtype, Dtype),
    walk: &Rows,
) -> Result<Arc<Kernel>> {
    let kinds: Few<Kind> = arrays
        .iter()
        .map(|operand| Kind {
            dtype: operand.dtype,
            is_array: true,
        })
        .collect();
    let signature = Signature {
        body,
        kinds: &kinds,
        result,
        computed,
    };
    let mut key = key_of(&signature, "elementwise rows")
        .with(walk.rank as u64)
        .flag(walk.is_row_first)
        .flag(walk.streams);
    for flag in walk.are_dense.iter().chain(&walk.repeats) {
        key = key.flag(*flag);
    }
    ops.kernel(key, "elementwise", || signature.rows_source(walk))
}

/// An array as a launch takes it: itself, or its address where it has gaps.
fn pointer<'a>((array, is_direct): (&'a Array, &bool)) -> Arg<'a> {
    if *is_direct {
        Arg::Array(array)
    } else {
        Arg::Address(array)
    }
}

fn key_of(signature: &Signature<'_>, family: &'static str) -> KernelKey {
    let mut key = KernelKey::new(family)
        .text(signature.body.name())
        .dtype(signature.result)
        .dtype(signature.computed);
    if let Body::Steps {
        functions, text, ..
    } = signature.body
    {
        key = key.text(functions).text(text);
    }
    for kind in signature.kinds {
        key = key.dtype(kind.dtype).flag(kind.is_array);
    }
    key
}

/// A dense copy on the device, converted as [`cast::on_device`] converts; the array itself where it is that already.
///
/// # Errors
///
/// As [`cast::on_device`].
pub fn convert(ops: &DeviceOps, x: &Operand, dtype: Dtype) -> Result<Operand> {
    if x.dtype == dtype && x.is_dense() {
        return Ok(x.clone());
    }
    Ok(Operand::of_array(cast::on_device(ops, x, dtype, None)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_walked_as_they_lie_in_memory() {
        let order =
            |shape: &[i64], strides: &[i64]| memory_order(shape, strides).map(|one| one.to_vec());
        assert_eq!(order(&[2, 3, 4], &[12, 4, 1]), None);
        assert_eq!(order(&[2, 3, 1], &[3, 1, 7]), None);
        // Channels last, and rows from the last to the first.
        assert_eq!(
            order(&[2, 8, 5, 6], &[240, 1, 48, 8]),
            Some(vec![0, 2, 3, 1])
        );
        assert_eq!(order(&[4, 5], &[-5, 1]), None);
        assert_eq!(order(&[4, 5], &[1, -4]), Some(vec![1, 0]));
        assert_eq!(
            permuted(&[2, 8, 5, 6], &[0, 2, 3, 1]).as_slice(),
            [2, 5, 6, 8]
        );
    }
}
