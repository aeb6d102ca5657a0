//! The text of gathers.

use amdgpu_abi::Dtype;

use super::source;
use super::transpose::word;

/// The kernel for words of so many bytes: a word of the result for each work-item.
#[must_use]
pub fn embedding_source(word_bytes: usize, index: Dtype) -> String {
    format!(
        r#"{types}
typedef {word} Word;
extern "C" __global__ void embedding(const void* table, const I* indices, void* out, unsigned long long width,
                                     unsigned long long count) {{
    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) ((Word*)out)[i] = ((const Word*)table)[(unsigned long long)indices[i / width] * width + i % width];
}}
"#,
        types = source::types(&[("I", index)]),
        word = word(word_bytes),
    )
}
