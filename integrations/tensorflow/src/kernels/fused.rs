//! What the optimizer of graphs puts in the place of several operations, with the dtypes that these have.

use std::ffi::{CStr, CString};

use smallvec::SmallVec;

use super::convolution::{Channels, Settings};
use super::matmul::{Epilogue, product_with, result_shape};
use super::{FLOATS, T, row};
use crate::amdgpu::{Attention, Normalize, Operand, Owned, address_of, agpu};
use crate::call::{Attributes, Call};
use crate::compute::{Held, cast, launch};
use crate::failure::{Failure, Outcome};
use crate::graph::convolution::part;
use crate::registry::{Kernel, Row};
use crate::tensor::{Dims, View, broadcast};

pub const ROWS: &[Row] = &[
    row(c"RdnaElementwise", &[(T, FLOATS)], &[], |a| {
        let steps = crate::failure::c_text(&a.text(c"steps")?);
        Ok(Box::new(move |c| elementwise(c, &steps)))
    }),
    row(c"RdnaMatMul", &[(T, FLOATS)], &[], matmul),
    row(c"RdnaConv2D", &[(T, FLOATS)], &[], convolution),
    row(c"RdnaAttention", &[(T, FLOATS)], &[], attention),
    row(c"RdnaLayerNorm", &[(T, FLOATS)], &[], |a| {
        let epsilon = a.real(c"epsilon")?;
        Ok(Box::new(move |c| layer_norm(c, epsilon)))
    }),
];

/// Steps on inputs that broadcast, to the first output in the memory of one of them where that may be.
fn elementwise(c: &Call, steps: &CStr) -> Outcome {
    let inputs = c.inputs(0)?;
    let mut shape = inputs[0].shape.clone();
    for input in &inputs[1..] {
        shape = broadcast(&shape, &input.shape)?;
    }
    let places: SmallVec<[i32; 6]> = (0..inputs.len() as i32).collect();
    let out = c.output_in_place(&places, inputs[0].dtype, &shape)?;
    let inputs: SmallVec<[&View; 6]> = inputs.iter().collect();
    steps_to(steps, &inputs, &out)
}

fn steps_to(steps: &CStr, inputs: &[&View], out: &View) -> Outcome {
    if out.is_empty() {
        return Ok(());
    }
    let operands: SmallVec<[Operand; 6]> = { inputs.iter() }
        .map(|input| input.operand())
        .collect::<Outcome<_>>()?;
    let to = out.operand()?;
    agpu!(agpu_ops_fused_at(
        out.place.0,
        steps.as_ptr(),
        operands.as_ptr(),
        operands.len(),
        &raw const to,
    ))
}

/// The activation of an attribute; the empty text is none.
fn activation(a: &Attributes) -> Outcome<Option<CString>> {
    let name = a.text(c"activation")?;
    Ok((!name.is_empty()).then(|| crate::failure::c_text(&name)))
}

fn matmul(a: &Attributes) -> Outcome<Kernel> {
    let transposes = [a.flag(c"transpose_a")?, a.flag(c"transpose_b")?];
    let activation = activation(a)?;
    Ok(Box::new(move |c| {
        let (a, b, bias) = (c.input(0)?, c.input(1)?, c.input(2)?);
        let shape = result_shape(&a, &b, transposes)?;
        let row = bias.len();
        if shape.last() != Some(&row) {
            return Err(Failure::refused(format!(
                "Must provide as many biases as the last dimension of the input tensor: {row} vs. {:?}",
                shape.last()
            )));
        }
        let out = c.output(0, a.dtype, &shape)?;
        let epilogue = Epilogue {
            bias: Some(&bias.reshaped(&[row])),
            activation: activation.as_deref(),
        };
        product_with(c, (&a, &b), transposes, &epilogue, &out)
    }))
}

/// What follows a convolution, as the attribute `parts` says it.
struct Following {
    parts: String,
    epsilon: f64,
    activation: Option<CString>,
}

fn convolution(a: &Attributes) -> Outcome<Kernel> {
    let settings = Settings::of(a, false)?;
    let following = Following {
        parts: a.text(c"parts")?,
        epsilon: a.real(c"epsilon")?,
        activation: activation(a)?,
    };
    Ok(Box::new(move |c| {
        let (x, filter) = (c.input(0)?, c.input(1)?);
        let out = settings.output(c, &x, &filter)?;
        if out.is_empty() {
            return Ok(());
        }
        let mut next = 2;
        let mut taken = || {
            next += 1;
            c.input(next - 1)
        };
        let bias = following.has(part::BIAS).then(&mut taken).transpose()?;
        let (factor, addend) = following.channels(c, bias.as_ref(), &mut taken)?;
        let addend = addend.as_deref().or(bias.as_ref());
        if x.is_empty() || filter.is_empty() {
            cast(0_i64, &out)?;
            if let Some(addend) = addend {
                let addend = settings.beside_images(addend);
                launch(c"add", &[(&*out).into(), (&addend).into()], &out, 0.0)?;
            }
        } else {
            let channels = Channels {
                factor: factor.as_deref(),
                bias: addend,
            };
            settings.convolve(c, (&x, &filter), channels, &out)?;
        }
        let residual = following.has(part::RESIDUAL).then(&mut taken).transpose()?;
        following.finish(residual.as_ref(), &out)
    }))
}

impl Following {
    fn has(&self, part: &str) -> bool {
        self.parts.split_whitespace().any(|one| one == part)
    }

    /// The factor and the addend of each channel, where there is a batch normalisation; the bias comes before it.
    fn channels(
        &self,
        c: &Call,
        bias: Option<&View>,
        taken: &mut impl FnMut() -> Outcome<View>,
    ) -> Outcome<(Option<Held>, Option<Held>)> {
        let has_norm = self.has(part::NORM);
        if !has_norm && !self.has(part::SCALE) {
            return Ok((None, None));
        }
        let mut channels = || taken().map(|given| given.reshaped(&[given.len()]));
        let (scale, shift) = (channels()?, channels()?);
        let dtype = scale.dtype.name()?.to_string_lossy();
        let made = |steps: &str, inputs: &[&View]| -> Outcome<Held> {
            let out = c.temporary(scale.dtype, &scale.shape)?;
            steps_to(&crate::failure::c_text(steps), inputs, &out)?;
            Ok(Held::Made(out))
        };
        let (factor, mut addend) = if has_norm {
            let (mean, variance) = (channels()?, channels()?);
            let epsilon = self.epsilon;
            let steps = format!(
                "add(i0, {epsilon:?} {dtype}) {dtype}; sqrt(s0) {dtype}; reciprocal(s1) {dtype}; multiply(s2, i1) {dtype}"
            );
            let factor = made(&steps, &[&variance, &scale])?;
            let steps = format!("multiply(i0, i1) {dtype}; subtract(i2, s0) {dtype}");
            let addend = made(&steps, &[&mean, &factor, &shift])?;
            (factor, addend)
        } else {
            (Held::Given(scale.clone()), Held::Given(shift))
        };
        if let Some(bias) = bias {
            let steps = format!("multiply(i0, i1) {dtype}; add(s0, i2) {dtype}");
            addend = made(&steps, &[bias, &factor, &addend])?;
        }
        Ok((Some(factor), Some(addend)))
    }

    /// Adds what has the shape of the result, and applies the activation, in one pass.
    fn finish(&self, residual: Option<&View>, out: &View) -> Outcome {
        match (residual, self.activation.as_deref()) {
            (None, None) => Ok(()),
            (None, Some(activation)) => launch(activation, &[out.into()], out, 1.0),
            (Some(residual), None) => launch(c"add", &[out.into(), residual.into()], out, 0.0),
            (Some(residual), Some(activation)) => {
                let dtype = out.dtype.name()?.to_string_lossy();
                let alpha = if activation == c"elu" {
                    " alpha 1.0"
                } else {
                    ""
                };
                let activation = activation.to_string_lossy();
                let steps = format!("add(i0, i1) {dtype}; {activation}(s0){alpha} {dtype}");
                steps_to(&crate::failure::c_text(&steps), &[out, residual], out)
            }
        }
    }
}

/// Orders of the axes of q, k, v and of the result, each as four digits.
fn orders(text: &str) -> Outcome<[[usize; 4]; 4]> {
    let order = |word: &str| -> Option<[usize; 4]> {
        let axes: Vec<usize> = word
            .chars()
            .filter_map(|digit| digit.to_digit(4).map(|axis| axis as usize))
            .collect();
        axes.try_into().ok()
    };
    let orders: Option<Vec<_>> = text.split_whitespace().map(order).collect();
    let orders = orders.and_then(|orders| orders.try_into().ok());
    orders
        .ok_or_else(|| Failure::refused(format!("axes is {text:?}, not four orders of four axes")))
}

fn attention(a: &Attributes) -> Outcome<Kernel> {
    let scale = a.real(c"scale")?;
    let [of_q, of_k, of_v, of_result] = orders(&a.text(c"axes")?)?;
    Ok(Box::new(move |c| {
        let given = [c.input(0)?, c.input(1)?, c.input(2)?];
        if given.iter().any(|view| view.rank() != 4) {
            return Err(Failure::refused("q, k and v must have four axes"));
        }
        let [q, k, v] = [
            given[0].permuted(&of_q),
            given[1].permuted(&of_k),
            given[2].permuted(&of_v),
        ];
        let result = [q.shape[0], q.shape[1], q.shape[2], v.shape[3]];
        let shape: Dims = of_result.iter().map(|axis| result[*axis]).collect();
        let out = c.output(0, q.dtype, &shape)?;
        if out.is_empty() {
            return Ok(());
        }
        let mut back = [0; 4];
        for (place, axis) in of_result.into_iter().enumerate() {
            back[axis] = place;
        }
        let mask = (c.input_count()? > 3).then(|| c.input(3)).transpose()?;
        let options = Attention {
            scale,
            has_scale: 1,
            ..Attention::default()
        };
        let mask = mask.as_ref().map(View::operand).transpose()?;
        let views = [out.permuted(&back), q, k, v];
        let operands: SmallVec<[Operand; 4]> = { views.iter() }
            .map(View::operand)
            .collect::<Outcome<_>>()?;
        agpu!(agpu_ops_scaled_dot_product_attention_at(
            c.device,
            &raw const operands[1],
            &raw const operands[2],
            &raw const operands[3],
            address_of(mask.as_ref()),
            &raw const options,
            &raw const operands[0],
        ))
    }))
}

fn layer_norm(c: &Call, epsilon: f64) -> Outcome {
    let (x, scale, shift) = (c.input(0)?, c.input(1)?, c.input(2)?);
    let out = c.output_in_place(&[0], x.dtype, &x.shape)?;
    if out.is_empty() {
        return Ok(());
    }
    let (scale, shift) = (
        scale.reshaped(&[scale.len()]),
        shift.reshaped(&[shift.len()]),
    );
    let (array, place) = (x.array()?, out.array()?);
    let (scale, shift) = (scale.array()?, shift.array()?);
    let options = Normalize {
        out: place.0,
        scale: scale.0,
        shift: shift.0,
        epsilon,
        has_epsilon: 1,
        ..Normalize::default()
    };
    let mut result = 0;
    agpu!(agpu_ops_normalize(
        c"layer_norm".as_ptr(),
        array.0,
        &raw const options,
        &raw mut result
    ))?;
    drop(Owned(result));
    Ok(())
}
