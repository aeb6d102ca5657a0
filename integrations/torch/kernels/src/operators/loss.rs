//! Losses and their gradients.

use std::ffi::CStr;

use super::reduction::{axes_of, reduce, steps_in};
use super::table;
use crate::amdgpu::{Loss, Owned, agpu};
use crate::call::{Call, Results, tensors, written};
use crate::compute::{Gives, Input, Number, cast, contiguous, converted, run};
use crate::failure::{Failure, Outcome};
use crate::tensor::{Dims, Made, Tensor, View, broadcast};

table! {
    c"aten::nll_loss_forward.output" => nll_out,
    c"aten::nll_loss_backward.grad_input" => nll_backward_out,
    c"aten::nll_loss2d_forward" => nll_new,
    c"aten::nll_loss2d_backward" => nll_backward_new,
    c"aten::mse_loss.out" => |c| element_loss(c, c"squared_error"),
    c"aten::mse_loss_backward" => mse_backward_new,
    c"aten::mse_loss_backward.grad_input" => mse_backward_out,
    c"aten::smooth_l1_loss.out" => smooth_l1,
    c"aten::smooth_l1_loss_backward.grad_input" => smooth_l1_backward,
    c"aten::huber_loss" => huber_new,
    c"aten::binary_cross_entropy" => bce_new,
    c"aten::binary_cross_entropy_backward" => bce_backward_new,
    c"aten::binary_cross_entropy_with_logits" => bce_with_logits_new,
}

/// `at::Reduction` by its number: none, mean, sum.
const REDUCTIONS: [&CStr; 3] = [c"none", c"mean", c"sum"];

fn reduction(number: i64) -> Outcome<usize> {
    usize::try_from(number)
        .ok()
        .filter(|place| *place < REDUCTIONS.len())
        .ok_or_else(|| Failure::refused(format!("{number} is no reduction of a loss")))
}

struct Classes<'a> {
    x: &'a View,
    target: &'a View,
    weight: Option<&'a Tensor>,
    reduction: usize,
    ignored: i64,
}

impl Classes<'_> {
    /// The gradient, x, target and weight stand behind each other from `first` on.
    fn of(c: &Call, first: usize) -> Outcome<Classes<'_>> {
        let x = c.tensor(first)?;
        if !x.dtype.is_float() {
            return Err(Failure::no_kernel("losses of integers have no kernel"));
        }
        if x.rank() == 0 || x.is_empty() {
            return Err(Failure::no_kernel("losses of no values have no kernel"));
        }
        Ok(Classes {
            x,
            target: c.tensor(first + 1)?,
            weight: c.optional(first + 2),
            reduction: reduction(c.int(0)?)?,
            ignored: c.int(1)?,
        })
    }

    fn options(&self, weight: Option<&Owned>) -> Loss {
        Loss {
            weight: weight.map_or(0, |one| one.0),
            reduction: REDUCTIONS[self.reduction].as_ptr(),
            ignored_class: self.ignored,
            has_ignored_class: 1,
            ..Loss::default()
        }
    }

    fn result_shape(&self) -> Dims {
        if self.reduction == 0 {
            self.target.shape.clone()
        } else {
            Dims::new()
        }
    }

    fn forward(&self, output: &View, total: &View) -> Outcome {
        let held = self.weight.map(|one| contiguous(one)).transpose()?;
        let weight = held.as_ref().map(|one| one.array()).transpose()?;
        let options = self.options(weight.as_ref());
        let (x, target) = (contiguous(self.x)?, contiguous(self.target)?);
        let (x, target, mut result) = (x.array()?, target.array()?, 0);
        agpu!(agpu_ops_nll_loss(
            x.0,
            target.0,
            &raw const options,
            &raw mut result
        ))?;
        cast(&*Made::of(result, output.place)?, output)?;
        self.total_weight(total)
    }

    /// The sum of the weights of the classes that count; 0 where nothing is reduced.
    fn total_weight(&self, total: &View) -> Outcome {
        if self.reduction == 0 {
            return cast(Number::Int(0), total);
        }
        let s = steps_in(self.target.dtype, self.target.place);
        let counts = s.test(
            c"not_equal",
            &[self.target.into(), Number::Int(self.ignored).into()],
        )?;
        let axes = axes_of(&[], counts.rank())?;
        let Some(weight) = self.weight else {
            let counts = converted(&counts, total.dtype)?;
            return reduce(c"sum", &counts, &axes, false, (total, total.dtype), 0.0);
        };
        let inputs: [Input<'_>; 3] = [(&counts).into(), self.target.into(), Number::Int(0).into()];
        let classes = s.made(c"where", &inputs)?;
        let flat = classes.with_layout(Dims::from_slice(&[classes.len()]), Dims::from_slice(&[1]));
        let picked = super::indexing::pick(weight, &[0], &[&flat])?;
        let weights = picked.with_layout(classes.shape.clone(), classes.strides.clone());
        let s = steps_in(total.dtype, total.place);
        let chosen = s.made(
            c"where",
            &[(&counts).into(), (&weights).into(), Number::Int(0).into()],
        )?;
        reduce(c"sum", &chosen, &axes, false, (total, total.dtype), 0.0)
    }

    fn backward(&self, gradient: &View, out: &View) -> Outcome {
        let held = self.weight.map(|one| contiguous(one)).transpose()?;
        let weight = held.as_ref().map(|one| one.array()).transpose()?;
        let options = self.options(weight.as_ref());
        let (x, target) = (contiguous(self.x)?, contiguous(self.target)?);
        let given = contiguous(gradient)?;
        let (x, target, given) = (x.array()?, target.array()?, given.array()?);
        let mut result = 0;
        agpu!(agpu_ops_nll_loss_gradient(
            x.0,
            target.0,
            given.0,
            &raw const options,
            &raw mut result
        ))?;
        cast(&*Made::of(result, out.place)?, out)
    }
}

fn nll_out(c: &Call) -> Outcome<Results> {
    let classes = Classes::of(c, 0)?;
    let output = c.tensor(3)?.resized(&classes.result_shape())?;
    let total = c.tensor(4)?.resized(&[])?;
    classes.forward(&output, &total)?;
    written()
}

fn nll_new(c: &Call) -> Outcome<Results> {
    let classes = Classes::of(c, 0)?;
    let x = classes.x;
    let output = Tensor::empty(&classes.result_shape(), x.dtype, x.place)?;
    let total = Tensor::empty(&[], x.dtype, x.place)?;
    classes.forward(&output, &total)?;
    Ok(tensors([output, total]))
}

fn nll_backward_out(c: &Call) -> Outcome<Results> {
    let classes = Classes::of(c, 1)?;
    let out = c.last()?.resized(&classes.x.shape)?;
    classes.backward(c.tensor(0)?, &out)?;
    written()
}

fn nll_backward_new(c: &Call) -> Outcome<Results> {
    let classes = Classes::of(c, 1)?;
    let made = Tensor::empty(&classes.x.shape, classes.x.dtype, classes.x.place)?;
    classes.backward(c.tensor(0)?, &made)?;
    Ok(tensors([made]))
}

/// What each element adds to a loss, joined as the reduction says.
fn joined(terms: &View, reduction: usize, out: &View) -> Outcome {
    let axes = axes_of(&[], terms.rank())?;
    match reduction {
        0 => cast(terms, out),
        1 => reduce(c"mean", terms, &axes, false, (out, terms.dtype), 0.0),
        _ => reduce(c"sum", terms, &axes, false, (out, terms.dtype), 0.0),
    }
}

fn pair_shape(c: &Call, first: usize) -> Outcome<Dims> {
    let both = [
        c.tensor(first)?.shape.as_slice(),
        c.tensor(first + 1)?.shape.as_slice(),
    ];
    broadcast(both.into_iter())
}

fn loss_shape(c: &Call, reduction: usize) -> Outcome<Dims> {
    if reduction == 0 {
        pair_shape(c, 0)
    } else {
        Ok(Dims::new())
    }
}

fn element_loss(c: &Call, operation: &CStr) -> Outcome<Results> {
    let (x, target) = (c.tensor(0)?, c.tensor(1)?);
    let reduction = reduction(c.int(0)?)?;
    let s = steps_in(x.dtype.promoted(target.dtype).wide(), x.place);
    let terms = s.made(operation, &[x.into(), target.into()])?;
    let out = c.last()?.resized(&loss_shape(c, reduction)?)?;
    joined(&terms, reduction, &out)?;
    written()
}

/// The part of the gradient of a loss that each element gets of it.
fn share(reduction: usize, count: i64) -> f64 {
    if reduction == 1 {
        1.0 / count as f64
    } else {
        1.0
    }
}

/// 2 (x - target) times the gradient.
fn mse_gradient(c: &Call, out: &View) -> Outcome {
    let (gradient, x, target) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    let reduction = reduction(c.int(0)?)?;
    let s = steps_in(x.dtype.promoted(target.dtype).wide(), x.place);
    let factor = 2.0 * share(reduction, out.len());
    let way = s.sum((factor, x), (-factor, target))?;
    s.into(c"multiply", &[(&way).into(), gradient.into()], out)
}

fn mse_backward_new(c: &Call) -> Outcome<Results> {
    let x = c.tensor(1)?;
    let made = Tensor::empty(&pair_shape(c, 1)?, x.dtype, x.place)?;
    mse_gradient(c, &made)?;
    Ok(tensors([made]))
}

fn mse_backward_out(c: &Call) -> Outcome<Results> {
    let out = c.last()?.resized(&pair_shape(c, 1)?)?;
    mse_gradient(c, &out)?;
    written()
}

/// d^2 / (2 beta) where |d| is below beta, else |d| - beta / 2.
fn smooth_terms(c: &Call, beta: f64) -> Outcome<Tensor> {
    let (x, target) = (c.tensor(0)?, c.tensor(1)?);
    let s = steps_in(x.dtype.promoted(target.dtype).wide(), x.place);
    let way = s.made(c"subtract", &[x.into(), target.into()])?;
    let size = s.made(c"absolute", &[(&way).into()])?;
    let far = s.made(c"subtract", &[(&size).into(), (beta / 2.0).into()])?;
    let square = s.made(c"square", &[(&way).into()])?;
    let near = s.made(c"multiply", &[(&square).into(), (0.5 / beta).into()])?;
    let is_near = s.test(c"less", &[(&size).into(), beta.into()])?;
    s.made(
        c"where",
        &[(&is_near).into(), (&near).into(), (&far).into()],
    )
}

fn smooth_l1(c: &Call) -> Outcome<Results> {
    let reduction = reduction(c.int(0)?)?;
    let beta = c.real(1)?;
    if beta == 0.0 {
        return Err(Failure::no_kernel(
            "smooth_l1_loss without beta has no kernel",
        ));
    }
    let terms = smooth_terms(c, beta)?;
    let out = c.last()?.resized(&loss_shape(c, reduction)?)?;
    joined(&terms, reduction, &out)?;
    written()
}

fn smooth_l1_backward(c: &Call) -> Outcome<Results> {
    let (gradient, x, target) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    let reduction = reduction(c.int(0)?)?;
    let beta = c.real(1)?;
    if beta == 0.0 {
        return Err(Failure::no_kernel(
            "smooth_l1_loss without beta has no kernel",
        ));
    }
    let s = steps_in(x.dtype.promoted(target.dtype).wide(), x.place);
    let way = s.made(c"subtract", &[x.into(), target.into()])?;
    let slope = s.made(c"divide", &[(&way).into(), beta.into()])?;
    let slope = s.made(c"clip", &[(&slope).into(), (-1.0).into(), 1.0.into()])?;
    let out = c.last()?.resized(&pair_shape(c, 1)?)?;
    let part = share(reduction, out.len());
    let slope = s.made(c"multiply", &[(&slope).into(), part.into()])?;
    s.into(c"multiply", &[(&slope).into(), gradient.into()], &out)?;
    written()
}

fn huber_new(c: &Call) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let reduction = reduction(c.int_or(0, 1)?)?;
    let delta = c.real_or(1, 1.0)?;
    let terms = smooth_terms(c, delta)?;
    let s = steps_in(terms.dtype, terms.place);
    let terms = s.made(c"multiply", &[(&terms).into(), delta.into()])?;
    let made = Tensor::empty(&loss_shape(c, reduction)?, x.dtype, x.place)?;
    joined(&terms, reduction, &made)?;
    Ok(tensors([made]))
}

/// Terms times a weight, if there is one, as a new loss.
fn weighted(
    c: &Call,
    terms: Tensor,
    weight: Option<&Tensor>,
    reduction: usize,
) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let s = steps_in(terms.dtype, terms.place);
    let terms = match weight {
        Some(weight) => s.made(c"multiply", &[(&terms).into(), weight.into()])?,
        None => terms,
    };
    let made = Tensor::empty(&loss_shape(c, reduction)?, x.dtype, x.place)?;
    joined(&terms, reduction, &made)?;
    Ok(tensors([made]))
}

fn bce_new(c: &Call) -> Outcome<Results> {
    let (x, target) = (c.tensor(0)?, c.tensor(1)?);
    let s = steps_in(x.dtype.wide(), x.place);
    let terms = s.made(c"bce", &[x.into(), target.into()])?;
    weighted(c, terms, c.optional(2), reduction(c.int_or(0, 1)?)?)
}

fn bce_backward_new(c: &Call) -> Outcome<Results> {
    let (gradient, x, target) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    let reduction = reduction(c.int_or(0, 1)?)?;
    let s = steps_in(x.dtype.wide(), x.place);
    let given = s.made(
        c"multiply",
        &[gradient.into(), share(reduction, x.len()).into()],
    )?;
    let wide = given.expanded(&x.shape)?;
    let given = match c.optional(3) {
        Some(weight) => s.made(c"multiply", &[(&wide).into(), weight.into()])?,
        None => s.made(c"identity", &[(&wide).into()])?,
    };
    let made = Tensor::empty(&x.shape, x.dtype, x.place)?;
    run(
        c"bce_gradient",
        &[x.into(), target.into(), (&given).into()],
        s.dtype,
        Gives::Same,
        &made,
        1.0,
    )?;
    Ok(tensors([made]))
}

fn bce_with_logits_new(c: &Call) -> Outcome<Results> {
    let (x, target) = (c.tensor(0)?, c.tensor(1)?);
    if c.optional(3).is_some() {
        return Err(Failure::no_kernel(
            "binary cross entropy with weights of positive targets has no kernel",
        ));
    }
    let s = steps_in(x.dtype.wide(), x.place);
    let terms = s.made(c"bce_with_logits", &[x.into(), target.into()])?;
    weighted(c, terms, c.optional(2), reduction(c.int_or(0, 1)?)?)
}
