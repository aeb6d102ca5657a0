//! The cell of a long short-term memory (Hochreiter & Schmidhuber 1997), and its gradient.

use super::reduction::{reduced, steps_in};
use super::table;
use crate::call::{Call, Results, Returned, tensors};
use crate::compute::Steps;
use crate::failure::{Failure, Outcome};
use crate::tensor::{Tensor, View};

table! {
    c"aten::_thnn_fused_lstm_cell" => forward,
    c"aten::_thnn_fused_lstm_cell_backward_impl" => backward,
}

/// The four gates in a row of values: input, forget, cell, output.
fn gates(x: &View) -> Outcome<[View; 4]> {
    let last = x.rank() - 1;
    if x.shape[last] % 4 != 0 {
        return Err(Failure::refused(format!(
            "a row of gates is four times as long as the state, not {}",
            x.shape[last]
        )));
    }
    let size = x.shape[last] / 4;
    Ok([0, 1, 2, 3].map(|place| x.narrow(last, place * size, size)))
}

fn forward(c: &Call) -> Outcome<Results> {
    let (input, hidden, before) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    let s = steps_in(input.dtype, input.place);
    let mut sum = s.new(c"add", &[input.into(), hidden.into()])?;
    for bias in [c.optional(3), c.optional(4)].into_iter().flatten() {
        sum = s.new(c"add", &[(&sum).into(), bias.into()])?;
    }
    let workspace = Tensor::empty(&sum.shape, s.dtype, s.place)?;
    let (from, to) = (gates(&sum)?, gates(&workspace)?);
    for (place, (from, to)) in from.iter().zip(&to).enumerate() {
        let activation = if place == 2 { c"tanh" } else { c"sigmoid" };
        s.into(activation, &[from.into()], to)?;
    }
    let [enter, forget, cell, leave] = &to;
    let kept = s.new(c"multiply", &[forget.into(), before.into()])?;
    let entered = s.new(c"multiply", &[enter.into(), cell.into()])?;
    let state = s.new(c"add", &[(&kept).into(), (&entered).into()])?;
    let bent = s.new(c"tanh", &[(&state).into()])?;
    let result = s.new(c"multiply", &[leave.into(), (&bent).into()])?;
    Ok(tensors([result, state, workspace]))
}

/// The gradient by the state: of the result through the output gate, and that of the state itself.
fn by_state(s: Steps, c: &Call, leave: &View, bent: &View) -> Outcome<Tensor> {
    let through = match c.optional(0) {
        Some(by_result) => {
            let product = s.new(c"multiply", &[by_result.into(), leave.into()])?;
            Some(s.new(c"tanh_gradient", &[bent.into(), (&product).into()])?)
        }
        None => None,
    };
    match (through, c.optional(1)) {
        (Some(through), Some(direct)) => s.new(c"add", &[(&through).into(), direct.into()]),
        (Some(through), None) => Ok(through),
        (None, Some(direct)) => s.new(c"identity", &[direct.into()]),
        (None, None) => Err(Failure::no_kernel("no gradient of an LSTM cell is defined")),
    }
}

/// Tensors: gradient of the result, of the state, state before and after, workspace.
fn backward(c: &Call) -> Outcome<Results> {
    let (before, after, workspace) = (c.tensor(2)?, c.tensor(3)?, c.tensor(4)?);
    let s = steps_in(workspace.dtype, workspace.place);
    let [enter, forget, cell, leave] = &gates(workspace)?;
    let bent = s.new(c"tanh", &[after.into()])?;
    let state = by_state(s, c, leave, &bent)?;
    let made = Tensor::empty(&workspace.shape, s.dtype, s.place)?;
    let to = gates(&made)?;
    for (place, (other, own)) in [(cell, enter), (&**before, forget)].into_iter().enumerate() {
        let product = s.new(c"multiply", &[(&state).into(), other.into()])?;
        let inputs = [own.into(), (&product).into()];
        s.into(c"sigmoid_gradient", &inputs, &to[place])?;
    }
    let product = s.new(c"multiply", &[(&state).into(), enter.into()])?;
    s.into(c"tanh_gradient", &[cell.into(), (&product).into()], &to[2])?;
    match c.optional(0) {
        Some(by_result) => {
            let product = s.new(c"multiply", &[by_result.into(), (&bent).into()])?;
            s.into(
                c"sigmoid_gradient",
                &[leave.into(), (&product).into()],
                &to[3],
            )?;
        }
        None => crate::compute::cast(0.0, &to[3])?,
    }
    let by_before = s.new(c"multiply", &[(&state).into(), forget.into()])?;
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
