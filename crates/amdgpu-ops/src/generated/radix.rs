//! The text of radix sorts: unsigned keys are put in order digit by digit, from the last one on, each with the place that it comes from where that
//! is asked for.
//!
//! A block ranks its keys by a digit in shared memory, 32 lanes at a time: lanes with the same digit find each other by the bits that they set in a
//! word of the digit, so that they count together (Adinets and Merrill 2022). Keys leave the block in the order of their digits, so that those of a digit are written side by side.
//! Lines that one block holds are sorted by one kernel, which reads and writes memory once. Of longer lines the digits of all passes are counted
//! first; every pass is one kernel then (`radix_pass`).

use amdgpu_abi::Dtype;
use amdgpu_abi::layout::DTYPE_UINT;

use super::source;

pub const DIGIT_BITS: i64 = 8;
/// Values of a digit: as many as work-items of a block, each of which counts one.
pub const DIGITS: i64 = 1 << DIGIT_BITS;
/// Lanes that count together: as many as a wave has at least, and a word has bits.
pub const LANES: i64 = 32;
pub(super) const WAVES: i64 = source::BLOCK / LANES;

const _: () = assert!(DIGITS == source::BLOCK);

/// Keys that a work-item reads at a time to count their digits.
const COUNTED: i64 = 8;
/// Counts below it share 32 bits with the two that say what they count.
const NARROW_COUNT_LIMIT: i64 = 1 << 30;

/// Keys of a work-item of a block that holds a line: shared memory has room for them, of any width.
#[must_use]
pub fn own_keys(is_wide: bool) -> i64 {
    if is_wide { 8 } else { 16 }
}

/// Keys of a line that a block holds.
#[must_use]
pub fn chunk(is_wide: bool) -> i64 {
    source::BLOCK * own_keys(is_wide)
}

/// Keys that a block counts at a time.
pub const COUNTED_CHUNK: i64 = source::BLOCK * COUNTED;

/// The dtype of keys of so many bits.
#[must_use]
pub fn key_dtype(bits: i64) -> Dtype {
    Dtype::new(DTYPE_UINT, (bits as u8).next_power_of_two().max(8))
}

/// What chunks of lines tell each other: how many keys of a digit they have, or all up to them.
#[must_use]
pub fn word_dtype(length: i64) -> Dtype {
    if length < NARROW_COUNT_LIMIT {
        Dtype::new(DTYPE_UINT, 32)
    } else {
        Dtype::U64
    }
}

/// A parameter with a word, and the statement that does nothing unless it is set: [`super::radix_pass::Pass::is_optional`].
pub(super) const WANTED: (&str, &str) = (
    ", const unsigned long long* wanted",
    "    if (*wanted == 0) return;\n",
);

/// A key that was made before.
const MADE: &str = "memory[line * length + at]";

/// Where keys come from, and where their places do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySource {
    /// Declares the type `U` of keys, and what `read` needs.
    pub definitions: String,
    /// The type of the memory that keys are read from.
    pub memory: &'static str,
    /// The key at `at` of `line`.
    pub read: &'static str,
    /// What stands for a `key` where keys are compared: some that differ are equal.
    pub compared: String,
    pub key: Dtype,
}

impl KeySource {
    /// Keys that were made before.
    #[must_use]
    pub fn keys(key: Dtype, compared: String) -> Self {
        Self {
            definitions: source::types(&[("U", key)]),
            memory: "U",
            read: MADE,
            compared,
            key,
        }
    }

    /// These keys where they were made before.
    #[must_use]
    pub fn made(&self) -> Self {
        Self {
            memory: "U",
            read: MADE,
            ..self.clone()
        }
    }

    /// Whether keys take 64 bits.
    #[must_use]
    pub fn is_wide(&self) -> bool {
        self.key.bits == 64
    }

    /// The functions `compared`, which gives what stands for a key where keys are compared, and `digit_of`, its digit from a bit on.
    pub(super) fn digit_function(&self) -> String {
        format!(
            "__device__ inline U compared(U key) {{ return {}; }}\n__device__ inline unsigned digit_of(U key, unsigned shift) {{ return (unsigned)(compared(key) >> shift) & {}u; }}\n",
            self.compared,
            DIGITS - 1
        )
    }

    /// Functions that rank keys.
    #[must_use]
    pub(super) fn functions(&self) -> String {
        format!("{}{}", source::SUM_BEFORE, self.digit_function())
    }

    /// Statements that read the key at `offset` behind the `first` one of `valid` keys; one that is not there is larger than or equal to all others.
    pub(super) fn fetch(&self) -> String {
        format!(
            r"const unsigned long long at = first + (offset < valid ? offset : valid - 1);
        const U read = {};
        keys[k] = offset < valid ? read : (U)~(U)0;",
            self.read
        )
    }
}

/// The kernel that counts the digits of all passes over a line; blocks share the lines. A work-item whose keys all have one digit counts them at once:
/// additions to one counter wait for each other. An optional kernel does nothing unless its last argument is set.
#[must_use]
pub fn count_source(keys: &KeySource, passes: i64, is_optional: bool) -> String {
    let block = source::BLOCK;
    let (wanted, unless_wanted) = if is_optional { WANTED } else { ("", "") };
    format!(
        r#"{definitions}{digit}
extern "C" __global__ void radix_count(const {memory}* memory, unsigned long long* counts, unsigned long long length, unsigned long long inner,
                                       unsigned long long parts{wanted}) {{
{unless_wanted}    __shared__ unsigned found[{entries}];
    const unsigned long long line = blockIdx.x / parts, part = blockIdx.x % parts;
    for (unsigned entry = threadIdx.x; entry < {entries}; entry += {block}) found[entry] = 0;
    __syncthreads();
    for (unsigned long long base = part * {COUNTED_CHUNK}; base < length; base += parts * {COUNTED_CHUNK}) {{
        const unsigned long long first = base;
        const unsigned valid = length - base < {COUNTED_CHUNK} ? (unsigned)(length - base) : {COUNTED_CHUNK};
        U keys[{COUNTED}];
        U differing = 0;
        #pragma unroll
        for (int k = 0; k < {COUNTED}; k++) {{
            const unsigned offset = k * {block} + threadIdx.x;
            {fetch}
        }}
        #pragma unroll
        for (int k = 1; k < {COUNTED}; k++) differing |= compared(keys[k]) ^ compared(keys[0]);
        const bool is_whole = valid == {COUNTED_CHUNK};
        for (int pass = 0; pass < {passes}; pass++) {{
            const unsigned shift = pass * {DIGIT_BITS};
            unsigned* const found_in_pass = found + pass * {DIGITS};
            if (is_whole && (differing >> shift & {digit_mask}) == 0) {{
                atomicAdd(&found_in_pass[digit_of(keys[0], shift)], {COUNTED}u);
            }} else {{
                #pragma unroll
                for (int k = 0; k < {COUNTED}; k++)
                    if (k * {block} + threadIdx.x < valid) atomicAdd(&found_in_pass[digit_of(keys[k], shift)], 1u);
            }}
        }}
    }}
    __syncthreads();
    for (unsigned entry = threadIdx.x; entry < {entries}; entry += {block})
        if (found[entry]) atomicAdd(&counts[line * {entries} + entry], (unsigned long long)found[entry]);
}}
"#,
        definitions = keys.definitions,
        digit = keys.digit_function(),
        memory = keys.memory,
        fetch = keys.fetch(),
        digit_mask = DIGITS - 1,
        entries = passes * DIGITS,
    )
}

/// Declarations in a kernel that ranks so many keys of each work-item.
pub(super) fn rank_setup(own: i64) -> String {
    format!(
        "    __shared__ unsigned peers_of[{PEER_WORDS}];\n{}",
        rank_setup_with_peers(own)
    )
}

/// Words that lanes find each other by: one for each digit of each wave.
pub(super) const PEER_WORDS: i64 = WAVES * DIGITS;

/// [`rank_setup`] where the kernel declares `peers_of` itself, of [`PEER_WORDS`].
pub(super) fn rank_setup_with_peers(own: i64) -> String {
    format!(
        r"    __shared__ int counts[{PEER_WORDS}];
    __shared__ int sums[{WAVES}];
    const unsigned lane = threadIdx.x % {LANES}, wave = threadIdx.x / {LANES};
    const unsigned begin = wave * {LANES} * {own} + lane;
    const unsigned long long all_lanes = warpSize == 64 ? ~0ull : 0xffffffffull;
    U keys[{own}];
    int ranks[{own}];
"
    )
}

/// The peers of a lane by the bits that they set in a word of their digit.
pub(super) const BY_BITS: &str =
    "atomicOr(&peers_of[cell], 1u << lane); __syncwarp(); peers = peers_of[cell];";

/// Statements that add to the counts of each wave what keys it has of every digit, one after the other, and note what was there before each: lanes
/// whose keys have the same digit find each other by what `peers` says. `cell` is the number of the counter of key `k`.
pub(super) fn votes(own: i64, cell: &str, peers: &str) -> String {
    format!(
        r"    #pragma unroll
    for (int k = 0; k < {own}; k++) {{
        const unsigned cell = {cell};
        unsigned peers;
        {peers}
        const unsigned first_peer = __ffs(peers) - 1;
        int base = 0;
        if (lane == first_peer) {{
            base = counts[cell];
            counts[cell] = base + __popc(peers);
        }}
        ranks[k] = __shfl_sync(all_lanes, base, first_peer, {LANES}) + __popc(peers & ((1u << lane) - 1));
        if (lane == first_peer) peers_of[cell] = 0;
        __syncwarp();
    }}
"
    )
}

/// Statements that find where each key goes among those of its wave, and then, with `total` keys of the digit that the work-item has the number of,
/// among those of its block: `ranks` by the digit at `shift`, and `start` of the digit.
pub(super) fn rank(own: i64) -> [String; 2] {
    let block = source::BLOCK;
    let in_waves = format!(
        r"    for (int entry = threadIdx.x; entry < {entries}; entry += {block}) {{
        counts[entry] = 0;
        peers_of[entry] = 0;
    }}
    __syncthreads();
{votes}    __syncthreads();
    // Every work-item has a digit: how many keys of it stand before each wave, and before all of them those of smaller digits.
    int total = 0;
    for (int w = 0; w < {WAVES}; w++) {{
        const int own_count = counts[w * {DIGITS} + threadIdx.x];
        counts[w * {DIGITS} + threadIdx.x] = total;
        total += own_count;
    }}
",
        entries = WAVES * DIGITS,
        votes = votes(
            own,
            &format!("wave * {DIGITS} + digit_of(keys[k], shift)"),
            BY_BITS,
        ),
    );
    let in_block = format!(
        r"    const int start = sum_before(total, sums);
    for (int w = 0; w < {WAVES}; w++) counts[w * {DIGITS} + threadIdx.x] += start;
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < {own}; k++) ranks[k] += counts[wave * {DIGITS} + digit_of(keys[k], shift)];
"
    );
    [in_waves, in_block]
}

/// The kernel that sorts lines of up to `own` keys for each work-item of a block: `result` is what is written for a `key` and its `place`.
#[must_use]
pub fn line_source(keys: &KeySource, own: i64, has_places: bool, result: &LineResult) -> String {
    let chunk = own * source::BLOCK;
    let (declared, filled, moved) = if has_places {
        (
            format!("    int places[{own}];\n"),
            "places[k] = (int)offset;",
            format!(
                r"        int* const moved = (int*)buffer;
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < {own}; k++) moved[ranks[k]] = places[k];
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < {own}; k++) places[k] = moved[begin + k * {LANES}];
"
            ),
        )
    } else {
        (String::new(), "", String::new())
    };
    let place = if has_places { "places[k]" } else { "0" };
    let [in_waves, in_block] = rank(own);
    format!(
        r#"{definitions}{own_definitions}{functions}
extern "C" __global__ void radix_line(const {memory}* memory, {to}* out, unsigned long long length, unsigned long long inner,
                                      unsigned end_bit) {{
{setup}{declared}    // Keys, then their places.
    __shared__ unsigned long long buffer[{words}];
    U* const ordered = (U*)buffer;
    const unsigned long long line = blockIdx.x, first = 0;
    const unsigned valid = (unsigned)length;
    #pragma unroll
    for (int k = 0; k < {own}; k++) {{
        const unsigned offset = begin + k * {LANES};
        {fetch}
        {filled}
    }}
    for (unsigned shift = 0; shift < end_bit; shift += {DIGIT_BITS}) {{
{in_waves}{in_block}        #pragma unroll
        for (int k = 0; k < {own}; k++) ordered[ranks[k]] = keys[k];
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < {own}; k++) keys[k] = ordered[begin + k * {LANES}];
{moved}    }}
    #pragma unroll
    for (int k = 0; k < {own}; k++) {{
        const unsigned long long at = begin + k * {LANES};
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
        functions = keys.functions(),
        memory = keys.memory,
        to = result.element,
        fetch = keys.fetch(),
        setup = rank_setup(own),
        // Places take 32 bits.
        words = if keys.is_wide() { chunk } else { chunk / 2 },
        write = result.write,
    )
}

/// What a kernel writes for a sorted key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineResult {
    pub definitions: String,
    /// The type of elements of `out`.
    pub element: &'static str,
    /// A statement about `key`, `place`, `at` of `line` and `out`.
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
