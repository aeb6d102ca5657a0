//! Weights by direction and length (Salimans and Kingma 2016): each slice along an axis has a length of its own.

use super::reduction::{reduced, steps_in};
use super::table;
use crate::call::{Call, Results, check_float, tensors};
use crate::compute::narrowed;
use crate::failure::Outcome;
use crate::tensor::{Tensor, View, axis_of};

table! {
    c"aten::_weight_norm_interface" => forward,
    c"aten::_weight_norm_interface_backward" => backward,
}

/// All axes but that of the slices.
fn within_slices(x: &View, axis: i64) -> Outcome<Vec<i64>> {
    let axis = axis_of(axis, x.rank())? as i64;
    Ok((0..x.rank() as i64)
        .filter(|other| *other != axis)
        .collect())
}

/// A sum over the axes, which keep one element each; without axes the values themselves.
fn summed(x: Tensor, axes: &[i64]) -> Outcome<Tensor> {
    if axes.is_empty() {
        return Ok(x);
    }
    reduced(c"sum", &x, axes, true)
}

/// v g / |v|, and the norms |v|.
fn forward(c: &Call) -> Outcome<Results> {
    let (v, g) = (c.tensor(0)?, c.tensor(1)?);
    check_float(c, v)?;
    let axes = within_slices(v, c.int_or(0, 0)?)?;
    let s = steps_in(v.dtype.wide(), v.place);
    let squares = s.made(c"multiply", &[v.into(), v.into()])?;
    let norms = s.made(c"sqrt", &[(&summed(squares, &axes)?).into()])?;
    let factors = s.made(c"divide", &[g.into(), (&norms).into()])?;
    let weight = s.made(c"multiply", &[v.into(), (&factors).into()])?;
    Ok(tensors([narrowed(weight, v.dtype)?, norms]))
}

/// With p the sum of gradient times v over a slice: g / |v| (gradient - v p / |v|^2) by v, and p / |v| by g.
fn backward(c: &Call) -> Outcome<Results> {
    let (gradient, v, g, norms) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?, c.tensor(3)?);
    check_float(c, v)?;
    let axes = within_slices(v, c.int(0)?)?;
    let s = steps_in(v.dtype.wide(), v.place);
    let products = s.made(c"multiply", &[gradient.into(), v.into()])?;
    let by_g = s.made(
        c"divide",
        &[(&summed(products, &axes)?).into(), norms.into()],
    )?;
    let along = s.made(c"divide", &[(&by_g).into(), norms.into()])?;
    let part = s.made(c"multiply", &[v.into(), (&along).into()])?;
    let across = s.made(c"subtract", &[gradient.into(), (&part).into()])?;
    let factors = s.made(c"divide", &[g.into(), norms.into()])?;
    let by_v = s.made(c"multiply", &[(&across).into(), (&factors).into()])?;
    Ok(tensors([
        narrowed(by_v, v.dtype)?,
        narrowed(by_g, g.dtype)?,
    ]))
}
