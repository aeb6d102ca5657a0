//! Attention by scaled dot products, without the scores in memory.

use super::table;
use crate::amdgpu::{Attention, Owned, agpu};
use crate::call::{Call, Results, Returned};
use crate::compute::{Held, cast, contiguous};
use crate::dtype::Dtype;
use crate::failure::{Failure, Outcome};
use crate::tensor::{Made, Tensor, View};
use crate::torch;

table! {
    c"aten::_fused_sdp_choice" => choice,
    c"aten::_scaled_dot_product_fused_attention_overrideable" => forward,
    c"aten::_scaled_dot_product_fused_attention_overrideable_backward" => backward,
}

/// `at::SDPBackend` by its numbers: what torch makes of single operators, and the kernel of the device.
const MATH: i64 = 0;
const OVERRIDEABLE: i64 = 4;

/// The kernel takes everything but dropout and masks that gradients may be asked for.
fn choice(c: &Call) -> Outcome<Results> {
    let (q, k, v) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    // SAFETY: no arguments.
    let has_gradients = unsafe { (torch::get()?.aoti_torch_grad_mode_is_enabled)() };
    let fits = |one: &View| one.rank() == 4 && one.dtype == q.dtype && !one.is_empty();
    let is_mask_constant = c
        .optional(3)
        .is_none_or(|mask| mask.dtype == Dtype::BOOL || !has_gradients);
    let is_taken = q.dtype.is_float()
        && [&**q, &**k, &**v].into_iter().all(fits)
        && q.shape[3] == k.shape[3]
        && k.shape[2] == v.shape[2]
        && k.shape[1] == v.shape[1]
        && q.shape[1] % k.shape[1] == 0
        && c.real_or(0, 0.0)? == 0.0
        && is_mask_constant;
    let chosen = if is_taken { OVERRIDEABLE } else { MATH };
    Ok(Results::from_iter([Returned::Int(chosen)]))
}

/// What both directions are given.
struct Given {
    q: Held,
    k: Held,
    v: Held,
    mask: Option<Held>,
    scale: Option<f64>,
    is_causal: bool,
}

impl Given {
    fn arrays(&self) -> Outcome<([Owned; 3], Option<Owned>)> {
        let mask = self.mask.as_ref().map(|mask| mask.array()).transpose()?;
        Ok(([self.q.array()?, self.k.array()?, self.v.array()?], mask))
    }

    fn options(&self, mask: Option<&Owned>) -> Attention {
        Attention {
            mask: mask.map_or(0, |one| one.0),
            scale: self.scale.unwrap_or(0.0),
            has_scale: u32::from(self.scale.is_some()),
            is_causal: u32::from(self.is_causal),
            ..Attention::default()
        }
    }
}

impl Given {
    fn attend(&self, q: &View) -> Outcome<Made> {
        let (arrays, mask) = self.arrays()?;
        let options = self.options(mask.as_ref());
        let mut result = 0;
        agpu!(agpu_ops_scaled_dot_product_attention(
            arrays[0].0,
            arrays[1].0,
            arrays[2].0,
            &raw const options,
            &raw mut result
        ))?;
        Made::of(result, q.place)
    }
}

fn mask_of(mask: Option<&Tensor>, dtype: Dtype) -> Outcome<Option<Held>> {
    let Some(mask) = mask else { return Ok(None) };
    if mask.dtype == dtype || mask.dtype == Dtype::BOOL {
        return contiguous(mask).map(Some);
    }
    let made = Tensor::empty(&mask.shape, dtype, mask.place)?;
    cast(mask, &made)?;
    Ok(Some(Held::Made(made)))
}

fn check_dropout(p: f64) -> Outcome {
    if p == 0.0 {
        return Ok(());
    }
    Err(Failure::no_kernel("attention with dropout has no kernel"))
}

/// Attention without scale, dropout or order of its own.
pub fn attend(operands: [&View; 3], mask: Option<&View>) -> Outcome<Made> {
    let [q, k, v] = operands;
    let given = Given {
        q: contiguous(q)?,
        k: contiguous(k)?,
        v: contiguous(v)?,
        mask: mask.map(contiguous).transpose()?,
        scale: None,
        is_causal: false,
    };
    given.attend(q)
}

/// The result, and what torch keeps for kernels of its own: their sums, lengths and random state, which this one does not need.
fn forward(c: &Call) -> Outcome<Results> {
    let (q, k, v) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    check_dropout(c.real_or(0, 0.0)?)?;
    let given = Given {
        q: contiguous(q)?,
        k: contiguous(k)?,
        v: contiguous(v)?,
        mask: mask_of(c.optional(3), q.dtype)?,
        scale: c.has(3).then(|| c.real(3)).transpose()?,
        is_causal: c.flag_or(1, false)?,
    };
    let result = given.attend(q)?;
    let made = Tensor::empty(&result.shape, q.dtype, q.place)?;
    cast(&*result, &made)?;
    let none = |dtype| Tensor::empty(&[0], dtype, q.place).map(Returned::Tensor);
    Ok(Results::from_iter([
        Returned::Tensor(made),
        none(Dtype::F32)?,
        none(Dtype::I32)?,
        none(Dtype::I32)?,
        Returned::Int(q.shape[2]),
        Returned::Int(k.shape[2]),
        none(Dtype::I64)?,
        none(Dtype::I64)?,
        none(q.dtype)?,
    ]))
}

/// Tensors: gradient, q, k, v, mask, result, sums, lengths of q and k, seed, offset.
fn backward(c: &Call) -> Outcome<Results> {
    let (gradient, q, k, v) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?, c.tensor(3)?);
    check_dropout(c.real(3)?)?;
    let wanted = c.flags(0)?;
    let given = Given {
        q: contiguous(q)?,
        k: contiguous(k)?,
        v: contiguous(v)?,
        mask: mask_of(c.optional(4), q.dtype)?,
        scale: c.has(5).then(|| c.real(5)).transpose()?,
        is_causal: c.flag(4)?,
    };
    let (arrays, mask) = given.arrays()?;
    let options = given.options(mask.as_ref());
    let dense = contiguous(gradient)?;
    let (by_result, mut made) = (dense.array()?, [0; 3]);
    let [by_q, by_k, by_v] = &mut made;
    agpu!(agpu_ops_scaled_dot_product_attention_gradient(
        arrays[0].0,
        arrays[1].0,
        arrays[2].0,
        by_result.0,
        &raw const options,
        std::ptr::from_mut(by_q),
        std::ptr::from_mut(by_k),
        std::ptr::from_mut(by_v)
    ))?;
    let mut results = Results::new();
    for (handle, wanted) in made.into_iter().zip(wanted) {
        let made = Made::of(handle, q.place)?;
        results.push(if *wanted {
            let tensor = Tensor::empty(&made.shape, made.dtype, q.place)?;
            cast(&*made, &tensor)?;
            Returned::Tensor(tensor)
        } else {
            Returned::None
        });
    }
    results.push(Returned::None);
    Ok(results)
}
