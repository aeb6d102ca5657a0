//! ops.h: the best values of each line.

use amdgpu_ops::top_k::{TopKOptions, top_k};

use super::Call;
use crate::borrowed::{Options, Out, Versioned};
use crate::handles::Handle;
use crate::status::{Status, answer};

/// `agpu_ops_top_k_options`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CTopKOptions {
    size_bytes: u64,
    is_smallest: u32,
    reserved: u32,
}

// SAFETY: plain numbers; all zeros is a valid value.
unsafe impl Versioned for CTopKOptions {
    const NAME: &'static str = "agpu_ops_top_k_options";
    const FIRST_BYTES: usize = size_of::<Self>();
}

/// The k best values along an axis and their indices.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_top_k(
    x: Handle,
    k: i64,
    axis: i64,
    options: Options<CTopKOptions>,
    values: Out<Handle>,
    indices: Out<Handle>,
) -> Status {
    answer(|| {
        let place = values.required("values")?;
        let place_of_indices = indices.optional();
        let options = TopKOptions {
            k,
            axis,
            is_largest: options.read()?.is_smallest == 0,
            thread_limit: None,
        };
        let call = Call::of("top_k", &[("x", x)], &[], Handle::NULL)?;
        let (values, indices) = top_k(&call.ops, call.operand(0), &options)?;
        place.write(call.insert(values));
        if let Some(place) = place_of_indices {
            place.write(call.insert(indices));
        }
        Ok(())
    })
}
