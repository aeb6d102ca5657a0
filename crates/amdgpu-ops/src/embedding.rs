//! Rows of a table, gathered by index.

use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::Array;
use amdgpu_matrix::{Matrix, TensorView, describe_embedding};
use smallvec::SmallVec;

use crate::cpu::{self, Call, Host};
use crate::div_ceil::DivCeil;
use crate::generated::embedding::embedding_source;
use crate::generated::source;
use crate::index_notes::{self, Note};
use crate::launch::{Shape, launch};
use crate::operand::{Operand, Target};
use crate::reduce::{self, Reduce, ReduceOptions};
use crate::transpose::dense;
use crate::{Arg, DeviceOps, Error, KernelKey, Operation, Result};

const NAME: &str = "embedding";

/// `out[i..., :] = table[indices[i...], :]`. The indices are looked at before anything is written, unless [`index_notes::defer`] has put that off:
/// then rows of a GPU's result whose index is none are zero. Where the device has no kernel, the CPU computes it.
///
/// # Errors
///
/// `shape-mismatch` when the table has no rows, `unsupported-dtype` when the indices are not int32 or int64, `invalid-argument` for an
/// index that is no row or an `out` that overlaps an input.
pub fn embedding(
    ops: &DeviceOps,
    table: &Operand,
    indices: &Operand,
    out: Option<&Array>,
) -> Result<Array> {
    let call = Call {
        ops,
        family: NAME,
        name: NAME,
        inputs: &[("table", table), ("indices", indices)],
        out,
    };
    cpu::run_noted(
        &call,
        || Some(Operation::Embedding),
        || on_device(ops, table, indices, out),
        |views, host| on_host(&views[0], &views[1], None, host),
    )
}

/// [`embedding`] in memory of the host, on so many threads at most.
///
/// # Errors
///
/// As [`embedding`], and those of the host.
pub fn on_host<H: Host>(
    table: &TensorView<'_>,
    indices: &TensorView<'_>,
    thread_limit: Option<u32>,
    host: &mut H,
) -> std::result::Result<(), H::Error> {
    let described = describe_embedding(table, indices).map_err(Error::from)?;
    let moved = described
        .shape
        .iter()
        .fold(1_u64, |len, extent| len.saturating_mul(*extent as u64));
    host.write(&described, moved, |out| {
        Ok(Matrix::global()?.embedding(table, indices, out, thread_limit)?)
    })
}

/// [`embedding`] by a kernel of the device.
///
/// # Errors
///
/// As [`embedding`]; `no-implementation` for too many axes.
pub fn on_device(
    ops: &DeviceOps,
    table: &Operand,
    indices: &Operand,
    out: Option<&Array>,
) -> Result<Array> {
    table.check_dtype(NAME, "table")?;
    indices.check_dtype(NAME, "indices")?;
    let described = describe_embedding(&table.view(), &indices.view())?;
    let target = Target {
        operation: NAME,
        device: ops.device(),
        out,
        inputs: &[table, indices],
        may_alias: false,
        is_dense: true,
    };
    let made = target
        .resolve(&described.shape, described.dtype)?
        .into_array()?;
    let index = dense(ops, indices)?;
    if index_notes::is_deferred() {
        let note = Note::of(ops, NAME)?;
        write_rows(ops, table, &index, &made, Some(&note))?;
        note.end()?;
    } else {
        if !index.is_empty() {
            check_indices(ops, &index, table.shape[0])?;
        }
        rows_on_device(ops, table, &index, &made)?;
    }
    Ok(made)
}

/// The rows of a table with these indices, which the caller has checked: nothing waits for the device. Indices and the result are dense.
///
/// # Errors
///
/// What the device reports.
pub fn rows_on_device(ops: &DeviceOps, table: &Operand, index: &Array, made: &Array) -> Result<()> {
    write_rows(ops, table, index, made, None)
}

/// Launches the kernel. Indices and the result are dense; where there is no note, the caller has checked the indices.
fn write_rows(
    ops: &DeviceOps,
    table: &Operand,
    index: &Array,
    made: &Array,
    note: Option<&Note<'_>>,
) -> Result<()> {
    if made.is_empty() {
        return Ok(());
    }
    let row_len: i64 = table.shape[1..].iter().product();
    let row_bytes = row_len as usize * table.item_bytes();
    let word_bytes = word_bytes(row_bytes);
    let key = KernelKey::new(NAME)
        .with(word_bytes as u64)
        .dtype(index.dtype)
        .flag(note.is_some());
    let kernel = ops.kernel(key, NAME, || {
        embedding_source(word_bytes, index.dtype, note.is_some())
    })?;
    let width = (row_bytes / word_bytes) as i64;
    let count = index.len() * width;
    let table = dense(ops, table)?;
    let rows = table.shape[0];
    let mut args: SmallVec<[Arg<'_>; 8]> = SmallVec::new();
    args.extend([&table, index, made].map(Arg::Array));
    args.extend([width, count].map(Arg::from));
    if let Some(note) = note {
        args.extend([note.argument(), Arg::from(rows)]);
    }
    let blocks = count.div_ceil_positive(source::BLOCK);
    launch(&kernel, Shape::line(blocks, source::BLOCK), &args)
}

/// Bytes that a work-item moves: of the widest words that rows are made of.
fn word_bytes(row_bytes: usize) -> usize {
    let fits = |word: &usize| row_bytes.is_multiple_of(*word);
    [8, 4, 2].into_iter().find(fits).unwrap_or(1)
}

/// Refuses indices that are no rows of a table of so many.
fn check_indices(ops: &DeviceOps, indices: &Array, rows: i64) -> Result<()> {
    let operand = Operand::of_array(indices.clone());
    let options = ReduceOptions {
        axes: None,
        keeps_axes: false,
        correction: 0.0,
        result: None,
        thread_limit: None,
    };
    let extreme = |operation| -> Result<i64> {
        let found = reduce::on_device(ops, operation, &operand, None, &options)?;
        Ok(integers(&found.read()?, found.dtype).next().unwrap_or(0))
    };
    if extreme(Reduce::Minimum)? >= 0 && extreme(Reduce::Maximum)? < rows {
        return Ok(());
    }
    let bytes = indices.read()?;
    let wrong = integers(&bytes, indices.dtype)
        .enumerate()
        .find(|(_, index)| !(0..rows).contains(index));
    let (at, index) = wrong.unwrap_or_default();
    Err(Error::refused(
        ErrorCode::InvalidArgument,
        format!("{NAME}: index {index} at place {at} is not a row of a table of {rows}"),
    ))
}

/// Numbers of int32 or int64 from their bytes.
fn integers(bytes: &[u8], dtype: Dtype) -> impl Iterator<Item = i64> {
    bytes.chunks_exact(dtype.size_bytes()).map(|one| {
        if let Ok(wide) = <[u8; 8]>::try_from(one) {
            return i64::from_ne_bytes(wide);
        }
        let mut narrow = [0; 4];
        narrow.copy_from_slice(one);
        i64::from(i32::from_ne_bytes(narrow))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_moved_by_the_widest_words() {
        let words: Vec<_> = [24, 12, 6, 3, 0].map(word_bytes).to_vec();
        assert_eq!(words, [8, 4, 2, 1, 8]);
    }

    #[test]
    fn indices_of_both_widths_are_read() {
        let bytes: Vec<u8> = [-1_i32, 7]
            .iter()
            .flat_map(|one| one.to_ne_bytes())
            .collect();
        assert_eq!(integers(&bytes, Dtype::I32).collect::<Vec<_>>(), [-1, 7]);
        let bytes = i64::MIN.to_ne_bytes();
        assert_eq!(integers(&bytes, Dtype::I64).collect::<Vec<_>>(), [i64::MIN]);
    }
}
