//! The text of searches for elements: those that are not zero, or differ from the one before.

use std::fmt::Write as _;

use amdgpu_abi::promotion::compute_type;

use super::blocks::moved_type;
use super::source;
use crate::Operand;

/// Steps of a block through its chunk.
const STEPS: i64 = 16;
/// Waves of a block at most: lanes of a wave are 32 or more.
const WAVES: i64 = source::BLOCK / 32;
/// Elements that a block looks at.
pub const CHUNK: i64 = source::BLOCK * STEPS;

/// Which elements are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sought {
    NotZero,
    /// The first of a line, and those that are not equal to the one before: NaN is equal to nothing.
    Changed,
}

impl Sought {
    /// Of the element that `read` reads, which is number `i`.
    fn condition(self, read: &str) -> String {
        match self {
            Self::NotZero => format!("{read} != 0"),
            Self::Changed => "(i == 0 || (C)x[i] != (C)x[i - 1])".to_owned(),
        }
    }
}

/// What a kernel does with the elements that are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    Counted,
    /// Their indices are written.
    Indexed,
    /// Elements of so many bytes of another array are written, which lie in the same places.
    Selected(usize),
}

impl Found {
    /// A number of its own.
    #[must_use]
    pub const fn code(self) -> u64 {
        match self {
            Self::Counted => 0,
            Self::Indexed => 1,
            Self::Selected(item_bytes) => 2 + item_bytes as u64,
        }
    }
}

/// Parameters for what is written, and statements before all others.
const fn results(is_selected: bool) -> (&'static str, &'static str) {
    if is_selected {
        // Elements are moved as bits, whatever their dtype: a pointer to numbers would take no array of floats.
        (
            "void* out_memory, const void* values_memory",
            "    T* out = (T*)out_memory;\n    const T* values = (const T*)values_memory;\n",
        )
    } else {
        ("long long* out", "")
    }
}

/// The kernel that counts chunks, or writes what is found in each chunk, behind that of the chunks before it.
#[must_use]
pub fn nonzero_source(x: &Operand, sought: Sought, found: Found) -> String {
    let rank = x.rank();
    let computed = compute_type(x.dtype);
    let (parameter, setup, read) = reader(x);
    let walked = |offsets: &[&str]| match rank {
        0 => String::new(),
        _ => source::walk("d", rank, offsets, "i", "unsigned long long"),
    };
    let (write, selected) = match found {
        Found::Counted => (String::new(), String::new()),
        Found::Indexed => (write_rows(rank, &walked(&[])), String::new()),
        Found::Selected(item_bytes) => (WRITE_SELECTED.to_owned(), moved_type(item_bytes)),
    };
    let (result, moved) = results(!selected.is_empty());
    let (start, finish) = if found == Found::Counted {
        (
            "0",
            "if (threadIdx.x == 0) counts[blockIdx.x] = before + all;",
        )
    } else {
        ("blockIdx.x ? counts[blockIdx.x - 1] : 0", "")
    };
    let write = write_found(&write);
    let block = source::BLOCK;
    format!(
        r#"{types}{selected}{sum_before}
extern "C" __global__ void nonzero({parameter}, long long* counts, {result}, unsigned long long count{walk_parameters}) {{
    __shared__ int sums[{entries}];
    __shared__ int sums_of_waves[{WAVES}];
    __shared__ int all;
    const unsigned lane = threadIdx.x % warpSize, wave = threadIdx.x / warpSize;
    const unsigned long long all_lanes = warpSize == 64 ? ~0ull : 0xffffffffull;
    const unsigned long long first = (unsigned long long)blockIdx.x * {CHUNK} + threadIdx.x;
{setup}{moved}    const long long before = {start};
    if (threadIdx.x < {entries}) sums[threadIdx.x] = 0;
    unsigned found = 0;
    #pragma unroll
    for (int step = 0; step < {STEPS}; step++) {{
        const unsigned long long place = first + step * {block}, i = place < count ? place : count - 1;
        long long from = 0;
{walk}        const bool is_found = {condition} && place < count;
        found |= (unsigned)is_found << step;
    }}
    __syncthreads();
    #pragma unroll
    for (int step = 0; step < {STEPS}; step++) {{
        const unsigned long long set = __ballot_sync(all_lanes, found >> step & 1u);
        if (lane == 0) sums[step * {WAVES} + wave] = __popcll(set);
    }}
    __syncthreads();
    const int own = threadIdx.x < {entries} ? sums[threadIdx.x] : 0;
    const int earlier = sum_before(own, sums_of_waves);
    if (threadIdx.x < {entries}) sums[threadIdx.x] = earlier;
    if (threadIdx.x == {block} - 1) all = earlier;
    __syncthreads();
{write}    {finish}
}}
"#,
        types = source::types(&[("X", x.dtype), ("C", computed)]),
        walk_parameters = source::walk_parameters("d", rank, usize::from(rank > 0)),
        walk = if x.is_number() {
            String::new()
        } else {
            walked(&["from"])
        },
        condition = sought.condition(read),
        sum_before = source::SUM_BEFORE,
        entries = STEPS * WAVES,
    )
}

/// The loop that writes what was found in every step: `write` for element `i`, whose `row` is how many stand before it.
fn write_found(write: &str) -> String {
    if write.is_empty() {
        return String::new();
    }
    format!(
        r"    #pragma unroll
    for (int step = 0; step < {STEPS}; step++) {{
        const unsigned long long set = __ballot_sync(all_lanes, found >> step & 1u);
        if (found >> step & 1u) {{
            const unsigned long long i = first + step * {block};
            const long long row = before + sums[step * {WAVES} + wave] + __popcll(set & ((1ull << lane) - 1));
{write}        }}
    }}
",
        block = source::BLOCK
    )
}

/// The parameter of an operand, the statement that makes a pointer of it, and what reads an element.
fn reader(x: &Operand) -> (String, String, &'static str) {
    if x.is_number() {
        let wide = source::number_type(x.dtype);
        return (format!("{wide} number"), String::new(), "(C)number");
    }
    let (parameter, setup) = source::operand_parameter(x, "X", "x", false);
    (parameter, setup, "(C)x[from]")
}

const WRITE_SELECTED: &str = r"            out[row] = values[i];
";

/// Statements that write the indices of an element that was found, which a walk takes apart.
fn write_rows(rank: usize, walk: &str) -> String {
    let mut rows = walk.to_owned();
    for axis in 0..rank {
        let place = if axis == 0 {
            "d_rest".to_owned()
        } else {
            format!("d_place{axis}")
        };
        let _ = writeln!(rows, "    out[row * {rank} + {axis}] = (long long){place};");
    }
    rows
}
