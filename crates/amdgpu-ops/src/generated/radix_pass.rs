//! The text of a pass of a radix sort over lines of many blocks: one kernel, which reads and writes every key once (Adinets and Merrill 2022).
//!
//! Blocks take their chunks in order. Each counts the digits of its chunk and tells the counts at once; it ranks its keys while others do the same,
//! and then adds up what stands before it: the chunks of its group one by one, and whole groups, whose last chunk tells what they have. So a chunk
//! waits for few words one after the other, however many chunks are at work at a time.

use amdgpu_abi::Dtype;

use super::radix::{
    BY_BITS, DIGIT_BITS, DIGITS, KeySource, LANES, LineResult, PEER_WORDS, WANTED, WAVES,
    rank_setup_with_peers, votes,
};
use super::source;

/// Chunks of a group: 1 million keys of 64 bits are 31 groups.
pub const GROUP: i64 = 16;
/// Words that a work-item reads at a time, to look for the sum of all before its own.
const LOOKED_AT: i64 = 8;
/// Keys of a work-item: the more keys of a digit a block has, the longer are the parts that it writes; registers hold keys and ranks, shared memory the
/// keys and places of a block. On the H200 sorts of 10 million keys of 32 bits took 337, 306 and 294 µs with 12, 16 and 20; the text of more than these
/// is too large for the CPU's code generator.
fn own_keys(is_wide: bool, place: Option<Dtype>) -> i64 {
    match (is_wide, place) {
        (true, _) => 8,
        (false, None) => 16,
        (false, Some(_)) => 12,
    }
}

/// Keys of a chunk.
#[must_use]
pub fn chunk(is_wide: bool, place: Option<Dtype>) -> i64 {
    source::BLOCK * own_keys(is_wide, place)
}

/// The part of the keys from which on a digit is frequent: lanes with one digit wait for each other where they set bits of one word. The match of
/// lanes takes longer the more digits they have: where all are equally frequent, passes took 1.5 times as long by it.
const FREQUENT: i64 = 8;

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
    /// [`super::radix::word_dtype`].
    pub word: Dtype,
    /// Whether a word says that the pass is wanted.
    pub is_optional: bool,
}

impl Pass<'_> {
    fn own(&self) -> i64 {
        own_keys(self.keys.is_wide(), self.place)
    }

    fn chunk(&self) -> i64 {
        chunk(self.keys.is_wide(), self.place)
    }

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

    /// Declarations of shared memory, besides that of the ranks.
    fn shared(&self) -> String {
        let chunk = self.chunk();
        let key_bytes = chunk * i64::from(self.keys.key.bits) / 8;
        let moved = match self.place {
            Some(_) => format!("    __shared__ I moved[{chunk}];\n"),
            None => String::new(),
        };
        format!(
            r"    // Lanes find each other before keys are in order.
    __shared__ unsigned long long buffer[{words}];
    U* const ordered = (U*)buffer;
    unsigned* const peers_of = (unsigned*)buffer;
{moved}    __shared__ W bases[{DIGITS}];
    __shared__ W word_sums[{WAVES}];
    __shared__ unsigned long long ticket;
",
            words = key_bytes.max(PEER_WORDS * 4) / 8,
        )
    }

    /// Statements that read the keys of the chunk. Keys that are not there come last, behind those with the same digit.
    fn read(&self) -> String {
        format!(
            r"    #pragma unroll
    for (int k = 0; k < {own}; k++) {{
        const unsigned offset = begin + k * {LANES};
        {fetch}
    }}
",
            own = self.own(),
            fetch = self.keys.fetch(),
        )
    }

    /// The statement that finds the lanes with the same digit. Digits of 64 bits are often the same ones, as those of numbers far below 2^63.
    fn peers(&self) -> String {
        if !self.keys.is_wide() {
            return BY_BITS.to_owned();
        }
        let half = "threadIdx.x % warpSize - lane";
        format!(
            "if (is_skewed) {{ peers = (unsigned)(__match_any_sync(all_lanes, cell) >> ({half})); }} else {{ {BY_BITS} }}"
        )
    }

    /// Statements that count the digits of the chunk, tell the counts, and rank the keys. Every work-item has a digit: `total` keys of it are in the
    /// chunk, those that are not there too, and they begin at `start` of the chunk.
    fn rank(&self) -> String {
        format!(
            r"        #pragma unroll
        for (int k = 0; k < {own}; k++) {{
            // The counter of the digit, until the rank is known.
            ranks[k] = wave * {DIGITS} + digit_of(keys[k], shift);
            atomicAdd(&counts[ranks[k]], 1);
        }}
        __syncthreads();
        for (int w = 0; w < {WAVES}; w++) {{
            const int own_count = counts[w * {DIGITS} + threadIdx.x];
            counts[w * {DIGITS} + threadIdx.x] = total;
            total += own_count;
        }}
        there = (W)(total - (threadIdx.x == {DIGITS} - 1 ? {chunk} - (int)valid : 0));
        line_words[chunk * {DIGITS}] = is_part | there;
        start = sum_before(total, sums);
        for (int w = 0; w < {WAVES}; w++) counts[w * {DIGITS} + threadIdx.x] += start;
        __syncthreads();
{skewed}{votes}        __syncthreads();
",
            skewed = if self.keys.is_wide() {
                format!(
                    "        const bool is_skewed = __syncthreads_or(of_digit > length / {FREQUENT});\n"
                )
            } else {
                String::new()
            },
            own = self.own(),
            chunk = self.chunk(),
            votes = votes(self.own(), "(unsigned)ranks[k]", &self.peers()),
        )
    }

    /// Statements that find how many keys of the digit of a work-item stand before the chunk, in it and in smaller digits: `before`.
    fn look_back() -> String {
        format!(
            r"        for (unsigned base = 0; base < in_group; base += {LOOKED_AT}) {{
            volatile const W* const from = line_words + (group * {GROUP} + base) * {DIGITS};
            W seen[{LOOKED_AT}];
            bool is_told;
            do {{
                is_told = true;
                #pragma unroll
                for (int j = 0; j < {LOOKED_AT}; j++) {{
                    seen[j] = base + j < in_group ? from[j * {DIGITS}] : is_part;
                    is_told = is_told && (seen[j] & all_flags) != 0;
                }}
            }} while (!is_told);
            #pragma unroll
            for (int j = 0; j < {LOOKED_AT}; j++) before += seen[j] & ~all_flags;
        }}
        volatile W* const of_group = line_words + (chunks + group) * {DIGITS};
        const bool is_last = in_group == {GROUP} - 1;
        // The first group has nothing to wait for.
        if (is_last && group > 0) *of_group = is_part | (before + there);
        unsigned long long left = group;
        bool is_found = group == 0;
        while (!is_found) {{
            volatile const W* const from = line_words + (chunks + left - 1) * {DIGITS};
            W seen[{LOOKED_AT}];
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
        if (is_last) *of_group = is_sum | (before + there);
"
        )
    }

    /// Statements that read the places of the keys, which arrive while the block looks back, and those that put them in order.
    fn places(&self) -> [String; 2] {
        let own = self.own();
        if self.place.is_none() {
            return [String::new(), String::new()];
        }
        let (line, read) = if self.is_first {
            ("", "(I)(first + offset)")
        } else {
            (
                "    const I* const line_places = places + line * length + first;\n",
                "offset < valid ? line_places[offset] : 0",
            )
        };
        [
            format!(
                r"{line}    I own_places[{own}];
    #pragma unroll
    for (int k = 0; k < {own}; k++) {{
        const unsigned offset = begin + k * {LANES};
        own_places[k] = {read};
    }}
"
            ),
            format!(
                r"    #pragma unroll
    for (int k = 0; k < {own}; k++) moved[ranks[k]] = own_places[k];
"
            ),
        ]
    }

    /// Statements that write keys and their places.
    fn write(&self) -> String {
        let place = match self.place {
            Some(_) => "(long long)moved[i]",
            None => "0",
        };
        let (setup, write) = match self.result {
            Some(result) => (
                String::new(),
                format!("const long long place = {place}; {}", result.write),
            ),
            None if self.place.is_some() => (
                "    U* const line_out = out + line * length;\n    I* const line_places_out = places_out + line * length;\n".to_owned(),
                "line_out[at] = key; line_places_out[at] = moved[i];".to_owned(),
            ),
            None => (
                "    U* const line_out = out + line * length;\n".to_owned(),
                "line_out[at] = key;".to_owned(),
            ),
        };
        format!(
            r"{setup}    #pragma unroll
    for (int k = 0; k < {own}; k++) {{
        const unsigned i = k * {block} + threadIdx.x;
        const U key = ordered[i];
        const W at = bases[digit_of(key, shift)] + i;
        if (i < valid) {{ {write} }}
    }}
",
            own = self.own(),
            block = source::BLOCK,
        )
    }
}

/// Words of a line in a pass: those of its chunks, then those of groups that are whole.
#[must_use]
pub fn line_words(chunks: i64) -> i64 {
    (chunks + chunks / GROUP) * DIGITS
}

/// The kernel of a pass: puts the keys of each chunk behind those of smaller digits and of earlier chunks. `memory_of_passes` has the counts of
/// digits, `entries` for each line, then a ticket of each pass, and words for the chunks of this one, which are zero before it, and of the next one,
/// which are zero behind it. Where all keys of a line have one digit, they stay where they are.
#[must_use]
pub fn place_source(pass: &Pass<'_>) -> String {
    let keys = pass.keys;
    let (own, places) = (pass.own(), pass.places());
    let mut types = source::types(&[("W", pass.word)]);
    if let Some(place) = pass.place {
        types += &source::types(&[("I", place)]);
    }
    let (wanted, unless_wanted) = if pass.is_optional { WANTED } else { ("", "") };
    format!(
        r#"{definitions}{types}{result}{functions}
extern "C" __global__ void radix_place(const {memory}* memory{parameters}, unsigned long long* memory_of_passes, unsigned long long length,
                                       unsigned long long inner, unsigned long long chunks, unsigned pass, unsigned long long entries,
                                       unsigned long long tickets_at, unsigned long long words_at, unsigned long long next_words_at{wanted}) {{
{unless_wanted}    const unsigned shift = pass * {DIGIT_BITS};
    // Words begin with two bits: one for the keys of a chunk or a group, the other one for all up to the end of a group.
    const W is_part = (W)1 << {flag_bit}, is_sum = (W)2 << {flag_bit}, all_flags = (W)3 << {flag_bit};
{shared}{setup}    // Blocks start in any order: by the order of tickets every earlier chunk is at work already.
    if (threadIdx.x == 0) ticket = atomicAdd(memory_of_passes + tickets_at + pass, 1ull);
    for (int entry = threadIdx.x; entry < {PEER_WORDS}; entry += {block}) {{ counts[entry] = 0; peers_of[entry] = 0; }}
    __syncthreads();
    const unsigned long long line = ticket / chunks, chunk = ticket % chunks;
    const unsigned long long first = chunk * {chunk}, group = chunk / {GROUP};
    const unsigned valid = length - first < {chunk} ? (unsigned)(length - first) : {chunk};
    const unsigned in_group = (unsigned)(chunk % {GROUP});
    const unsigned long long words_before = line * (chunks + chunks / {GROUP}) * {DIGITS} + threadIdx.x;
    volatile W* const line_words = (W*)(memory_of_passes + words_at) + words_before;
    W* const next_words = (W*)(memory_of_passes + next_words_at) + words_before;
    const unsigned long long of_digit = memory_of_passes[line * entries + pass * {DIGITS} + threadIdx.x];
{read}    const bool stays = __syncthreads_or(of_digit == length);
    int total = 0, start = 0;
    W there = 0, before = (W)first;
    if (stays) {{
        #pragma unroll
        for (int k = 0; k < {own}; k++) ranks[k] = begin + k * {LANES};
    }} else {{
        before = group == 0 ? sum_before((W)of_digit, word_sums) : (W)0;
{rank}    }}
    #pragma unroll
    for (int k = 0; k < {own}; k++) ordered[ranks[k]] = keys[k];
{read_places}    if (!stays) {{
{look_back}    }}
{move_places}    next_words[chunk * {DIGITS}] = 0;
    if (in_group == {GROUP} - 1) next_words[(chunks + group) * {DIGITS}] = 0;
    bases[threadIdx.x] = before - (W)start;
    __syncthreads();
{write}}}
"#,
        definitions = keys.definitions,
        result = pass.result.map_or("", |result| result.definitions.as_str()),
        functions = keys.functions(),
        block = source::BLOCK,
        memory = keys.memory,
        parameters = pass.parameters(),
        flag_bit = pass.word.bits - 2,
        setup = rank_setup_with_peers(own),
        shared = pass.shared(),
        chunk = pass.chunk(),
        read = pass.read(),
        rank = pass.rank(),
        look_back = Pass::look_back(),
        read_places = places[0],
        move_places = places[1],
        write = pass.write(),
    )
}
