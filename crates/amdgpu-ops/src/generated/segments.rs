//! The text of segmented reductions.
//!
//! Values are taken in the order of their rows, in chunks of the same length whatever rows they belong to: a work-item joins the values of one chunk
//! and one element. A row within a chunk is finished there; of one that goes on, every chunk leaves what it joined, and a work-item joins those.
//! Every value is joined in a fixed order, so that sums of floats have the same bits in every run.

use std::fmt::Write as _;

use amdgpu_abi::Dtype;
use amdgpu_abi::layout::{DTYPE_BOOL, DTYPE_UINT};
use amdgpu_abi::promotion::{is_float, is_unsigned};
use amdgpu_matrix::{Join, Start};

use super::join::{Joining, definitions};
use super::sort::FloatBits;
use super::source;

/// Values of a chunk.
pub const CHUNK: i64 = 32;
/// Values that a work-item reads at a time.
const AHEAD: i64 = 8;

/// What the kernels of a reduction depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentKernel {
    pub join: Join,
    pub start: Start,
    pub dtype: Dtype,
    /// The type of the numbers of rows.
    pub row: Dtype,
    /// The type of the places of values in their order; `None` where they are in order.
    pub place: Option<Dtype>,
}

/// What values of a dtype are joined in.
#[must_use]
pub fn state_of(join: Join, dtype: Dtype) -> Dtype {
    let is_best = matches!(join, Join::Maximum | Join::Minimum);
    if is_float(dtype) {
        return match dtype.bits {
            16 => Dtype::F32,
            32 if is_best => Dtype::F32,
            _ => Dtype::F64,
        };
    }
    if is_unsigned(dtype) || dtype.code == DTYPE_BOOL {
        Dtype::U64
    } else {
        Dtype::I64
    }
}

/// Truth values are joined by "or" and "and".
fn joining(join: Join, dtype: Dtype) -> Joining {
    let is_bool = dtype.code == DTYPE_BOOL;
    match join {
        Join::Sum if is_bool => Joining::Maximum,
        Join::Product if is_bool => Joining::Minimum,
        Join::Sum | Join::Mean => Joining::Sum,
        Join::Product => Joining::Product,
        Join::Maximum => Joining::Maximum,
        Join::Minimum => Joining::Minimum,
    }
}

impl SegmentKernel {
    fn head(&self) -> String {
        let state = state_of(self.join, self.dtype);
        let mut types = source::types(&[("X", self.dtype), ("S", state), ("U", self.row)]);
        if let Some(place) = self.place {
            types += &source::types(&[("I", place)]);
        }
        let mut text = types + &definitions(joining(self.join, self.dtype), self.dtype);
        let included = i64::from(self.start == Start::Include);
        let joined = if self.start == Start::Include {
            "JOIN((S)*element, sum)"
        } else {
            "sum"
        };
        let mean = match (self.join, is_float(self.dtype)) {
            (Join::Mean, true) => "    all /= (S)count;\n",
            (Join::Mean, false) if state == Dtype::U64 => "    all /= (S)count;\n",
            // Rounded down, as PyTorch rounds.
            (Join::Mean, false) => {
                "    const S rest = all % (S)count;\n    all = all / (S)count - (rest < 0 ? 1 : 0);\n"
            }
            _ => "",
        };
        let _ = write!(
            text,
            r"{ADDRESS}
__device__ inline void finish(X* element, S sum, long long joined) {{
    S all = {joined};
    const long long count = joined + {included};
{mean}    *element = (X)all;
}}
"
        );
        text
    }
}

/// How the rows of values follow from their indices.
#[derive(Clone, Copy, Debug)]
pub struct RowOf {
    pub index: Dtype,
    /// Axes that are walked.
    pub rank: usize,
    pub is_dense: bool,
    /// Whether negative indices count from the end.
    pub wraps: bool,
}

impl RowOf {
    /// The function `row_of` of the place of an index: its row, or `segments` where the value takes no part.
    fn function(&self) -> String {
        let wrapped = if self.wraps {
            "given < 0 ? given + extent : given"
        } else {
            "given"
        };
        format!(
            r"{types}
__device__ inline unsigned long long row_of(const I* indices, unsigned long long i, long long extent, long long step, unsigned long long segments,
                                            long long skipped, bool* is_known, long long* value{walk_parameters}) {{
    long long from = 0, line = 0;
{walk}    const long long given = (long long)indices[from];
    const long long index = {wrapped};
    const bool is_skipped = given == skipped && skipped >= 0, is_good = index >= 0 && index < extent;
    *is_known = is_good || is_skipped;
    *value = given;
    return is_good && !is_skipped ? (unsigned long long)(line + index * step) : segments;
}}
",
            types = source::types(&[("I", self.index)]),
            walk_parameters = source::walk_parameters("d", self.rank, 2),
            walk = source::walk("d", self.rank, &["from", "line"], "i", "unsigned long long"),
        )
    }

    /// Parameters for the indices and behind all others, the statement that makes a pointer of the first, and the call for the index at `place`.
    fn call(&self, place: &str) -> [String; 4] {
        let (parameter, setup) = source::pointer_parameter(self.is_dense, "I", "indices", false);
        let walk = source::walk_parameters("d", self.rank, 2);
        let names = walk
            .replace("unsigned long long ", "")
            .replace("long long ", "");
        [
            parameter,
            format!(
                ", long long extent, long long step, unsigned long long segments, long long skipped{walk}"
            ),
            setup,
            format!(
                "row_of(indices, {place}, extent, step, segments, skipped, &is_known, &given{names})"
            ),
        ]
    }
}

/// The kernel that notes indices that are none, and with `row` makes the number of the row of each index, those of values that take no part behind all
/// others; then it notes, too, whether any number is smaller than the one before it.
#[must_use]
pub fn rows_source(of: &RowOf, row: Option<Dtype>) -> String {
    let [parameter, parameters, setup, call] = of.call("i");
    let [_, _, _, before] = of.call("i - 1");
    let (types, rows, write) = match row {
        None => (String::new(), "", String::new()),
        Some(row) => (
            source::types(&[("U", row)]),
            ", U* rows, unsigned long long* falls",
            format!(
                r"    if (is_there) rows[i] = (U)own;
    const bool falls_here = __syncthreads_or(is_there && i > 0 && own < {before});
    // One note is enough: those who write to one word wait for each other.
    volatile unsigned long long* const note_of_all = falls;
    if (falls_here && threadIdx.x == 0 && *note_of_all == 0) *note_of_all = 1;
"
            ),
        ),
    };
    format!(
        r#"{types}{function}{note}
extern "C" __global__ void segment_rows({parameter}, unsigned long long* notes{rows}, unsigned long long count{parameters}) {{
    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    const bool is_there = i < count;
{setup}    bool is_known = true;
    long long given = 0;
    const unsigned long long own = is_there ? {call} : 0;
    if (!is_known) note_bad_index(notes, i, given, extent);
{write}}}
"#,
        function = of.function(),
        note = source::NOTE_BAD_INDEX,
    )
}

/// A parameter with the rows in order, and with a word that says whether they had to be sorted; and which of both are in order.
const ORDERED: [&str; 2] = [
    ", const U* sorted, const unsigned long long* falls",
    "    const U* const ordered = *falls ? sorted : rows;\n",
];
/// Without a sort.
const AS_GIVEN: [&str; 2] = ["", "    const U* const ordered = rows;\n"];

/// The kernel that finds where the values of each row begin among the rows in order.
#[must_use]
pub fn starts_source(row: Dtype) -> String {
    let [parameters, ordered] = ORDERED;
    format!(
        r#"{types}
extern "C" __global__ void segment_starts(const U* rows, long long* starts, unsigned long long count, unsigned long long segments{parameters}) {{
    const unsigned long long row = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row > segments) return;
{ordered}    unsigned long long first = 0, left = count;
    while (left > 0) {{
        const unsigned long long half = left / 2;
        const bool is_before = (unsigned long long)ordered[first + half] < row;
        first = is_before ? first + half + 1 : first;
        left = is_before ? left - half - 1 : half;
    }}
    starts[row] = (long long)first;
}}
"#,
        types = source::types(&[("U", row)]),
    )
}

/// The kernel that reads offsets of any integer type; it notes where they fall, or pass the number of values.
#[must_use]
pub fn offsets_source(index: Dtype) -> String {
    format!(
        r#"{types}{note}
extern "C" __global__ void segment_offsets(const I* offsets, long long* starts, unsigned long long* notes, unsigned long long segments, long long count) {{
    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i > segments) return;
    const long long own = (long long)offsets[i], before = i ? (long long)offsets[i - 1] : 0;
    if (own < before || own > count) note_bad_index(notes, i, own, count);
    starts[i] = own < 0 ? 0 : own > count ? count : own;
}}
"#,
        types = source::types(&[("I", index)]),
        note = source::NOTE_BAD_INDEX,
    )
}

/// The kernel that finds the row of each value by where rows begin.
#[must_use]
pub fn rows_of_starts_source(row: Dtype) -> String {
    format!(
        r#"{types}
extern "C" __global__ void segment_of_starts(const long long* starts, U* rows, unsigned long long count, unsigned long long segments) {{
    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    // How many rows end before or at this value.
    unsigned long long first = 0, left = segments;
    while (left > 0) {{
        const unsigned long long half = left / 2;
        const bool is_before = starts[first + half + 1] <= (long long)i;
        first = is_before ? first + half + 1 : first;
        left = is_before ? left - half - 1 : half;
    }}
    rows[i] = (U)(first < segments && starts[first] <= (long long)i ? first : segments);
}}
"#,
        types = source::types(&[("U", row)]),
    )
}

/// The kernel that joins the values of each chunk.
#[must_use]
pub fn chunks_source(kernel: &SegmentKernel) -> String {
    let ([parameters, ordered], order, place) = match kernel.place {
        Some(_) => (
            ORDERED,
            ", const I* order",
            "*falls ? (unsigned long long)order[at] : at",
        ),
        None => (AS_GIVEN, "", "at"),
    };
    format!(
        r#"{head}
// What a chunk joined of a row: the result where it has all values of the row, else a part, which the row begins with or which ends in the chunk.
__device__ inline void leave(X* row_out, S* part, S sum, bool is_whole, unsigned long long joined) {{
    if (is_whole) finish(row_out, sum, (long long)joined);
    else *part = sum;
}}

extern "C" __global__ void segment_chunks(const X* x, const U* rows, X* out, S* parts, unsigned long long count, unsigned long long segments,
                                          unsigned long long width, unsigned long long inner{parameters}{order}) {{
    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned long long chunk = i / width, column = i % width, first = chunk * {CHUNK};
    if (first >= count) return;
{ordered}    const X* const column_x = x + address(column, 0, count, inner);
    X* const column_out = out + address(column, 0, segments, inner);
    S* const chunk_parts = parts + chunk * 2 * width + column;
    const unsigned long long last = first + {CHUNK} < count ? first + {CHUNK} : count;
    unsigned long long row = ordered[first], begin = first;
    bool is_begun = first == 0 || ordered[first - 1] != row;
    S sum = START;
    for (unsigned long long base = first; base < last; base += {AHEAD}) {{
        // Nothing that is read hangs on what was read before, so that it arrives together.
        U own[{AHEAD}];
        X values[{AHEAD}];
        #pragma unroll
        for (int j = 0; j < {AHEAD}; j++) {{
            const unsigned long long at = base + j < last ? base + j : last - 1, place = {place};
            own[j] = ordered[at];
            values[j] = column_x[place * inner];
        }}
        #pragma unroll
        for (int j = 0; j < {AHEAD}; j++) {{
            const bool is_there = base + j < last;
            if (is_there && own[j] != row) {{
                if (row < segments) leave(column_out + row * inner, chunk_parts + (begin != first ? width : 0), sum, is_begun, base + j - begin);
                row = own[j];
                begin = base + j;
                is_begun = true;
                sum = START;
            }}
            if (is_there && row < segments) sum = JOIN(sum, (S)values[j]);
        }}
    }}
    const bool is_whole = is_begun && (last == count || ordered[last] != row);
    if (row < segments) leave(column_out + row * inner, chunk_parts + (begin != first ? width : 0), sum, is_whole, last - begin);
}}
"#,
        head = kernel.head(),
    )
}

/// The kernel that joins what chunks left of each row, and fills rows without values.
#[must_use]
pub fn finish_source(kernel: &SegmentKernel) -> String {
    // A mean of no values is 0, as their sum is.
    let fill = if kernel.start == Start::Fill {
        "out[address(column, row, segments, inner)] = (X)START;"
    } else {
        ""
    };
    format!(
        r#"{head}
extern "C" __global__ void segment_finish(const S* parts, const long long* starts, X* out, unsigned long long segments,
                                          unsigned long long width, unsigned long long inner) {{
    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned long long row = i / width, column = i % width;
    if (row >= segments) return;
    const unsigned long long begin = (unsigned long long)starts[row], end = (unsigned long long)starts[row + 1];
    if (begin == end) {{
        {fill}
        return;
    }}
    const unsigned long long first = begin / {CHUNK}, last = (end - 1) / {CHUNK};
    if (first == last) return;
    S sum = parts[(first * 2 + (begin % {CHUNK} != 0)) * width + column];
    for (unsigned long long chunk = first + 1; chunk <= last; chunk++) sum = JOIN(sum, parts[chunk * 2 * width + column]);
    finish(out + address(column, row, segments, inner), sum, (long long)(end - begin));
}}
"#,
        head = kernel.head(),
    )
}

/// The kernel that joins what chunks left of the rows that go on from one to the next: a work-item for each chunk that such a row goes on in first.
/// Means ask how many values a row has, and rows without values are left alone: else [`finish_source`] joins them.
#[must_use]
pub fn crossing_source(kernel: &SegmentKernel) -> String {
    let [parameters, ordered] = if kernel.place.is_some() {
        ORDERED
    } else {
        AS_GIVEN
    };
    format!(
        r#"{head}
extern "C" __global__ void segment_crossing(const S* parts, const U* rows, X* out, unsigned long long count, unsigned long long segments,
                                            unsigned long long width, unsigned long long inner{parameters}) {{
    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned long long chunk = i / width + 1, column = i % width, chunks = (count + {CHUNK} - 1) / {CHUNK};
    if (chunk >= chunks) return;
{ordered}    const unsigned long long row = ordered[chunk * {CHUNK}], before = (chunk - 1) * {CHUNK};
    const bool goes_on = ordered[chunk * {CHUNK} - 1] == row, began_earlier = before > 0 && ordered[before - 1] == row;
    if (row >= segments || !goes_on || began_earlier) return;
    S sum = parts[((chunk - 1) * 2 + (ordered[before] != row)) * width + column];
    bool is_over = false;
    for (unsigned long long base = chunk; !is_over; base += {AHEAD}) {{
        U own[{AHEAD}];
        S seen[{AHEAD}];
        #pragma unroll
        for (int j = 0; j < {AHEAD}; j++) {{
            const unsigned long long at = base + j < chunks ? base + j : chunks - 1;
            own[j] = ordered[at * {CHUNK}];
            seen[j] = parts[at * 2 * width + column];
        }}
        #pragma unroll
        for (int j = 0; j < {AHEAD}; j++) {{
            is_over = is_over || base + j >= chunks || own[j] != row;
            if (!is_over) sum = JOIN(sum, seen[j]);
        }}
    }}
    finish(out + address(column, row, segments, inner), sum, 0);
}}
"#,
        head = kernel.head(),
    )
}

/// Whether values may be joined in any order with the same bits, and a kernel can join them in memory at once: floats by the better one, integers also
/// by sums and products. Of bytes there is no atomic change.
#[must_use]
pub fn is_joined_at_once(join: Join, dtype: Dtype) -> bool {
    let is_best = matches!(join, Join::Maximum | Join::Minimum);
    let is_sum = matches!(join, Join::Sum | Join::Product);
    dtype.bits >= 16 && (is_best || is_sum && !is_float(dtype))
}

/// The function `joined` of the bits of an element and a value. Any NaN becomes the quiet one, and 0.0 is larger than -0.0, so that no order shows.
fn joined_function(join: Join, dtype: Dtype) -> String {
    let cell = source::c_type(Dtype::new(DTYPE_UINT, dtype.bits));
    let types = format!(
        "{}typedef {cell} B;\n",
        source::types(&[("X", dtype), ("S", state_of(join, dtype))])
    );
    let definitions = definitions(joining(join, dtype), dtype);
    if !is_float(dtype) {
        return format!(
            "{types}{definitions}__device__ inline B joined(B seen, X value) {{ return (B)JOIN((S)(X)seen, (S)value); }}\n"
        );
    }
    let FloatBits { of, to, nan, .. } = FloatBits::new(dtype);
    let (sign, equal) = if join == Join::Maximum {
        (">", "&")
    } else {
        ("<", "|")
    };
    format!(
        r"{types}{definitions}
__device__ inline B bits_of(X x) {{ typedef B U; return {of}; }}
__device__ inline X float_of(B bits) {{ return {to}; }}
__device__ inline B joined(B seen, X value) {{
    const S a = (S)float_of(seen), b = (S)value;
    if (a != a || b != b) return (B){nan};
    if (a == b) return (B)(seen {equal} bits_of(value));
    return b {sign} a ? bits_of(value) : seen;
}}
"
    )
}

/// The function that gives where an element of a row or of a value lies, of so many along the axis.
const ADDRESS: &str = r"
__device__ inline unsigned long long address(unsigned long long column, unsigned long long at, unsigned long long extent,
                                             unsigned long long inner) {
    return (column / inner * extent + at) * inner + column % inner;
}
";

/// The kernel that joins every value with the row that it belongs to, in any order. Integers have atomic sums and bests of their own; else an element
/// is exchanged as long as others come between, and left alone where nothing would change.
#[must_use]
pub fn at_once_source(join: Join, dtype: Dtype, of: &RowOf, is_narrow: bool) -> String {
    let is_whole = !is_float(dtype) && dtype.bits >= 32;
    let native = match join {
        Join::Sum if is_whole => Some("atomicAdd"),
        Join::Maximum if is_whole => Some("atomicMax"),
        Join::Minimum if is_whole => Some("atomicMin"),
        _ => None,
    };
    let change = match native {
        // Sums wrap, so those without a sign have the same bits.
        Some("atomicAdd") => "atomicAdd((B*)(out + to), (B)value);".to_owned(),
        Some(name) => format!("{name}(out + to, value);"),
        None => r"B* const cell = (B*)(out + to);
    B seen = *cell;
    while (true) {
        const B wanted = joined(seen, value);
        if (wanted == seen) break;
        const B found = atomicCAS(cell, seen, wanted);
        if (found == seen) break;
        seen = found;
    }"
        .to_owned(),
    };
    let [parameter, parameters, setup, call] = of.call("at");
    format!(
        r#"{joined}{function}{ADDRESS}
typedef {number} N;
extern "C" __global__ void segment_at_once({parameter}, const X* x, X* out, unsigned long long count, unsigned long long width,
                                           unsigned long long inner{parameters}) {{
    const N i = (N)blockIdx.x * (N)blockDim.x + threadIdx.x, own_count = (N)count, own_inner = (N)inner;
    if (i >= own_count * (N)width) return;
{setup}    const N line = i / own_inner, at = line % own_count, column = line / own_count * own_inner + i % own_inner;
    bool is_known;
    long long given;
    const unsigned long long row = {call};
    if (row >= segments) return;
    const unsigned long long to = address(column, row, segments, inner);
    const X value = x[i];
    {change}
}}
"#,
        joined = joined_function(join, dtype),
        function = of.function(),
        number = if is_narrow {
            "unsigned"
        } else {
            "unsigned long long"
        },
    )
}

/// The kernel that writes what joins to any value without a change: to all rows, or with `of` to those that values belong to.
#[must_use]
pub fn start_source(join: Join, dtype: Dtype, of: Option<&RowOf>) -> String {
    let (function, [parameter, parameters, setup, row]) = match of {
        None => (
            String::new(),
            [
                String::new(),
                ", unsigned long long segments".to_owned(),
                String::new(),
                "i / width".to_owned(),
            ],
        ),
        Some(of) => {
            let [parameter, parameters, setup, call] = of.call("i / width");
            let setup = format!("{setup}    bool is_known;\n    long long given;\n");
            (
                of.function(),
                [format!("{parameter}, "), parameters, setup, call],
            )
        }
    };
    format!(
        r#"{own}{definitions}{function}{ADDRESS}
extern "C" __global__ void segment_start({parameter}X* out, unsigned long long count, unsigned long long width, unsigned long long inner{parameters}) {{
    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count * width) return;
{setup}    const unsigned long long row = {row};
    if (row < segments) out[address(i % width, row, segments, inner)] = (X)START;
}}
"#,
        own = source::types(&[("X", dtype), ("S", state_of(join, dtype))]),
        definitions = definitions(joining(join, dtype), dtype),
    )
}
