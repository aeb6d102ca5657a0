//! The text of sorts: elements as unsigned keys that rise with them (`radix`), and results made of sorted keys and their places.

use amdgpu_abi::Dtype;
use amdgpu_abi::layout::{DTYPE_INT, DTYPE_UINT};
use amdgpu_abi::promotion::is_float;

use super::radix::{KeySource, LineResult, key_type};
use super::source;

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

/// Where NaN comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NanPlace {
    /// In both directions.
    Last,
    /// As a number that is larger than any other one.
    Largest,
}

/// The function `key_of` of an element; both zeros are equal.
fn key_function(dtype: Dtype, is_descending: bool, nan: NanPlace) -> String {
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
        let nan_flip = if nan == NanPlace::Largest {
            flip.as_str()
        } else {
            ""
        };
        let (c, own) = if wide {
            ("double", "(U)__double_as_longlong(value)")
        } else {
            ("float", "(U)__float_as_uint(value)")
        };
        format!(
            r"    const {c} given = ({c})x, value = given == 0 ? ({c})0 : given;
    if (value != value) return {all}{nan_flip};
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

/// The function `value_of` of a key that is not that of a zero: the element, NaN as the quiet one.
fn value_function(dtype: Dtype, is_descending: bool) -> String {
    let wide = is_wide(dtype);
    let (suffix, sign) = if wide { ("ull", 63) } else { ("u", 31) };
    let (_, bits) = key_bits(dtype);
    let all = format!("(~(U)0 >> {})", if wide { 64 } else { 32 } - bits);
    let own = if is_descending {
        format!("key ^ {all}")
    } else {
        "key".to_owned()
    };
    let body = if is_float(dtype) {
        let (bits_of, nan) = if wide {
            (
                "__longlong_as_double((long long)bits)",
                "0x7ff8000000000000ull",
            )
        } else {
            ("__uint_as_float(bits)", "0x7fc00000u")
        };
        format!(
            r"    const U own = {own};
    const U bits = key == {all} ? {nan} : own >> {sign} ? own ^ 1{suffix} << {sign} : ~own;
    return (X){bits_of};"
        )
    } else if dtype.code == DTYPE_INT {
        format!("    return (X)(({own}) ^ 1{suffix} << {});", bits - 1)
    } else if dtype.code == DTYPE_UINT {
        format!("    return (X)({own});")
    } else {
        format!("    return (X)(({own}) != 0);")
    };
    format!("__device__ inline X value_of(U key) {{\n{body}\n}}\n")
}

/// Elements of a dense array as keys.
#[must_use]
pub fn key_source(dtype: Dtype, is_descending: bool, nan: NanPlace) -> KeySource {
    KeySource {
        definitions: key_function(dtype, is_descending, nan) + ADDRESS,
        memory: "X",
        read: "key_of(memory[address(line, at, length, inner)])",
        is_wide: is_wide(dtype),
    }
}

/// Whether results are made of places, too: zeros of both signs have one key.
#[must_use]
pub fn needs_places(dtype: Dtype, gives_places: bool) -> bool {
    gives_places || is_float(dtype)
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
    let value = if is_float(dtype) {
        "key == key_of((X)0) ? memory[address(line, place, length, inner)] : value_of(key)"
    } else {
        "value_of(key)"
    };
    LineResult {
        definitions: value_function(dtype, is_descending),
        element: "X",
        write: format!("{TO} = {value};"),
    }
}

/// The kernel that makes results of the sorted keys of all lines, and of their places where those are of a type.
#[must_use]
pub fn finish_source(keys: &KeySource, place: Option<Dtype>, result: &LineResult) -> String {
    let (types, parameter, read) = match place {
        Some(dtype) => (
            source::types(&[("I", dtype)]),
            "const I* places, ",
            "places[i]",
        ),
        None => (String::new(), "", "0"),
    };
    format!(
        r#"{definitions}{own}{types}
extern "C" __global__ void sort_finish(const {memory}* memory, {to}* out, const U* keys, {parameter}unsigned long long count,
                                       unsigned long long length, unsigned long long inner) {{
    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const unsigned long long line = i / length, at = i % length;
    const U key = keys[i];
    const long long place = {read};
    {write}
}}
"#,
        definitions = keys.definitions,
        own = result.definitions,
        memory = keys.memory,
        to = result.element,
        write = result.write,
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
        key = key_function(dtype, false, NanPlace::Last),
        or_equal = if is_right { " || own == wanted" } else { "" },
    )
}
