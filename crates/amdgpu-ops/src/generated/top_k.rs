//! The text of searches for the best values.

use amdgpu_abi::Dtype;
use amdgpu_abi::promotion::compute_type;

use super::source;

/// The kernel for a dtype: a block for each line takes the best that is left, k times.
#[must_use]
pub fn top_k_source(x: Dtype, is_largest: bool) -> String {
    let block = source::BLOCK;
    format!(
        r#"{types}
struct Entry {{ C value; long long place; }};
// NaN is larger than any number, and of equal values the first is better; no place means nothing is left.
__device__ inline bool is_better(Entry a, Entry b) {{
    if (a.place < 0 || b.place < 0) return b.place < 0 && a.place >= 0;
    const bool a_is_nan = a.value != a.value, b_is_nan = b.value != b.value;
    if (a_is_nan != b_is_nan) return a_is_nan == {is_largest};
    if (a_is_nan || a.value == b.value) return a.place < b.place;
    return a.value {compare} b.value;
}}

// The best of a work-item's values that is worse than what it gave last.
__device__ inline Entry next(const X* x, Entry taken, bool is_first, unsigned long long length,
                             unsigned long long inner) {{
    Entry best;
    best.value = 0;
    best.place = -1;
    for (unsigned long long i = threadIdx.x; i < length; i += {block}) {{
        Entry entry;
        entry.value = (C)x[i * inner];
        entry.place = (long long)i;
        if ((is_first || is_better(taken, entry)) && is_better(entry, best)) best = entry;
    }}
    return best;
}}

extern "C" __global__ void top_k(const X* x, X* values, long long* places, unsigned long long length,
                                 unsigned long long inner, unsigned long long k) {{
    __shared__ Entry entries[{block}];
    const unsigned long long outer = blockIdx.x / inner, offset = blockIdx.x % inner;
    const X* line = x + outer * length * inner + offset;
    Entry own;
    own.value = 0;
    own.place = -1;
    own = next(line, own, true, length, inner);
    for (unsigned long long i = 0; i < k; i++) {{
        entries[threadIdx.x] = own;
        __syncthreads();
        for (unsigned half = {half}; half > 0; half /= 2) {{
            if (threadIdx.x < half && is_better(entries[threadIdx.x + half], entries[threadIdx.x]))
                entries[threadIdx.x] = entries[threadIdx.x + half];
            __syncthreads();
        }}
        const Entry best = entries[0];
        if (threadIdx.x == 0) {{
            const unsigned long long to = (outer * k + i) * inner + offset;
            values[to] = line[best.place * inner];
            places[to] = best.place;
        }}
        if (best.place == own.place) own = next(line, own, false, length, inner);
        __syncthreads();
    }}
}}
"#,
        types = source::types(&[("X", x), ("C", compute_type(x))]),
        compare = if is_largest { ">" } else { "<" },
        half = block / 2,
    )
}
