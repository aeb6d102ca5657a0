//! The text of radix sorts: unsigned keys are put in order digit by digit, from the last one on, each with the place that it comes from where that
//! is asked for.
//!
//! A block ranks its keys by a digit in shared memory, 32 lanes at a time: lanes with the same digit find each other by the bits that they set in a
//! word of the digit, so that they count together (Adinets and Merrill 2022). Keys leave the block in the order of their digits, so that those of a digit are written side by side.
//! Lines that one block holds are sorted by one kernel, which reads and writes memory once. Of longer lines the digits of all passes are counted
//! first; every pass is one kernel then, whose blocks take their chunks in order and tell those behind them how many keys of each digit there are
//! (Adinets and Merrill 2022).

use std::fmt::Write as _;

use amdgpu_abi::Dtype;
use amdgpu_abi::layout::DTYPE_UINT;

use super::source;

pub const DIGIT_BITS: i64 = 8;
/// Values of a digit: as many as work-items of a block, each of which counts one.
pub const DIGITS: i64 = 1 << DIGIT_BITS;
/// Lanes that count together: as many as a wave has at least, and a word has bits.
pub const LANES: i64 = 32;
const WAVES: i64 = source::BLOCK / LANES;

const _: () = assert!(DIGITS == source::BLOCK);

/// Chunks whose words a work-item reads at a time, to look for the sum of all before its own.
const LOOKED_AT: i64 = 8;
/// Keys that a work-item reads at a time to count their digits.
const COUNTED: i64 = 8;
/// Counts below it share 32 bits with the two that say what they count.
const NARROW_COUNT_LIMIT: i64 = 1 << 30;

/// Keys of a work-item where a line has many blocks: shared memory holds those of a block, of any width.
#[must_use]
pub fn own_keys(is_wide: bool) -> i64 {
    if is_wide { 8 } else { 16 }
}

/// Keys that a block puts in order.
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

    /// The function that gives the digit of a key from a bit on.
    pub(super) fn digit_function(&self) -> String {
        format!(
            "__device__ inline unsigned digit_of(U key, unsigned shift) {{ return (unsigned)({} >> shift) & {}u; }}\n",
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

/// The kernel that counts the digits of all passes over a line; blocks share the lines.
#[must_use]
pub fn count_source(keys: &KeySource, passes: i64) -> String {
    let block = source::BLOCK;
    format!(
        r#"{definitions}{digit}
extern "C" __global__ void radix_count(const {memory}* memory, unsigned long long* counts, unsigned long long length, unsigned long long inner,
                                       unsigned long long parts) {{
    __shared__ unsigned found[{entries}];
    const unsigned long long line = blockIdx.x / parts, part = blockIdx.x % parts;
    for (unsigned entry = threadIdx.x; entry < {entries}; entry += {block}) found[entry] = 0;
    __syncthreads();
    for (unsigned long long base = part * {COUNTED_CHUNK}; base < length; base += parts * {COUNTED_CHUNK}) {{
        const unsigned long long first = base;
        const unsigned valid = length - base < {COUNTED_CHUNK} ? (unsigned)(length - base) : {COUNTED_CHUNK};
        U keys[{COUNTED}];
        #pragma unroll
        for (int k = 0; k < {COUNTED}; k++) {{
            const unsigned offset = k * {block} + threadIdx.x;
            {fetch}
        }}
        #pragma unroll
        for (int k = 0; k < {COUNTED}; k++) {{
            if (k * {block} + threadIdx.x < valid) {{
                #pragma unroll
                for (int pass = 0; pass < {passes}; pass++)
                    atomicAdd(&found[pass * {DIGITS} + digit_of(keys[k], pass * {DIGIT_BITS})], 1u);
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
        entries = passes * DIGITS,
    )
}

/// Declarations in a kernel that ranks so many keys of each work-item.
pub(super) fn rank_setup(own: i64) -> String {
    format!(
        r"    __shared__ int counts[{entries}];
    __shared__ unsigned peers_of[{entries}];
    __shared__ int sums[{WAVES}];
    const unsigned lane = threadIdx.x % {LANES}, wave = threadIdx.x / {LANES};
    const unsigned begin = wave * {LANES} * {own} + lane;
    const unsigned long long all_lanes = warpSize == 64 ? ~0ull : 0xffffffffull;
    U keys[{own}];
    int ranks[{own}];
",
        entries = WAVES * DIGITS,
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
    #pragma unroll
    for (int k = 0; k < {own}; k++) {{
        const unsigned cell = wave * {DIGITS} + digit_of(keys[k], shift);
        atomicOr(&peers_of[cell], 1u << lane);
        __syncwarp();
        const unsigned peers = peers_of[cell];
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
    __syncthreads();
    // Every work-item has a digit: how many keys of it stand before each wave, and before all of them those of smaller digits.
    int total = 0;
    for (int w = 0; w < {WAVES}; w++) {{
        const int own_count = counts[w * {DIGITS} + threadIdx.x];
        counts[w * {DIGITS} + threadIdx.x] = total;
        total += own_count;
    }}
",
        entries = WAVES * DIGITS,
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

/// A pass over the keys of lines.
#[derive(Clone, Debug)]
pub struct Pass<'a> {
    pub keys: &'a KeySource,
    /// The type of places, where they go with the keys.
    pub place: Option<Dtype>,
    /// The places of the first pass are where the keys stand.
    pub is_first: bool,
    /// What the last pass writes in place of keys and places.
    pub result: Option<&'a LineResult>,
    /// [`word_dtype`].
    pub word: Dtype,
}

impl Pass<'_> {
    /// Parameters behind the memory that keys are read from.
    fn parameters(&self) -> String {
        let mut text = match self.result {
            Some(result) => format!(", {}* out", result.element),
            None => ", U* out".to_owned(),
        };
        if self.place.is_some() && !self.is_first {
            text += ", const I* places";
        }
        if self.place.is_some() && self.result.is_none() {
            text += ", I* places_out";
        }
        text
    }

    /// Statements that write keys, and then their places.
    fn write(&self) -> String {
        let own = own_keys(self.keys.is_wide());
        let block = source::BLOCK;
        let result = self.result.map_or("", |result| result.write.as_str());
        let read = if self.is_first {
            "(I)(first + offset)"
        } else {
            "line_places[offset < valid ? offset : valid - 1]"
        };
        let is_written_with_place = self.place.is_some() && self.result.is_some();
        let of_key = match self.result {
            None => "line_out[at] = key;".to_owned(),
            Some(_) if is_written_with_place => String::new(),
            Some(_) => format!("const long long place = 0; {result}"),
        };
        let mut text = if self.result.is_none() {
            "    U* const line_out = out + line * length;\n".to_owned()
        } else {
            String::new()
        };
        if self.place.is_some() && !self.is_first {
            text += "    const I* const line_places = places + line * length + first;\n";
        }
        if self.place.is_some() && self.result.is_none() {
            text += "    I* const line_places_out = places_out + line * length;\n";
        }
        let _ = write!(
            text,
            r"    W targets[{own}];
    #pragma unroll
    for (int k = 0; k < {own}; k++) {{
        const unsigned i = k * {block} + threadIdx.x;
        const U key = ordered[i];
        const W at = bases[digit_of(key, shift)] + i;
        targets[k] = at;
        if (i < valid) {{ {of_key} }}
    }}
"
        );
        if self.place.is_none() {
            return text;
        }
        let of_place = if is_written_with_place {
            format!("const long long place = (long long)moved[i]; {result}")
        } else {
            "line_places_out[at] = moved[i];".to_owned()
        };
        let _ = write!(
            text,
            r"    I* const moved = (I*)buffer;
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < {own}; k++) {{
        const unsigned offset = begin + k * {LANES};
        moved[ranks[k]] = {read};
    }}
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < {own}; k++) {{
        const unsigned i = k * {block} + threadIdx.x;
        const W at = targets[k];
        if (i < valid) {{ {of_place} }}
    }}
"
        );
        text
    }

    /// Statements that find how many keys of the digit of a work-item stand before the chunk, in it and in smaller digits: `before`. Words begin with
    /// two bits: one for the keys of a chunk, both for those up to its end.
    fn look_back(&self) -> String {
        let shift = self.word.bits - 2;
        format!(
            r"    const W is_part = (W)1 << {shift}, is_sum = (W)2 << {shift}, all_flags = (W)3 << {shift};
    volatile W* const told = words + (line * chunks + chunk) * {DIGITS} + threadIdx.x;
    if (chunk == 0) {{
        *told = is_sum | (before + (W)total);
    }} else {{
        *told = is_part | (W)total;
        unsigned long long left = chunk;
        bool is_found = false;
        while (!is_found) {{
            W seen[{LOOKED_AT}];
            volatile const W* const from = words + (line * chunks + left - 1) * {DIGITS} + threadIdx.x;
            #pragma unroll
            for (int j = 0; j < {LOOKED_AT}; j++) seen[j] = *(from - (j < left ? j : 0) * {DIGITS});
            bool goes_on = true;
            #pragma unroll
            for (int j = 0; j < {LOOKED_AT}; j++) {{
                goes_on = goes_on && (seen[j] & all_flags) != 0;
                if (goes_on) {{
                    before += seen[j] & ~all_flags;
                    left--;
                    is_found = (seen[j] & is_sum) != 0;
                    goes_on = !is_found;
                }}
            }}
        }}
        *told = is_sum | (before + (W)total);
    }}
    next_words[(line * chunks + chunk) * {DIGITS} + threadIdx.x] = 0;
"
        )
    }
}

/// The kernel of a pass: puts the keys of each chunk behind those of smaller digits and of earlier chunks. `memory_of_passes` has the counts of
/// digits, `entries` for each line, then a ticket of each pass, and words for the chunks of this one, which are zero before it, and of the next one,
/// which are zero behind it.
#[must_use]
pub fn place_source(pass: &Pass<'_>) -> String {
    let keys = pass.keys;
    let own = own_keys(keys.is_wide());
    let chunk = chunk(keys.is_wide());
    let [in_waves, in_block] = rank(own);
    let mut types = source::types(&[("W", pass.word)]);
    if let Some(place) = pass.place {
        types += &source::types(&[("I", place)]);
    }
    let item_bytes = i64::from(keys.key.bits.max(pass.place.map_or(0, |place| place.bits)) / 8);
    format!(
        r#"{definitions}{types}{result}{functions}
extern "C" __global__ void radix_place(const {memory}* memory{parameters}, unsigned long long* memory_of_passes, unsigned long long length,
                                       unsigned long long inner, unsigned long long chunks, unsigned pass, unsigned long long entries,
                                       unsigned long long tickets_at, unsigned long long words_at, unsigned long long next_words_at) {{
    W* const words = (W*)(memory_of_passes + words_at);
    W* const next_words = (W*)(memory_of_passes + next_words_at);
    const unsigned shift = pass * {DIGIT_BITS};
{setup}    // Keys first, then their places.
    __shared__ unsigned long long buffer[{buffer}];
    U* const ordered = (U*)buffer;
    __shared__ W bases[{DIGITS}];
    __shared__ W word_sums[{WAVES}];
    __shared__ unsigned long long ticket;
    // Blocks start in any order: by the order of tickets every earlier chunk is at work already.
    if (threadIdx.x == 0) ticket = atomicAdd(memory_of_passes + tickets_at + pass, 1ull);
    __syncthreads();
    const unsigned long long line = ticket / chunks, chunk = ticket % chunks;
    const unsigned long long first = chunk * {chunk};
    const unsigned valid = length - first < {chunk} ? (unsigned)(length - first) : {chunk};
    // Keys that are not there come last, behind those with the same digit.
    #pragma unroll
    for (int k = 0; k < {own}; k++) {{
        const unsigned offset = begin + k * {LANES};
        {fetch}
    }}
    W before = 0;
    if (chunk == 0) before = sum_before((W)memory_of_passes[line * entries + pass * {DIGITS} + threadIdx.x], word_sums);
{in_waves}    const int missing = threadIdx.x == {DIGITS} - 1 ? {chunk} - (int)valid : 0;
    total -= missing;
{look_back}    total += missing;
{in_block}    bases[threadIdx.x] = before - (W)start;
    #pragma unroll
    for (int k = 0; k < {own}; k++) ordered[ranks[k]] = keys[k];
    __syncthreads();
{write}}}
"#,
        definitions = keys.definitions,
        result = pass.result.map_or("", |result| result.definitions.as_str()),
        functions = keys.functions(),
        memory = keys.memory,
        parameters = pass.parameters(),
        setup = rank_setup(own),
        fetch = keys.fetch(),
        look_back = pass.look_back(),
        write = pass.write(),
        buffer = chunk * item_bytes / 8,
    )
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
