//! The text of conversions between dtypes.

use amdgpu_abi::Dtype;
use amdgpu_abi::layout::{DTYPE_BFLOAT, DTYPE_BOOL, DTYPE_UINT};
use amdgpu_abi::promotion::{compute_type, is_float};

use super::source;
use crate::Operand;

/// Elements of a work-item, a block's width apart, so that several reads are under way.
pub const OWN: i64 = 4;

/// A float32 whose last bit says whether the float64 was exact: rounded to float16 it gives what the float64 does (Boldo and Melquiond 2008).
const ROUND_TO_ODD: &str = r"
__device__ inline float rounded_to_odd(double x) {
    const float near = (float)x;
    if ((double)near == x || x != x) return near;
    const unsigned bits = __float_as_uint(near);
    const bool is_larger = fabs((double)near) > fabs(x);
    return __uint_as_float((is_larger ? bits - 1 : bits) | 1);
}
";

/// The kernel that reads x, a number or memory, and writes `result`: both adjacent, or walked along so many axes.
#[must_use]
pub fn cast_source(
    x: &Operand,
    result: &Operand,
    rank: usize,
    is_flat: bool,
    count: i64,
) -> String {
    let computed = compute_type(x.dtype);
    let wide = source::number_type(x.dtype);
    let (parameter, setup) = if x.is_number() {
        (format!("{wide} number"), String::new())
    } else {
        source::operand_parameter(x, "X", "x", false)
    };
    let (written, write_setup) = source::operand_parameter(result, "R", "result", true);
    let (parameters, walk) = if is_flat {
        (
            String::new(),
            "    const unsigned long long to = i, from = i;\n".to_owned(),
        )
    } else {
        let index = source::index_type(count);
        let walked = source::walk("d", rank, &["to", "from"], "i", index);
        (
            source::walk_parameters("d", rank, 2),
            format!("    long long to = 0, from = 0;\n{walked}"),
        )
    };
    let read = if x.is_number() {
        "(C)number"
    } else {
        "(C)x[from]"
    };
    format!(
        r#"{types}{ROUND_TO_ODD}
__device__ inline R converted(C x) {{ return {converted}; }}

extern "C" __global__ void cast({parameter}, {written}, unsigned long long count{parameters}) {{
{setup}{write_setup}    const unsigned long long first = (unsigned long long)blockIdx.x * blockDim.x * {OWN} + threadIdx.x;
    #pragma unroll
    for (int own = 0; own < {OWN}; own++) {{
    const unsigned long long i = first + (unsigned long long)own * blockDim.x;
    if (i < count) {{
{walk}    result[to] = converted({read});
    }}
    }}
}}
"#,
        types = source::types(&[("X", x.dtype), ("R", result.dtype), ("C", computed)]),
        converted = conversion(computed, result.dtype),
    )
}

/// A value x of a type to compute in, in a dtype.
fn conversion(computed: Dtype, to: Dtype) -> String {
    let is_from_float = is_float(computed);
    if to.code == DTYPE_BOOL {
        return "x != 0".to_owned();
    }
    if is_float(to) {
        let is_narrow = to.bits == 16;
        if !is_narrow {
            return "(R)x".to_owned();
        }
        let rounds_once = computed == Dtype::F64 && to.code != DTYPE_BFLOAT;
        let near = if rounds_once {
            "rounded_to_odd(x)"
        } else {
            "(float)x"
        };
        return format!("(R){near}");
    }
    if !is_from_float {
        return "(R)x".to_owned();
    }
    let is_unsigned = to.code == DTYPE_UINT;
    let wide = "(x >= (C)-9223372036854775808.0 && x < (C)9223372036854775808.0 ? (long long)x : (long long)(1ull << 63))";
    match to.bits {
        64 if is_unsigned => format!(
            "x >= (C)9223372036854775808.0 && x < (C)18446744073709551616.0 ? (R)(long long)(x - (C)9223372036854775808.0) ^ (1ull << 63) : (R){wide}"
        ),
        64 => wide.to_owned(),
        32 if is_unsigned => format!("(R){wide}"),
        _ => {
            // Of a float64 there are values below the smallest int32 that are cut to it.
            let lowest = if computed == Dtype::F64 {
                "x > (C)-2147483649.0"
            } else {
                "x >= (C)-2147483648.0"
            };
            format!("(R)({lowest} && x < (C)2147483648.0 ? (int)x : (int)0x80000000u)")
        }
    }
}
