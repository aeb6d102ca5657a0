//! Values joined row by row: segmented reductions, values added and reduced by index, gradients of embeddings.
//!
//! Each row joins its values in a fixed order, so that sums of floats have the same bits in every run: in the order of the values on a CPU, by
//! sorting the rows and joining chunks of one length on a GPU, where values are joined at once if no order shows. Integers wrap.

mod device;

use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, row_major};
use amdgpu_matrix::{Described, IndexedAxis, Matrix, TensorView, resolve_axes};
pub use amdgpu_matrix::{Join, JoinOptions, Start};

use crate::cpu::{self, Call, Host, Outs, Results};
use crate::host_memory::{HOST, HostMemory};
use crate::operand::Operand;
use crate::{DeviceOps, Error, Operation, Result};

pub use device::{index_add_on_device, scatter_on_device, segment_on_device};

const INDEX_ADD: &str = "index_add";
const SCATTER_REDUCE: &str = "scatter_reduce";
const EMBEDDING_GRADIENT: &str = "embedding_gradient";

/// Values of each row joined, along an axis: rows are the row of each value, or offsets of segments. Without offsets there are `count` rows.
///
/// # Errors
///
/// `unsupported-dtype`, `shape-mismatch`, `invalid-argument` as [`JoinOptions::describe`]; `index-out-of-range` for rows and offsets that there
/// are not: on a GPU the call waits for that to be known.
pub fn segment_reduce(
    ops: &DeviceOps,
    values: &Operand,
    rows: &Operand,
    count: Option<i64>,
    options: &JoinOptions,
) -> Result<Array> {
    cpu::only(segment_reduce_into(
        ops,
        (values, rows),
        count,
        options,
        &[],
    )?)
}

/// [`segment_reduce`] with memory for the result, or without.
pub(crate) fn segment_reduce_into(
    ops: &DeviceOps,
    (values, rows): (&Operand, &Operand),
    count: Option<i64>,
    options: &JoinOptions,
    outs: &Outs<'_>,
) -> Result<Results> {
    let call = Call {
        ops,
        family: "segments",
        name: options.name,
        inputs: &[("values", values), ("indices", rows)],
        out: None,
    };
    cpu::run_into(
        &call,
        outs,
        || Operation::SegmentReduce {
            options: *options,
            count,
        },
        || {
            Ok(Results::from_iter([segment_on_device(
                ops, values, rows, count, options,
            )?]))
        },
        |views, host| segment_on_host(&views[0], &views[1], count, options, host),
    )
}

/// [`segment_reduce`] in memory of the host.
///
/// # Errors
///
/// As [`segment_reduce`], and those of the host.
pub fn segment_on_host<H: Host>(
    values: &TensorView<'_>,
    rows: &TensorView<'_>,
    count: Option<i64>,
    options: &JoinOptions,
    host: &mut H,
) -> std::result::Result<(), H::Error> {
    let described = Described {
        shape: options.describe(values, rows, count).map_err(Error::from)?,
        dtype: values.dtype(),
    };
    host.write(&described, cpu::len(values).saturating_mul(4), |out| {
        Ok(Matrix::global()?.join_rows(values, rows, out, options)?)
    })
}

/// The options of [`index_add`] along an axis.
#[must_use]
pub const fn index_add_options(axis: i64) -> JoinOptions {
    JoinOptions {
        start: Start::Include,
        axis,
        wraps: true,
        ..JoinOptions::new(INDEX_ADD, Join::Sum)
    }
}

/// The options of [`embedding_gradient`].
///
/// # Errors
///
/// `index-out-of-range` for a padding index that is no row.
pub fn embedding_options(
    rows: i64,
    padding: Option<i64>,
    scales_by_frequency: bool,
) -> Result<JoinOptions> {
    let join = if scales_by_frequency {
        Join::Mean
    } else {
        Join::Sum
    };
    let skipped = padding.map(|row| if row < 0 { row + rows } else { row });
    if skipped.is_some_and(|row| !(0..rows).contains(&row)) {
        return Err(Error::refused(
            ErrorCode::IndexOutOfRange,
            format!(
                "{EMBEDDING_GRADIENT}: padding_idx is {}; the table has {rows} rows",
                padding.unwrap_or_default()
            ),
        ));
    }
    Ok(JoinOptions {
        skipped,
        ..JoinOptions::new(EMBEDDING_GRADIENT, join)
    })
}

/// What each row of a table of so many receives: the sum of the gradients of the results that it was looked up for; with
/// `scales_by_frequency` divided by how many those are. The row `padding` receives none.
///
/// # Errors
///
/// As [`segment_reduce`] and [`embedding_options`].
pub fn embedding_gradient(
    ops: &DeviceOps,
    gradient: &Operand,
    indices: &Operand,
    rows: i64,
    padding: Option<i64>,
    scales_by_frequency: bool,
) -> Result<Array> {
    let options = embedding_options(rows, padding, scales_by_frequency)?;
    segment_reduce(ops, gradient, indices, Some(rows), &options)
}

/// A copy of x to whose rows along an axis values are added, each to the row that its index names; negative indices count from the end.
///
/// # Errors
///
/// As [`segment_reduce`]; `shape-mismatch` and `unsupported-dtype` where the values do not have shape and dtype of the rows of x.
pub fn index_add(
    ops: &DeviceOps,
    x: &Operand,
    indices: &Operand,
    values: &Operand,
    axis: i64,
) -> Result<Array> {
    cpu::only(index_add_into(ops, [x, indices, values], axis, &[])?)
}

/// [`index_add`] with memory for the result, or without.
pub(crate) fn index_add_into(
    ops: &DeviceOps,
    [x, indices, values]: [&Operand; 3],
    axis: i64,
    outs: &Outs<'_>,
) -> Result<Results> {
    let call = Call {
        ops,
        family: "segments",
        name: INDEX_ADD,
        inputs: &[("x", x), ("indices", indices), ("values", values)],
        out: None,
    };
    cpu::run_into(
        &call,
        outs,
        || Operation::IndexAdd { axis },
        || {
            Ok(Results::from_iter([index_add_on_device(
                ops, x, indices, values, axis,
            )?]))
        },
        |views, host| index_add_on_host(&views[0], &views[1], &views[2], axis, None, host),
    )
}

/// [`index_add`] in memory of the host, on so many threads at most.
///
/// # Errors
///
/// As [`index_add`], and those of the host.
pub fn index_add_on_host<H: Host>(
    x: &TensorView<'_>,
    indices: &TensorView<'_>,
    values: &TensorView<'_>,
    axis: i64,
    thread_limit: Option<u32>,
    host: &mut H,
) -> std::result::Result<(), H::Error> {
    let options = JoinOptions {
        thread_limit,
        ..index_add_options(axis)
    };
    check_index_add(x, indices, values, &options)?;
    let described = Described {
        shape: x.shape().to_vec(),
        dtype: x.dtype(),
    };
    host.write(&described, cpu::len(x).saturating_mul(2), |out| {
        let matrix = Matrix::global()?;
        matrix.cast(x, out, thread_limit)?;
        Ok(matrix.join_rows(values, indices, out, &options)?)
    })
}

/// Refuses values that do not fit x.
fn check_index_add(
    x: &TensorView<'_>,
    indices: &TensorView<'_>,
    values: &TensorView<'_>,
    options: &JoinOptions,
) -> Result<()> {
    let axis = resolve_axes(INDEX_ADD, x.shape(), &[options.axis])?[0];
    check_same_dtype(INDEX_ADD, x.dtype(), values.dtype())?;
    let shape = options.describe(values, indices, Some(x.shape()[axis]))?;
    if indices.shape().len() == 1 && shape == x.shape() {
        return Ok(());
    }
    Err(Error::refused(
        ErrorCode::ShapeMismatch,
        format!(
            "{INDEX_ADD}: x has shape {:?}, the indices {:?} and the values {:?}; indices have one axis, and values the shape of x with as many rows along axis {axis} as there are indices",
            x.shape(),
            indices.shape(),
            values.shape()
        ),
    ))
}

fn check_same_dtype(name: &str, x: Dtype, values: Dtype) -> Result<()> {
    if x == values {
        return Ok(());
    }
    Err(Error::refused(
        ErrorCode::UnsupportedDtype,
        format!(
            "{name}: x has dtype {}, the values {}; convert one of them",
            x.name().unwrap_or("?"),
            values.name().unwrap_or("?")
        ),
    ))
}

/// How values are scattered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScatterReduce {
    pub axis: i64,
    pub join: Join,
    /// Whether what x holds takes part.
    pub includes_self: bool,
    /// Threads at most; `None` for as many as the pool has.
    pub thread_limit: Option<u32>,
}

impl ScatterReduce {
    /// The axis, counted from 0.
    fn check(
        &self,
        x: &TensorView<'_>,
        indices: &TensorView<'_>,
        values: &TensorView<'_>,
    ) -> Result<usize> {
        let axis = resolve_axes(SCATTER_REDUCE, x.shape(), &[self.axis])?[0];
        check_same_dtype(SCATTER_REDUCE, x.dtype(), values.dtype())?;
        let (own, given) = (x.shape(), indices.shape());
        let fits = own.len() == given.len()
            && values.shape() == given
            && (0..own.len()).all(|one| one == axis || given[one] <= own[one]);
        if fits {
            return Ok(axis);
        }
        Err(Error::refused(
            ErrorCode::ShapeMismatch,
            format!(
                "{SCATTER_REDUCE}: x has shape {own:?}, the indices {given:?} and the values {:?}; values have the shape of the indices, which is no larger than that of x but along axis {axis}",
                values.shape()
            ),
        ))
    }

    fn options(&self) -> JoinOptions {
        JoinOptions {
            start: if self.includes_self {
                Start::Include
            } else {
                Start::Keep
            },
            thread_limit: self.thread_limit,
            ..JoinOptions::new(SCATTER_REDUCE, self.join)
        }
    }
}

/// A copy of x whose elements along an axis join the values whose index names them, line by line, as `PyTorch`'s `scatter_reduce`: without
/// `includes_self` they forget what x holds, unless no value is theirs. Negative indices count from the end.
///
/// # Errors
///
/// As [`index_add`].
pub fn scatter_reduce(
    ops: &DeviceOps,
    x: &Operand,
    indices: &Operand,
    values: &Operand,
    options: &ScatterReduce,
) -> Result<Array> {
    cpu::only(scatter_reduce_into(
        ops,
        [x, indices, values],
        options,
        &[],
    )?)
}

/// [`scatter_reduce`] with memory for the result, or without.
pub(crate) fn scatter_reduce_into(
    ops: &DeviceOps,
    [x, indices, values]: [&Operand; 3],
    options: &ScatterReduce,
    outs: &Outs<'_>,
) -> Result<Results> {
    let call = Call {
        ops,
        family: "segments",
        name: SCATTER_REDUCE,
        inputs: &[("x", x), ("indices", indices), ("values", values)],
        out: None,
    };
    cpu::run_into(
        &call,
        outs,
        || Operation::ScatterReduce(*options),
        || {
            Ok(Results::from_iter([scatter_on_device(
                ops, x, indices, values, options,
            )?]))
        },
        |views, host| scatter_on_host(&views[0], &views[1], &views[2], options, host),
    )
}

/// [`scatter_reduce`] in memory of the host.
///
/// # Errors
///
/// As [`scatter_reduce`], and those of the host.
pub fn scatter_on_host<H: Host>(
    x: &TensorView<'_>,
    indices: &TensorView<'_>,
    values: &TensorView<'_>,
    options: &ScatterReduce,
    host: &mut H,
) -> std::result::Result<(), H::Error> {
    let axis = options.check(x, indices, values)?;
    let mut memory = host.result(x.shape(), x.dtype(), false)?;
    let work = cpu::len(values)
        .saturating_mul(8)
        .saturating_add(cpu::len(x));
    Ok(host.run(work, || {
        let matrix = Matrix::global()?;
        matrix.cast(x, &mut memory.view_mut()?, options.thread_limit)?;
        let mut offsets = vec![0_i64; cpu::len(indices) as usize];
        write_offsets(x.shape(), indices, axis, &mut offsets)?;
        // SAFETY: the offsets fill this memory, and outlive the view.
        let rows = unsafe {
            TensorView::from_parts(
                offsets.as_ptr().cast(),
                Dtype::I64,
                HOST,
                indices.shape(),
                None,
            )?
        };
        let flat = [memory.shape().iter().product::<i64>()];
        // SAFETY: the result was made for this call, without gaps.
        let mut whole = unsafe { HostMemory::dense(memory.data(), x.dtype(), &flat) };
        Ok(matrix.join_rows(values, &rows, &mut whole.view_mut()?, &options.options())?)
    })?)
}

/// Where the element lies, in row-major order, that each index names.
fn write_offsets(
    shape: &[i64],
    indices: &TensorView<'_>,
    axis: usize,
    offsets: &mut [i64],
) -> Result<()> {
    let rank = shape.len();
    let strides = row_major(shape);
    let numbers: Vec<Vec<i64>> = (0..rank)
        .map(|own| (0..indices.shape()[own]).collect())
        .collect();
    let shapes: Vec<Vec<i64>> = (0..rank)
        .map(|own| {
            let mut line = vec![1; rank];
            line[own] = indices.shape()[own];
            line
        })
        .collect();
    let mut views = Vec::with_capacity(rank);
    for own in 0..rank {
        views.push(if own == axis {
            *indices
        } else {
            let data = numbers[own].as_ptr().cast();
            // SAFETY: the numbers fill this memory, and outlive the view.
            unsafe { TensorView::from_parts(data, Dtype::I64, HOST, &shapes[own], None)? }
        });
    }
    let indexed: Vec<IndexedAxis> = (0..rank)
        .map(|own| IndexedAxis {
            axis: own as i64,
            extent: shape[own],
            stride: strides[own],
        })
        .collect();
    let data = offsets.as_mut_ptr().cast();
    // SAFETY: as many offsets as indices.
    let mut memory = unsafe { HostMemory::dense(data, Dtype::I64, indices.shape()) };
    Ok(Matrix::global()?.offsets(&views, &indexed, &mut memory.view_mut()?, None)?)
}
