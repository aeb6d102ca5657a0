//! Layers that torch takes whole at inference: attention with several heads and the layer of a transformer's encoder (Vaswani et al. 2017).

use super::attention::attend;
use super::layer_norm::layer_norm_of;
use super::matmul::product;
use super::reduction::steps_in;
use super::table;
use crate::call::{Call, Results, Returned, tensors};
use crate::compute::{Steps, cast, contiguous};
use crate::failure::{Failure, Outcome};
use crate::tensor::{Dims, Tensor, View, row_major};

table! {
    c"aten::_transformer_encoder_layer_fwd" => encoder_layer,
    c"aten::_native_multi_head_attention" => multi_head_attention,
}

/// x times the transpose of weights (outputs, inputs), and a bias.
fn linear(x: &View, weight: &View, bias: &View) -> Outcome<Tensor> {
    let s = steps_in(x.dtype, x.place);
    let dense = contiguous(x)?;
    let last = x.rank() - 1;
    let (inputs, outputs) = (x.shape[last], weight.shape[0]);
    let rows = x.len() / inputs.max(1);
    let mut shape = x.shape.clone();
    shape[last] = outputs;
    let made = Tensor::empty(&shape, x.dtype, x.place)?;
    let flat = |view: &View, extent: i64| {
        let shape = Dims::from_slice(&[rows, extent]);
        let strides = row_major(&shape);
        view.with_layout(shape, strides)
    };
    let transposed = weight.permuted(&[1, 0]);
    product(
        &flat(&dense, inputs),
        &transposed,
        &flat(&made, outputs),
        (1.0, 0.0),
    )?;
    s.into(c"add", &[(&made).into(), bias.into()], &made)?;
    Ok(made)
}

/// What attention with several heads is given behind the queries: weights and biases of the projections.
struct Projections<'a> {
    heads: i64,
    inner: (&'a View, &'a View),
    outer: (&'a View, &'a View),
}

/// (batch, length, heads * size) as (batch, heads, length, size).
fn by_head(x: &View, heads: i64) -> Outcome<View> {
    let [batch, length, width] = x.shape[..] else {
        return Err(Failure::no_kernel("queries have three axes"));
    };
    if heads <= 0 || width % heads != 0 {
        return Err(Failure::refused("embed_dim is divisible by num_heads"));
    }
    let size = width / heads;
    Ok(x.with_layout(
        Dims::from_slice(&[batch, heads, length, size]),
        Dims::from_slice(&[
            x.strides[0],
            size * x.strides[2],
            x.strides[1],
            x.strides[2],
        ]),
    ))
}

impl Projections<'_> {
    fn attend(&self, x: &View, mask: Option<&View>) -> Outcome<Tensor> {
        let all = linear(x, self.inner.0, self.inner.1)?;
        let width = all.shape[2] / 3;
        let part = |place: i64| by_head(&all.narrow(2, place * width, width), self.heads);
        let seen = attend([&part(0)?, &part(1)?, &part(2)?], mask)?;
        let joined = Tensor::empty(&[x.shape[0], x.shape[1], width], x.dtype, x.place)?;
        cast(&*seen, &by_head(&joined, self.heads)?)?;
        linear(&joined, self.outer.0, self.outer.1)
    }
}

/// True where a key is seen: torch's masks say where it is not, those of numbers where they are not zero. Kind 0 is of (length, keys), 1 of (batch, keys).
fn seen_keys(x: &View, mask: Option<&Tensor>, kind: i64) -> Outcome<Option<Tensor>> {
    let Some(mask) = mask else { return Ok(None) };
    let view = match (kind, mask.rank()) {
        (0, 2) => mask.with_axis(0).with_axis(0),
        (1, 2) => mask.with_axis(1).with_axis(1),
        (2, 4) => (**mask).clone(),
        _ => {
            return Err(Failure::no_kernel(
                "masks of this shape have no kernel here",
            ));
        }
    };
    let truth = steps_in(mask.dtype, x.place);
    Ok(Some(truth.test(c"logical_not", &[(&view).into()])?))
}

fn check(x: &View) -> Outcome<Steps> {
    if x.rank() != 3 || !x.dtype.is_float() || x.is_empty() {
        return Err(Failure::no_kernel(
            "layers of tensors that are not (batch, length, width) have no kernel",
        ));
    }
    Ok(steps_in(x.dtype, x.place))
}

/// Tensors behind x: projections, norms, and the two layers of the network behind attention.
fn encoder_layer(c: &Call) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let s = check(x)?;
    let projections = Projections {
        heads: c.int(1)?,
        inner: (c.tensor(1)?, c.tensor(2)?),
        outer: (c.tensor(3)?, c.tensor(4)?),
    };
    let (has_gelu, norm_first, epsilon) = (c.flag(2)?, c.flag(3)?, c.real(4)?);
    let mask = seen_keys(x, c.optional(13), c.int_or(5, 0)?)?;
    let norm = |x: &View, first: usize| -> Outcome<Tensor> {
        layer_norm_of(
            x,
            Some(c.tensor(first)?),
            Some(c.tensor(first + 1)?),
            epsilon,
        )
    };
    let network = |x: &View| -> Outcome<Tensor> {
        let inner = linear(x, c.tensor(9)?, c.tensor(10)?)?;
        let activation = if has_gelu { c"gelu" } else { c"relu" };
        s.into(activation, &[(&inner).into()], &inner)?;
        linear(&inner, c.tensor(11)?, c.tensor(12)?)
    };
    let sum = |a: &View, b: &View| s.made(c"add", &[a.into(), b.into()]);
    let result = if norm_first {
        let attended = projections.attend(&*norm(x, 5)?, mask.as_deref())?;
        let middle = sum(x, &attended)?;
        sum(&middle, &*network(&*norm(&middle, 7)?)?)?
    } else {
        let middle = norm(&*sum(x, &*projections.attend(x, mask.as_deref())?)?, 5)?;
        norm(&*sum(&middle, &*network(&middle)?)?, 7)?
    };
    Ok(tensors([result]))
}

/// Tensors: queries, keys, values, projections, mask. The weights of attention are nobody's here.
fn multi_head_attention(c: &Call) -> Outcome<Results> {
    let (q, k, v) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    check(q)?;
    let is_self = [k, v]
        .iter()
        .all(|one| one.address == q.address && one.shape == q.shape && one.strides == q.strides);
    if !is_self || c.flag_or(2, true)? {
        return Err(Failure::no_kernel(
            "attention of other keys, or with its weights, has no kernel of its own",
        ));
    }
    let projections = Projections {
        heads: c.int(1)?,
        inner: (c.tensor(3)?, c.tensor(4)?),
        outer: (c.tensor(5)?, c.tensor(6)?),
    };
    let mask = seen_keys(q, c.optional(7), c.int_or(4, 0)?)?;
    let made = projections.attend(q, mask.as_deref())?;
    Ok(Results::from_iter([Returned::Tensor(made), Returned::None]))
}
