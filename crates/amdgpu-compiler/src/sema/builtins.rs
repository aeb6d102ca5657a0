//! Functions the compiler itself knows, and the names of those it knows it does not have.

use crate::ir::Intrinsic;

/// How the type of a built-in follows from its arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    /// All arguments and the result have the type of the first argument, which is float or double.
    Float,
    /// The same for integers.
    Integer,
    /// Integer to int.
    Count,
    /// Bits of the argument in the type named.
    ToInt,
    ToLong,
    ToFloat,
    ToDouble,
    ToShort,
    ToHalf,
    ToBfloat,
    /// All arguments and the result are halves.
    Half,
    /// A bool out of nothing.
    Truth,
}

/// The built-in of this name, its number of arguments and its shape. The device library gives them their usual names.
pub(super) fn builtin(name: &str) -> Option<(Intrinsic, usize, Shape)> {
    Some(match name {
        "__builtin_sqrt" => (Intrinsic::Sqrt, 1, Shape::Float),
        "__builtin_floor" => (Intrinsic::Floor, 1, Shape::Float),
        "__builtin_ceil" => (Intrinsic::Ceil, 1, Shape::Float),
        "__builtin_trunc" => (Intrinsic::Truncate, 1, Shape::Float),
        "__builtin_roundeven" => (Intrinsic::RoundEven, 1, Shape::Float),
        "__builtin_fma" => (Intrinsic::FusedMultiplyAdd, 3, Shape::Float),
        "__builtin_fabs" => (Intrinsic::Absolute, 1, Shape::Float),
        "__builtin_copysign" => (Intrinsic::CopySign, 2, Shape::Float),
        "__builtin_fmin" => (Intrinsic::Minimum, 2, Shape::Float),
        "__builtin_fmax" => (Intrinsic::Maximum, 2, Shape::Float),
        "__builtin_popcount" => (Intrinsic::PopulationCount, 1, Shape::Count),
        "__builtin_leading_zeros" => (Intrinsic::LeadingZeros, 1, Shape::Count),
        "__builtin_trailing_zeros" => (Intrinsic::TrailingZeros, 1, Shape::Count),
        "__builtin_reverse_bits" => (Intrinsic::ReverseBits, 1, Shape::Integer),
        "__builtin_multiply_high" => (Intrinsic::MultiplyHigh, 2, Shape::Integer),
        "__builtin_bits_int" => (Intrinsic::Reinterpret, 1, Shape::ToInt),
        "__builtin_bits_long" => (Intrinsic::Reinterpret, 1, Shape::ToLong),
        "__builtin_bits_float" => (Intrinsic::Reinterpret, 1, Shape::ToFloat),
        "__builtin_bits_double" => (Intrinsic::Reinterpret, 1, Shape::ToDouble),
        "__builtin_fma_half" => (Intrinsic::FusedMultiplyAddHalf, 3, Shape::Half),
        "__builtin_is_cpu" => (Intrinsic::IsProcessor, 0, Shape::Truth),
        "__builtin_bits_short" => (Intrinsic::Reinterpret, 1, Shape::ToShort),
        "__builtin_bits_half" => (Intrinsic::Reinterpret, 1, Shape::ToHalf),
        "__builtin_bits_bfloat" => (Intrinsic::Reinterpret, 1, Shape::ToBfloat),
        _ => return None,
    })
}

const UNSUPPORTED_PREFIXES: &[&str] = &[
    "__syncthreads",
    "__shfl",
    "__ballot",
    "__match_",
    "__reduce_",
    "atomic",
    "__threadfence",
    "tex1D",
    "tex2D",
    "tex3D",
    "surf1D",
    "surf2D",
    "hiprand",
    "curand",
    "hipLaunch",
    "cudaLaunch",
];

const UNSUPPORTED: &[&str] = &[
    "malloc",
    "free",
    "memcpy",
    "memset",
    "__assert_fail",
    "fprintf",
    "sprintf",
    "snprintf",
    "puts",
];

/// Whether a name is that of a function of the runtime libraries, `cudaDeviceSynchronize` for example.
pub(super) fn is_of_runtime(name: &str) -> bool {
    ["hip", "cuda", "cu"].iter().any(|prefix| {
        let rest = name.strip_prefix(prefix);
        rest.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_uppercase()))
    })
}

/// Whether HIP has this function and we do not.
pub(super) fn is_unsupported(name: &str) -> bool {
    UNSUPPORTED.contains(&name)
        || UNSUPPORTED_PREFIXES
            .iter()
            .any(|prefix| name.starts_with(prefix))
}
