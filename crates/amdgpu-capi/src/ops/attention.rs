//! ops.h: attention and its gradients.

use amdgpu_ops::Operand;
use amdgpu_ops::attention::{self, Attention, AttentionOptions};

use super::at::CallAt;
use super::operand::COperand;
use super::{Call, Given};
use crate::borrowed::{Items, Options, Out, Versioned};
use crate::handles::Handle;
use crate::status::{Answer, Failure, Status, answer};

/// `agpu_ops_attention_options`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CAttentionOptions {
    size_bytes: u64,
    mask: Handle,
    scale: f64,
    has_scale: u32,
    is_causal: u32,
}

// SAFETY: plain numbers; all zeros is a valid value.
unsafe impl Versioned for CAttentionOptions {
    const NAME: &'static str = "agpu_ops_attention_options";
    const FIRST_BYTES: usize = size_of::<Self>();
}

impl CAttentionOptions {
    fn call(&self, name: &str, arrays: &[Given<'_>]) -> Answer<(Call, AttentionOptions)> {
        let call = Call::of(name, arrays, &[("mask", self.mask)], Handle::NULL)?;
        Ok((call, self.options()))
    }

    fn options(&self) -> AttentionOptions {
        AttentionOptions {
            is_causal: self.is_causal != 0,
            scale: (self.has_scale != 0).then_some(self.scale),
            thread_limit: None,
        }
    }

    /// Refuses a mask that is an array where memory is asked for.
    fn options_at(&self) -> Answer<AttentionOptions> {
        if self.mask.is_null() {
            return Ok(self.options());
        }
        Err(Failure::invalid(
            "the options have a mask; pass its memory as the operand mask",
        ))
    }
}

fn given(call: &Call) -> Attention<'_> {
    let [q, k, v] = [0, 1, 2].map(|index| call.operand(index));
    let mask = call.optional(0);
    Attention { q, k, v, mask }
}

/// softmax(q k^T scale + mask) v.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_scaled_dot_product_attention(
    q: Handle,
    k: Handle,
    v: Handle,
    options: Options<CAttentionOptions>,
    result: Out<Handle>,
) -> Status {
    answer(|| {
        let place = result.required("result")?;
        let arrays = [("q", q), ("k", k), ("v", v)];
        let name = "scaled_dot_product_attention";
        let (call, options) = options.read()?.call(name, &arrays)?;
        let made = attention::attention(&call.ops, &given(&call), &options)?;
        place.write(call.insert(made));
        Ok(())
    })
}

/// The gradients of [`agpu_ops_scaled_dot_product_attention`] by q, k and v.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_scaled_dot_product_attention_gradient(
    q: Handle,
    k: Handle,
    v: Handle,
    gradient: Handle,
    options: Options<CAttentionOptions>,
    by_q: Out<Handle>,
    by_k: Out<Handle>,
    by_v: Out<Handle>,
) -> Status {
    answer(|| {
        let places = [
            by_q.required("by_q")?,
            by_k.required("by_k")?,
            by_v.required("by_v")?,
        ];
        let arrays = [("q", q), ("k", k), ("v", v), ("gradient", gradient)];
        let name = "scaled_dot_product_attention_gradient";
        let (call, options) = options.read()?.call(name, &arrays)?;
        let upper = call.operand(3);
        let made = attention::attention_gradient(&call.ops, &given(&call), upper, &options)?;
        for (place, made) in places.into_iter().zip(made) {
            place.write(call.insert(made));
        }
        Ok(())
    })
}

/// Operands at addresses: queries, keys, values and where there is one a mask.
struct OperandsAt {
    qkv: [Operand; 3],
    mask: Option<Operand>,
}

impl OperandsAt {
    fn of(call: &CallAt, qkv: [Items<COperand>; 3], mask: Items<COperand>) -> Answer<Self> {
        let [q, k, v] = qkv;
        Ok(Self {
            qkv: [
                call.operand(q, "q")?,
                call.operand(k, "k")?,
                call.operand(v, "v")?,
            ],
            mask: call.optional(mask, "mask")?.map(Operand::of_array),
        })
    }

    fn given(&self) -> Attention<'_> {
        let [q, k, v] = &self.qkv;
        let mask = self.mask.as_ref();
        Attention { q, k, v, mask }
    }
}

/// [`agpu_ops_scaled_dot_product_attention`] of memory at addresses.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_scaled_dot_product_attention_at(
    device: Handle,
    q: Items<COperand>,
    k: Items<COperand>,
    v: Items<COperand>,
    mask: Items<COperand>,
    options: Options<CAttentionOptions>,
    result: Items<COperand>,
) -> Status {
    answer(|| {
        let options = options.read()?.options_at()?;
        let call = CallAt::of(device)?;
        let operands = OperandsAt::of(&call, [q, k, v], mask)?;
        let result = call.array(result, "result")?;
        attention::attention_into(&call.ops, &operands.given(), &options, &[Some(&result)])?;
        Ok(())
    })
}

/// [`agpu_ops_scaled_dot_product_attention_gradient`] of memory at addresses.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_scaled_dot_product_attention_gradient_at(
    device: Handle,
    q: Items<COperand>,
    k: Items<COperand>,
    v: Items<COperand>,
    mask: Items<COperand>,
    gradient: Items<COperand>,
    options: Options<CAttentionOptions>,
    by_q: Items<COperand>,
    by_k: Items<COperand>,
    by_v: Items<COperand>,
) -> Status {
    answer(|| {
        let options = options.read()?.options_at()?;
        let call = CallAt::of(device)?;
        let operands = OperandsAt::of(&call, [q, k, v], mask)?;
        let gradient = call.operand(gradient, "gradient")?;
        let outs = [
            call.array(by_q, "by_q")?,
            call.array(by_k, "by_k")?,
            call.array(by_v, "by_v")?,
        ];
        let outs = outs.each_ref().map(Some);
        attention::attention_gradient_into(
            &call.ops,
            &operands.given(),
            &gradient,
            &options,
            &outs,
        )?;
        Ok(())
    })
}
