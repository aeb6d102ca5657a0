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
use crate::index_notes::OWN_WORD;

/// Values of a chunk.
pub const CHUNK: i64 = 64;

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

/// The kernel that makes the number of a row of each index, those of values that take no part behind all others. It notes the complement of the first
/// place with an index that is none, and then whether any number is smaller than the one before it.
#[must_use]
pub fn rows_source(index: Dtype, row: Dtype, rank: usize, is_dense: bool, wraps: bool) -> String {
    let (parameter, setup) = source::pointer_parameter(is_dense, "I", "indices", false);
    let wrapped = if wraps {
        "given < 0 ? given + extent : given"
    } else {
        "given"
    };
    format!(
        r#"{types}{note}
__device__ inline U row_of(const I* indices, unsigned long long i, long long extent, long long step, unsigned long long segments, long long skipped,
                           bool* is_known, long long* value{walk_parameters}) {{
    long long from = 0, line = 0;
{walk}    const long long given = (long long)indices[from];
    const long long index = {wrapped};
    const bool is_skipped = given == skipped && skipped >= 0, is_good = index >= 0 && index < extent;
    *is_known = is_good || is_skipped;
    *value = given;
    return (U)(is_good && !is_skipped ? (unsigned long long)(line + index * step) : segments);
}}

extern "C" __global__ void segment_rows({parameter}, U* rows, unsigned long long* notes, unsigned long long count, long long extent,
                                        long long step, unsigned long long segments, long long skipped{walk_parameters}) {{
    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
{setup}    bool is_good;
    long long given;
    const U own = row_of(indices, i, extent, step, segments, skipped, &is_good, &given{walk_names});
    if (!is_good) note_bad_index(notes, i, given, extent);
    rows[i] = own;
    // One note is enough.
    if (i > 0 && *(volatile unsigned long long*)(notes + {OWN_WORD}) == 0) {{
        if (own < row_of(indices, i - 1, extent, step, segments, skipped, &is_good, &given{walk_names}))
            *(volatile unsigned long long*)(notes + {OWN_WORD}) = 1;
    }}
}}
"#,
        types = source::types(&[("I", index), ("U", row)]),
        note = source::NOTE_BAD_INDEX,
        walk_names = source::walk_parameters("d", rank, 2)
            .replace("unsigned long long ", "")
            .replace("long long ", ""),
        walk_parameters = source::walk_parameters("d", rank, 2),
        walk = source::walk("d", rank, &["from", "line"], "i", "unsigned long long"),
    )
}

/// The kernel that finds where the values of each row begin among the sorted rows.
#[must_use]
pub fn starts_source(row: Dtype) -> String {
    format!(
        r#"{types}
extern "C" __global__ void segment_starts(const U* rows, long long* starts, unsigned long long count, unsigned long long segments) {{
    const unsigned long long row = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row > segments) return;
    unsigned long long first = 0, left = count;
    while (left > 0) {{
        const unsigned long long half = left / 2;
        const bool is_before = (unsigned long long)rows[first + half] < row;
        first = is_before ? first + half + 1 : first;
        left = is_before ? left - half - 1 : half;
    }}
    starts[row] = (long long)first;
}}
"#,
        types = source::types(&[("U", row)]),
    )
}

/// The kernel that reads offsets of any integer type; it notes the complement of the first place where they fall, or pass the number of values.
#[must_use]
pub fn offsets_source(index: Dtype) -> String {
    format!(
        r#"{types}
extern "C" __global__ void segment_offsets(const I* offsets, long long* starts, unsigned long long* notes, unsigned long long segments,
                                           long long count) {{
    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i > segments) return;
    const long long own = (long long)offsets[i], before = i ? (long long)offsets[i - 1] : 0;
    if (own < before || own > count) atomicMax(notes, ~i);
    starts[i] = own < 0 ? 0 : own > count ? count : own;
}}
"#,
        types = source::types(&[("I", index)]),
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
    let (parameter, place) = if kernel.place.is_some() {
        (", const I* order", "(unsigned long long)order[j]")
    } else {
        ("", "j")
    };
    format!(
        r#"{head}
// What a chunk joined of a row: the result where it has all values of the row, else a part, which the row begins with or which ends in the chunk.
__device__ inline void leave(X* out, S* parts, const long long* starts, S sum, unsigned long long row, unsigned long long begin,
                             unsigned long long end, unsigned long long chunk, unsigned long long column, unsigned long long width,
                             unsigned long long segments, unsigned long long inner) {{
    if (row >= segments) return;
    if (starts[row] == (long long)begin && starts[row + 1] == (long long)end) {{
        finish(out + address(column, row, segments, inner), sum, (long long)(end - begin));
        return;
    }}
    parts[(chunk * 2 + (begin % {CHUNK} != 0)) * width + column] = sum;
}}

extern "C" __global__ void segment_chunks(const X* x, const U* rows, const long long* starts, X* out, S* parts, unsigned long long count,
                                          unsigned long long segments, unsigned long long width, unsigned long long inner{parameter}) {{
    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned long long chunk = i / width, column = i % width, first = chunk * {CHUNK};
    if (first >= count) return;
    const unsigned long long last = first + {CHUNK} < count ? first + {CHUNK} : count;
    unsigned long long row = rows[first], begin = first;
    S sum = START;
    for (unsigned long long j = first; j < last; j++) {{
        const unsigned long long own = rows[j];
        if (own != row) {{
            leave(out, parts, starts, sum, row, begin, j, chunk, column, width, segments, inner);
            row = own;
            begin = j;
            sum = START;
        }}
        if (row < segments) sum = JOIN(sum, (S)x[address(column, {place}, count, inner)]);
    }}
    leave(out, parts, starts, sum, row, begin, last, chunk, column, width, segments, inner);
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
pub fn at_once_source(join: Join, dtype: Dtype, row: Dtype) -> String {
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
    format!(
        r#"{joined}{rows}{ADDRESS}
extern "C" __global__ void segment_at_once(const X* x, const U* rows, X* out, unsigned long long count, unsigned long long segments,
                                           unsigned long long width, unsigned long long inner) {{
    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count * width) return;
    const unsigned long long at = i / inner % count, column = i / inner / count * inner + i % inner, row = rows[at];
    if (row >= segments) return;
    const unsigned long long to = address(column, row, segments, inner);
    const X value = x[i];
    {change}
}}
"#,
        joined = joined_function(join, dtype),
        rows = source::types(&[("U", row)]),
    )
}

/// The kernel that writes what joins to any value without a change: to all rows, or with `rows` to those that values belong to.
#[must_use]
pub fn start_source(join: Join, dtype: Dtype, row: Option<Dtype>) -> String {
    let (types, parameter, place) = match row {
        None => (String::new(), "", "i / width"),
        Some(row) => (
            source::types(&[("U", row)]),
            "const U* rows, ",
            "rows[i / width]",
        ),
    };
    format!(
        r#"{own}{types}{definitions}{ADDRESS}
extern "C" __global__ void segment_start({parameter}X* out, unsigned long long count, unsigned long long segments, unsigned long long width,
                                         unsigned long long inner) {{
    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count * width) return;
    const unsigned long long row = {place};
    if (row < segments) out[address(i % width, row, segments, inner)] = (X)START;
}}
"#,
        own = source::types(&[("X", dtype), ("S", state_of(join, dtype))]),
        definitions = definitions(joining(join, dtype), dtype),
    )
}
