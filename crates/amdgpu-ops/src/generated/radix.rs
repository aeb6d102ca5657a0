//! The text of radix sorts: unsigned keys are put in order digit by digit, from the last one on, each with the place that it comes from where that
//! is asked for.
//!
//! A block ranks its keys by a digit in shared memory, wave by wave: lanes with the same digit find each other by a vote on each bit, so that they
//! count together (Merrill and Grimshaw 2011; Adinets and Merrill 2022). Keys leave the block in the order of their digits, so
//! that those of a digit are written side by side. Lines that one block holds are sorted by one kernel, which reads and writes memory once.

use amdgpu_abi::Dtype;

use super::source;

pub const DIGIT_BITS: i64 = 8;
/// Values of a digit: as many as work-items of a block, each of which counts one.
pub const DIGITS: i64 = 1 << DIGIT_BITS;
/// Waves of a block at most: lanes of a wave are 32 or more.
const WAVES: i64 = source::BLOCK / 32;

const _: () = assert!(DIGITS == source::BLOCK);

/// Keys of a work-item where a line has many blocks: shared memory holds those of a block, of either width.
#[must_use]
pub fn own_keys(is_wide: bool) -> i64 {
    if is_wide { 8 } else { 16 }
}

/// Keys that a block puts in order.
#[must_use]
pub fn chunk(is_wide: bool) -> i64 {
    source::BLOCK * own_keys(is_wide)
}

#[must_use]
pub fn key_type(is_wide: bool) -> &'static str {
    if is_wide {
        "unsigned long long"
    } else {
        "unsigned"
    }
}

/// Where keys come from, and where their places do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySource {
    /// Declares the type `U` of keys, and what `read` needs.
    pub definitions: String,
    /// The type of the memory that keys are read from.
    pub memory: &'static str,
    /// The key at `at` of `line`.
    pub read: &'static str,
    pub is_wide: bool,
}

impl KeySource {
    /// Keys that were made before.
    #[must_use]
    pub fn keys(is_wide: bool) -> Self {
        Self {
            definitions: format!("typedef {} U;\n", key_type(is_wide)),
            memory: "U",
            read: "memory[line * length + at]",
            is_wide,
        }
    }
}

/// The kernel that counts the digits of each chunk: for each line by digits, then by chunks.
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
extern "C" __global__ void radix_count(const {memory}* memory, long long* counts, unsigned long long length, unsigned long long inner,
                                       unsigned long long chunks, unsigned shift, unsigned mask) {{
    __shared__ int found[{DIGITS}];
    const unsigned long long line = blockIdx.x / chunks, chunk = blockIdx.x % chunks;
    found[threadIdx.x] = 0;
    __syncthreads();
    #pragma unroll
    for (int step = 0; step < {own}; step++) {{
        const unsigned long long at = chunk * {chunk} + step * {block} + threadIdx.x;
        if (at < length) atomicAdd(&found[(unsigned)({read} >> shift) & mask], 1);
    }}
    __syncthreads();
    counts[(line * {DIGITS} + threadIdx.x) * chunks + chunk] = found[threadIdx.x];
}}
"#,
        own = own_keys(*is_wide),
        chunk = chunk(*is_wide),
    )
}

/// Declarations in a kernel that ranks so many keys of each work-item.
fn rank_setup(own: i64) -> String {
    format!(
        r"    __shared__ int counts[{entries}];
    __shared__ int starts[{DIGITS}];
    const unsigned lane = threadIdx.x % warpSize, wave = threadIdx.x / warpSize;
    const unsigned begin = wave * warpSize * {own} + lane;
    const unsigned long long all_lanes = warpSize == 64 ? ~0ull : 0xffffffffull;
    U keys[{own}];
    int ranks[{own}];
",
        entries = WAVES * DIGITS,
    )
}

/// Statements that find where each key goes among those of its block: `ranks` by the digit at `shift`, `starts` of the digits.
fn rank(own: i64) -> String {
    let block = source::BLOCK;
    format!(
        r"    for (int entry = threadIdx.x; entry < {entries}; entry += {block}) counts[entry] = 0;
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < {own}; k++) {{
        const unsigned digit = (unsigned)(keys[k] >> shift) & mask;
        unsigned long long peers = all_lanes;
        #pragma unroll
        for (int bit = 0; bit < {DIGIT_BITS}; bit++) {{
            const bool is_set = digit >> bit & 1;
            const unsigned long long set = __ballot_sync(all_lanes, is_set);
            peers &= is_set ? set : ~set;
        }}
        const int before = __popcll(peers & ((1ull << lane) - 1));
        int base = 0;
        if (before == 0) {{
            base = counts[wave * {DIGITS} + digit];
            counts[wave * {DIGITS} + digit] = base + __popcll(peers);
        }}
        ranks[k] = __shfl_sync(all_lanes, base, __ffsll(peers) - 1) + before;
        __syncwarp();
    }}
    __syncthreads();
    // Every work-item has a digit: how many keys of it stand before each wave, and before all of them those of smaller digits.
    int total = 0;
    for (int w = 0; w < {WAVES}; w++) {{
        const int own_count = counts[w * {DIGITS} + threadIdx.x];
        counts[w * {DIGITS} + threadIdx.x] = total;
        total += own_count;
    }}
    starts[threadIdx.x] = total;
    __syncthreads();
    // Each sum takes in the one 1, 2, 4, … places before it (Hillis and Steele 1986).
    for (unsigned distance = 1; distance < {DIGITS}; distance *= 2) {{
        const int earlier = threadIdx.x >= distance ? starts[threadIdx.x - distance] : 0;
        __syncthreads();
        starts[threadIdx.x] += earlier;
        __syncthreads();
    }}
    const int start = starts[threadIdx.x] - total;
    for (int w = 0; w < {WAVES}; w++) counts[w * {DIGITS} + threadIdx.x] += start;
    starts[threadIdx.x] = start;
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < {own}; k++) ranks[k] += counts[wave * {DIGITS} + ((unsigned)(keys[k] >> shift) & mask)];
",
        entries = WAVES * DIGITS,
    )
}

/// The kernel that puts the keys of each chunk behind those of smaller digits and of earlier chunks; `ends` are sums of the counts. With `place`,
/// places go with them; those of the first digit are where the keys stand.
#[must_use]
pub fn place_source(keys: &KeySource, place: Option<Dtype>, is_first: bool) -> String {
    let own = own_keys(keys.is_wide);
    let block = source::BLOCK;
    let (types, moved) = match place {
        None => (String::new(), String::new()),
        Some(dtype) => (source::types(&[("I", dtype)]), move_places(own, is_first)),
    };
    let parameters = if place.is_some() {
        ", const I* places, I* places_out"
    } else {
        ""
    };
    format!(
        r#"{definitions}{types}
extern "C" __global__ void radix_place(const {memory}* memory, U* keys_out, const long long* ends, unsigned long long length,
                                       unsigned long long inner, unsigned long long chunks, unsigned shift, unsigned mask{parameters}) {{
{setup}    // Keys first, then their places.
    __shared__ unsigned long long buffer[{words}];
    U* const ordered = (U*)buffer;
    __shared__ long long bases[{DIGITS}];
    const unsigned long long line = blockIdx.x / chunks, chunk = blockIdx.x % chunks;
    const unsigned long long first = chunk * {chunk};
    const int valid = (int)(length - first < {chunk} ? length - first : {chunk});
    // Keys that are not there come last, behind those with the same digit.
    #pragma unroll
    for (int k = 0; k < {own}; k++) {{
        const unsigned long long at = first + begin + k * warpSize;
        keys[k] = at < length ? {read} : ~(U)0;
    }}
{rank}    const unsigned long long column = threadIdx.x * chunks + chunk;
    const long long before = column ? ends[line * {DIGITS} * chunks + column - 1] : 0;
    bases[threadIdx.x] = (long long)(line * length) + before - starts[threadIdx.x];
    #pragma unroll
    for (int k = 0; k < {own}; k++) ordered[ranks[k]] = keys[k];
    __syncthreads();
    long long targets[{own}];
    #pragma unroll
    for (int k = 0; k < {own}; k++) {{
        const int i = k * {block} + threadIdx.x;
        const U key = ordered[i];
        targets[k] = bases[(unsigned)(key >> shift) & mask] + i;
        if (i < valid) keys_out[targets[k]] = key;
    }}
{moved}}}
"#,
        definitions = keys.definitions,
        memory = keys.memory,
        read = keys.read,
        setup = rank_setup(own),
        chunk = chunk(keys.is_wide),
        rank = rank(own),
        words = chunk(keys.is_wide)
            * if keys.is_wide || place == Some(Dtype::I64) {
                2
            } else {
                1
            }
            / 2,
    )
}

/// Statements that move the places the way of the keys.
fn move_places(own: i64, is_first: bool) -> String {
    let read = if is_first {
        "(I)at"
    } else {
        "at < length ? places[line * length + at] : 0"
    };
    let block = source::BLOCK;
    format!(
        r"    I* const moved = (I*)buffer;
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < {own}; k++) {{
        const unsigned long long at = first + begin + k * warpSize;
        moved[ranks[k]] = {read};
    }}
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < {own}; k++) {{
        const int i = k * {block} + threadIdx.x;
        if (i < valid) places_out[targets[k]] = moved[i];
    }}
"
    )
}

/// The kernel that sorts lines of up to `own` keys for each work-item of a block: `result` is what is written for a `key` and its `place`.
#[must_use]
pub fn line_source(keys: &KeySource, own: i64, has_places: bool, result: &LineResult) -> String {
    let chunk = own * source::BLOCK;
    let (declared, filled, moved) = if has_places {
        (
            format!("    int places[{own}];\n"),
            "places[k] = (int)at;",
            format!(
                r"        int* const moved = (int*)buffer;
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < {own}; k++) moved[ranks[k]] = places[k];
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < {own}; k++) places[k] = moved[begin + k * warpSize];
"
            ),
        )
    } else {
        (String::new(), "", String::new())
    };
    let place = if has_places { "places[k]" } else { "0" };
    format!(
        r#"{definitions}{own_definitions}
extern "C" __global__ void radix_line(const {memory}* memory, {to}* out, unsigned long long length, unsigned long long inner,
                                      unsigned first_bit, unsigned end_bit) {{
{setup}{declared}    // Keys, then their places.
    __shared__ unsigned long long buffer[{words}];
    U* const ordered = (U*)buffer;
    const unsigned long long line = blockIdx.x;
    #pragma unroll
    for (int k = 0; k < {own}; k++) {{
        const unsigned long long at = begin + k * warpSize;
        keys[k] = at < length ? {read} : ~(U)0;
        {filled}
    }}
    for (unsigned shift = first_bit; shift < end_bit; shift += {DIGIT_BITS}) {{
        const unsigned mask = end_bit - shift < {DIGIT_BITS} ? (1u << (end_bit - shift)) - 1 : {last};
{rank}        #pragma unroll
        for (int k = 0; k < {own}; k++) ordered[ranks[k]] = keys[k];
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < {own}; k++) keys[k] = ordered[begin + k * warpSize];
{moved}    }}
    #pragma unroll
    for (int k = 0; k < {own}; k++) {{
        const unsigned long long at = begin + k * warpSize;
        if (at < length) {{
            const U key = keys[k];
            const long long place = {place};
            {write}
        }}
    }}
}}
"#,
        definitions = keys.definitions,
        own_definitions = result.definitions,
        memory = keys.memory,
        to = result.element,
        read = keys.read,
        setup = rank_setup(own),
        rank = rank(own),
        words = if keys.is_wide { chunk } else { chunk / 2 },
        last = DIGITS - 1,
        write = result.write,
    )
}

/// What a kernel writes for a sorted key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineResult {
    pub definitions: String,
    /// The type of elements of `out`.
    pub element: &'static str,
    /// A statement about `key`, `place`, `at` of `line`, `memory` and `out`.
    pub write: String,
}

impl LineResult {
    /// The places of a line side by side, whatever lies between its elements.
    #[must_use]
    pub fn places() -> Self {
        Self {
            definitions: String::new(),
            element: "int",
            write: "out[line * length + at] = (int)place;".to_owned(),
        }
    }
}
