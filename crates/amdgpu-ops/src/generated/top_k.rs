//! The text of searches for the best values.

use amdgpu_abi::Dtype;
use amdgpu_abi::promotion::compute_type;

use super::source;
use super::transpose::word;

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

/// The kernel that takes the first k of each line for elements of so many bytes: `order` has a row of places for each line, or with `through` of
/// numbers of places that were selected.
#[must_use]
pub fn take_source(item_bytes: usize, order: Dtype, through: Option<Dtype>) -> String {
    let (types, parameter, place) = match through {
        None => (String::new(), "", "order[line * row + rank]"),
        Some(dtype) => (
            source::types(&[("P", dtype)]),
            "const P* places, ",
            "places[line * row + (unsigned long long)order[line * row + rank]]",
        ),
    };
    format!(
        r#"typedef {word} T;
{own}{types}
extern "C" __global__ void top_k_take(const void* memory, const I* order, {parameter}void* values, long long* indices,
                                      unsigned long long count, unsigned long long length, unsigned long long inner,
                                      unsigned long long k, unsigned long long row) {{
    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const unsigned long long line = i / k, rank = i % k;
    const unsigned long long outer = line / inner, offset = line % inner, place = (unsigned long long){place};
    const unsigned long long to = (outer * k + rank) * inner + offset;
    ((T*)values)[to] = ((const T*)memory)[(outer * length + place) * inner + offset];
    indices[to] = (long long)place;
}}
"#,
        word = word(item_bytes),
        own = source::types(&[("I", order)]),
    )
}
