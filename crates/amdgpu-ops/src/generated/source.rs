//! Pieces of HIP-C that the generators share.

use std::fmt::Write as _;

use amdgpu_abi::Dtype;
use amdgpu_abi::layout::{DTYPE_BFLOAT, DTYPE_FLOAT, DTYPE_UINT};
use amdgpu_array::Dims;
use smallvec::SmallVec;

use crate::Operand;
use crate::launch::Arg;

/// Work-items of a block, where a generator has no reason for another number.
pub const BLOCK: i64 = 256;
/// Blocks of a grid in y and z at most.
pub const GRID_LIMIT: i64 = 65_535;
/// Indices of larger arrays take 64 bits, whose division is slow.
const NARROW_INDEX_LIMIT: i64 = 1 << 31;

/// The function that notes an index which is none, as `index_notes` reads it: `place` is the place of the index in the lowest bits, above them
/// the number of its array.
pub const NOTE_BAD_INDEX: &str = r"
__device__ inline void note_bad_index(unsigned long long* notes, unsigned long long place, long long index, long long extent) {
    // The largest complement is that of the first place. Whoever finds no note before its own says what it found.
    if (atomicMax(notes, ~place) == 0) {
        notes[1] = (unsigned long long)index;
        notes[2] = place;
        notes[3] = (unsigned long long)extent;
        if (notes[4]) *(volatile unsigned long long*)notes[4] = 1;
    }
}
";

/// The function that sums up the numbers of the work-items before the own one; `waves` has room for one of each wave.
pub const SUM_BEFORE: &str = r"
template <typename N>
__device__ inline N sum_before(N own, N* waves) {
    const unsigned lane = threadIdx.x % warpSize, wave = threadIdx.x / warpSize;
    const unsigned long long all_lanes = warpSize == 64 ? ~0ull : 0xffffffffull;
    N sum = own;
    for (unsigned distance = 1; distance < warpSize; distance *= 2) {
        const N earlier = __shfl_up_sync(all_lanes, sum, distance);
        if (lane >= distance) sum += earlier;
    }
    if (lane == warpSize - 1) waves[wave] = sum;
    __syncthreads();
    N before = sum - own;
    for (unsigned other = 0; other < wave; other++) before += waves[other];
    return before;
}
";

/// The function that joins a value of each of the LANES work-items of a row, in an order that never changes; all of them get the result. A block
/// has ROWS x LANES work-items, `LANE` is the place in the row and counts fastest, and `waves` has room for one value of each 32 lanes of the row.
pub const OVER_LANES: &str = r"
template <typename T, typename Join>
__device__ inline T over_lanes(T own, T* waves, Join join) {
    const unsigned long long all_lanes = warpSize == 64 ? ~0ull : 0xffffffffull;
    for (unsigned distance = 16; distance > 0; distance /= 2) own = join(own, __shfl_xor_sync(all_lanes, own, distance, 32));
#if LANES > 32
    // What was joined before is read by all.
    __syncthreads();
    if (LANE % 32 == 0) waves[LANE / 32] = own;
    __syncthreads();
    own = waves[0];
    for (unsigned other = 1; other < LANES / 32; other++) own = join(own, waves[other]);
#endif
    return own;
}
";

/// The type of HIP-C for a dtype; of one that operations do not compute, a byte.
#[must_use]
pub fn c_type(dtype: Dtype) -> &'static str {
    dtype.hip_c().unwrap_or("unsigned char")
}

/// The type of a parameter that carries a number of a dtype.
#[must_use]
pub fn number_type(dtype: Dtype) -> &'static str {
    match (dtype.code, dtype.bits) {
        (DTYPE_FLOAT | DTYPE_BFLOAT, _) => "double",
        (DTYPE_UINT, 64) => "unsigned long long",
        _ => "long long",
    }
}

/// Definitions of types by dtype.
#[must_use]
pub fn types(names: &[(&str, Dtype)]) -> String {
    let mut text = String::new();
    for (name, dtype) in names {
        let _ = writeln!(text, "typedef {} {name};", c_type(*dtype));
    }
    text
}

/// `F(name)` is the function of the compute type: `expf` of float, `exp` of double.
#[must_use]
pub fn functions(computed: Dtype) -> &'static str {
    if computed == Dtype::F32 {
        "#define F(name) name##f\n"
    } else {
        "#define F(name) name\n"
    }
}

/// The narrowest type for indices below a count.
#[must_use]
pub fn index_type(count: i64) -> &'static str {
    if is_narrow(count) {
        "unsigned"
    } else {
        "unsigned long long"
    }
}

/// Whether indices below a count fit 32 bits; part of a kernel's key where its text has [`index_type`].
#[must_use]
pub fn is_narrow(count: i64) -> bool {
    count < NARROW_INDEX_LIMIT
}

/// Parameters of a walk: extents but the first, which no index passes, then the strides of each array.
#[must_use]
pub fn walk_parameters(prefix: &str, rank: usize, arrays: usize) -> String {
    let mut text = String::new();
    for axis in 1..rank {
        let _ = write!(text, ", unsigned long long {prefix}_extent{axis}");
    }
    for array in 0..arrays {
        for axis in 0..rank {
            let _ = write!(text, ", long long {prefix}_stride{array}_{axis}");
        }
    }
    text
}

/// The arguments of [`walk_parameters`].
pub fn walk_arguments(extents: &[i64], strides: &[Dims]) -> SmallVec<[Arg<'static>; 16]> {
    let mut arguments = SmallVec::new();
    for numbers in std::iter::once(&extents[1..]).chain(strides.iter().map(Dims::as_slice)) {
        arguments.extend(numbers.iter().map(|number| Arg::from(*number)));
    }
    arguments
}

/// Statements that take an index in row-major order apart and add to the offset of each array what it makes there.
#[must_use]
pub fn walk<S: AsRef<str>>(
    prefix: &str,
    rank: usize,
    offsets: &[S],
    index: &str,
    width: &str,
) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "    {width} {prefix}_rest = ({width}){index};");
    for axis in (0..rank).rev() {
        let mut place = format!("{prefix}_rest");
        if axis > 0 {
            let _ = writeln!(
                text,
                "    const {width} {prefix}_place{axis} = {prefix}_rest % ({width}){prefix}_extent{axis};"
            );
            let _ = writeln!(text, "    {prefix}_rest /= ({width}){prefix}_extent{axis};");
            place = format!("{prefix}_place{axis}");
        }
        for (array, offset) in offsets.iter().enumerate() {
            let _ = writeln!(
                text,
                "    {} += (long long){place} * {prefix}_stride{array}_{axis};",
                offset.as_ref()
            );
        }
    }
    text
}

/// The parameter for [`Arg::pointer`], and the statement that makes a pointer of it.
#[must_use]
pub fn pointer_parameter(
    is_dense: bool,
    ctype: &str,
    name: &str,
    is_written: bool,
) -> (String, String) {
    let constant = if is_written { "" } else { "const " };
    if is_dense {
        return (format!("{constant}{ctype}* {name}"), String::new());
    }
    (
        format!("unsigned long long {name}_address"),
        format!("    {constant}{ctype}* {name} = ({constant}{ctype}*){name}_address;\n"),
    )
}

/// [`pointer_parameter`] of an operand.
#[must_use]
pub fn operand_parameter(
    operand: &Operand,
    ctype: &str,
    name: &str,
    is_written: bool,
) -> (String, String) {
    pointer_parameter(operand.is_dense(), ctype, name, is_written)
}
