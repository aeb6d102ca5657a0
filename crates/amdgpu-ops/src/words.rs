//! Words that blocks of a kernel count in, or tell each other by: memory of a device whose first words are zero.

use amdgpu_abi::Dtype;
use amdgpu_array::{Array, Dims};
use amdgpu_hal::MemoryKind;

use crate::div_ceil::DivCeil;
use crate::generated::source;
use crate::launch::{Shape, launch};
use crate::{Arg, DeviceOps, KernelKey, Result};

/// Words of a work-item.
const OWN: i64 = 4;

/// So many words of 64 bits, the first of which are set to zero in the order of the default stream: nothing waits.
///
/// # Errors
///
/// `out-of-memory`; what the device reports.
pub fn words(ops: &DeviceOps, count: i64, zeros: i64) -> Result<Array> {
    let shape = Dims::from_slice(&[count]);
    let made = Array::empty(ops.device(), shape, Dtype::U64, MemoryKind::Device)?;
    let kernel = ops.kernel(KernelKey::new("clear_words"), "clear_words", clear_source)?;
    let blocks = zeros.div_ceil_positive(source::BLOCK * OWN);
    let args = [Arg::Array(&made), Arg::from(zeros)];
    launch(&kernel, Shape::line(blocks, source::BLOCK), &args)?;
    Ok(made)
}

fn clear_source() -> String {
    format!(
        r#"
extern "C" __global__ void clear_words(unsigned long long* words, unsigned long long count) {{
    #pragma unroll
    for (int k = 0; k < {OWN}; k++) {{
        const unsigned long long i = ((unsigned long long)blockIdx.x * {OWN} + k) * {block} + threadIdx.x;
        if (i < count) words[i] = 0;
    }}
}}
"#,
        block = source::BLOCK
    )
}
