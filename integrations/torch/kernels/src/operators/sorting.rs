//! Lines in order, and the best values of each.

use std::ffi::CStr;

use super::table;
use crate::amdgpu::{Sort, TopK, agpu};
use crate::call::{Call, Results, written};
use crate::compute::{Number, cast, contiguous};
use crate::failure::{Failure, Outcome};
use crate::tensor::{Made, View, axis_of};

table! {
    c"aten::sort.values_stable" => sort,
    c"aten::topk.values" => top_k,
    c"aten::_cummax_helper" => |c| running_best(c, c"cummax"),
    c"aten::_cummin_helper" => |c| running_best(c, c"cummin"),
}

/// Of a tensor without axes: itself and place 0.
fn only(x: &View, values: &View, indices: &View) -> Outcome<Results> {
    cast(x, values)?;
    cast(Number::Int(0), indices)?;
    written()
}

fn sort(c: &Call) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let axis = axis_of(c.int(1)?, x.rank())?;
    let is_descending = c.flag(2)?;
    let (values, indices) = (
        c.tensor(1)?.resized(&x.shape)?,
        c.tensor(2)?.resized(&x.shape)?,
    );
    if x.is_empty() {
        return written();
    }
    if x.rank() == 0 {
        return only(x, &values, &indices);
    }
    if is_descending && x.dtype.is_float() {
        return descending(x, axis, &values, &indices);
    }
    let options = Sort {
        is_descending: u32::from(is_descending),
        ..Sort::default()
    };
    sorted(x, axis, &options, &values, &indices)
}

fn sorted(
    x: &View,
    axis: usize,
    options: &Sort,
    values: &View,
    indices: &View,
) -> Outcome<Results> {
    let dense = contiguous(x)?;
    let (array, mut made, mut places) = (dense.array()?, 0, 0);
    agpu!(agpu_ops_sort(
        array.0,
        axis as i64,
        std::ptr::from_ref(options),
        &raw mut made,
        &raw mut places
    ))?;
    let (made, places) = (Made::of(made, x.place)?, Made::of(places, x.place)?);
    cast(&*made, values)?;
    cast(&*places, indices)?;
    written()
}

/// The best of the values so far along an axis, and where it is.
fn running_best(c: &Call, operation: &CStr) -> Outcome<Results> {
    let (x, values, indices) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    let axis = axis_of(c.int(0)?, x.rank())?;
    if x.is_empty() {
        return written();
    }
    if x.rank() == 0 {
        return only(x, values, indices);
    }
    let dense = contiguous(x)?;
    let (array, mut made, mut places) = (dense.array()?, 0, 0);
    agpu!(agpu_ops_cumulative_best(
        operation.as_ptr(),
        array.0,
        axis as i64,
        &raw mut made,
        &raw mut places
    ))?;
    let (made, places) = (Made::of(made, x.place)?, Made::of(places, x.place)?);
    cast(&*made, values)?;
    cast(&*places, indices)?;
    written()
}

/// The largest values along an axis, and their places.
pub fn largest(x: &View, k: i64, axis: usize, values: &View, indices: &View) -> Outcome {
    best(x, k, axis, &TopK::default(), values, indices)?;
    Ok(())
}

/// The largest first, where NaN is larger than any number.
fn descending(x: &View, axis: usize, values: &View, indices: &View) -> Outcome<Results> {
    largest(x, x.shape[axis], axis, values, indices)?;
    written()
}

fn best(
    x: &View,
    k: i64,
    axis: usize,
    options: &TopK,
    values: &View,
    indices: &View,
) -> Outcome<Results> {
    let dense = contiguous(x)?;
    let (array, mut made, mut places) = (dense.array()?, 0, 0);
    agpu!(agpu_ops_top_k(
        array.0,
        k,
        axis as i64,
        std::ptr::from_ref(options),
        &raw mut made,
        &raw mut places
    ))?;
    let (made, places) = (Made::of(made, x.place)?, Made::of(places, x.place)?);
    cast(&*made, values)?;
    cast(&*places, indices)?;
    written()
}

fn top_k(c: &Call) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let k = c.int(0)?;
    let axis = axis_of(c.int(1)?, x.rank())?;
    let mut shape = x.shape.clone();
    let extent = shape.get(axis).copied().unwrap_or(1);
    if k < 0 || k > extent {
        return Err(Failure::refused("selected index k out of range"));
    }
    if !shape.is_empty() {
        shape[axis] = k;
    }
    let (values, indices) = (c.tensor(1)?.resized(&shape)?, c.tensor(2)?.resized(&shape)?);
    if values.is_empty() {
        return written();
    }
    if x.rank() == 0 {
        return only(x, &values, &indices);
    }
    let options = TopK {
        is_smallest: u32::from(!c.flag(2)?),
        ..TopK::default()
    };
    best(x, k, axis, &options, &values, &indices)
}
