//! The text of prefix sums, products and bests.
//!
//! A block scans tiles of adjacent values: work-items join four values each, waves join those by shuffles, and what all waves of a tile have is joined
//! in shared memory. Long lines are shared by blocks, which tell each other what their tiles join to (decoupled as in Merrill and Garland 2016); every
//! block joins all earlier tiles itself, those of its group and whole groups before, in an order that is the same in every run.

use amdgpu_abi::Dtype;
use amdgpu_abi::promotion::is_float;
use amdgpu_matrix::Scan;

use super::join::{Joining, definitions};
use super::source;

/// Values of a work-item, one after the other.
const OWN: i64 = 4;
/// Values that a block takes a step for.
const STEP: i64 = source::BLOCK * OWN;
/// Steps of a tile at most: with more of them fewer blocks would share the registers.
const STEPS: i64 = 4;
/// Lanes that join their values by shuffles: as many on every device, so that values are joined in one order on all of them.
const LANES: i64 = 32;
const WAVES: i64 = source::BLOCK / LANES;
/// Tiles whose values are joined to that of a group: half of the work-items of a block look at one each, the other half at groups.
pub const GROUP: i64 = source::BLOCK / 2;

/// What a kernel of a scan does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A work-item for each of lines that lie side by side.
    Columns,
    /// A block for each line.
    Rows,
    /// A block for each tile.
    Tiles,
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
    /// Steps of a block for a tile.
    pub steps: i64,
}

/// Steps of a block for a tile of lines of so many values: their values wait in registers.
#[must_use]
pub fn steps(length: i64) -> i64 {
    let mut steps = 1;
    while steps < STEPS && steps * STEP < length {
        steps *= 2;
    }
    steps
}

/// Values of a tile.
#[must_use]
pub fn tile(steps: i64) -> i64 {
    steps * STEP
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
    match kernel.kind {
        Kind::Columns => head + &columns(kernel),
        Kind::Rows => head + &rows(kernel),
        Kind::Tiles => head + &tiles(kernel),
    }
}

/// Statements that join the value that `own` follows, and the value to write.
fn step(is_exclusive: bool, value: &str) -> [String; 2] {
    let joined = format!("own = JOIN(own, (S){value});");
    if is_exclusive {
        [
            format!("const S before = own; {joined}"),
            "before".to_owned(),
        ]
    } else {
        [joined, "own".to_owned()]
    }
}

impl ScanKernel {
    /// Declarations in a kernel that scans tiles. Values are moved four at a time where their addresses let them.
    fn setup(&self) -> String {
        let align = |dtype: Dtype| (OWN * dtype.size_bytes() as i64).min(16);
        let is_aligned = if self.is_reversed {
            "false".to_owned()
        } else {
            format!(
                "(((unsigned long long)line_x & {}ull) | ((unsigned long long)line_out & {}ull)) == 0",
                align(self.x) - 1,
                align(self.result) - 1
            )
        };
        format!(
            r"    struct __align__({align_x}) PackOfX {{ X values[{OWN}]; }};
    struct __align__({align_out}) PackOfR {{ R values[{OWN}]; }};
    __shared__ S sums[{entries}];
    __shared__ X staged[{STEP}];
    const unsigned lane = threadIdx.x % {LANES}, wave = threadIdx.x / {LANES};
    const unsigned long long all_lanes = warpSize == 64 ? ~0ull : 0xffffffffull;
    const X* const line_x = x + line * length;
    R* const line_out = out + line * length;
    const bool is_aligned = {is_aligned};
    X values[{steps} * {OWN}];
    S before_in_wave[{steps}];
",
            align_x = align(self.x),
            align_out = align(self.result),
            entries = self.steps * WAVES,
            steps = self.steps,
        )
    }

    /// Statements that read the tile at `base` and join the values of waves. Values behind the end are read as the last one, and nothing follows them.
    fn read(&self) -> String {
        format!(
            r"    const bool is_whole = is_aligned && base + {tile} <= length;
    if (is_whole) {{
        #pragma unroll
        for (int s = 0; s < {steps}; s++) {{
            const PackOfX pack = *(const PackOfX*)(line_x + base + s * {STEP} + threadIdx.x * {OWN});
            #pragma unroll
            for (int j = 0; j < {OWN}; j++) values[s * {OWN} + j] = pack.values[j];
        }}
    }} else {{
        // By way of shared memory, so that neighbours read what lies side by side.
        #pragma unroll
        for (int s = 0; s < {steps}; s++) {{
            __syncthreads();
            #pragma unroll
            for (int j = 0; j < {OWN}; j++) {{
                const unsigned long long i = base + s * {STEP} + j * {block} + threadIdx.x;
                staged[j * {block} + threadIdx.x] = line_x[AT(i < length ? i : length - 1)];
            }}
            __syncthreads();
            #pragma unroll
            for (int j = 0; j < {OWN}; j++) values[s * {OWN} + j] = staged[threadIdx.x * {OWN} + j];
        }}
    }}
    #pragma unroll
    for (int s = 0; s < {steps}; s++) {{
        S sum = START;
        #pragma unroll
        for (int j = 0; j < {OWN}; j++) sum = JOIN(sum, (S)values[s * {OWN} + j]);
        #pragma unroll
        for (unsigned distance = 1; distance < {LANES}; distance *= 2) {{
            const S earlier = __shfl_up_sync(all_lanes, sum, distance, {LANES});
            if (lane >= distance) sum = JOIN(earlier, sum);
        }}
        const S before = __shfl_up_sync(all_lanes, sum, 1, {LANES});
        before_in_wave[s] = lane ? before : START;
        if (lane == {LANES} - 1) sums[s * {WAVES} + wave] = sum;
    }}
    __syncthreads();
",
            tile = tile(self.steps),
            steps = self.steps,
            block = source::BLOCK,
        )
    }

    /// Statements that write the tile behind `carry`, which goes on with what the tile joins to.
    fn write(&self) -> String {
        let [join, result] = step(self.is_exclusive, &format!("values[s * {OWN} + j]"));
        format!(
            r"    #pragma unroll
    for (int s = 0; s < {steps}; s++) {{
        S own = carry;
        for (unsigned w = 0; w < {WAVES}; w++) {{
            if (w == wave) own = carry;
            carry = JOIN(carry, sums[s * {WAVES} + w]);
        }}
        own = JOIN(own, before_in_wave[s]);
        PackOfR pack;
        #pragma unroll
        for (int j = 0; j < {OWN}; j++) {{
            {join}
            pack.values[j] = (R){result};
        }}
        const unsigned long long first = base + s * {STEP} + threadIdx.x * {OWN};
        if (is_whole) {{
            *(PackOfR*)(line_out + first) = pack;
        }} else {{
            #pragma unroll
            for (int j = 0; j < {OWN}; j++)
                if (first + j < length) line_out[AT(first + j)] = pack.values[j];
        }}
    }}
",
            steps = self.steps,
        )
    }
}

fn rows(kernel: &ScanKernel) -> String {
    format!(
        r#"
extern "C" __global__ void scan(const X* x, R* out, unsigned long long length) {{
    const unsigned long long line = blockIdx.x;
{setup}    S carry = START;
    for (unsigned long long base = 0; base < length; base += {tile}) {{
{read}{write}        __syncthreads();
    }}
}}
"#,
        setup = kernel.setup(),
        tile = tile(kernel.steps),
        read = kernel.read(),
        write = kernel.write(),
    )
}

fn tiles(kernel: &ScanKernel) -> String {
    let (bits, value) = if is_float(kernel.state) {
        (
            "__double_as_longlong(value)",
            "__longlong_as_double((long long)bits)",
        )
    } else {
        ("value", "bits")
    };
    format!(
        r#"
// A value takes two words, each with half of its bits below one that says that they are there.
__device__ inline void tell(volatile unsigned long long* to, S value) {{
    const unsigned long long bits = (unsigned long long){bits};
    to[0] = 1ull << 32 | (bits & 0xffffffffull);
    to[1] = 1ull << 32 | bits >> 32;
}}
__device__ inline S hear(const volatile unsigned long long* from) {{
    unsigned long long low, high;
    do {{
        low = from[0];
        high = from[1];
    }} while ((low & high) >> 32 == 0);
    const unsigned long long bits = (low & 0xffffffffull) | high << 32;
    return (S){value};
}}

extern "C" __global__ void scan(const X* x, R* out, unsigned long long* words, unsigned long long length, unsigned long long tiles,
                                unsigned long long groups, unsigned long long groups_at) {{
    __shared__ unsigned long long ticket;
    __shared__ S parts[{block}];
    // Blocks start in any order: by the order of tickets every earlier tile is at work already.
    if (threadIdx.x == 0) ticket = atomicAdd(words, 1ull);
    __syncthreads();
    const unsigned long long line = ticket / tiles, tile = ticket % tiles;
    const unsigned long long base = tile * {tile}, group = tile / {GROUP}, place = tile % {GROUP};
    unsigned long long* const of_tiles = words + 1 + line * tiles * 2;
    unsigned long long* const of_groups = words + groups_at + line * groups * 2;
{setup}{read}    S total = START;
    for (int s = 0; s < {steps}; s++)
        for (unsigned w = 0; w < {WAVES}; w++) total = JOIN(total, sums[s * {WAVES} + w]);
    if (threadIdx.x == 0) tell(of_tiles + tile * 2, total);
    S part = START;
    if (threadIdx.x < {GROUP}) {{
        if (threadIdx.x < place) part = hear(of_tiles + (group * {GROUP} + threadIdx.x) * 2);
    }} else {{
        for (unsigned long long other = threadIdx.x - {GROUP}; other < group; other += {GROUP}) {{
            const S heard = hear(of_groups + other * 2);
            part = JOIN(part, heard);
        }}
    }}
    parts[threadIdx.x] = part;
    __syncthreads();
    for (unsigned half = {GROUP} / 2; half > 0; half /= 2) {{
        if (threadIdx.x % {GROUP} < half) parts[threadIdx.x] = JOIN(parts[threadIdx.x], parts[threadIdx.x + half]);
        __syncthreads();
    }}
    if (threadIdx.x == 0 && place == {GROUP} - 1) tell(of_groups + group * 2, JOIN(parts[0], total));
    S carry = JOIN(parts[{GROUP}], parts[0]);
{write}}}
"#,
        block = source::BLOCK,
        tile = tile(kernel.steps),
        steps = kernel.steps,
        setup = kernel.setup(),
        read = kernel.read(),
        write = kernel.write(),
    )
}

fn columns(kernel: &ScanKernel) -> String {
    // An element is read before it is written, as the result may be x itself.
    let [join, result] = step(kernel.is_exclusive, "x[first + AT(i) * inner]");
    format!(
        r#"
extern "C" __global__ void scan(const X* x, R* out, unsigned long long lines, unsigned long long length,
                                unsigned long long inner) {{
    const unsigned long long line = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (line >= lines) return;
    const unsigned long long first = line / inner * length * inner + line % inner;
    S own = START;
    for (unsigned long long i = 0; i < length; i++) {{
        {join}
        out[first + AT(i) * inner] = (R){result};
    }}
}}
"#
    )
}
