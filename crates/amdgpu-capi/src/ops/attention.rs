//! ops.h: attention and its gradients.

use amdgpu_ops::attention::{self, Attention, AttentionOptions};

use super::{Call, Given};
use crate::borrowed::{Options, Out, Versioned};
use crate::handles::Handle;
use crate::status::{Answer, Status, answer};

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
        let options = AttentionOptions {
            is_causal: self.is_causal != 0,
            scale: (self.has_scale != 0).then_some(self.scale),
            thread_limit: None,
        };
        Ok((call, options))
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
