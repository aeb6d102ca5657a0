//! The text of radix selection: the key that so many keys of a line are not larger than is found digit by digit, from the first one on, and the keys
//! up to it are collected in their order (Alabi, Blanchard, Gordon and Steinbach 2012).
//!
//! What kernels know of a line stands in memory of 64-bit words: the first digits of the key that is looked for, and how many keys that begin so are
//! wanted; then the counts of digits and a ticket, for each digit.

use amdgpu_abi::Dtype;

use super::radix::{DIGIT_BITS, DIGITS, KeySource, LANES, chunk, own_keys, rank, rank_setup};
use super::source;
use super::transpose::word;

/// Words of a line before those of its digits.
const KNOWN: i64 = 2;
/// Waves of a block at most: lanes of a wave are 32 or more.
const WAVES: i64 = source::BLOCK / 32;
/// Keys that a work-item reads at a time.
const READ: i64 = 8;

/// Words of a line whose keys have so many digits.
#[must_use]
pub fn line_words(digits: i64) -> i64 {
    KNOWN + digits * (DIGITS + 1)
}

/// The function that finds the digit with which the key goes on, of which the work-items have the counts: as many keys as are wanted do not come
/// behind it. It gives the digit and how many of its keys are wanted by way of shared memory.
const PICK: &str = r"
__device__ inline void pick(unsigned long long own, unsigned long long wanted, unsigned long long* waves, unsigned long long* picked) {
    const unsigned long long before = sum_before(own, waves);
    if (before < wanted && before + own >= wanted) {
        picked[0] = threadIdx.x;
        picked[1] = wanted - before;
    }
    __syncthreads();
}
";

/// Statements that read the keys at `base` and those behind it, `key` by `key`.
fn each_key(keys: &KeySource, statement: &str) -> String {
    let block = source::BLOCK;
    format!(
        r"        const unsigned long long first = base;
        const unsigned valid = length - base < {step} ? (unsigned)(length - base) : {step};
        U keys[{READ}];
        #pragma unroll
        for (int k = 0; k < {READ}; k++) {{
            const unsigned offset = k * {block} + threadIdx.x;
            {fetch}
        }}
        #pragma unroll
        for (int k = 0; k < {READ}; k++) {{
            const U key = keys[k];
            {statement}
        }}
",
        step = READ * block,
        fetch = keys.fetch(),
    )
}

/// The kernel that counts a digit among the keys that begin as is known, where the last block of a line finds the digit with which the key goes on.
#[must_use]
pub fn count_source(keys: &KeySource) -> String {
    let counted = each_key(
        keys,
        "if (k * 256u + threadIdx.x < valid && key >> above - 1 >> 1 == prefix) atomicAdd(&found[(unsigned)(key >> shift) & 255u], 1u);",
    );
    format!(
        r#"{definitions}{sum_before}{PICK}
extern "C" __global__ void select_count(const {memory}* memory, unsigned long long* words, unsigned long long length, unsigned long long inner,
                                        unsigned long long parts, unsigned long long digits, unsigned long long digit, unsigned long long k) {{
    __shared__ unsigned found[{DIGITS}];
    __shared__ unsigned long long waves[{waves}];
    __shared__ unsigned long long picked[2];
    __shared__ bool is_last;
    const unsigned long long line = blockIdx.x / parts, part = blockIdx.x % parts;
    unsigned long long* const known = words + line * ({KNOWN} + digits * {entries});
    unsigned long long* const counts = known + {KNOWN} + digit * {entries};
    const U prefix = digit ? (U)known[0] : (U)0;
    const unsigned above = (digits - digit) * {DIGIT_BITS}, shift = above - {DIGIT_BITS};
    found[threadIdx.x] = 0;
    __syncthreads();
    for (unsigned long long base = part * {step}; base < length; base += parts * {step}) {{
{counted}    }}
    __syncthreads();
    if (found[threadIdx.x]) atomicAdd(&counts[threadIdx.x], (unsigned long long)found[threadIdx.x]);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) is_last = atomicAdd(&counts[{DIGITS}], 1ull) == parts - 1;
    __syncthreads();
    if (!is_last) return;
    __threadfence();
    const unsigned long long own = *(volatile unsigned long long*)(counts + threadIdx.x);
    pick(own, digit ? known[1] : k, waves, picked);
    if (threadIdx.x == 0) {{
        known[0] = (unsigned long long)prefix << {DIGIT_BITS} | picked[0];
        known[1] = picked[1];
    }}
}}
"#,
        definitions = keys.definitions,
        sum_before = source::SUM_BEFORE,
        memory = keys.memory,
        waves = WAVES,
        entries = DIGITS + 1,
        step = READ * source::BLOCK,
    )
}

/// The kernel that counts the keys of each chunk that come before the one that was found, and behind the counts of all chunks those that equal it.
#[must_use]
pub fn chunks_source(keys: &KeySource) -> String {
    let block = source::BLOCK;
    let own = own_keys(keys.is_wide());
    format!(
        r#"{definitions}
extern "C" __global__ void select_chunks(const {memory}* memory, const unsigned long long* words, long long* counts, unsigned long long length,
                                         unsigned long long inner, unsigned long long chunks, unsigned long long known_words) {{
    __shared__ int found[2];
    const unsigned long long line = blockIdx.x / chunks, chunk = blockIdx.x % chunks;
    const U limit = (U)words[line * known_words];
    if (threadIdx.x < 2) found[threadIdx.x] = 0;
    __syncthreads();
    const unsigned long long first = chunk * {chunk};
    const unsigned valid = length - first < {chunk} ? (unsigned)(length - first) : {chunk};
    U keys[{own}];
    #pragma unroll
    for (int k = 0; k < {own}; k++) {{
        const unsigned offset = k * {block} + threadIdx.x;
        {fetch}
    }}
    int smaller = 0, equal = 0;
    #pragma unroll
    for (int k = 0; k < {own}; k++) {{
        smaller += keys[k] < limit;
        equal += keys[k] == limit && k * {block} + threadIdx.x < valid;
    }}
    if (smaller) atomicAdd(&found[0], smaller);
    if (equal) atomicAdd(&found[1], equal);
    __syncthreads();
    if (threadIdx.x < 2) counts[(line * 2 + threadIdx.x) * chunks + chunk] = found[threadIdx.x];
}}
"#,
        definitions = keys.definitions,
        memory = keys.memory,
        fetch = keys.fetch(),
        chunk = chunk(keys.is_wide()),
    )
}

/// Declarations in a kernel that collects so many keys of each work-item at a time.
fn collect_setup(own: i64) -> String {
    format!(
        r"    // Keys before the limit in the lower half, those that equal it in the upper one.
    __shared__ unsigned kinds[{entries}];
    __shared__ unsigned waves_of_kinds[{WAVES}];
    __shared__ unsigned all;
    const unsigned lane_in_wave = threadIdx.x % warpSize, own_wave = threadIdx.x / warpSize;
    const unsigned long long every_lane = warpSize == 64 ? ~0ull : 0xffffffffull;
",
        entries = own * WAVES,
    )
}

/// Statements that take the keys from `base` on which come before the limit, and as many that equal it as are wanted: behind `smaller` and `equal` ones.
fn collect(keys: &KeySource, own: i64, take: &str) -> String {
    let block = source::BLOCK;
    let entries = own * WAVES;
    format!(
        r"        const unsigned long long first = base;
        const unsigned valid = length - base < {step} ? (unsigned)(length - base) : {step};
        U keys[{own}];
        #pragma unroll
        for (int k = 0; k < {own}; k++) {{
            const unsigned offset = k * {block} + threadIdx.x;
            {fetch}
        }}
        if (threadIdx.x < {entries}) kinds[threadIdx.x] = 0;
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < {own}; k++) {{
            const bool is_there = k * {block} + threadIdx.x < valid;
            const unsigned long long before = __ballot_sync(every_lane, is_there && keys[k] < limit);
            const unsigned long long same = __ballot_sync(every_lane, is_there && keys[k] == limit);
            if (lane_in_wave == 0) kinds[k * {WAVES} + own_wave] = __popcll(before) | __popcll(same) << 16;
        }}
        __syncthreads();
        const unsigned own_kinds = threadIdx.x < {entries} ? kinds[threadIdx.x] : 0;
        const unsigned earlier = sum_before(own_kinds, waves_of_kinds);
        if (threadIdx.x < {entries}) kinds[threadIdx.x] = earlier;
        if (threadIdx.x == {block} - 1) all = earlier + own_kinds;
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < {own}; k++) {{
            const unsigned long long at = base + k * {block} + threadIdx.x, lower = (1ull << lane_in_wave) - 1;
            const bool is_there = k * {block} + threadIdx.x < valid;
            const unsigned long long before = __ballot_sync(every_lane, is_there && keys[k] < limit);
            const unsigned long long same = __ballot_sync(every_lane, is_there && keys[k] == limit);
            const unsigned stands = kinds[k * {WAVES} + own_wave];
            const unsigned long long equal_before = equal + (stands >> 16) + __popcll(same & lower);
            if (is_there && (keys[k] < limit || keys[k] == limit && equal_before < equal_wanted)) {{
                const U key = keys[k];
                const unsigned long long rank = smaller + (stands & 65535u) + __popcll(before & lower)
                                                + (equal_before < equal_wanted ? equal_before : equal_wanted);
                {take}
            }}
        }}
        smaller += all & 65535u;
        equal += all >> 16;
        __syncthreads();
",
        step = own * block,
        fetch = keys.fetch(),
    )
}

/// The kernel that collects the first k keys and their places in the order of the line; `ends` are sums of the counts.
#[must_use]
pub fn collect_source(keys: &KeySource, place: Dtype) -> String {
    let own = own_keys(keys.is_wide());
    format!(
        r#"{definitions}{types}{sum_before}
extern "C" __global__ void select_collect(const {memory}* memory, const unsigned long long* words, const long long* ends, U* keys_out, I* places,
                                          unsigned long long length, unsigned long long inner, unsigned long long chunks,
                                          unsigned long long known_words, unsigned long long k_wanted) {{
{setup}    const unsigned long long line = blockIdx.x / chunks, chunk = blockIdx.x % chunks, base = chunk * {chunk};
    const U limit = (U)words[line * known_words];
    const unsigned long long equal_wanted = words[line * known_words + 1];
    const unsigned long long all_smaller = ends[line * 2 * chunks + chunks - 1];
    unsigned long long smaller = chunk ? ends[line * 2 * chunks + chunk - 1] : 0;
    unsigned long long equal = ends[line * 2 * chunks + chunks + chunk - 1] - all_smaller;
{collect}}}
"#,
        definitions = keys.definitions,
        types = source::types(&[("I", place)]),
        sum_before = source::SUM_BEFORE,
        memory = keys.memory,
        setup = collect_setup(own),
        chunk = chunk(keys.is_wide()),
        collect = collect(
            keys,
            own,
            "keys_out[line * k_wanted + rank] = key;\n                places[line * k_wanted + rank] = (I)at;"
        ),
    )
}

/// Statements that find the key `limit` which k keys of a line are not larger than, and how many that equal it are among those.
fn find(keys: &KeySource) -> String {
    let counted = each_key(
        keys,
        "if (k * 256u + threadIdx.x < valid && key >> above - 1 >> 1 == limit) atomicAdd(&found[(unsigned)(key >> shift) & 255u], 1u);",
    );
    format!(
        r"    U limit = 0;
    unsigned long long equal_wanted = k_wanted;
    for (int digit = 0; digit < {digits}; digit++) {{
        const unsigned above = ({digits} - digit) * {DIGIT_BITS}, shift = above - {DIGIT_BITS};
        found[threadIdx.x] = 0;
        __syncthreads();
        for (unsigned long long base = 0; base < length; base += {step}) {{
{counted}        }}
        __syncthreads();
        pick(found[threadIdx.x], equal_wanted, wide_waves, picked);
        limit = (U)((unsigned long long)limit << {DIGIT_BITS} | picked[0]);
        equal_wanted = picked[1];
        __syncthreads();
    }}
",
        digits = i64::from(keys.key.bits) / DIGIT_BITS,
        step = READ * source::BLOCK,
    )
}

/// Statements that sort the keys that were collected, with their places.
fn sort_candidates(keys: &KeySource, own: i64) -> String {
    let [in_waves, in_block] = rank(own);
    format!(
        r"{setup}    unsigned long long places[{own}];
    #pragma unroll
    for (int k = 0; k < {own}; k++) {{
        const unsigned from = begin + k * {LANES};
        keys[k] = from < k_wanted ? candidates[from] : (U)~(U)0;
        places[k] = from < k_wanted ? places_of[from] : 0;
    }}
    __syncthreads();
    for (unsigned shift = 0; shift < {bits}; shift += {DIGIT_BITS}) {{
{in_waves}{in_block}        #pragma unroll
        for (int k = 0; k < {own}; k++) {{
            candidates[ranks[k]] = keys[k];
            places_of[ranks[k]] = places[k];
        }}
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < {own}; k++) {{
            keys[k] = candidates[begin + k * {LANES}];
            places[k] = places_of[begin + k * {LANES}];
        }}
        __syncthreads();
    }}
",
        setup = rank_setup(own),
        bits = keys.key.bits,
    )
}

/// The kernel that finds the first k keys of a line, of at most so many for each work-item of a block, sorts them and writes elements of so many bytes
/// and their places: a block for each line.
#[must_use]
pub fn line_source(keys: &KeySource, own: i64, item_bytes: usize) -> String {
    format!(
        r#"{definitions}typedef {word} E;
{functions}{PICK}
extern "C" __global__ void select_line(const void* elements, void* best, long long* indices, unsigned long long length, unsigned long long inner,
                                       unsigned long long k_wanted) {{
    const {memory}* const memory = (const {memory}*)elements;
    __shared__ unsigned found[{DIGITS}];
    __shared__ unsigned long long wide_waves[{WAVES}];
    __shared__ unsigned long long picked[2];
    __shared__ U candidates[{room}];
    __shared__ unsigned long long places_of[{room}];
{collect_setup}    const unsigned long long line = blockIdx.x;
{find}    unsigned long long smaller = 0, equal = 0;
    for (unsigned long long base = 0; base < length; base += {step}) {{
{collect}    }}
{sort}    #pragma unroll
    for (int k = 0; k < {own}; k++) {{
        const unsigned rank = begin + k * {LANES};
        if (rank < k_wanted) {{
            const unsigned long long outer = line / inner, offset = line % inner, to = (outer * k_wanted + rank) * inner + offset;
            ((E*)best)[to] = ((const E*)elements)[(outer * length + places[k]) * inner + offset];
            indices[to] = (long long)places[k];
        }}
    }}
}}
"#,
        definitions = keys.definitions,
        word = word(item_bytes),
        functions = keys.functions(),
        memory = keys.memory,
        room = own * source::BLOCK,
        collect_setup = collect_setup(READ),
        find = find(keys),
        step = READ * source::BLOCK,
        collect = collect(
            keys,
            READ,
            "candidates[rank] = key;\n                places_of[rank] = at;"
        ),
        sort = sort_candidates(keys, own),
    )
}
