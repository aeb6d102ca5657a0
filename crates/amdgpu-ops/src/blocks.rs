//! Blocks of elements that lie at offsets from index 0 of an array: gathered to an array of their own, and scattered from one. Indexing by
//! arrays of integers and by truth values is made of these.
//!
//! The elements may be of any dtype of 1, 2, 4, 8 or 16 bytes. Offsets whose block would leave the view are refused on the CPU; kernels of a GPU
//! pass them over: `offsets` gives such an offset where an index is none, and sees to it that somebody hears of that.

use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, Dims, coalesce, row_major, tracing};
use amdgpu_hal::MemoryKind;
pub use amdgpu_matrix::Scatter;
use amdgpu_matrix::{Block, Described, Matrix, TensorView, blocks_shape};
use smallvec::SmallVec;

use crate::cast::check_broadcast;
use crate::cpu::{self, Call, Host};
use crate::div_ceil::DivCeil;
use crate::generated::blocks::{BlockKernel, gather_source, scatter_source};
use crate::generated::source;
use crate::host_memory::HostMemory;
use crate::launch::{Shape, launch};
use crate::operand::{Operand, check_device};
use crate::transpose::dense;
use crate::{Arg, DeviceOps, Error, Operation, Result, strided, trace};

const GATHER: &str = "gather";
const SCATTER: &str = "scatter";

/// `out[i..., b...] = x[offsets[i...] + sum of b * strides]`, where offsets and strides count elements from index 0 of x; `out` is a new
/// row-major array of the shape of the offsets and behind it that of the block.
///
/// # Errors
///
/// `unsupported-dtype` unless the offsets are int64; `index-out-of-range` on the CPU for a block that leaves x; `wrong-device`,
/// `out-of-memory`.
pub fn gather(
    ops: &DeviceOps,
    x: &Array,
    offsets: &Array,
    block: (&[i64], &[i64]),
) -> Result<Array> {
    let operands = [x, offsets].map(|array| Operand::of_array(array.clone()));
    let call = Call {
        ops,
        family: GATHER,
        name: GATHER,
        inputs: &[("x", &operands[0]), ("offsets", &operands[1])],
        out: None,
    };
    cpu::run_noted(
        &call,
        || {
            Some(Operation::Gather {
                shape: Dims::from_slice(block.0),
                strides: Dims::from_slice(block.1),
            })
        },
        || gather_on_device(ops, x, offsets, block),
        |views, host| gather_on_host(&views[0], &views[1], block, None, host),
    )
}

/// [`gather`] in memory of the host, on so many threads at most.
///
/// # Errors
///
/// As [`gather`], and those of the host.
pub fn gather_on_host<H: Host>(
    x: &TensorView<'_>,
    offsets: &TensorView<'_>,
    block: (&[i64], &[i64]),
    thread_limit: Option<u32>,
    host: &mut H,
) -> std::result::Result<(), H::Error> {
    let described = Described {
        shape: blocks_shape(offsets.shape(), block.0),
        dtype: x.dtype(),
    };
    let moved = described
        .shape
        .iter()
        .fold(1_u64, |len, extent| len.saturating_mul(*extent as u64));
    host.write(&described, moved, |out| {
        Ok(Matrix::global()?.gather(x, offsets, block_of(block), out, thread_limit)?)
    })
}

fn block_of<'a>(block: (&'a [i64], &'a [i64])) -> Block<'a> {
    Block {
        shape: block.0,
        strides: block.1,
    }
}

/// Checks the arguments; an array for what is gathered.
fn empty_gather(
    ops: &DeviceOps,
    x: &Array,
    offsets: &Array,
    block: (&[i64], &[i64]),
) -> Result<Array> {
    check(ops, GATHER, "x", x, offsets, block)?;
    let shape = Dims::from_vec(blocks_shape(&offsets.shape, block.0));
    let made = Array::empty(ops.device(), shape, x.dtype, MemoryKind::Device)?;
    Ok(made)
}

fn check(
    ops: &DeviceOps,
    operation: &str,
    name: &str,
    memory: &Array,
    offsets: &Array,
    block: (&[i64], &[i64]),
) -> Result<()> {
    memory.check_alive()?;
    offsets.check_alive()?;
    check_device(operation, name, memory, ops.device())?;
    check_device(operation, "offsets", offsets, ops.device())?;
    block_of(block).bounds(&memory.shape, &memory.strides)?;
    if offsets.dtype == Dtype::I64 {
        return Ok(());
    }
    Err(Error::refused(
        ErrorCode::UnsupportedDtype,
        format!(
            "{operation}: offsets have dtype {}; they must be int64",
            offsets.dtype.name().unwrap_or("?")
        ),
    ))
}

/// [`gather`] by a kernel of the device.
///
/// # Errors
///
/// As [`gather`]; what the device reports.
pub fn gather_on_device(
    ops: &DeviceOps,
    x: &Array,
    offsets: &Array,
    block: (&[i64], &[i64]),
) -> Result<Array> {
    let made = empty_gather(ops, x, offsets, block)?;
    let count = made.len();
    if count == 0 || x.is_empty() {
        return Ok(made);
    }
    let at = dense(ops, &Operand::of_array(offsets.clone()))?;
    let x = Operand::of_array(x.clone());
    let (extents, strides) = coalesce(block.0, [block.1]);
    let (lowest, highest) = block_of(block).bounds(&x.shape, &x.strides)?;
    let text = BlockKernel {
        memory: &x,
        rank: extents.len(),
        is_narrow: source::is_narrow(count),
    };
    let key = text.key(GATHER).with(x.item_bytes() as u64);
    let kernel = ops.kernel(key, GATHER, || gather_source(&text))?;
    let mut args: SmallVec<[Arg<'_>; 24]> = SmallVec::new();
    args.extend([Arg::pointer(&x), Arg::Array(&at), Arg::Array(&made)]);
    let len = extents.iter().product();
    args.extend([count, len, lowest, highest].map(Arg::from));
    args.extend_from_slice(&source::walk_arguments(&extents, &strides));
    let blocks = count.div_ceil_positive(source::BLOCK);
    launch(&kernel, Shape::line(blocks, source::BLOCK), &args)?;
    drop(args);
    Ok(made)
}

/// The element at `offsets[i...] + sum of b * strides` of `target` takes in `values[i..., b...]`; the values broadcast to the shape of the
/// offsets and behind it that of the block, and have the dtype of `target`. An element that lies in the blocks of two offsets must have the same
/// index b in both, as it does where offsets and block walk different axes of one array.
///
/// On the CPU values are taken in their order: of those for one element the last is assigned, and sums of floats are the same every time. On a
/// GPU any of them is assigned; the others take in every value by atomics, so that sums and products of floats are in no fixed order.
///
/// # Errors
///
/// `unsupported-dtype` unless the offsets are int64 and the values of the dtype of `target`; `shape-mismatch` where values do not broadcast;
/// `read-only`, `wrong-device`; `invalid-argument` where `target` overlaps the values or offsets; `index-out-of-range` on the CPU for a block
/// that leaves `target`, before anything is written.
pub fn scatter(
    ops: &DeviceOps,
    target: &Array,
    offsets: &Array,
    block: (&[i64], &[i64]),
    values: &Operand,
    how: Scatter,
) -> Result<()> {
    if trace::is_tracing() {
        return scatter_noted(ops, target, offsets, block, values, how);
    }
    scatter_to(ops, target, offsets, block, values, how)
}

/// [`scatter`] while this thread traces: the target afterwards is a value of its own.
fn scatter_noted(
    ops: &DeviceOps,
    target: &Array,
    offsets: &Array,
    block: (&[i64], &[i64]),
    values: &Operand,
    how: Scatter,
) -> Result<()> {
    let at = Operand::of_array(offsets.clone());
    let compute = || scatter_to(ops, target, offsets, block, values, how);
    let mut before = Operand::of_array(target.clone());
    if !target.is_contiguous() {
        // Offsets count elements of the memory, where the value that a graph keeps has others.
        trace::check_untraced(
            SCATTER,
            &[("target", &before), ("offsets", &at), ("values", values)],
        )?;
        let level = tracing::inside();
        let done = compute();
        drop(level);
        return done;
    }
    if !trace::depends(target)? {
        // What it holds is gone afterwards.
        let level = tracing::inside();
        before = Operand::of_array(crate::cast(ops, &before, target.dtype, None)?);
        drop(level);
    }
    let operation = Operation::Scatter {
        shape: Dims::from_slice(block.0),
        strides: Dims::from_slice(block.1),
        how,
    };
    trace::noted(operation, &[&before, &at, values], || {
        compute()?;
        Ok(target.clone())
    })?;
    Ok(())
}

/// As [`scatter`], of a target before that of a graph, which stays as it is.
pub(crate) fn scatter_into(
    ops: &DeviceOps,
    [target, offsets, values]: [&Operand; 3],
    block: (&[i64], &[i64]),
    how: Scatter,
    out: Option<&Array>,
) -> Result<Array> {
    let (before, at) = (dense(ops, target)?, dense(ops, offsets)?);
    let made = match out {
        Some(out) => out.clone(),
        None => Array::empty(
            ops.device(),
            before.shape.clone(),
            before.dtype,
            MemoryKind::Device,
        )?,
    };
    strided::copy(&made, &before)?;
    scatter_to(ops, &made, &at, block, values, how)?;
    Ok(made)
}

fn scatter_to(
    ops: &DeviceOps,
    target: &Array,
    offsets: &Array,
    block: (&[i64], &[i64]),
    values: &Operand,
    how: Scatter,
) -> Result<()> {
    if !ops.computes_on_host() {
        return scatter_on_device(ops, target, offsets, block, values, how);
    }
    check_scatter(ops, target, offsets, block, values, how)?;
    let at = Operand::of_array(offsets.clone());
    for array in [Some(target), Some(offsets), values.array.as_ref()]
        .into_iter()
        .flatten()
    {
        array.check_alive()?;
        array.finish_uses()?;
    }
    let number = values.element();
    let mut memory = HostMemory::of_array(target);
    Matrix::global()?.scatter(
        &mut memory.view_mut()?,
        &at.host_view(&[0; 2])?,
        block_of(block),
        &values.host_view(&number)?,
        how,
        None,
    )?;
    Ok(())
}

fn check_scatter(
    ops: &DeviceOps,
    target: &Array,
    offsets: &Array,
    block: (&[i64], &[i64]),
    values: &Operand,
    how: Scatter,
) -> Result<()> {
    check(ops, SCATTER, "target", target, offsets, block)?;
    target.check_writable()?;
    how.check(values.dtype)?;
    if values.dtype != target.dtype {
        return Err(Error::refused(
            ErrorCode::UnsupportedDtype,
            format!(
                "{SCATTER}: values have dtype {}, the target {}",
                values.dtype.name().unwrap_or("?"),
                target.dtype.name().unwrap_or("?")
            ),
        ));
    }
    let shape = blocks_shape(&offsets.shape, block.0);
    check_broadcast(SCATTER, "values", &values.shape, &shape)?;
    let memory = Operand::of_array(target.clone());
    if memory.overlaps(values) || memory.overlaps(&Operand::of_array(offsets.clone())) {
        return Err(Error::refused(
            ErrorCode::InvalidArgument,
            format!(
                "{SCATTER}: the target overlaps the values or the offsets; pass a copy of them"
            ),
        ));
    }
    Ok(())
}

/// [`scatter`] by a kernel of the device.
///
/// # Errors
///
/// As [`scatter`]; what the device reports.
pub fn scatter_on_device(
    ops: &DeviceOps,
    target: &Array,
    offsets: &Array,
    block: (&[i64], &[i64]),
    values: &Operand,
    how: Scatter,
) -> Result<()> {
    check_scatter(ops, target, offsets, block, values, how)?;
    let shape = blocks_shape(&offsets.shape, block.0);
    if shape.contains(&0) || target.is_empty() {
        return Ok(());
    }
    let at = dense(ops, &Operand::of_array(offsets.clone()))?;
    let memory = Operand::of_array(target.clone());
    let wide = values.broadcast_to(&shape);
    // The memory's strides are those of the block; offsets stand for the axes before it.
    let mut of_memory = Dims::from_elem(0, offsets.shape.len());
    of_memory.extend_from_slice(block.1);
    let mut of_offsets = row_major(&offsets.shape);
    of_offsets.extend(block.0.iter().map(|_| 0));
    let (extents, strides) = coalesce(&shape, [&of_memory, &of_offsets, &wide.strides]);
    let count = amdgpu_array::element_count(&shape);
    let (lowest, highest) = block_of(block).bounds(&target.shape, &target.strides)?;
    let text = BlockKernel {
        memory: &memory,
        rank: extents.len(),
        is_narrow: source::is_narrow(count),
    };
    let key = text
        .key(SCATTER)
        .text(how.name())
        .dtype(target.dtype)
        .flag(wide.is_number())
        .flag(wide.is_dense());
    let kernel = ops.kernel(key, SCATTER, || scatter_source(&text, &wide, how))?;
    let mut args: SmallVec<[Arg<'_>; 24]> = SmallVec::new();
    args.extend([Arg::pointer(&memory), Arg::Array(&at)]);
    args.push(if wide.is_number() {
        Arg::from(wide.number.for_dtype(wide.dtype))
    } else {
        Arg::pointer(&wide)
    });
    args.extend([count, lowest, highest].map(Arg::from));
    args.extend_from_slice(&source::walk_arguments(&extents, &strides));
    let blocks = count.div_ceil_positive(source::BLOCK);
    launch(&kernel, Shape::line(blocks, source::BLOCK), &args)
}
