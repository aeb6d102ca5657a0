//! The text of gathers.

use amdgpu_abi::Dtype;

use super::source;
use super::transpose::word;

/// The kernel for words of so many bytes: a word of the result for each work-item. One that notes what is no row writes zeros in its place.
#[must_use]
pub fn embedding_source(word_bytes: usize, index: Dtype, has_note: bool) -> String {
    let (note, parameters, check) = if has_note {
        (
            source::NOTE_BAD_INDEX,
            ", unsigned long long* notes, long long rows",
            "    const long long row = (long long)indices[i / width];
    if (row < 0 || row >= rows) {
        if (i % width == 0) note_bad_index(notes, i / width, row, rows);
        ((Word*)out)[i] = 0;
        return;
    }
",
        )
    } else {
        ("", "", "")
    };
    format!(
        r#"{types}{note}
typedef {word} Word;
extern "C" __global__ void embedding(const void* table, const I* indices, void* out, unsigned long long width,
                                     unsigned long long count{parameters}) {{
    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
{check}    ((Word*)out)[i] = ((const Word*)table)[(unsigned long long)indices[i / width] * width + i % width];
}}
"#,
        types = source::types(&[("I", index)]),
        word = word(word_bytes),
    )
}
