//! The text of radix sorts: elements become unsigned keys that rise with them, which are put in order digit by digit, from the last one on, each
//! with the place that it comes from (Satish, Harris and Garland 2009).

use amdgpu_abi::Dtype;
use amdgpu_abi::layout::{DTYPE_INT, DTYPE_UINT};
use amdgpu_abi::promotion::is_float;

use super::source;
use super::transpose::word;

/// Values of a digit.
pub const DIGITS: i64 = 16;
pub const DIGIT_BITS: i64 = 4;
/// Adjacent elements of a work-item.
const OWN: i64 = 8;
/// Elements that a block puts in order.
pub const CHUNK: i64 = source::BLOCK * OWN;

/// The bits of keys in which elements of a dtype differ: the first one, and the one behind the last.
#[must_use]
pub fn key_bits(dtype: Dtype) -> (i64, i64) {
    match (is_float(dtype), dtype.bits) {
        // As float32, whose last bits are zero then.
        (true, 16) if dtype == Dtype::F16 => (12, 32),
        (true, 16) => (16, 32),
        (_, bits) => (0, i64::from(bits)),
    }
}

/// Whether keys take 64 bits.
#[must_use]
pub fn is_wide(dtype: Dtype) -> bool {
    dtype.bits == 64
}

fn key_type(is_wide: bool) -> &'static str {
    if is_wide {
        "unsigned long long"
    } else {
        "unsigned"
    }
}

/// The function `key_of` of an element: NaN comes last in both directions, both zeros are equal.
fn key_function(dtype: Dtype, is_descending: bool) -> String {
    let wide = is_wide(dtype);
    let (suffix, sign) = if wide { ("ull", 63) } else { ("u", 31) };
    let (_, bits) = key_bits(dtype);
    let all = if bits == 64 {
        "~0ull".to_owned()
    } else {
        format!("(U)((1ull << {bits}) - 1)")
    };
    let flip = if is_descending {
        format!(" ^ {all}")
    } else {
        String::new()
    };
    let body = if is_float(dtype) {
        let (c, own) = if wide {
            ("double", "(U)__double_as_longlong(value)")
        } else {
            ("float", "(U)__float_as_uint(value)")
        };
        format!(
            r"    const {c} given = ({c})x, value = given == 0 ? ({c})0 : given;
    if (value != value) return {all};
    const U bits = {own};
    return (bits >> {sign} ? ~bits : bits | 1{suffix} << {sign}){flip};"
        )
    } else if dtype.code == DTYPE_INT {
        format!(
            "    return (((U)x ^ 1{suffix} << {top}) & {all}){flip};",
            top = bits - 1
        )
    } else if dtype.code == DTYPE_UINT {
        format!("    return (U)x{flip};")
    } else {
        format!("    return (U)(x ? 1 : 0){flip};")
    };
    format!(
        "{types}typedef {key} U;\n__device__ inline U key_of(X x) {{\n{body}\n}}\n",
        types = source::types(&[("X", dtype)]),
        key = key_type(wide),
    )
}

/// Where an element of a line lies in the dense array.
const ADDRESS: &str = r"
__device__ inline unsigned long long address(unsigned long long line, unsigned long long place, unsigned long long length,
                                             unsigned long long inner) {
    return line / inner * length * inner + place * inner + line % inner;
}
";

/// The kernel that makes a key and a place of each element.
#[must_use]
pub fn keys_source(dtype: Dtype, is_descending: bool, place: Dtype) -> String {
    format!(
        r#"{key}{types}{ADDRESS}
extern "C" __global__ void sort_keys(const X* x, U* keys, I* places, unsigned long long count, unsigned long long length,
                                     unsigned long long inner) {{
    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const unsigned long long place = i % length;
    keys[i] = key_of(x[address(i / length, place, length, inner)]);
    places[i] = (I)place;
}}
"#,
        key = key_function(dtype, is_descending),
        types = source::types(&[("I", place)]),
    )
}

/// The kernel that counts the digits of each chunk: for each line by digits, then by chunks.
#[must_use]
pub fn count_source(is_wide: bool) -> String {
    let block = source::BLOCK;
    format!(
        r#"typedef {key} U;
extern "C" __global__ void sort_count(const U* keys, long long* counts, unsigned long long length, unsigned long long chunks,
                                      unsigned long long shift) {{
    __shared__ int found[{DIGITS}];
    const unsigned long long line = blockIdx.x / chunks, chunk = blockIdx.x % chunks;
    if (threadIdx.x < {DIGITS}) found[threadIdx.x] = 0;
    __syncthreads();
    for (unsigned step = 0; step < {OWN}; step++) {{
        const unsigned long long place = chunk * {CHUNK} + step * {block} + threadIdx.x;
        if (place < length) atomicAdd(&found[(unsigned)(keys[line * length + place] >> shift) & {last}], 1);
    }}
    __syncthreads();
    if (threadIdx.x < {DIGITS}) counts[(line * {DIGITS} + threadIdx.x) * chunks + chunk] = found[threadIdx.x];
}}
"#,
        key = key_type(is_wide),
        last = DIGITS - 1,
    )
}

/// The kernel that puts the elements of each chunk behind those of smaller digits and of earlier chunks; `ends` are sums of the counts.
#[must_use]
pub fn place_source(is_wide: bool, place: Dtype) -> String {
    let block = source::BLOCK;
    format!(
        r#"typedef {key} U;
{types}
extern "C" __global__ void sort_place(const U* keys, const I* places, U* keys_out, I* places_out, const long long* ends,
                                      unsigned long long length, unsigned long long chunks, unsigned long long shift) {{
    // How many elements of this chunk stand before those of a digit and a work-item.
    __shared__ int before[{entries}];
    __shared__ int sums[{block}];
    const unsigned long long line = blockIdx.x / chunks, chunk = blockIdx.x % chunks;
    const unsigned long long first = chunk * {CHUNK} + threadIdx.x * {OWN};
    for (int digit = 0; digit < {DIGITS}; digit++) before[digit * {block} + threadIdx.x] = 0;
    for (unsigned long long place = first; place < first + {OWN} && place < length; place++)
        before[((unsigned)(keys[line * length + place] >> shift) & {last}) * {block} + threadIdx.x] += 1;
    __syncthreads();
    int sum = 0;
    for (int entry = 0; entry < {DIGITS}; entry++) sum += before[threadIdx.x * {DIGITS} + entry];
    sums[threadIdx.x] = sum;
    __syncthreads();
    // Each sum takes in the one 1, 2, 4, … places before it (Hillis and Steele 1986).
    for (unsigned distance = 1; distance < {block}; distance *= 2) {{
        const int earlier = threadIdx.x >= distance ? sums[threadIdx.x - distance] : 0;
        __syncthreads();
        sums[threadIdx.x] += earlier;
        __syncthreads();
    }}
    int running = sums[threadIdx.x] - sum;
    for (int entry = 0; entry < {DIGITS}; entry++) {{
        const int own = before[threadIdx.x * {DIGITS} + entry];
        before[threadIdx.x * {DIGITS} + entry] = running;
        running += own;
    }}
    __syncthreads();
    // Counts go up below, so what stands before a digit is read first.
    if (threadIdx.x < {DIGITS}) sums[threadIdx.x] = before[threadIdx.x * {block}];
    __syncthreads();
    for (unsigned long long place = first; place < first + {OWN} && place < length; place++) {{
        const U key = keys[line * length + place];
        const unsigned digit = (unsigned)(key >> shift) & {last};
        const unsigned long long column = digit * chunks + chunk;
        const long long base = column ? ends[line * {DIGITS} * chunks + column - 1] : 0;
        const int rank = before[digit * {block} + threadIdx.x]++;
        const unsigned long long to = line * length + (unsigned long long)(base + rank - sums[digit]);
        keys_out[to] = key;
        places_out[to] = places[line * length + place];
    }}
}}
"#,
        key = key_type(is_wide),
        types = source::types(&[("I", place)]),
        entries = DIGITS * block,
        last = DIGITS - 1,
    )
}

/// The kernel that writes the places as int64, or moves the elements, of so many bytes, from them.
#[must_use]
pub fn finish_source(item_bytes: usize, gives_places: bool, place: Dtype) -> String {
    let value = if gives_places {
        "(long long)place"
    } else {
        "x[address(i / length, place, length, inner)]"
    };
    format!(
        r#"typedef {word} T;
{types}{ADDRESS}
extern "C" __global__ void sort_finish(const void* memory, const I* places, void* out, unsigned long long count,
                                       unsigned long long length, unsigned long long inner) {{
    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const T* x = (const T*)memory;
    const unsigned long long place = places[i];
    (({result}*)out)[address(i / length, i % length, length, inner)] = {value};
}}
"#,
        word = word(item_bytes),
        types = source::types(&[("I", place)]),
        result = if gives_places { "long long" } else { "T" },
    )
}

/// The kernel that finds where values belong in a sorted line.
#[must_use]
pub fn search_source(dtype: Dtype, is_right: bool) -> String {
    format!(
        r#"{key}
extern "C" __global__ void search_sorted(const X* line, const X* values, long long* out, unsigned long long count,
                                         unsigned long long length) {{
    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const U wanted = key_of(values[i]);
    unsigned long long first = 0, left = length;
    while (left > 0) {{
        const unsigned long long half = left / 2;
        const U own = key_of(line[first + half]);
        const bool is_before = own < wanted{or_equal};
        first = is_before ? first + half + 1 : first;
        left = is_before ? left - half - 1 : half;
    }}
    out[i] = (long long)first;
}}
"#,
        key = key_function(dtype, false),
        or_equal = if is_right { " || own == wanted" } else { "" },
    )
}
