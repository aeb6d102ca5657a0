//! Segmented reductions by kernels of a device: rows become numbers, which are sorted where they do not rise already, and the values are joined in
//! that order. Values whose order does not show are joined at once.

use std::sync::Arc;

use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, Dims, coalesce, row_major};
use amdgpu_aura::Kernel;
use amdgpu_hal::MemoryKind;
use smallvec::SmallVec;

use super::{JoinOptions, ScatterReduce, Start, check_index_add, index_add_options};
use crate::cast;
use crate::div_ceil::DivCeil;
use crate::generated::radix::KeySource;
use crate::generated::segments::{
    CHUNK, SegmentKernel, at_once_source, chunks_source, finish_source, is_joined_at_once,
    offsets_source, rows_of_starts_source, rows_source, start_source, starts_source, state_of,
};
use crate::generated::source;
use crate::index_notes::Note;
use crate::launch::{Shape, launch};
use crate::lines::Lines;
use crate::offsets;
use crate::operand::Operand;
use crate::radix::{Radix, UINT32, place_type};
use crate::transpose::dense;
use crate::{Arg, DeviceOps, Error, KernelKey, Result};

/// [`super::segment_reduce`] by kernels of the device.
///
/// # Errors
///
/// As [`super::segment_reduce`]; what the device reports.
pub fn segment_on_device(
    ops: &DeviceOps,
    values: &Operand,
    rows: &Operand,
    count: Option<i64>,
    options: &JoinOptions,
) -> Result<Array> {
    values.check_dtype(options.name, "values")?;
    let shape = options.describe(&values.view(), &rows.view(), count)?;
    let axis = options.resolved_axis(values.rank(), rows.rank())?;
    let made = empty(ops, &shape, values.dtype)?;
    let lines = Lines::of(&shape, axis, axis);
    join(ops, values, rows, &made, &Placed::along(options, lines))?;
    Ok(made)
}

/// [`super::index_add`] by kernels of the device.
///
/// # Errors
///
/// As [`super::index_add`]; what the device reports.
pub fn index_add_on_device(
    ops: &DeviceOps,
    x: &Operand,
    indices: &Operand,
    values: &Operand,
    axis: i64,
) -> Result<Array> {
    let options = index_add_options(axis);
    x.check_dtype(options.name, "x")?;
    check_index_add(&x.view(), &indices.view(), &values.view(), &options)?;
    let made = cast::on_device(ops, x, x.dtype, None)?;
    let axis = options.resolved_axis(x.rank(), 1)?;
    let lines = Lines::of(&x.shape, axis, axis);
    join(ops, values, indices, &made, &Placed::along(&options, lines))?;
    Ok(made)
}

/// [`super::scatter_reduce`] by kernels of the device.
///
/// # Errors
///
/// As [`super::scatter_reduce`]; what the device reports.
pub fn scatter_on_device(
    ops: &DeviceOps,
    x: &Operand,
    indices: &Operand,
    values: &Operand,
    options: &ScatterReduce,
) -> Result<Array> {
    x.check_dtype(super::SCATTER_REDUCE, "x")?;
    let axis = options.check(&x.view(), &indices.view(), &values.view())?;
    let join_options = options.options();
    // Refuses dtypes.
    join_options.describe(&values.view(), &indices.view(), Some(0))?;
    let made = cast::on_device(ops, x, x.dtype, None)?;
    let mut strides = row_major(&x.shape);
    let step = std::mem::replace(&mut strides[axis], 0);
    let placed = Placed {
        options: &join_options,
        segments: made.len(),
        width: 1,
        inner: 1,
        line: Some((strides, step, x.shape[axis], axis)),
    };
    join(ops, values, indices, &made, &placed)?;
    Ok(made)
}

/// Where the rows of a result are.
struct Placed<'a> {
    options: &'a JoinOptions,
    segments: i64,
    /// Elements of a row.
    width: i64,
    /// Those of them that are adjacent.
    inner: i64,
    /// Where every index has a line of its own: strides of the lines and of the axis, its extent and its number.
    line: Option<(Dims, i64, i64, usize)>,
}

impl<'a> Placed<'a> {
    fn along(options: &'a JoinOptions, lines: Lines) -> Self {
        Self {
            options,
            segments: lines.length,
            width: lines.count,
            inner: lines.stride,
            line: None,
        }
    }
}

fn empty(ops: &DeviceOps, shape: &[i64], dtype: Dtype) -> Result<Array> {
    let shape = Dims::from_slice(shape);
    Ok(Array::empty(
        ops.device(),
        shape,
        dtype,
        MemoryKind::Device,
    )?)
}

/// Indices from so many on are looked at before they are sorted, although that waits for the device: of ordered ones it spares the sort.
const LOOK_FIRST_COUNT: i64 = 1 << 18;

fn blocks(count: i64) -> Shape {
    Shape::line(count.div_ceil_positive(source::BLOCK), source::BLOCK)
}

/// Values in the order of their rows.
struct Ordered {
    rows: Array,
    /// `None` where they are in order already.
    order: Option<Array>,
    starts: Array,
}

/// Joins values into the rows of `out`, which is dense.
fn join(
    ops: &DeviceOps,
    values: &Operand,
    rows: &Operand,
    out: &Array,
    placed: &Placed<'_>,
) -> Result<()> {
    let count = if placed.options.has_offsets {
        let axis = placed.options.resolved_axis(values.rank(), 1)?;
        values.shape[axis]
    } else {
        rows.len()
    };
    let row_type = if placed.segments < i64::from(u32::MAX) {
        UINT32
    } else {
        Dtype::U64
    };
    let joiner = Joiner {
        ops,
        placed,
        count,
        row_type,
    };
    let ordered = if placed.options.has_offsets {
        joiner.by_offsets(rows)?
    } else if count > 0 && is_joined_at_once(placed.options.join, values.dtype) {
        return joiner.at_once(&dense(ops, values)?, rows, out);
    } else {
        joiner.by_rows(rows)?
    };
    if out.is_empty() {
        return Ok(());
    }
    joiner.run(&dense(ops, values)?, &ordered, out)
}

struct Joiner<'a> {
    ops: &'a DeviceOps,
    placed: &'a Placed<'a>,
    /// Values of one element of a row.
    count: i64,
    row_type: Dtype,
}

impl Joiner<'_> {
    fn kernel(
        &self,
        name: &'static str,
        key: KernelKey,
        text: impl FnOnce() -> String,
    ) -> Result<Arc<Kernel>> {
        self.ops.kernel(key.text(name), name, text)
    }

    fn of_rows(&self) -> KernelKey {
        KernelKey::new("segments").dtype(self.row_type)
    }

    fn by_rows(&self, indices: &Operand) -> Result<Ordered> {
        let (count, segments) = (self.count, self.placed.segments);
        let starts = empty(self.ops, &[segments + 1], Dtype::I64)?;
        if count == 0 {
            starts.fill(&0_i64.to_ne_bytes())?;
            return Ok(Ordered {
                rows: empty(self.ops, &[1], self.row_type)?,
                order: None,
                starts,
            });
        }
        let note = if count < LOOK_FIRST_COUNT {
            Note::of(self.ops, self.placed.options.name)?
        } else {
            Note::waiting(self.ops)?
        };
        let mut rows = self.number_rows(indices, &note)?;
        let mut order = None;
        if !self.is_in_order(&note, indices)? {
            let radix = Radix {
                ops: self.ops,
                memory: &rows,
                source: KeySource::keys(self.row_type, "key".to_owned()),
                key: self.of_rows().text("keys"),
                lines: Lines {
                    count: 1,
                    length: count,
                    stride: 1,
                },
                // Rows that take no part have the number behind the last one.
                bits: i64::from(64 - segments.leading_zeros()).max(1),
                place: Some(place_type(count)),
            };
            let sorted = radix.sort()?;
            (rows, order) = (sorted.keys, sorted.places);
        }
        let kernel = self.kernel("segment_starts", self.of_rows(), || {
            starts_source(self.row_type)
        })?;
        let mut args = [&rows, &starts].map(Arg::Array).to_vec();
        args.extend([count, segments].map(Arg::from));
        launch(&kernel, blocks(segments + 1), &args)?;
        Ok(Ordered {
            rows,
            order,
            starts,
        })
    }

    /// Joins values with their rows in any order.
    fn at_once(&self, values: &Array, indices: &Operand, out: &Array) -> Result<()> {
        let Placed {
            options,
            segments,
            width,
            inner,
            ..
        } = *self.placed;
        let note = Note::of(self.ops, options.name)?;
        let rows = self.number_rows(indices, &note)?;
        if !out.is_empty() {
            self.start(&rows, out)?;
            let key = self.of_rows().text(options.join.name()).dtype(values.dtype);
            let kernel = self.kernel("segment_at_once", key, || {
                at_once_source(options.join, values.dtype, self.row_type)
            })?;
            let mut args = [values, &rows, out].map(Arg::Array).to_vec();
            args.extend([self.count, segments, width, inner].map(Arg::from));
            launch(&kernel, blocks(self.count * width), &args)?;
        }
        self.is_in_order(&note, indices)?;
        Ok(())
    }

    /// Rows begin with what joins to any value without a change, unless what they hold takes part.
    fn start(&self, rows: &Array, out: &Array) -> Result<()> {
        let Placed {
            options,
            segments,
            width,
            inner,
            ..
        } = *self.placed;
        let (row_type, count) = match options.start {
            Start::Include => return Ok(()),
            Start::Keep => (Some(self.row_type), self.count),
            Start::Fill => (None, segments),
        };
        let mut key = KernelKey::new("segment start")
            .text(options.join.name())
            .dtype(out.dtype);
        if let Some(dtype) = row_type {
            key = key.dtype(dtype);
        }
        let kernel = self.kernel("segment_start", key, || {
            start_source(options.join, out.dtype, row_type)
        })?;
        let mut args = Vec::with_capacity(6);
        args.extend(row_type.map(|_| Arg::Array(rows)));
        args.push(Arg::Array(out));
        args.extend([count, segments, width, inner].map(Arg::from));
        launch(&kernel, blocks(count * width), &args)
    }

    /// The number of the row of each index; an index that is none is noted.
    fn number_rows(&self, indices: &Operand, note: &Note) -> Result<Array> {
        let Placed {
            options, segments, ..
        } = *self.placed;
        // A number is an array of one.
        let indices = if indices.is_number() {
            Operand::of_array(cast::on_device(self.ops, indices, indices.dtype, None)?)
        } else {
            indices.clone()
        };
        let plain = (Dims::from_elem(0, indices.rank()), 1, segments, 0);
        let (line, step, extent, _) = self.placed.line.as_ref().unwrap_or(&plain);
        let (extents, strides) = coalesce(&indices.shape, [&indices.strides, line]);
        let wraps = options.wraps || self.placed.line.is_some();
        let key = self
            .of_rows()
            .dtype(indices.dtype)
            .with(extents.len() as u64)
            .flag(indices.is_dense())
            .flag(wraps);
        let kernel = self.kernel("segment_rows", key, || {
            rows_source(
                indices.dtype,
                self.row_type,
                extents.len(),
                indices.is_dense(),
                wraps,
            )
        })?;
        let rows = empty(self.ops, &[self.count], self.row_type)?;
        let mut args: SmallVec<[Arg<'_>; 24]> = SmallVec::new();
        args.extend([Arg::pointer(&indices), Arg::Array(&rows), note.argument()]);
        let skipped = options.skipped.unwrap_or(-1);
        args.extend([self.count, *extent, *step, segments, skipped].map(Arg::from));
        args.extend_from_slice(&source::walk_arguments(&extents, &strides));
        launch(&kernel, blocks(self.count), &args)?;
        drop(args);
        Ok(rows)
    }

    /// Refuses an index that a kernel has noted.
    fn refuse(&self, noted: Option<u64>, indices: &Operand) -> Result<()> {
        let Some(noted) = noted else {
            return Ok(());
        };
        let place = noted as i64;
        let index = offsets::element(indices, place)?;
        let message = match &self.placed.line {
            Some((_, _, extent, axis)) => format!(
                "index {index} is out of bounds for axis {axis} with size {extent}: it stands at place {place} of the indices"
            ),
            None => format!(
                "index {index} at place {place} is none of {} rows",
                self.placed.segments
            ),
        };
        Err(Error::refused(ErrorCode::IndexOutOfRange, message))
    }

    /// Whether it is known that no number of a row is smaller than the one before it. Waits for the device, to refuse what is no index, unless that
    /// is put off; nor does a graph that is recorded know anything.
    fn is_in_order(&self, note: &Note, indices: &Operand) -> Result<bool> {
        let Some((bad, falls)) = note.look()? else {
            return Ok(false);
        };
        self.refuse(bad, indices)?;
        Ok(falls == 0)
    }

    fn by_offsets(&self, given: &Operand) -> Result<Ordered> {
        let segments = self.placed.segments;
        let index = dense(self.ops, given)?;
        let starts = empty(self.ops, &[segments + 1], Dtype::I64)?;
        let rows = empty(self.ops, &[self.count.max(1)], self.row_type)?;
        let note = Note::waiting(self.ops)?;
        let key = KernelKey::new("segments").dtype(index.dtype);
        let kernel = self.kernel("segment_offsets", key, || offsets_source(index.dtype))?;
        let mut args = vec![Arg::Array(&index), Arg::Array(&starts), note.argument()];
        args.extend([segments, self.count].map(Arg::from));
        launch(&kernel, blocks(segments + 1), &args)?;
        if let Some(noted) = note.first_bad()? {
            let place = noted as i64;
            let offset = offsets::element(given, place)?;
            return Err(Error::refused(
                ErrorCode::IndexOutOfRange,
                format!(
                    "offset {offset} at place {place} is not between the one before it and the number of values ({})",
                    self.count
                ),
            ));
        }
        if self.count > 0 {
            let kernel = self.kernel("segment_of_starts", self.of_rows(), || {
                rows_of_starts_source(self.row_type)
            })?;
            let mut args = [&starts, &rows].map(Arg::Array).to_vec();
            args.extend([self.count, segments].map(Arg::from));
            launch(&kernel, blocks(self.count), &args)?;
        }
        Ok(Ordered {
            rows,
            order: None,
            starts,
        })
    }

    fn run(&self, values: &Array, ordered: &Ordered, out: &Array) -> Result<()> {
        let Placed {
            options,
            segments,
            width,
            inner,
            ..
        } = *self.placed;
        let text = SegmentKernel {
            join: options.join,
            start: options.start,
            dtype: values.dtype,
            row: self.row_type,
            place: ordered.order.as_ref().map(|order| order.dtype),
        };
        let mut key = self
            .of_rows()
            .text(options.join.name())
            .with(options.start as u64)
            .dtype(values.dtype);
        if let Some(place) = text.place {
            key = key.dtype(place);
        }
        let chunks = self.count.div_ceil_positive(CHUNK);
        let state = state_of(options.join, values.dtype);
        let parts = empty(self.ops, &[(chunks * 2 * width).max(1)], state)?;
        if self.count > 0 {
            let kernel = self.kernel("segment_chunks", key.clone(), || chunks_source(&text))?;
            let arrays = [values, &ordered.rows, &ordered.starts, out, &parts];
            let mut args = arrays.map(Arg::Array).to_vec();
            args.extend([self.count, segments, width, inner].map(Arg::from));
            args.extend(ordered.order.as_ref().map(Arg::Array));
            launch(&kernel, blocks(chunks * width), &args)?;
        }
        let crosses = chunks > 1 || options.start == Start::Fill;
        if !crosses {
            return Ok(());
        }
        let kernel = self.kernel("segment_finish", key, || finish_source(&text))?;
        let mut args = [&parts, &ordered.starts, out].map(Arg::Array).to_vec();
        args.extend([segments, width, inner].map(Arg::from));
        launch(&kernel, blocks(segments * width), &args)
    }
}
