//! Segmented reductions by kernels of a device: rows become numbers, which are sorted where they do not rise already, and the values are joined in
//! that order. Values whose order does not show are joined at once.

use std::sync::Arc;

use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, Dims, coalesce, row_major};
use amdgpu_aura::Kernel;
use amdgpu_hal::MemoryKind;
use smallvec::SmallVec;

use super::{Join, JoinOptions, ScatterReduce, Start, check_index_add, index_add_options};
use crate::cast;
use crate::div_ceil::DivCeil;
use crate::generated::radix::KeySource;
use crate::generated::segments::{
    CHUNK, RowOf, SegmentKernel, at_once_source, chunks_source, crossing_source, finish_source,
    is_joined_at_once, offsets_source, rows_of_starts_source, rows_source, start_source,
    starts_source, state_of,
};
use crate::generated::source;
use crate::index_notes::Note;
use crate::launch::{Shape, launch};
use crate::lines::Lines;
use crate::offsets;
use crate::operand::Operand;
use crate::radix::{Radix, Sorted, UINT32, place_type};
use crate::transpose::dense;
use crate::words::words;
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

fn blocks(count: i64) -> Shape {
    Shape::line(count.div_ceil_positive(source::BLOCK), source::BLOCK)
}

/// Values in the order of their rows.
struct Ordered {
    rows: Array,
    /// `None` where the rows are in order by what they are made of.
    sorted: Option<SortedRows>,
    /// Where the values of each row begin; `None` where nobody asks.
    starts: Option<Array>,
}

/// Rows in order and the places of their values, unless the word says that the rows were in order before.
struct SortedRows {
    rows: Array,
    order: Array,
    falls: Array,
}

impl SortedRows {
    fn args(&self) -> [Arg<'_>; 2] {
        [&self.rows, &self.falls].map(Arg::Array)
    }
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
    if count == 0 && !placed.options.has_offsets {
        return joiner.run(values, &joiner.of_none()?, out);
    }
    // What is noted about the indices is read last: the device joins values meanwhile.
    if placed.options.has_offsets {
        let note = Note::own(ops)?;
        let ordered = joiner.by_offsets(rows, &note)?;
        joiner.run(values, &ordered, out)?;
        return joiner.refuse_offsets(note, rows);
    }
    let note = Note::of(ops, placed.options.name)?;
    let indices = Indices::of(ops, placed, rows)?;
    if is_joined_at_once(placed.options.join, values.dtype) {
        joiner.at_once(values, &indices, out, &note)?;
    } else {
        let ordered = joiner.by_rows(&indices, &note)?;
        joiner.run(values, &ordered, out)?;
    }
    joiner.refuse(note, &indices.given)
}

type Args<'a> = SmallVec<[Arg<'a>; 24]>;

/// Indices, and how rows follow from them.
struct Indices {
    given: Operand,
    text: RowOf,
    extents: Dims,
    strides: Vec<Dims>,
    /// Of an axis, the distance between its rows, how many rows there are, and the one that receives nothing.
    numbers: [i64; 4],
}

impl Indices {
    fn of(ops: &DeviceOps, placed: &Placed<'_>, indices: &Operand) -> Result<Self> {
        let Placed {
            options, segments, ..
        } = *placed;
        // A number is an array of one.
        let given = if indices.is_number() {
            Operand::of_array(cast::on_device(ops, indices, indices.dtype, None)?)
        } else {
            indices.clone()
        };
        let plain = (Dims::from_elem(0, given.rank()), 1, segments, 0);
        let (line, step, extent, _) = placed.line.as_ref().unwrap_or(&plain);
        let (extents, strides) = coalesce(&given.shape, [&given.strides, line]);
        let text = RowOf {
            index: given.dtype,
            rank: extents.len(),
            is_dense: given.is_dense(),
            wraps: options.wraps || placed.line.is_some(),
        };
        Ok(Self {
            given,
            text,
            extents,
            strides: strides.to_vec(),
            numbers: [*extent, *step, segments, options.skipped.unwrap_or(-1)],
        })
    }

    fn key(&self, family: &'static str) -> KernelKey {
        KernelKey::new(family)
            .dtype(self.text.index)
            .with(self.text.rank as u64)
            .flag(self.text.is_dense)
            .flag(self.text.wraps)
    }

    /// Adds the arguments behind those of the kernel.
    fn add_numbers(&self, args: &mut Args<'_>) {
        args.extend(self.numbers.map(Arg::from));
        args.extend_from_slice(&source::walk_arguments(&self.extents, &self.strides));
    }
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

    /// Whether rows are finished one by one, by where they begin.
    fn asks_where_rows_begin(&self) -> bool {
        let options = self.placed.options;
        options.start == Start::Fill || options.join == Join::Mean
    }

    /// No values at all.
    fn of_none(&self) -> Result<Ordered> {
        let starts = empty(self.ops, &[self.placed.segments + 1], Dtype::I64)?;
        starts.fill(&0_i64.to_ne_bytes())?;
        Ok(Ordered {
            rows: empty(self.ops, &[1], self.row_type)?,
            sorted: None,
            starts: Some(starts),
        })
    }

    fn by_rows(&self, indices: &Indices, note: &Note<'_>) -> Result<Ordered> {
        let (count, segments) = (self.count, self.placed.segments);
        let rows = empty(self.ops, &[count], self.row_type)?;
        let falls = words(self.ops, 1, 1)?;
        self.note_rows(indices, note, Some([&rows, &falls]))?;
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
            wanted: Some(&falls),
        };
        let Sorted { keys, places } = radix.sort()?;
        let order = places.ok_or_else(|| Error::no_kernel("a sort without places"))?;
        let sorted = SortedRows {
            rows: keys,
            order,
            falls,
        };
        let starts = if self.asks_where_rows_begin() {
            let starts = empty(self.ops, &[segments + 1], Dtype::I64)?;
            let kernel = self.kernel("segment_starts", self.of_rows(), || {
                starts_source(self.row_type)
            })?;
            let mut args = [&rows, &starts].map(Arg::Array).to_vec();
            args.extend([count, segments].map(Arg::from));
            args.extend(sorted.args());
            launch(&kernel, blocks(segments + 1), &args)?;
            Some(starts)
        } else {
            None
        };
        Ok(Ordered {
            rows,
            sorted: Some(sorted),
            starts,
        })
    }

    /// Joins values with their rows in any order.
    fn at_once(
        &self,
        values: &Operand,
        indices: &Indices,
        out: &Array,
        note: &Note<'_>,
    ) -> Result<()> {
        let Placed {
            options,
            width,
            inner,
            ..
        } = *self.placed;
        self.note_rows(indices, note, None)?;
        if out.is_empty() {
            return Ok(());
        }
        self.start(indices, out)?;
        let values = dense(self.ops, values)?;
        let is_narrow = source::is_narrow(self.count * width);
        let key = indices
            .key("segment at once")
            .text(options.join.name())
            .dtype(values.dtype)
            .flag(is_narrow);
        let kernel = self.kernel("segment_at_once", key, || {
            at_once_source(options.join, values.dtype, &indices.text, is_narrow)
        })?;
        let mut args = Args::new();
        args.push(Arg::pointer(&indices.given));
        args.extend([&values, out].map(Arg::Array));
        args.extend([self.count, width, inner].map(Arg::from));
        indices.add_numbers(&mut args);
        launch(&kernel, blocks(self.count * width), &args)
    }

    /// Rows begin with what joins to any value without a change, unless what they hold takes part.
    fn start(&self, indices: &Indices, out: &Array) -> Result<()> {
        let Placed {
            options,
            segments,
            width,
            inner,
            ..
        } = *self.placed;
        let (of, count) = match options.start {
            Start::Include => return Ok(()),
            Start::Keep => (Some(&indices.text), self.count),
            Start::Fill => (None, segments),
        };
        let key = match of {
            Some(_) => indices.key("segment start of rows"),
            None => KernelKey::new("segment start"),
        };
        let key = key.text(options.join.name()).dtype(out.dtype);
        let kernel = self.kernel("segment_start", key, || {
            start_source(options.join, out.dtype, of)
        })?;
        let mut args = Args::new();
        args.extend(of.map(|_| Arg::pointer(&indices.given)));
        args.push(Arg::Array(out));
        args.extend([count, width, inner].map(Arg::from));
        if of.is_some() {
            indices.add_numbers(&mut args);
        } else {
            args.push(Arg::from(segments));
        }
        launch(&kernel, blocks(count * width), &args)
    }

    /// Notes an index that is none, and makes the number of the row of each index, with a word that says whether they fall anywhere.
    fn note_rows(
        &self,
        indices: &Indices,
        note: &Note<'_>,
        made: Option<[&Array; 2]>,
    ) -> Result<()> {
        let row = made.map(|_| self.row_type);
        let mut key = indices.key("segment rows");
        if let Some(dtype) = row {
            key = key.dtype(dtype);
        }
        let kernel = self.kernel("segment_rows", key, || rows_source(&indices.text, row))?;
        let mut args = Args::new();
        args.push(Arg::pointer(&indices.given));
        args.push(note.argument());
        args.extend(made.into_iter().flatten().map(Arg::Array));
        args.push(Arg::from(self.count));
        indices.add_numbers(&mut args);
        launch(&kernel, blocks(self.count), &args)?;
        note.end()
    }

    /// Refuses an index that a kernel has noted.
    fn refuse(&self, note: Note<'_>, indices: &Operand) -> Result<()> {
        let Some(place) = note.read()? else {
            return Ok(());
        };
        let index = offsets::element(indices, place as i64)?;
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

    fn by_offsets(&self, given: &Operand, note: &Note<'_>) -> Result<Ordered> {
        let segments = self.placed.segments;
        let index = dense(self.ops, given)?;
        let starts = empty(self.ops, &[segments + 1], Dtype::I64)?;
        let rows = empty(self.ops, &[self.count.max(1)], self.row_type)?;
        let key = KernelKey::new("segments").dtype(index.dtype);
        let kernel = self.kernel("segment_offsets", key, || offsets_source(index.dtype))?;
        let mut args = [&index, &starts].map(Arg::Array).to_vec();
        args.push(note.argument());
        args.extend([segments, self.count].map(Arg::from));
        launch(&kernel, blocks(segments + 1), &args)?;
        note.end()?;
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
            sorted: None,
            starts: Some(starts),
        })
    }

    /// Refuses an offset that the kernel of [`Self::by_offsets`] has noted.
    fn refuse_offsets(&self, note: Note<'_>, given: &Operand) -> Result<()> {
        let Some(place) = note.read()? else {
            return Ok(());
        };
        let offset = offsets::element(given, place as i64)?;
        Err(Error::refused(
            ErrorCode::IndexOutOfRange,
            format!(
                "offset {offset} at place {place} is not between the one before it and the number of values ({})",
                self.count
            ),
        ))
    }

    fn run(&self, values: &Operand, ordered: &Ordered, out: &Array) -> Result<()> {
        if out.is_empty() {
            return Ok(());
        }
        let values = &dense(self.ops, values)?;
        let Placed {
            options,
            segments,
            width,
            inner,
            ..
        } = *self.placed;
        let sorted = ordered.sorted.as_ref();
        let text = SegmentKernel {
            join: options.join,
            start: options.start,
            dtype: values.dtype,
            row: self.row_type,
            place: sorted.map(|sorted| sorted.order.dtype),
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
        let sizes = [self.count, segments, width, inner].map(Arg::from);
        if self.count > 0 {
            let kernel = self.kernel("segment_chunks", key.clone(), || chunks_source(&text))?;
            let mut args = [values, &ordered.rows, out, &parts]
                .map(Arg::Array)
                .to_vec();
            args.extend(sizes);
            args.extend(sorted.into_iter().flat_map(SortedRows::args));
            args.extend(sorted.map(|sorted| Arg::Array(&sorted.order)));
            launch(&kernel, blocks(chunks * width), &args)?;
        }
        if chunks <= 1 && options.start != Start::Fill {
            return Ok(());
        }
        if let Some(starts) = &ordered.starts {
            let kernel = self.kernel("segment_finish", key, || finish_source(&text))?;
            let mut args = [&parts, starts, out].map(Arg::Array).to_vec();
            args.extend([segments, width, inner].map(Arg::from));
            return launch(&kernel, blocks(segments * width), &args);
        }
        let kernel = self.kernel("segment_crossing", key, || crossing_source(&text))?;
        let mut args = [&parts, &ordered.rows, out].map(Arg::Array).to_vec();
        args.extend(sizes);
        args.extend(sorted.into_iter().flat_map(SortedRows::args));
        launch(&kernel, blocks((chunks - 1) * width), &args)
    }
}
