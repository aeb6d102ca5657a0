//! The text of radix selection: the key that so many keys of a line are not larger than is found digit by digit, from the first one on, and the keys
//! up to it are collected in their order (Alabi, Blanchard, Gordon and Steinbach 2012).

use amdgpu_abi::Dtype;

use super::radix::{DIGITS, KeySource, chunk, own_keys};
use super::source;

/// The kernel that counts the values of a digit among the keys that begin as `prefixes` say.
#[must_use]
pub fn count_source(keys: &KeySource) -> String {
    let KeySource {
        definitions,
        memory,
        read,
        is_wide,
    } = keys;
    let block = source::BLOCK;
    format!(
        r#"{definitions}
extern "C" __global__ void select_count(const {memory}* memory, const U* prefixes, unsigned long long* counts, unsigned long long length,
                                        unsigned long long inner, unsigned long long chunks, unsigned shift, unsigned mask, unsigned above) {{
    __shared__ int found[{DIGITS}];
    const unsigned long long line = blockIdx.x / chunks, chunk = blockIdx.x % chunks;
    const U prefix = prefixes[line];
    found[threadIdx.x] = 0;
    __syncthreads();
    #pragma unroll
    for (int step = 0; step < {own}; step++) {{
        const unsigned long long at = chunk * {chunk} + step * {block} + threadIdx.x;
        if (at < length) {{
            const U key = {read};
            // Of the first digit nothing stands above.
            if (above >= sizeof(U) * 8 || key >> above == prefix) atomicAdd(&found[(unsigned)(key >> shift) & mask], 1);
        }}
    }}
    __syncthreads();
    if (found[threadIdx.x]) atomicAdd(&counts[line * {DIGITS} + threadIdx.x], (unsigned long long)found[threadIdx.x]);
}}
"#,
        own = own_keys(*is_wide),
        chunk = chunk(*is_wide),
    )
}

/// The kernel that finds the digit with which the key goes on: as many keys as are wanted do not come behind it.
#[must_use]
pub fn pick_source(is_wide: bool) -> String {
    format!(
        r#"typedef {key} U;
extern "C" __global__ void select_pick(const unsigned long long* counts, U* prefixes, long long* wanted, unsigned width) {{
    __shared__ long long sums[{DIGITS}];
    const unsigned long long line = blockIdx.x;
    const long long own = (long long)counts[line * {DIGITS} + threadIdx.x];
    sums[threadIdx.x] = own;
    __syncthreads();
    // Each sum takes in the one 1, 2, 4, … places before it (Hillis and Steele 1986).
    for (unsigned distance = 1; distance < {DIGITS}; distance *= 2) {{
        const long long earlier = threadIdx.x >= distance ? sums[threadIdx.x - distance] : 0;
        __syncthreads();
        sums[threadIdx.x] += earlier;
        __syncthreads();
    }}
    const long long before = sums[threadIdx.x] - own, k = wanted[line];
    __syncthreads();
    if (before < k && sums[threadIdx.x] >= k) {{
        prefixes[line] = prefixes[line] << width | (U)threadIdx.x;
        wanted[line] = k - before;
    }}
}}
"#,
        key = super::radix::key_type(is_wide),
    )
}

/// The kernel that counts the keys of each chunk that come before the one that was found, and behind the counts of all chunks those that equal it.
#[must_use]
pub fn chunks_source(keys: &KeySource) -> String {
    let KeySource {
        definitions,
        memory,
        read,
        is_wide,
    } = keys;
    let block = source::BLOCK;
    format!(
        r#"{definitions}
extern "C" __global__ void select_chunks(const {memory}* memory, const U* prefixes, long long* counts, unsigned long long length,
                                         unsigned long long inner, unsigned long long chunks, unsigned first_bit) {{
    __shared__ int found[2];
    const unsigned long long line = blockIdx.x / chunks, chunk = blockIdx.x % chunks;
    const U limit = prefixes[line];
    if (threadIdx.x < 2) found[threadIdx.x] = 0;
    __syncthreads();
    int smaller = 0, equal = 0;
    #pragma unroll
    for (int step = 0; step < {own}; step++) {{
        const unsigned long long at = chunk * {chunk} + step * {block} + threadIdx.x;
        if (at < length) {{
            const U key = {read} >> first_bit;
            smaller += key < limit;
            equal += key == limit;
        }}
    }}
    if (smaller) atomicAdd(&found[0], smaller);
    if (equal) atomicAdd(&found[1], equal);
    __syncthreads();
    if (threadIdx.x < 2) counts[(line * 2 + threadIdx.x) * chunks + chunk] = found[threadIdx.x];
}}
"#,
        own = own_keys(*is_wide),
        chunk = chunk(*is_wide),
    )
}

/// The kernel that collects the first k keys and their places, behind those of earlier chunks; `ends` are sums of the counts.
#[must_use]
pub fn collect_source(keys: &KeySource, place: Dtype) -> String {
    let KeySource {
        definitions,
        memory,
        read,
        is_wide,
    } = keys;
    let block = source::BLOCK;
    format!(
        r#"{definitions}{types}
extern "C" __global__ void select_collect(const {memory}* memory, const U* prefixes, const long long* ends, U* keys, I* places,
                                          unsigned long long length, unsigned long long inner, unsigned long long chunks,
                                          unsigned first_bit, long long k) {{
    // Keys before the one that was found in the lower half, those that equal it in the upper one.
    __shared__ unsigned sums[{block}];
    const unsigned long long line = blockIdx.x / chunks, chunk = blockIdx.x % chunks;
    const U limit = prefixes[line];
    long long smaller = chunk ? ends[line * 2 * chunks + chunk - 1] : 0;
    long long equal = ends[line * 2 * chunks + chunks + chunk - 1];
    for (int step = 0; step < {own}; step++) {{
        const unsigned long long at = chunk * {chunk} + step * {block} + threadIdx.x;
        U key = 0;
        unsigned kind = 0;
        if (at < length) {{
            key = {read};
            kind = key >> first_bit < limit ? 1u : key >> first_bit == limit ? 1u << 16 : 0u;
        }}
        sums[threadIdx.x] = kind;
        __syncthreads();
        for (unsigned distance = 1; distance < {block}; distance *= 2) {{
            const unsigned earlier = threadIdx.x >= distance ? sums[threadIdx.x - distance] : 0;
            __syncthreads();
            sums[threadIdx.x] += earlier;
            __syncthreads();
        }}
        if (kind) {{
            const unsigned own = sums[threadIdx.x];
            const long long rank = (kind == 1u ? smaller + (own & 65535u) : equal + (own >> 16)) - 1;
            if (rank < k) {{
                keys[line * k + rank] = key;
                places[line * k + rank] = (I)at;
            }}
        }}
        smaller += sums[{last}] & 65535u;
        equal += sums[{last}] >> 16;
        __syncthreads();
    }}
}}
"#,
        types = source::types(&[("I", place)]),
        own = own_keys(*is_wide),
        chunk = chunk(*is_wide),
        last = block - 1,
    )
}
