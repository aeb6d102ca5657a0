//! Layer norm over the last axes, with the statistics that its gradients take.

use super::normalization::check_epsilon;
use super::table;
use crate::amdgpu::{Operand, address_of, agpu};
use crate::call::{Call, Results, Returned, check_float, written};
use crate::compute::{Held, contiguous, converted, zeros};
use crate::dtype::Dtype;
use crate::failure::{Failure, Outcome};
use crate::tensor::{Dims, Tensor, View};

table! {
    c"aten::native_layer_norm.out" => layer_norm,
    c"aten::native_layer_norm_backward" => layer_norm_backward,
}

/// The shape of statistics over the last axes: those before them, and ones.
fn statistics_shape(shape: &[i64], count: usize) -> Dims {
    let kept = shape.len() - count;
    (0..shape.len())
        .map(|axis| if axis < kept { shape[axis] } else { 1 })
        .collect()
}

/// The number of axes of a row.
fn row_axes(x: &View, shape: &[i64], name: &str) -> Outcome<usize> {
    let count = shape.len();
    if count == 0 || count > x.rank() || x.shape[x.rank() - count..] != *shape {
        return Err(Failure::refused(format!(
            "{name}: given normalized_shape={shape:?}, expected input with shape [*, {shape:?}], but got input of size {:?}",
            x.shape.as_slice()
        )));
    }
    Ok(count)
}

fn operand_of(x: Option<&View>) -> Outcome<Option<Operand>> {
    x.map(View::operand).transpose()
}

fn layer_norm(c: &Call) -> Outcome<Results> {
    let x = c.tensor(0)?;
    check_float(c, x)?;
    let count = row_axes(x, c.ints(0)?, c.name)?;
    let shape = statistics_shape(&x.shape, count);
    let made = c.tensor(3)?.resized(&x.shape)?;
    let [mean, inverse] = [4, 5].map(|place| c.tensor(place)?.resized(&shape));
    let parameters = (c.optional(1), c.optional(2));
    normed_into(x, count, parameters, c.real(1)?, [&made, &mean?, &inverse?])?;
    written()
}

/// Normalised over the last axis.
pub fn layer_norm_of(
    x: &View,
    scale: Option<&Tensor>,
    shift: Option<&Tensor>,
    epsilon: f64,
) -> Outcome<Tensor> {
    let made = Tensor::empty(&x.shape, x.dtype, x.place)?;
    let shape = statistics_shape(&x.shape, 1);
    let [mean, inverse] = [(); 2].map(|()| Tensor::empty(&shape, x.dtype.wide(), x.place));
    let (mean, inverse) = (mean?, inverse?);
    normed_into(x, 1, (scale, shift), epsilon, [&made, &mean, &inverse])?;
    Ok(made)
}

/// Writes the result, means and one over the deviations.
fn normed_into(
    x: &View,
    count: usize,
    (scale, shift): (Option<&Tensor>, Option<&Tensor>),
    epsilon: f64,
    [made, mean, inverse]: [&View; 3],
) -> Outcome {
    check_epsilon(epsilon)?;
    if x.is_empty() {
        return Ok(());
    }
    let dense = contiguous(x)?;
    let (scale, shift) = (
        scale.map(|one| contiguous(one)).transpose()?,
        shift.map(|one| contiguous(one)).transpose()?,
    );
    let (by, off) = (operand_of(scale.as_deref())?, operand_of(shift.as_deref())?);
    let (given, result) = (dense.operand()?, made.operand()?);
    let (means, inverses) = (mean.operand()?, inverse.operand()?);
    agpu!(agpu_ops_layer_norm_training_at(
        x.device()?,
        &raw const given,
        address_of(by.as_ref()),
        address_of(off.as_ref()),
        count as u64,
        epsilon,
        &raw const result,
        &raw const means,
        &raw const inverses,
    ))
}

/// A tensor for a gradient, where it is asked for.
fn wanted(is_wanted: bool, shape: &[i64], dtype: Dtype, like: &View) -> Outcome<Option<Tensor>> {
    is_wanted
        .then(|| Tensor::empty(shape, dtype, like.place))
        .transpose()
}

fn layer_norm_backward(c: &Call) -> Outcome<Results> {
    let (gradient, x, mean, inverse) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?, c.tensor(3)?);
    let (weight, bias) = (c.optional(4), c.optional(5));
    let (shape, mask) = (c.ints(0)?, c.flags(1)?);
    let count = row_axes(x, shape, c.name)?;
    check_float(c, x)?;
    let dtype = weight.or(bias).map_or(x.dtype, |one| one.dtype);
    if x.is_empty() {
        return empty_gradients(mask, x, shape, dtype);
    }
    let made = [
        wanted(mask[0], &x.shape, x.dtype, x)?,
        wanted(mask[1] && weight.is_some(), shape, dtype, x)?,
        wanted(mask[2] && bias.is_some(), shape, dtype, x)?,
    ];
    let (dense, given) = (contiguous(x)?, converted(gradient, x.dtype)?);
    let given = contiguous(&given)?;
    let wide = x.dtype.wide();
    let statistics = [mean, inverse].map(|one| -> Outcome<Held> {
        match converted(one, wide)? {
            Held::Given(view) => contiguous(&view),
            made @ Held::Made(_) => Ok(made),
        }
    });
    let [mean, inverse] = statistics;
    let (mean, inverse) = (mean?, inverse?);
    let scale = weight.map(|one| contiguous(one)).transpose()?;
    let operands = [&*dense, &*given, &*mean, &*inverse].map(View::operand);
    let [values, slopes, means, inverses] = operands;
    let (values, slopes, means, inverses) = (values?, slopes?, means?, inverses?);
    let scale = operand_of(scale.as_deref())?;
    let outs = [0, 1, 2].map(|place| operand_of(made[place].as_deref()));
    let [by_x, by_scale, by_shift] = outs;
    let (by_x, by_scale, by_shift) = (by_x?, by_scale?, by_shift?);
    agpu!(agpu_ops_layer_norm_training_gradient_at(
        x.device()?,
        &raw const values,
        &raw const slopes,
        &raw const means,
        &raw const inverses,
        address_of(scale.as_ref()),
        count as u64,
        address_of(by_x.as_ref()),
        address_of(by_scale.as_ref()),
        address_of(by_shift.as_ref()),
    ))?;
    Ok(made
        .into_iter()
        .map(|one| one.map_or(Returned::None, Returned::Tensor))
        .collect())
}

/// Gradients of no rows, or of rows of nothing.
fn empty_gradients(mask: &[bool], x: &View, shape: &[i64], dtype: Dtype) -> Outcome<Results> {
    let shapes = [
        (x.shape.as_slice(), x.dtype),
        (shape, dtype),
        (shape, dtype),
    ];
    let made = mask.iter().zip(shapes).map(|(is_wanted, (shape, dtype))| {
        if *is_wanted {
            zeros(shape, dtype, x.place).map(Returned::Tensor)
        } else {
            Ok(Returned::None)
        }
    });
    made.collect()
}
