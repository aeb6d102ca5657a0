//! Rows that are put together by indices: of int32, in the memory of the host. Gradients of reductions whose shape is not known compute shapes so.

use super::elementwise::plain;
use super::{INT32, T, row, write_to_host};
use crate::call::Call;
use crate::dtype::Dtype;
use crate::failure::{Failure, Outcome};
use crate::registry::Row;
use crate::tensor::{Dims, shown};

pub const ROWS: &[Row] = &[row(
    c"DynamicStitch",
    &[(T, INT32)],
    &[c"indices", c"data", c"merged"],
    |_| plain(stitched),
)];

/// Row `indices[i][j]` of the result is row j of `data[i]`; the last one wins.
fn stitched(c: &Call) -> Outcome {
    let count = c.input_count()? / 2;
    let indices: Vec<Vec<i64>> = (0..count)
        .map(|place| c.host_ints(place))
        .collect::<Outcome<_>>()?;
    let first = c.input(0)?.rank();
    let row = Dims::from_slice(c.input(count)?.shape.get(first..).unwrap_or(&[]));
    let (width, rows) = (
        row.iter().product::<i64>() as usize,
        indices.iter().flatten().max().map_or(0, |last| last + 1),
    );
    if indices.iter().flatten().any(|index| *index < 0) {
        return Err(Failure::refused("indices must not be negative"));
    }
    let mut merged = vec![0_i32; rows as usize * width];
    for (place, indices) in indices.iter().enumerate() {
        let (of_indices, data) = (c.input(place)?, c.input(count + place)?);
        if !data.shape.starts_with(&of_indices.shape) || data.shape[of_indices.rank()..] != row[..]
        {
            return Err(Failure::refused(format!(
                "data[{place}].shape = {} does not start with indices[{place}].shape = {}, or ends otherwise than data[0].shape",
                shown(&data.shape),
                shown(&of_indices.shape)
            )));
        }
        let values = c.host_ints(count + place)?;
        for (position, index) in indices.iter().enumerate() {
            let to = *index as usize * width;
            let from = &values[position * width..][..width];
            for (target, value) in merged[to..][..width].iter_mut().zip(from) {
                *target = *value as i32;
            }
        }
    }
    let mut shape = Dims::from_slice(&[rows]);
    shape.extend(row);
    let out = c.output(0, Dtype::I32, &shape)?;
    write_to_host(&out, &merged);
    Ok(())
}
