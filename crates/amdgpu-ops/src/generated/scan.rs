//! The text of prefix sums and products.

use amdgpu_abi::Dtype;
use amdgpu_matrix::Scan;

use super::source;

/// Values of a work-item, one after the other.
const OWN: i64 = 4;
/// Values of a line that a block scans.
pub const CHUNK: i64 = 32 * source::BLOCK * OWN;

/// What a kernel of a scan does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A work-item for each of lines that lie side by side.
    Columns,
    /// A block for each line.
    Rows,
    /// A block for each chunk, which goes on where the chunk before ended.
    Carried,
    /// Only the totals of the chunks.
    Totals,
}

/// The kernel of a kind: from values of `x` to those of `result`, joined in `state`.
#[must_use]
pub fn scan_source(operation: Scan, kind: Kind, x: Dtype, result: Dtype, state: Dtype) -> String {
    let (start, sign) = match operation {
        Scan::Sum => ("0", "+"),
        Scan::Product => ("1", "*"),
    };
    let head = format!(
        "{types}#define JOIN(a, b) ((a) {sign} (b))\n#define START ((S){start})\n",
        types = source::types(&[("X", x), ("R", result), ("S", state)]),
    );
    if kind == Kind::Columns {
        return head + COLUMNS;
    }
    // The carries are the totals of all chunks up to each, so a chunk goes on from that of the one before.
    let carry = if kind == Kind::Carried {
        "chunk ? ((const S*)carries)[blockIdx.x - 1] : START"
    } else {
        "START"
    };
    let (write, finish) = if kind == Kind::Totals {
        ("", "if (threadIdx.x == 0) out[blockIdx.x] = (R)carry;")
    } else {
        ("out[line * length + i] = (R)own;", "")
    };
    let block = source::BLOCK;
    format!(
        r#"{head}
extern "C" __global__ void scan(const X* x, R* out, const void* carries, unsigned long long length,
                                unsigned long long chunks) {{
    __shared__ S sums[{block}];
    const unsigned long long line = blockIdx.x / chunks, chunk = blockIdx.x % chunks;
    const unsigned long long begin = chunk * {CHUNK};
    const unsigned long long end = begin + {CHUNK} < length ? begin + {CHUNK} : length;
    S carry = {carry};
    for (unsigned long long base = begin; base < end; base += {step}) {{
        const unsigned long long first = base + threadIdx.x * {OWN};
        S total = START;
        for (unsigned long long i = first; i < first + {OWN}; i++)
            if (i < end) total = JOIN(total, (S)x[line * length + i]);
        sums[threadIdx.x] = total;
        __syncthreads();
        // Each sum takes in the one 1, 2, 4, … places before it (Hillis and Steele 1986).
        for (unsigned distance = 1; distance < {block}; distance *= 2) {{
            const S before = threadIdx.x >= distance ? sums[threadIdx.x - distance] : START;
            __syncthreads();
            sums[threadIdx.x] = JOIN(before, sums[threadIdx.x]);
            __syncthreads();
        }}
        S own = JOIN(carry, threadIdx.x ? sums[threadIdx.x - 1] : START);
        for (unsigned long long i = first; i < first + {OWN}; i++) {{
            if (i < end) {{
                own = JOIN(own, (S)x[line * length + i]);
                {write}
            }}
        }}
        carry = JOIN(carry, sums[{last}]);
        __syncthreads();
    }}
    {finish}
}}
"#,
        step = block * OWN,
        last = block - 1,
    )
}

const COLUMNS: &str = r#"
extern "C" __global__ void scan(const X* x, R* out, unsigned long long lines, unsigned long long length,
                                unsigned long long inner) {
    const unsigned long long line = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (line >= lines) return;
    unsigned long long place = line / inner * length * inner + line % inner;
    S sum = START;
    for (unsigned long long i = 0; i < length; i++, place += inner) {
        sum = JOIN(sum, (S)x[place]);
        out[place] = (R)sum;
    }
}
"#;
