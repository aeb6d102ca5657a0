//! The cells of a long short-term memory (Hochreiter & Schmidhuber 1997) and of a gated recurrent unit (Cho et al. 2014), and their gradients.

use super::reduction::{reduced, steps_in};
use super::table;
use crate::call::{Call, Results, Returned, tensors};
use crate::compute::Steps;
use crate::failure::{Failure, Outcome};
use crate::tensor::{Tensor, View};

table! {
    c"aten::_thnn_fused_lstm_cell" => forward,
    c"aten::_thnn_fused_lstm_cell_backward_impl" => backward,
    c"aten::_thnn_fused_gru_cell" => gru,
    c"aten::_thnn_fused_gru_cell_backward" => gru_backward,
}

/// So many parts of a row of values.
fn parts<const N: usize>(x: &View) -> Outcome<[View; N]> {
    let last = x.rank() - 1;
    let count = N as i64;
    if x.shape[last] % count != 0 {
        return Err(Failure::refused(format!(
            "a row of gates is {count} times as long as the state, not {}",
            x.shape[last]
        )));
    }
    let size = x.shape[last] / count;
    Ok(std::array::from_fn(|place| {
        x.narrow(last, place as i64 * size, size)
    }))
}

/// The four gates in a row of values: input, forget, cell, output.
fn gates(x: &View) -> Outcome<[View; 4]> {
    parts(x)
}

fn forward(c: &Call) -> Outcome<Results> {
    let (input, hidden, before) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    let s = steps_in(input.dtype, input.place);
    let mut sum = s.made(c"add", &[input.into(), hidden.into()])?;
    for bias in [c.optional(3), c.optional(4)].into_iter().flatten() {
        sum = s.made(c"add", &[(&sum).into(), bias.into()])?;
    }
    let workspace = Tensor::empty(&sum.shape, s.dtype, s.place)?;
    let (from, to) = (gates(&sum)?, gates(&workspace)?);
    for (place, (from, to)) in from.iter().zip(&to).enumerate() {
        let activation = if place == 2 { c"tanh" } else { c"sigmoid" };
        s.into(activation, &[from.into()], to)?;
    }
    let [enter, forget, cell, leave] = &to;
    let kept = s.made(c"multiply", &[forget.into(), before.into()])?;
    let entered = s.made(c"multiply", &[enter.into(), cell.into()])?;
    let state = s.made(c"add", &[(&kept).into(), (&entered).into()])?;
    let bent = s.made(c"tanh", &[(&state).into()])?;
    let result = s.made(c"multiply", &[leave.into(), (&bent).into()])?;
    Ok(tensors([result, state, workspace]))
}

/// The gradient by the state: of the result through the output gate, and that of the state itself.
fn by_state(s: Steps, c: &Call, leave: &View, bent: &View) -> Outcome<Tensor> {
    let through = match c.optional(0) {
        Some(by_result) => {
            let product = s.made(c"multiply", &[by_result.into(), leave.into()])?;
            Some(s.made(c"tanh_gradient", &[bent.into(), (&product).into()])?)
        }
        None => None,
    };
    match (through, c.optional(1)) {
        (Some(through), Some(direct)) => s.made(c"add", &[(&through).into(), direct.into()]),
        (Some(through), None) => Ok(through),
        (None, Some(direct)) => s.made(c"identity", &[direct.into()]),
        (None, None) => Err(Failure::no_kernel("no gradient of an LSTM cell is defined")),
    }
}

/// Tensors: gradient of the result, of the state, state before and after, workspace.
fn backward(c: &Call) -> Outcome<Results> {
    let (before, after, workspace) = (c.tensor(2)?, c.tensor(3)?, c.tensor(4)?);
    let s = steps_in(workspace.dtype, workspace.place);
    let [enter, forget, cell, leave] = &gates(workspace)?;
    let bent = s.made(c"tanh", &[after.into()])?;
    let state = by_state(s, c, leave, &bent)?;
    let made = Tensor::empty(&workspace.shape, s.dtype, s.place)?;
    let to = gates(&made)?;
    for (place, (other, own)) in [(cell, enter), (&**before, forget)].into_iter().enumerate() {
        let product = s.made(c"multiply", &[(&state).into(), other.into()])?;
        let inputs = [own.into(), (&product).into()];
        s.into(c"sigmoid_gradient", &inputs, &to[place])?;
    }
    let product = s.made(c"multiply", &[(&state).into(), enter.into()])?;
    s.into(c"tanh_gradient", &[cell.into(), (&product).into()], &to[2])?;
    match c.optional(0) {
        Some(by_result) => {
            let product = s.made(c"multiply", &[by_result.into(), (&bent).into()])?;
            s.into(
                c"sigmoid_gradient",
                &[leave.into(), (&product).into()],
                &to[3],
            )?;
        }
        None => crate::compute::cast(0.0, &to[3])?,
    }
    let by_before = s.made(c"multiply", &[(&state).into(), forget.into()])?;
    let bias = if c.flag(0)? {
        Returned::Tensor(reduced(c"sum", &made, &[0], false)?)
    } else {
        Returned::None
    };
    Ok(Results::from_iter([
        Returned::Tensor(made),
        Returned::Tensor(by_before),
        bias,
    ]))
}

/// With reset r, update z and what is proposed, `n = tanh(x_n + r h_n)`: `n + z (h - n)`. The workspace keeps r, z, n, h and `h_n`.
fn gru(c: &Call) -> Outcome<Results> {
    let (input, hidden, before) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    let s = steps_in(input.dtype, input.place);
    let with_bias = |x: &View, bias: Option<&Tensor>| match bias {
        Some(bias) => s.made(c"add", &[x.into(), bias.into()]),
        None => s.made(c"identity", &[x.into()]),
    };
    let (x, h) = (
        with_bias(input, c.optional(3))?,
        with_bias(hidden, c.optional(4))?,
    );
    let ([x_reset, x_update, x_new], [h_reset, h_update, h_new]) =
        (parts::<3>(&x)?, parts::<3>(&h)?);
    let mut shape = before.shape.clone();
    let last = shape.len() - 1;
    shape[last] *= 5;
    let workspace = Tensor::empty(&shape, s.dtype, s.place)?;
    let [reset, update, new, kept, of_hidden] = parts::<5>(&workspace)?;
    let sum = s.made(c"add", &[(&x_reset).into(), (&h_reset).into()])?;
    s.into(c"sigmoid", &[(&sum).into()], &reset)?;
    let sum = s.made(c"add", &[(&x_update).into(), (&h_update).into()])?;
    s.into(c"sigmoid", &[(&sum).into()], &update)?;
    let part = s.made(c"multiply", &[(&reset).into(), (&h_new).into()])?;
    let sum = s.made(c"add", &[(&x_new).into(), (&part).into()])?;
    s.into(c"tanh", &[(&sum).into()], &new)?;
    s.into(c"identity", &[before.into()], &kept)?;
    s.into(c"identity", &[(&h_new).into()], &of_hidden)?;
    let way = s.made(c"subtract", &[before.into(), (&new).into()])?;
    let way = s.made(c"multiply", &[(&update).into(), (&way).into()])?;
    let result = s.made(c"add", &[(&new).into(), (&way).into()])?;
    Ok(tensors([result, workspace]))
}

fn gru_backward(c: &Call) -> Outcome<Results> {
    let (gradient, workspace) = (c.tensor(0)?, c.tensor(1)?);
    let s = steps_in(workspace.dtype, workspace.place);
    let [reset, update, new, before, of_hidden] = parts::<5>(workspace)?;
    let mut shape = gradient.shape.clone();
    let last = shape.len() - 1;
    shape[last] *= 3;
    let by_input = Tensor::empty(&shape, s.dtype, s.place)?;
    let by_hidden = Tensor::empty(&shape, s.dtype, s.place)?;
    let ([i_reset, i_update, i_new], [h_reset, h_update, h_new]) =
        (parts::<3>(&by_input)?, parts::<3>(&by_hidden)?);
    let by_before = s.made(c"multiply", &[gradient.into(), (&update).into()])?;
    let by_new = s.made(c"subtract", &[gradient.into(), (&by_before).into()])?;
    s.into(c"tanh_gradient", &[(&new).into(), (&by_new).into()], &i_new)?;
    s.into(c"multiply", &[(&i_new).into(), (&reset).into()], &h_new)?;
    let product = s.made(c"multiply", &[(&i_new).into(), (&of_hidden).into()])?;
    s.into(
        c"sigmoid_gradient",
        &[(&reset).into(), (&product).into()],
        &i_reset,
    )?;
    let way = s.made(c"subtract", &[(&before).into(), (&new).into()])?;
    let product = s.made(c"multiply", &[gradient.into(), (&way).into()])?;
    s.into(
        c"sigmoid_gradient",
        &[(&update).into(), (&product).into()],
        &i_update,
    )?;
    s.into(c"identity", &[(&i_reset).into()], &h_reset)?;
    s.into(c"identity", &[(&i_update).into()], &h_update)?;
    let mut results = Results::new();
    let has_bias = c.flag(0)?;
    let biases = if has_bias {
        [
            Returned::Tensor(reduced(c"sum", &by_input, &[0], false)?),
            Returned::Tensor(reduced(c"sum", &by_hidden, &[0], false)?),
        ]
    } else {
        [Returned::None, Returned::None]
    };
    results.push(Returned::Tensor(by_input));
    results.push(Returned::Tensor(by_hidden));
    results.push(Returned::Tensor(by_before));
    results.extend(biases);
    Ok(results)
}
