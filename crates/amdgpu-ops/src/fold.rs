//! Folds of axes by generated kernels, in one step or several.
//!
//! A block has ROWS x LANES work-items: the lanes of a row fold results together, each every LANES-th value, and then in a tree. Where
//! neighbours in memory belong to one result, they are neighbouring lanes; else neighbouring rows, of which each has as many results as 16
//! bytes hold values. Long folds are cut into chunks of a fixed length, folded side by side, and their results folded again: the order
//! follows from the shape and the dtype alone, so the bits are the same on every device. Sums of floats are carried in float64.

use amdgpu_abi::Dtype;
use amdgpu_array::{Array, Dims, coalesce};
use amdgpu_hal::MemoryKind;
use smallvec::SmallVec;

use crate::div_ceil::DivCeil;
use crate::generated::fold::{
    COLUMNS_AHEAD, Fold, Form, Signature, Walk, again_source, first_source, most_ahead, usual_ahead,
};
use crate::generated::source;
use crate::kernel_form::KernelForm;
use crate::launch::{Shape, launch};
use crate::operand::Operand;
use crate::tuning::{Forms, size_class};
use crate::{Arg, DeviceOps, KernelKey, Result};

/// Values of a row that a lane folds one after the other, which leaves work for every unit of a GPU, ...
const SERIAL: i64 = 64;
/// ... and more of long rows, until they make no more blocks than the largest GPUs hold at once: what they leave is folded again.
const ROW_BLOCKS: i64 = 2048;
const SERIAL_LIMIT: i64 = 1024;
/// The same of columns, for values of four bytes and more: 4096 x 4096 of them make 512 blocks, which 132 units hold at once. Narrower ones
/// have half as many, since a block has twice the columns.
const COLUMN_SERIAL: i64 = 32;
const NARROW_BYTES: usize = 2;
/// The same where states are closed and joined by divisions of float64, which cost as much as a dozen values.
const CLOSED_SERIAL: i64 = 64;
/// Columns of a work-item whose numbers are of float64 and more than one for each.
const WIDE_PARTS_LIMIT: i64 = 4;
/// Values of a lane, as long as rows have so many.
const LEAST_VALUES: i64 = 4;
/// Rows of a block of columns: with 16 bytes for each it reads 512 bytes side by side.
const COLUMN_ROWS: i64 = 32;
const VECTOR_BYTES: usize = 16;
/// Columns of a work-item; beyond, states take too many registers.
const WIDTH_LIMIT: i64 = 8;
/// Lanes that fold states of columns again: each has a few values, all asked for at once.
const AGAIN_LANES: i64 = 64;
const AGAIN_VALUES: i64 = 4;

/// What is folded.
#[derive(Clone, Debug)]
pub struct Problem<'a> {
    pub fold: Fold,
    /// The values, in memory.
    pub x: &'a Operand,
    /// In which values are mapped.
    pub computed: Dtype,
    pub result: Dtype,
    /// Axes of x that stay, in the order of the result.
    pub kept: &'a [usize],
    /// Axes that are folded, in the order that counts indices.
    pub reduced: &'a [usize],
    /// For `Fold::finished`.
    pub divisor: f64,
}

impl Problem<'_> {
    fn signature(&self) -> Signature<'_> {
        Signature {
            fold: &self.fold,
            x: self.x.dtype,
            computed: self.computed,
            result: self.result,
        }
    }

    fn key(&self, family: &'static str, form: &Form) -> KernelKey {
        KernelKey::new(family)
            .text(self.fold.name)
            .dtype(self.fold.state)
            .dtype(self.x.dtype)
            .dtype(self.computed)
            .dtype(self.result)
            .with(form.lanes as u64)
            .with(form.width as u64)
            .with(form.group as u64)
            .flag(form.is_column)
            .flag(form.is_last)
            .flag(form.is_aligned)
            .with(form.launched.block as u64)
            .with(form.launched.ahead as u64)
    }

    /// What the tuning database calls the step that reads values: all that its fastest form depends on but for the architecture.
    fn subject(&self, first: &First) -> String {
        let form = &first.form;
        format!(
            "reduction {} {} to {} of 2^{} by 2^{} {} lanes {} width {} group {}{} axes {}, {}",
            self.fold.name,
            self.x.dtype.name().unwrap_or("?"),
            self.result.name().unwrap_or("?"),
            size_class(first.outputs),
            size_class(first.length),
            if form.is_column { "columns" } else { "rows" },
            form.lanes,
            form.width,
            form.group,
            if form.is_aligned { " aligned" } else { "" },
            first.kept.0.len(),
            first.reduced.0.len(),
        )
    }
}

/// Chooses the form of a kernel by what tells it from others, by the forms it may have, and by what the tuning database calls it.
pub type Choose<'a> = dyn Fn(&KernelKey, &Forms, &dyn Fn() -> String) -> KernelForm + 'a;

/// What the tuning database calls the step of a fold that reads values, and the forms it may have; `None` where there is no result.
#[must_use]
pub fn forms(ops: &DeviceOps, problem: &Problem<'_>) -> Option<(String, Forms)> {
    let first = First::choose(problem)?;
    Some((problem.subject(&first), first.forms(ops, problem)))
}

/// Folds x into `out`, which is dense and in the order of the kept axes. `shift` holds a number of float64 for each result, where the fold
/// takes one. `choose` says which form the step has that reads values; none changes a bit.
///
/// # Errors
///
/// What the compiler or the device reports.
pub fn fold(
    ops: &DeviceOps,
    problem: &Problem<'_>,
    out: &Array,
    shift: Option<&Array>,
    choose: &Choose<'_>,
) -> Result<()> {
    let Some(mut first) = First::choose(problem) else {
        return Ok(());
    };
    let key = problem
        .key("fold form", &first.form)
        .with(first.kept.0.len() as u64)
        .with(first.reduced.0.len() as u64)
        .with(u64::from(size_class(first.outputs)))
        .with(u64::from(size_class(first.length)));
    let forms = first.forms(ops, problem);
    first.form.launched = choose(&key, &forms, &|| problem.subject(&first));
    let mut count = first.chunks;
    let mut states = first.launch(ops, problem, out, shift)?;
    while let Some(given) = states {
        let again = Again::choose(first.outputs, count);
        count = again.chunks;
        states = again.launch(ops, problem, &given, out)?;
    }
    Ok(())
}

/// Memory for the states that a step leaves of each chunk.
fn states(
    ops: &DeviceOps,
    problem: &Problem<'_>,
    outputs: i64,
    chunks: i64,
) -> Result<Option<Array>> {
    if chunks == 1 {
        return Ok(None);
    }
    let bytes = chunks * outputs * problem.fold.state_bytes();
    let byte = Dtype::U8;
    let made = Array::empty(
        ops.device(),
        Dims::from_slice(&[bytes]),
        byte,
        MemoryKind::Device,
    )?;
    Ok(Some(made))
}

/// The step that reads values, as it is chosen.
#[derive(Debug)]
struct First {
    form: Form,
    /// Extents and strides of the kept and of the reduced axes.
    kept: (Dims, Dims),
    reduced: (Dims, Dims),
    outputs: i64,
    /// Values of a result, and those of a chunk.
    length: i64,
    chunk: i64,
    chunks: i64,
}

impl First {
    /// `None` where there is no result.
    fn choose(problem: &Problem<'_>) -> Option<Self> {
        let x = problem.x;
        let kept = joined_axes(x, problem.kept);
        let reduced = joined_axes(x, problem.reduced);
        let product = |axes: &[usize]| axes.iter().map(|axis| x.shape[*axis]).product::<i64>();
        let (outputs, length) = (product(problem.kept), product(problem.reduced));
        if outputs == 0 {
            return None;
        }
        let (kept_step, reduced_step) = (last(&kept.1), last(&reduced.1));
        let is_column =
            outputs > 1 && length > 1 && kept_step.unsigned_abs() < reduced_step.unsigned_abs();
        let is_gapless = reduced.1.as_slice() == [1];
        let group = if !is_column && is_gapless {
            neighbours(x.dtype)
        } else {
            1
        };
        let most = most_columns(x.dtype, &problem.fold);
        let (lanes, serial) = if is_column {
            column_lanes(x.dtype, &problem.fold, outputs, most)
        } else {
            row_lanes(outputs, length, group)
        };
        let width = if is_column {
            width(x, most, &kept, &reduced.1)
        } else {
            1
        };
        let chunk = lanes * serial;
        let chunks = length.div_ceil_positive(chunk).max(1);
        let form = Form {
            lanes,
            width,
            is_column,
            // Where a chunk is all, the first kernel gives the result.
            is_last: chunks == 1,
            group,
            is_aligned: group > 1
                && is_aligned(x, group)
                && kept.1.iter().all(|stride| stride % group == 0),
            launched: KernelForm {
                block: source::BLOCK,
                ahead: usual_ahead(&problem.signature(), is_column, group),
            },
        };
        Some(Self {
            form,
            kept,
            reduced,
            outputs,
            length,
            chunk,
            chunks,
        })
    }

    /// The forms that give the same bits: lanes and chunks, by which values are added, are none of their business.
    fn forms(&self, ops: &DeviceOps, problem: &Problem<'_>) -> Forms {
        let most = most_ahead(&problem.signature());
        Forms::of(
            ops.device().info(),
            self.form.launched,
            self.form.lanes,
            most,
        )
    }

    /// The states of the chunks; `None` where `out` has the results.
    fn launch(
        &self,
        ops: &DeviceOps,
        problem: &Problem<'_>,
        out: &Array,
        shift: Option<&Array>,
    ) -> Result<Option<Array>> {
        let walk = Walk {
            is_dense: problem.x.is_dense(),
            kept_rank: self.kept.0.len(),
            reduced_rank: self.reduced.0.len(),
            outputs_index: source::index_type(self.outputs),
            length_index: source::index_type(self.length),
        };
        let key = problem
            .key("fold", &self.form)
            .with(walk.kept_rank as u64)
            .with(walk.reduced_rank as u64)
            .flag(walk.is_dense)
            .flag(source::is_narrow(self.length))
            .flag(source::is_narrow(self.outputs));
        let kernel = ops.kernel(key, "fold", || {
            first_source(&problem.signature(), &self.form, &walk)
        })?;
        let states = states(ops, problem, self.outputs, self.chunks)?;
        let mut args: SmallVec<[Arg<'_>; 24]> = SmallVec::new();
        args.push(Arg::pointer(problem.x));
        args.push(Arg::Array(states.as_ref().unwrap_or(out)));
        args.extend(shift.map(Arg::Array));
        args.extend([self.outputs, self.length, self.chunk].map(Arg::from));
        args.push(Arg::Float(problem.divisor));
        for (extents, strides) in [&self.kept, &self.reduced] {
            args.extend_from_slice(&source::walk_arguments(
                extents,
                std::slice::from_ref(strides),
            ));
        }
        let across = self
            .outputs
            .div_ceil_positive(self.form.rows() * self.form.width);
        let mut begin = 0;
        while begin < self.chunks {
            args.push(Arg::from(begin));
            let down = (self.chunks - begin).min(source::GRID_LIMIT);
            launch(&kernel, shape([across, down, 1], &self.form), &args)?;
            args.pop();
            begin += source::GRID_LIMIT;
        }
        drop(args);
        Ok(states)
    }
}

/// The step that folds the states of chunks, which lie chunk after chunk.
#[derive(Debug)]
struct Again {
    form: Form,
    outputs: i64,
    /// States of a result, those of a chunk, and how many the step leaves.
    count: i64,
    chunk: i64,
    chunks: i64,
}

impl Again {
    fn choose(outputs: i64, count: i64) -> Self {
        let is_column = outputs > 1;
        let lanes = if is_column {
            let mut lanes = 1;
            while lanes < AGAIN_LANES && lanes * AGAIN_VALUES < count {
                lanes *= 2;
            }
            lanes
        } else {
            lanes_for(count, LEAST_VALUES)
        };
        let chunk = lanes * SERIAL;
        let chunks = count.div_ceil_positive(chunk);
        Self {
            form: Form {
                lanes,
                width: 1,
                is_column,
                is_last: chunks == 1,
                group: 1,
                is_aligned: false,
                launched: KernelForm {
                    block: source::BLOCK,
                    ahead: COLUMNS_AHEAD,
                },
            },
            outputs,
            count,
            chunk,
            chunks,
        }
    }

    /// The states that are left; `None` where `out` has the results.
    fn launch(
        &self,
        ops: &DeviceOps,
        problem: &Problem<'_>,
        given: &Array,
        out: &Array,
    ) -> Result<Option<Array>> {
        let key = problem.key("fold again", &self.form);
        let kernel = ops.kernel(key, "fold", || {
            again_source(&problem.signature(), &self.form)
        })?;
        let states = states(ops, problem, self.outputs, self.chunks)?;
        let args = [
            Arg::Array(given),
            Arg::Array(states.as_ref().unwrap_or(out)),
            Arg::from(self.outputs),
            Arg::from(self.count),
            Arg::from(self.chunk),
            Arg::Float(problem.divisor),
            Arg::from(0),
        ];
        let across = self.outputs.div_ceil_positive(self.form.rows());
        launch(&kernel, shape([across, self.chunks, 1], &self.form), &args)?;
        Ok(states)
    }
}

fn shape(grid: [i64; 3], form: &Form) -> Shape {
    Shape {
        grid,
        block: form.block(),
        shared_bytes: 0,
    }
}

/// Extents and strides of some axes, with as few as there can be.
fn joined_axes(x: &Operand, axes: &[usize]) -> (Dims, Dims) {
    let shape: Dims = axes.iter().map(|axis| x.shape[*axis]).collect();
    let strides: Dims = axes.iter().map(|axis| x.strides[*axis]).collect();
    let (extents, [joined]) = coalesce(&shape, [&strides]);
    (extents, joined)
}

/// The last of strides, of which there is at least one.
fn last(strides: &[i64]) -> i64 {
    strides[strides.len() - 1]
}

/// Whether the array begins where so many values are read at once.
fn is_aligned(x: &Operand, count: i64) -> bool {
    x.address()
        .is_multiple_of(count as u64 * x.item_bytes() as u64)
}

/// Lanes that fold a row, and values of each.
pub(crate) fn row_lanes(outputs: i64, length: i64, group: i64) -> (i64, i64) {
    let (lanes, mut serial) = (lanes_for(length, group.max(LEAST_VALUES)), SERIAL);
    while serial < SERIAL_LIMIT
        && outputs.saturating_mul(length) > ROW_BLOCKS * lanes * serial
        && length > lanes * serial
    {
        serial *= 2;
    }
    (lanes, serial)
}

fn lanes_for(length: i64, least: i64) -> i64 {
    let mut lanes = 1;
    while lanes < source::BLOCK && lanes * least < length {
        lanes *= 2;
    }
    lanes
}

/// Lanes that fold a column, and values of each: of shape and dtype alone, wherever the array begins.
fn column_lanes(x: Dtype, fold: &Fold, outputs: i64, most: i64) -> (i64, i64) {
    let (mut rows, wide) = (1, outputs.div_ceil_positive(most));
    while rows < COLUMN_ROWS && rows < wide {
        rows *= 2;
    }
    let serial = if fold.closed.is_some() {
        CLOSED_SERIAL
    } else if x.size_bytes() <= NARROW_BYTES {
        COLUMN_SERIAL / 2
    } else {
        COLUMN_SERIAL
    };
    (source::BLOCK / rows, serial)
}

/// Neighbouring columns of a work-item at most.
fn most_columns(x: Dtype, fold: &Fold) -> i64 {
    let is_wide = fold.closed.is_some_and(|closed| closed.part == Dtype::F64);
    if is_wide {
        neighbours(x).min(WIDE_PARTS_LIMIT)
    } else {
        neighbours(x)
    }
}

/// Neighbours that are read at once.
pub(crate) fn neighbours(x: Dtype) -> i64 {
    ((VECTOR_BYTES / x.size_bytes()) as i64).min(WIDTH_LIMIT)
}

/// Neighbouring columns that a work-item reads at once: all that fit, or one.
fn width(x: &Operand, most: i64, kept: &(Dims, Dims), reduced_strides: &[i64]) -> i64 {
    let (extents, strides) = kept;
    let others = &strides[..strides.len() - 1];
    let are_whole = others
        .iter()
        .chain(reduced_strides)
        .all(|stride| stride % most == 0);
    let is_packed =
        are_whole && is_aligned(x, most) && last(strides) == 1 && last(extents) % most == 0;
    if is_packed { most } else { 1 }
}

#[cfg(test)]
mod tests {
    use amdgpu_array::row_major;
    use amdgpu_matrix::Reduce;

    use super::*;
    use crate::generated::reduce;
    use crate::operand::Scalar;

    /// A step: lanes, width, group, whether it folds columns, whether it reads groups at once, values of a chunk, chunks.
    type Step = (i64, i64, i64, bool, bool, i64, i64);
    /// Shape, reduced axes, dtype and operation, with the steps that are chosen.
    type Choice<'a> = (&'a [i64], &'a [usize], Dtype, Reduce, &'a [Step]);

    /// A dense tensor whose memory, at address 0, is not looked at.
    fn dense(shape: &[i64], dtype: Dtype) -> Operand {
        Operand::of_number(Scalar::Int(0), dtype)
            .with_layout(Dims::from_slice(shape), row_major(shape))
    }

    fn steps(x: &Operand, reduced: &[usize], operation: Reduce) -> Vec<Step> {
        let (computed, result) = operation.dtypes(x.dtype);
        let kept: Vec<usize> = (0..x.rank())
            .filter(|axis| !reduced.contains(axis))
            .collect();
        let problem = Problem {
            fold: reduce::fold(operation, x.dtype, computed),
            x,
            computed,
            result,
            kept: &kept,
            reduced,
            divisor: 1.0,
        };
        let step = |form: Form, chunk, chunks| {
            let columns = form.is_column;
            (
                form.lanes,
                form.width,
                form.group,
                columns,
                form.is_aligned,
                chunk,
                chunks,
            )
        };
        let first = First::choose(&problem).unwrap();
        let mut made = vec![step(first.form, first.chunk, first.chunks)];
        let mut chunks = first.chunks;
        while chunks > 1 {
            let again = Again::choose(first.outputs, chunks);
            made.push(step(again.form, again.chunk, again.chunks));
            chunks = again.chunks;
        }
        made
    }

    #[test]
    #[allow(clippy::too_many_lines, reason = "a table of cases")]
    fn lanes_and_chunks_follow_from_shape_and_dtype() {
        let (rows, columns) = (false, true);
        let wanted: &[Choice<'_>] = &[
            (
                &[5, 37],
                &[1],
                Dtype::F32,
                Reduce::Sum,
                &[(16, 1, 4, rows, false, 1024, 1)],
            ),
            (
                &[5, 37],
                &[0],
                Dtype::F32,
                Reduce::Sum,
                &[(16, 1, 1, columns, false, 512, 1)],
            ),
            (
                &[4096, 4096],
                &[1],
                Dtype::F32,
                Reduce::Sum,
                &[(256, 1, 4, rows, true, 16384, 1)],
            ),
            (
                &[4096, 4096],
                &[0],
                Dtype::F32,
                Reduce::Sum,
                &[
                    (8, 4, 1, columns, false, 256, 16),
                    (4, 1, 1, columns, false, 256, 1),
                ],
            ),
            (
                &[4096, 4096],
                &[0],
                Dtype::F16,
                Reduce::Sum,
                &[
                    (8, 8, 1, columns, false, 128, 32),
                    (8, 1, 1, columns, false, 512, 1),
                ],
            ),
            (
                &[4096, 4096],
                &[0],
                Dtype::F32,
                Reduce::Variance,
                &[
                    (8, 4, 1, columns, false, 512, 8),
                    (2, 1, 1, columns, false, 128, 1),
                ],
            ),
            (
                &[4096, 4096],
                &[0],
                Dtype::F16,
                Reduce::Variance,
                &[
                    (8, 8, 1, columns, false, 512, 8),
                    (2, 1, 1, columns, false, 128, 1),
                ],
            ),
            (
                &[100_000_000],
                &[0],
                Dtype::F32,
                Reduce::Maximum,
                &[
                    (256, 1, 4, rows, true, 65536, 1526),
                    (256, 1, 1, rows, false, 16384, 1),
                ],
            ),
            (
                &[3, 1000, 1000],
                &[1],
                Dtype::BF16,
                Reduce::Argmax,
                &[
                    (8, 8, 1, columns, false, 128, 8),
                    (2, 1, 1, columns, false, 128, 1),
                ],
            ),
            (
                &[20_000_000, 2],
                &[0],
                Dtype::F64,
                Reduce::Sum,
                &[
                    (256, 2, 1, columns, false, 8192, 2442),
                    (64, 1, 1, columns, false, 4096, 1),
                ],
            ),
            (
                &[64, 3, 224, 224],
                &[0, 2, 3],
                Dtype::F32,
                Reduce::Mean,
                &[
                    (256, 1, 1, rows, false, 16384, 196),
                    (64, 1, 1, columns, false, 4096, 1),
                ],
            ),
            (
                &[7, 9],
                &[0, 1],
                Dtype::I8,
                Reduce::Any,
                &[(8, 1, 8, rows, true, 512, 1)],
            ),
        ];
        for (shape, reduced, dtype, operation, expected) in wanted {
            let found = steps(&dense(shape, *dtype), reduced, *operation);
            assert_eq!(
                found, *expected,
                "{operation:?} of {shape:?} over {reduced:?}"
            );
        }
    }

    #[test]
    fn nothing_is_folded_where_there_is_no_result() {
        let x = dense(&[0, 3], Dtype::F32);
        let problem = |kept: &'static [usize], reduced: &'static [usize]| Problem {
            fold: reduce::fold(Reduce::Sum, Dtype::F32, Dtype::F32),
            x: &x,
            computed: Dtype::F32,
            result: Dtype::F32,
            kept,
            reduced,
            divisor: 1.0,
        };
        assert!(First::choose(&problem(&[0], &[1])).is_none());
        let of_nothing = First::choose(&problem(&[1], &[0])).unwrap();
        assert_eq!((of_nothing.outputs, of_nothing.chunks), (3, 1));
    }

    #[test]
    fn states_have_the_bytes_of_their_fields() {
        let bytes = |operation, x, computed| reduce::fold(operation, x, computed).state_bytes();
        assert_eq!(bytes(Reduce::Sum, Dtype::F32, Dtype::F32), 8);
        assert_eq!(bytes(Reduce::Argmax, Dtype::F32, Dtype::F32), 16);
        assert_eq!(bytes(Reduce::Variance, Dtype::F32, Dtype::F32), 24);
        assert_eq!(bytes(Reduce::Any, Dtype::BOOL, Dtype::I32), 4);
    }
}
