//! Elements that indices name: gathered, scattered, joined by segments; the best values.

use std::ffi::CStr;

use super::elementwise::plain;
use super::reduction::reduced;
use super::{ANY, ANY_AND_INT32, FLOATS, NUMBERS_AND_INT32, SIGNED_AND_INT32, row};
use crate::amdgpu::{Handle, Out, Owned, Segment, TopK, agpu};
use crate::call::{Attributes, Call};
use crate::compute::{cast, launch};
use crate::dtype::Dtype;
use crate::failure::{Failure, Outcome};
use crate::registry::{Kernel, Row};
use crate::tensor::{Dims, Made, Tensor, View, axis_of, shown};

const INDICES: &[Dtype] = &[Dtype::I32, Dtype::I64];
const T: &CStr = c"T";

pub const ROWS: &[Row] = &[
    row(
        c"GatherV2",
        &[(c"Tparams", ANY_AND_INT32), (c"Tindices", INDICES)],
        &[c"axis"],
        |a| {
            let batch_axes = a.int(c"batch_dims")?;
            Ok(Box::new(move |c| gather(c, c.host_int(2)?, batch_axes)))
        },
    ),
    row(
        c"Gather",
        &[(c"Tparams", ANY_AND_INT32), (c"Tindices", INDICES)],
        &[],
        |_| plain(|c| gather(c, 0, 0)),
    ),
    row(
        c"GatherNd",
        &[(c"Tparams", ANY_AND_INT32), (c"Tindices", INDICES)],
        &[],
        |_| plain(gather_points),
    ),
    row(
        c"ScatterNd",
        &[(T, ANY_AND_INT32), (c"Tindices", INDICES)],
        &[c"shape"],
        |_| {
            plain(|c| {
                let (indices, updates) = (c.input(0)?, c.input(1)?);
                let shape = c.host_ints(2)?;
                let out = c.output(0, updates.dtype, &shape)?;
                cast(0_i64, &out)?;
                put(c, &out, &indices, &updates, c"add")
            })
        },
    ),
    row(
        c"TensorScatterUpdate",
        &[(T, ANY_AND_INT32), (c"Tindices", INDICES)],
        &[],
        |_| scattered(c"assign"),
    ),
    row(
        c"TensorScatterAdd",
        &[(T, NUMBERS_AND_INT32), (c"Tindices", INDICES)],
        &[],
        |_| scattered(c"add"),
    ),
    row(
        c"TensorScatterSub",
        &[(T, SIGNED_AND_INT32), (c"Tindices", INDICES)],
        &[],
        |_| {
            plain(|c| {
                let (x, indices, updates) = (c.input(0)?, c.input(1)?, c.input(2)?);
                let out = c.output(0, x.dtype, &x.shape)?;
                cast(&x, &out)?;
                let negative = c.temporary(x.dtype, &updates.shape)?;
                launch(c"negative", &[(&updates).into()], &negative, 0.0)?;
                put(c, &out, &indices, &negative, c"add")
            })
        },
    ),
    row(
        c"TensorScatterMax",
        &[(T, NUMBERS_AND_INT32), (c"Tindices", INDICES)],
        &[],
        |_| scattered(c"maximum"),
    ),
    row(
        c"TensorScatterMin",
        &[(T, NUMBERS_AND_INT32), (c"Tindices", INDICES)],
        &[],
        |_| scattered(c"minimum"),
    ),
    row(
        c"UnsortedSegmentSum",
        &[(T, NUMBERS_AND_INT32), (c"Tindices", INDICES)],
        &[c"num_segments"],
        |_| segments(c"sum"),
    ),
    row(
        c"UnsortedSegmentProd",
        &[(T, FLOATS), (c"Tindices", INDICES)],
        &[c"num_segments"],
        |_| segments(c"prod"),
    ),
    row(
        c"UnsortedSegmentMax",
        &[(T, FLOATS), (c"Tindices", INDICES)],
        &[c"num_segments"],
        |_| segments(c"amax"),
    ),
    row(
        c"UnsortedSegmentMin",
        &[(T, FLOATS), (c"Tindices", INDICES)],
        &[c"num_segments"],
        |_| segments(c"amin"),
    ),
    row(c"Where", &[(T, ANY)], &[], |_| {
        plain(|c| {
            let x = c.input(0)?;
            if x.is_empty() || x.rank() == 0 {
                return no_places(c, &x);
            }
            let (array, mut result) = (x.array()?, 0);
            agpu!(agpu_ops_nonzero(array.0, &raw mut result))?;
            let found = Made::of(result, c.device)?;
            cast(&*found, &*c.output(0, Dtype::I64, &found.shape)?)
        })
    }),
    row(c"OneHot", &[(T, ANY_AND_INT32)], &[c"depth"], one_hot),
    row(c"InTopKV2", &[(T, INDICES)], &[c"k"], |_| {
        plain(is_among_best)
    }),
    row(c"TopKV2", &[(T, NUMBERS_AND_INT32)], &[c"k"], |_| {
        plain(top_k)
    }),
];

/// Rows of a table of the shape (rows, width) by indices to `out`, of the shape (indices, width).
fn rows_of(table: &View, indices: &View, out: &View) -> Outcome {
    let (rows, at, place) = (table.array()?, indices.array()?, out.array()?);
    let options = Out {
        out: place.0,
        ..Out::default()
    };
    let mut result = 0;
    let done = agpu!(agpu_ops_embedding(
        at.0,
        rows.0,
        &raw const options,
        &raw mut result
    ));
    done.map_err(|failure| as_tensorflow_says(failure, table.shape[0]))?;
    drop(Owned(result));
    Ok(())
}

/// What libamdgpu says of an index that is no row ("index 7 at place 2 is ...") in TensorFlow's words.
fn as_tensorflow_says(failure: Failure, rows: i64) -> Failure {
    let mut numbers = {
        failure
            .message
            .split(|letter: char| !letter.is_ascii_digit() && letter != '-')
    }
    .filter_map(|word| word.parse::<i64>().ok());
    match (
        failure.message.contains("is not a row"),
        numbers.next(),
        numbers.next(),
    ) {
        (true, Some(index), Some(place)) => {
            Failure::refused(format!("indices[{place}] = {index} is not in [0, {rows})"))
        }
        _ => failure,
    }
}

fn gather(c: &Call, axis: i64, batch_axes: i64) -> Outcome {
    let (x, indices) = (c.input(0)?, c.input(1)?);
    let axis = axis_of(axis, x.rank())?;
    let batch = if batch_axes < 0 {
        batch_axes + indices.rank() as i64
    } else {
        batch_axes
    } as usize;
    if batch > axis || batch > indices.rank() || x.shape[..batch] != indices.shape[..batch] {
        return Err(Failure::refused(format!(
            "batch_dims {batch_axes} does not fit params of shape {}, indices of shape {} and axis {axis}",
            shown(&x.shape),
            shown(&indices.shape)
        )));
    }
    let (before, behind) = (&x.shape[batch..axis], &x.shape[axis + 1..]);
    let shape: Dims = [&x.shape[..axis], &indices.shape[batch..], behind]
        .concat()
        .into();
    let out = c.output(0, x.dtype, &shape)?;
    if out.is_empty() {
        return Ok(());
    }
    let extent = x.shape[axis];
    if extent == 0 {
        return Err(Failure::refused(format!(
            "indices are not in [0, 0) of axis {axis} of params"
        )));
    }
    let count = |extents: &[i64]| extents.iter().product::<i64>();
    let (batches, outer, inner) = (count(&x.shape[..batch]), count(before), count(behind));
    let each = count(&indices.shape[batch..]);
    // As (batches, outer, extent, inner): the axis goes to the front of what it is picked from, and comes back behind.
    let flat = x.reshaped(&[batches, outer, extent, inner]);
    let permuted = flat.permuted(&[0, 2, 1, 3]);
    let dense = c.contiguous(&permuted)?;
    let table = dense.reshaped(&[batches * extent, outer * inner]);
    let whole = c.converted(&indices, Dtype::I64)?;
    let mut places = whole.reshaped(&[batches, each]);
    let moved;
    if batches > 1 {
        let s = c.steps(Dtype::I64);
        let starts = s.made(
            c"multiply",
            &[(&*c.counted(batches)?).into(), extent.into()],
        )?;
        moved = s.made(c"add", &[(&places).into(), (&starts.with_axis(1)).into()])?;
        places = (*moved).clone();
    }
    let places = places.reshaped(&[batches * each]);
    if outer == 1 {
        return rows_of(&table, &places, &out.reshaped(&[batches * each, inner]));
    }
    let made = c.temporary(x.dtype, &[batches, each, outer, inner])?;
    rows_of(
        &table,
        &places,
        &made.reshaped(&[batches * each, outer * inner]),
    )?;
    cast(
        &made.permuted(&[0, 2, 1, 3]),
        &out.reshaped(&[batches, outer, each, inner]),
    )
}

/// The columns of indices, each an array of the indices along one axis.
fn columns(c: &Call, indices: &View) -> Outcome<Vec<Tensor>> {
    let indices = c.converted(indices, Dtype::I64)?;
    let last = indices.rank() - 1;
    (0..indices.shape[last])
        .map(|place| c.copied(&indices.narrow(last, place, 1).without_axis(last)))
        .collect()
}

fn gather_points(c: &Call) -> Outcome {
    let (x, indices) = (c.input(0)?, c.input(1)?);
    let depth = *indices
        .shape
        .last()
        .ok_or_else(|| Failure::refused("indices must be at least a vector"))?
        as usize;
    if depth > x.rank() {
        return Err(Failure::refused(format!(
            "index innermost dimension length must be <= params rank; saw: {depth} vs. {}",
            x.rank()
        )));
    }
    let shape: Dims = [&indices.shape[..indices.rank() - 1], &x.shape[depth..]]
        .concat()
        .into();
    let out = c.output(0, x.dtype, &shape)?;
    if out.is_empty() {
        return Ok(());
    }
    let points: i64 = indices.shape[..indices.rank() - 1].iter().product();
    let width: i64 = x.shape[depth..].iter().product();
    let rows: i64 = x.shape[..depth].iter().product();
    let places = flat_places(c, &indices, &x.shape[..depth], points)?;
    rows_of(
        &x.reshaped(&[rows, width]),
        &places,
        &out.reshaped(&[points, width]),
    )
}

/// The flat places of points along some axes; -1 of those that lie outside.
fn flat_places(c: &Call, indices: &View, extents: &[i64], points: i64) -> Outcome<Tensor> {
    let s = c.steps(Dtype::I64);
    let strides = crate::tensor::row_major(extents);
    let mut flat = c.filled(0_i64.into(), Dtype::I64, &[points])?;
    for (column, (extent, stride)) in columns(c, indices)?
        .iter()
        .zip(extents.iter().zip(&strides))
    {
        let column = column.reshaped(&[points]);
        let nearest = s.made(
            c"clip",
            &[(&column).into(), 0_i64.into(), (extent - 1).into()],
        )?;
        let is_inside = s.test(c"equal", &[(&nearest).into(), (&column).into()])?;
        let part = s.made(c"multiply", &[(&column).into(), (*stride).into()])?;
        let sum = s.made(c"add", &[(&part).into(), (&flat).into()])?;
        let is_valid = s.test(c"greater_equal", &[(&flat).into(), 0_i64.into()])?;
        let kept = s.made(
            c"where",
            &[(&is_inside).into(), (&sum).into(), (-1_i64).into()],
        )?;
        flat = s.made(
            c"where",
            &[(&is_valid).into(), (&kept).into(), (-1_i64).into()],
        )?;
    }
    Ok(flat)
}

/// Values joined to the elements of `out` at the points of indices.
fn put(c: &Call, out: &View, indices: &View, updates: &View, how: &CStr) -> Outcome {
    let depth = *indices
        .shape
        .last()
        .ok_or_else(|| Failure::refused("indices must be at least a vector"))?
        as usize;
    if depth > out.rank() {
        return Err(Failure::refused(format!(
            "The inner {depth} dimensions of indices do not fit a tensor of shape {}",
            shown(&out.shape)
        )));
    }
    let wanted: Dims = [&indices.shape[..indices.rank() - 1], &out.shape[depth..]]
        .concat()
        .into();
    if updates.shape != wanted {
        return Err(Failure::refused(format!(
            "Must have updates.shape = {}, which follows from indices of shape {} and a tensor of shape {}, but got {}",
            shown(&wanted),
            shown(&indices.shape),
            shown(&out.shape),
            shown(&updates.shape)
        )));
    }
    if updates.is_empty() {
        return Ok(());
    }
    let s = c.steps(Dtype::I64);
    let mut checked = Vec::new();
    for (column, extent) in columns(c, indices)?.into_iter().zip(&out.shape) {
        // Negative indices count from the end in libamdgpu and are wrong in TensorFlow.
        let is_negative = s.test(c"less", &[(&column).into(), 0_i64.into()])?;
        checked.push(s.made(
            c"where",
            &[(&is_negative).into(), (*extent).into(), (&column).into()],
        )?);
    }
    let arrays = checked
        .iter()
        .map(|one| one.array())
        .collect::<Outcome<Vec<_>>>()?;
    let handles: Vec<Handle> = arrays.iter().map(|one| one.0).collect();
    let axes: Vec<i64> = (0..depth as i64).collect();
    let (place, values) = (out.array()?, updates.array()?);
    agpu!(agpu_ops_put(
        place.0,
        axes.as_ptr(),
        handles.as_ptr(),
        handles.len(),
        values.0,
        how.as_ptr()
    ))
}

fn scattered(how: &'static CStr) -> Outcome<Kernel> {
    Ok(Box::new(move |c| {
        let (x, indices, updates) = (c.input(0)?, c.input(1)?, c.input(2)?);
        let out = c.output(0, x.dtype, &x.shape)?;
        cast(&x, &out)?;
        put(c, &out, &indices, &updates, how)
    }))
}

/// Rows whose segment is negative take no part.
fn segments(join: &'static CStr) -> Outcome<Kernel> {
    Ok(Box::new(move |c| {
        let (x, ids) = (c.input(0)?, c.input(1)?);
        let count = c.host_int(2)?;
        if x.rank() < ids.rank() || x.shape[..ids.rank()] != ids.shape[..] {
            return Err(Failure::refused(format!(
                "data.shape = {} does not start with segment_ids.shape = {}",
                shown(&x.shape),
                shown(&ids.shape)
            )));
        }
        if count < 0 {
            return Err(Failure::refused(format!(
                "Input num_segments == {count} must not be negative."
            )));
        }
        let rest = &x.shape[ids.rank()..];
        let out = c.output(0, x.dtype, &[&[count], rest].concat())?;
        let (rows, width) = (ids.len(), rest.iter().product());
        if out.is_empty() {
            return Ok(());
        }
        if rows == 0 {
            return of_no_rows(join, &out);
        }
        let s = c.steps(Dtype::I64);
        let whole = c.converted(&ids, Dtype::I64)?;
        let ids = whole.reshaped(&[rows]);
        let is_negative = s.test(c"less", &[(&ids).into(), 0_i64.into()])?;
        // One more segment receives them.
        let ids = s.made(
            c"where",
            &[(&is_negative).into(), count.into(), (&ids).into()],
        )?;
        let options = Segment {
            axis: 0,
            count: count + 1,
            ..Segment::default()
        };
        let (values, at, mut result) = (x.reshaped(&[rows, width]).array()?, ids.array()?, 0);
        agpu!(agpu_ops_segment_reduce(
            join.as_ptr(),
            values.0,
            at.0,
            &raw const options,
            &raw mut result
        ))?;
        let made = Made::of(result, c.device)?;
        let flat = out.reshaped(&[count, width]);
        cast(&made.narrow(0, 0, count), &flat)?;
        within_finite(join, &flat)
    }))
}

/// The largest finite number of a dtype.
fn largest(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::F16 => 65504.0,
        Dtype::BF16 => f64::from(f32::from_bits(0x7F7F_0000)),
        Dtype::F32 => f64::from(f32::MAX),
        _ => f64::MAX,
    }
}

fn of_no_rows(join: &CStr, out: &View) -> Outcome {
    let value = match join.to_bytes() {
        b"prod" => 1.0,
        b"amax" => -largest(out.dtype),
        b"amin" => largest(out.dtype),
        _ => 0.0,
    };
    cast(value, out)
}

/// The best of no values is the smallest or largest finite number in TensorFlow, and an infinity in libamdgpu.
fn within_finite(join: &CStr, out: &View) -> Outcome {
    match join.to_bytes() {
        b"amax" => launch(
            c"maximum",
            &[out.into(), (-largest(out.dtype)).into()],
            out,
            0.0,
        ),
        b"amin" => launch(
            c"minimum",
            &[out.into(), largest(out.dtype).into()],
            out,
            0.0,
        ),
        _ => Ok(()),
    }
}

/// `on` where an index is the place along a new axis, else `off`.
fn one_hot(a: &Attributes) -> Outcome<Kernel> {
    let axis = a.int(c"axis")?;
    Ok(Box::new(move |c| {
        let (indices, on, off) = (c.input(0)?, c.input(2)?, c.input(3)?);
        let depth = c.host_int(1)?;
        if depth < 0 {
            return Err(Failure::refused(format!(
                "depth must be non-negative, got: {depth}"
            )));
        }
        let axis = axis_of(axis, indices.rank() + 1)?;
        let mut shape = indices.shape.clone();
        shape.insert(axis, depth);
        let out = c.output(0, on.dtype, &shape)?;
        if out.is_empty() {
            return Ok(());
        }
        let whole = c.converted(&indices, Dtype::I64)?;
        let wanted = whole.with_axis(axis);
        let counted = c.counted(depth)?;
        let mut places = (*counted).clone();
        for _ in axis + 1..shape.len() {
            places = places.with_axis(places.rank());
        }
        let is_on = c
            .steps(Dtype::I64)
            .test(c"equal", &[(&wanted).into(), (&places).into()])?;
        launch(
            c"where",
            &[(&is_on).into(), (&on).into(), (&off).into()],
            &out,
            0.0,
        )
    }))
}

/// The places of what is not zero, of tensors that have no elements or no axes.
fn no_places(c: &Call, x: &View) -> Outcome {
    if x.rank() == 0 {
        return Err(Failure::no_kernel("the places of a scalar have no kernel"));
    }
    c.output(0, Dtype::I64, &[0, x.rank() as i64]).map(drop)
}

/// Whether fewer than k values of a row are larger than that of its target, which must be finite.
fn is_among_best(c: &Call) -> Outcome {
    let (x, targets) = (c.input(0)?, c.input(1)?);
    let k = c.host_int(2)?;
    let [rows, classes] = x.shape[..] else {
        return Err(Failure::refused(format!(
            "predictions must be 2-dimensional: {}",
            shown(&x.shape)
        )));
    };
    if targets.shape[..] != [rows] {
        return Err(Failure::refused(format!(
            "First dimension of predictions {} must match length of targets {}",
            shown(&x.shape),
            shown(&targets.shape)
        )));
    }
    let out = c.output(0, Dtype::BOOL, &[rows])?;
    if out.is_empty() {
        return Ok(());
    }
    let (s, whole) = (c.steps(x.dtype), c.steps(Dtype::I64));
    let targets = c.converted(&targets, Dtype::I64)?;
    let is_target = whole.test(
        c"equal",
        &[
            (&*c.counted(classes)?).into(),
            (&targets.with_axis(1)).into(),
        ],
    )?;
    let lowest = s.made(
        c"where",
        &[(&is_target).into(), (&x).into(), f64::NEG_INFINITY.into()],
    )?;
    let wanted = reduced(c, c"max", &lowest, &[1], true)?;
    let is_larger = s.test(c"greater", &[(&x).into(), (&wanted).into()])?;
    let count = c.converted(&is_larger, Dtype::I64)?;
    let count = reduced(c, c"sum", &count, &[1], false)?;
    let is_best = whole.test(c"less", &[(&count).into(), k.into()])?;
    let is_finite = s.test(c"isfinite", &[(&wanted.without_axis(1)).into()])?;
    launch(
        c"logical_and",
        &[(&is_best).into(), (&is_finite).into()],
        &out,
        0.0,
    )
}

fn top_k(c: &Call) -> Outcome {
    let x = c.input(0)?;
    let k = c.host_int(1)?;
    let last = *x
        .shape
        .last()
        .ok_or_else(|| Failure::refused("input must be >= 1-D, got shape []"))?;
    if k < 0 || k > last {
        return Err(Failure::refused(format!(
            "input must have at least k columns. Had {last}, needed {k}"
        )));
    }
    let mut shape = x.shape.clone();
    shape[x.rank() - 1] = k;
    let values = c.output(0, x.dtype, &shape)?;
    let indices = c.output(1, c.output_dtype(1)?, &shape)?;
    if values.is_empty() {
        return Ok(());
    }
    let options = TopK::default();
    let (array, mut best, mut places) = (x.array()?, 0, 0);
    agpu!(agpu_ops_top_k(
        array.0,
        k,
        -1,
        &raw const options,
        &raw mut best,
        &raw mut places
    ))?;
    cast(&*Made::of(best, c.device)?, &values)?;
    cast(&*Made::of(places, c.device)?, &indices)
}
