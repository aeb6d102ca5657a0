//! The text of sorts: elements as unsigned keys that rise with them (`radix`), and results made of sorted keys and their places.

use amdgpu_abi::Dtype;
use amdgpu_abi::layout::{DTYPE_FLOAT, DTYPE_INT, DTYPE_UINT};
use amdgpu_abi::promotion::is_float;

use super::radix::{KeySource, LineResult, key_dtype};
use super::source;

/// The bits of keys.
#[must_use]
pub fn key_bits(dtype: Dtype) -> i64 {
    i64::from(dtype.bits)
}

/// Where NaN comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NanPlace {
    /// In both directions.
    Last,
    /// As a number that is larger than any other one.
    Largest,
}

/// Which keys the two zeros of floats have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zeros {
    /// One.
    Equal,
    /// Two that are compared as one.
    Apart,
}

/// The order of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyOrder {
    pub is_descending: bool,
    pub nan: NanPlace,
    pub zeros: Zeros,
}

/// The bits of a float, where `U` is their type.
pub struct FloatBits {
    /// The bits of `x`.
    pub of: &'static str,
    /// The float of `bits`.
    pub to: &'static str,
    infinity: &'static str,
    /// Not a number, and quiet about it.
    pub nan: &'static str,
}

impl FloatBits {
    #[must_use]
    pub const fn new(dtype: Dtype) -> Self {
        match (dtype.code, dtype.bits) {
            (_, 64) => Self {
                of: "(U)__double_as_longlong(x)",
                to: "__longlong_as_double((long long)bits)",
                infinity: "0x7ff0000000000000ull",
                nan: "0x7ff8000000000000ull",
            },
            (_, 32) => Self {
                of: "__float_as_uint(x)",
                to: "__uint_as_float(bits)",
                infinity: "0x7f800000u",
                nan: "0x7fc00000u",
            },
            (DTYPE_FLOAT, _) => Self {
                of: "__half_as_ushort(x)",
                to: "__ushort_as_half(bits)",
                infinity: "0x7c00u",
                nan: "0x7e00u",
            },
            _ => Self {
                of: "__bfloat16_as_ushort(x)",
                to: "__ushort_as_bfloat16(bits)",
                infinity: "0x7f80u",
                nan: "0x7fc0u",
            },
        }
    }
}

/// The number whose bits from one on are set.
fn ones(bits: u8) -> String {
    format!(
        "{:#x}{}",
        u64::MAX >> (64 - bits),
        if bits == 64 { "ull" } else { "u" }
    )
}

/// The number of which one bit is set.
fn sign(bits: u8) -> String {
    format!(
        "{:#x}{}",
        1_u64 << (bits - 1),
        if bits == 64 { "ull" } else { "u" }
    )
}

/// The function `key_of` of an element.
fn key_function(dtype: Dtype, order: KeyOrder) -> String {
    let (all, sign) = (ones(dtype.bits), sign(dtype.bits));
    let flip = if order.is_descending {
        format!(" ^ {all}")
    } else {
        String::new()
    };
    let body = if is_float(dtype) {
        let nan_flip = if order.nan == NanPlace::Largest {
            flip.as_str()
        } else {
            ""
        };
        let bits = if order.zeros == Zeros::Equal {
            format!("given == {sign} ? (U)0 : given")
        } else {
            "given".to_owned()
        };
        format!(
            r"    const U given = {own}, bits = {bits};
    if ((bits & {magnitude}) > {infinity}) return (U)({all}{nan_flip});
    return (U)((bits & {sign} ? ~bits & {all} : bits | {sign}){flip});",
            own = FloatBits::new(dtype).of,
            magnitude = ones(dtype.bits - 1),
            infinity = FloatBits::new(dtype).infinity,
        )
    } else if dtype.code == DTYPE_INT {
        format!("    return (U)(((U)x ^ {sign}){flip});")
    } else if dtype.code == DTYPE_UINT {
        format!("    return (U)(x{flip});")
    } else {
        format!("    return (U)((x ? 1u : 0u){flip});")
    };
    format!(
        "{types}__device__ inline U key_of(X x) {{\n{body}\n}}\n",
        types = source::types(&[("X", dtype), ("U", key_dtype(key_bits(dtype)))]),
    )
}

/// Where an element of a line lies in the dense array.
const ADDRESS: &str = r"
__device__ inline unsigned long long address(unsigned long long line, unsigned long long place, unsigned long long length,
                                             unsigned long long inner) {
    return line / inner * length * inner + place * inner + line % inner;
}
";

/// The function `value_of` of a key: the element, NaN as the quiet one.
fn value_function(dtype: Dtype, is_descending: bool) -> String {
    let (all, sign) = (ones(dtype.bits), sign(dtype.bits));
    let own = if is_descending {
        format!("key ^ {all}")
    } else {
        "key".to_owned()
    };
    let body = if is_float(dtype) {
        let FloatBits { nan, to, .. } = FloatBits::new(dtype);
        format!(
            r"    const U own = (U)({own});
    const U bits = (U)(key == {all} ? {nan} : own & {sign} ? own ^ {sign} : ~own);
    return {to};"
        )
    } else if dtype.code == DTYPE_INT {
        format!("    return (X)(({own}) ^ {sign});")
    } else if dtype.code == DTYPE_UINT {
        format!("    return (X)({own});")
    } else {
        format!("    return (X)(({own}) != 0);")
    };
    format!("__device__ inline X value_of(U key) {{\n{body}\n}}\n")
}

/// What stands for a `key` where keys of elements are compared.
#[must_use]
pub fn compared(dtype: Dtype, order: KeyOrder) -> String {
    if !is_float(dtype) || order.zeros == Zeros::Equal {
        return "key".to_owned();
    }
    let (below, zero) = (ones(dtype.bits - 1), sign(dtype.bits));
    if order.is_descending {
        // Of the flipped keys 0.0 has the smaller one.
        format!("(U)(key == {zero} ? {below} : key)")
    } else {
        format!("(U)(key == {below} ? {zero} : key)")
    }
}

/// Elements of a dense array as keys.
#[must_use]
pub fn key_source(dtype: Dtype, order: KeyOrder) -> KeySource {
    KeySource {
        definitions: key_function(dtype, order) + ADDRESS,
        memory: "X",
        read: "key_of(memory[address(line, at, length, inner)])",
        compared: compared(dtype, order),
        key: key_dtype(key_bits(dtype)),
    }
}

/// Places as int64, or elements.
#[must_use]
pub fn line_result(dtype: Dtype, is_descending: bool, gives_places: bool) -> LineResult {
    const TO: &str = "out[address(line, at, length, inner)]";
    if gives_places {
        return LineResult {
            definitions: String::new(),
            element: "long long",
            write: format!("{TO} = place;"),
        };
    }
    LineResult {
        definitions: value_function(dtype, is_descending),
        element: "X",
        write: format!("{TO} = value_of(key);"),
    }
}

/// The kernel that finds where values belong in a sorted line.
#[must_use]
pub fn search_source(dtype: Dtype, is_right: bool) -> String {
    let order = KeyOrder {
        is_descending: false,
        nan: NanPlace::Last,
        zeros: Zeros::Equal,
    };
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
        key = key_function(dtype, order),
        or_equal = if is_right { " || own == wanted" } else { "" },
    )
}
