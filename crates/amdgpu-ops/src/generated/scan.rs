//! The text of prefix sums, products and bests.

use amdgpu_abi::Dtype;
use amdgpu_matrix::Scan;

use super::join::{Joining, definitions};
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

/// A kernel: from values of `x` to those of `result`, joined in `state`.
#[derive(Clone, Copy, Debug)]
pub struct ScanKernel {
    pub operation: Scan,
    pub kind: Kind,
    pub x: Dtype,
    pub result: Dtype,
    pub state: Dtype,
    pub is_exclusive: bool,
    pub is_reversed: bool,
}

fn joining(operation: Scan) -> Joining {
    match operation {
        Scan::Sum => Joining::Sum,
        Scan::Product => Joining::Product,
        Scan::Maximum | Scan::Any => Joining::Maximum,
        Scan::Minimum | Scan::All => Joining::Minimum,
    }
}

/// The text of a kernel.
#[must_use]
pub fn scan_source(kernel: &ScanKernel) -> String {
    let types = source::types(&[("X", kernel.x), ("R", kernel.result), ("S", kernel.state)]);
    let joined = definitions(joining(kernel.operation), kernel.x);
    let place = if kernel.is_reversed {
        "#define AT(i) (length - 1 - (i))\n"
    } else {
        "#define AT(i) (i)\n"
    };
    let head = types + &joined + place;
    // An element is read before it is written, as the result may be x itself.
    let step = |from: &str, to: &str| {
        let joined = format!("own = JOIN(own, (S)x[{from}]);");
        let write = format!("out[{to}] = (R)own;");
        if kernel.is_exclusive {
            format!("{{ const S before = own; {joined} out[{to}] = (R)before; }}")
        } else {
            format!("{joined} {write}")
        }
    };
    if kernel.kind == Kind::Columns {
        return head + &columns(&step("first + AT(i) * inner", "first + AT(i) * inner"));
    }
    let place = "line * length + AT(i)";
    let (step, finish) = if kernel.kind == Kind::Totals {
        (
            String::new(),
            "if (threadIdx.x == 0) out[blockIdx.x] = (R)carry;",
        )
    } else {
        (step(place, place), "")
    };
    head + &rows(kernel.kind, &step, finish)
}

fn rows(kind: Kind, write: &str, finish: &str) -> String {
    // The carries are the totals of all chunks up to each, so a chunk goes on from that of the one before.
    let carry = if kind == Kind::Carried {
        "chunk ? ((const S*)carries)[blockIdx.x - 1] : START"
    } else {
        "START"
    };
    let block = source::BLOCK;
    format!(
        r#"
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
            if (i < end) total = JOIN(total, (S)x[line * length + AT(i)]);
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

fn columns(step: &str) -> String {
    format!(
        r#"
extern "C" __global__ void scan(const X* x, R* out, unsigned long long lines, unsigned long long length,
                                unsigned long long inner) {{
    const unsigned long long line = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (line >= lines) return;
    const unsigned long long first = line / inner * length * inner + line % inner;
    S own = START;
    for (unsigned long long i = 0; i < length; i++) {{
        {step}
    }}
}}
"#
    )
}
