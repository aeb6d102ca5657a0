//! Attention by scaled dot products.

use super::table;
use crate::amdgpu::{self, Attention, Operand, address_of, agpu};
use crate::call::{Call, Results, Returned};
use crate::compute::{Held, cast, contiguous};
use crate::dtype::Dtype;
use crate::failure::{Failure, Outcome};
use crate::tensor::{Tensor, View};
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
    fn options(&self) -> Attention {
        Attention {
            scale: self.scale.unwrap_or(0.0),
            has_scale: u32::from(self.scale.is_some()),
            is_causal: u32::from(self.is_causal),
            ..Attention::default()
        }
    }

    fn mask(&self) -> Outcome<Option<Operand>> {
        self.mask.as_ref().map(|mask| mask.operand()).transpose()
    }

    fn device(&self) -> Outcome<amdgpu::Handle> {
        self.q.device()
    }

    fn attend(&self) -> Outcome<Tensor> {
        let mut shape = self.q.shape.clone();
        let last = shape.len() - 1;
        shape[last] = self.v.shape[last];
        let made = Tensor::empty(&shape, self.q.dtype, self.q.place)?;
        let (options, mask) = (self.options(), self.mask()?);
        let (q, k, v) = (self.q.operand()?, self.k.operand()?, self.v.operand()?);
        let result = made.operand()?;
        agpu!(agpu_ops_scaled_dot_product_attention_at(
            self.device()?,
            &raw const q,
            &raw const k,
            &raw const v,
            address_of(mask.as_ref()),
            &raw const options,
            &raw const result
        ))?;
        Ok(made)
    }

    fn gradients(&self, gradient: &View) -> Outcome<[Tensor; 3]> {
        let like = |one: &View| Tensor::empty(&one.shape, one.dtype, one.place);
        let made = [like(&self.q)?, like(&self.k)?, like(&self.v)?];
        let (options, mask) = (self.options(), self.mask()?);
        let (q, k, v) = (self.q.operand()?, self.k.operand()?, self.v.operand()?);
        let given = gradient.operand()?;
        let [by_q, by_k, by_v] = &made;
        let (by_q, by_k, by_v) = (by_q.operand()?, by_k.operand()?, by_v.operand()?);
        agpu!(agpu_ops_scaled_dot_product_attention_gradient_at(
            self.device()?,
            &raw const q,
            &raw const k,
            &raw const v,
            address_of(mask.as_ref()),
            &raw const given,
            &raw const options,
            &raw const by_q,
            &raw const by_k,
            &raw const by_v
        ))?;
        Ok(made)
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
pub fn attend(operands: [&View; 3], mask: Option<&View>) -> Outcome<Tensor> {
    let [q, k, v] = operands;
    let given = Given {
        q: contiguous(q)?,
        k: contiguous(k)?,
        v: contiguous(v)?,
        mask: mask.map(contiguous).transpose()?,
        scale: None,
        is_causal: false,
    };
    given.attend()
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
    let made = given.attend()?;
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
    let made = given.gradients(&*contiguous(gradient)?)?;
    let mut results = Results::new();
    for (made, wanted) in made.into_iter().zip(wanted) {
        results.push(if *wanted {
            Returned::Tensor(made)
        } else {
            Returned::None
        });
    }
    results.push(Returned::None);
    Ok(results)
}
