//! Rules about element types that every core shares: what two become together, what values are computed and summed in.

use crate::dtypes::{PROMOTED, position};
use crate::layout::{DTYPE_BFLOAT, DTYPE_COMPLEX, DTYPE_FLOAT, DTYPE_UINT, Dtype};

pub use crate::dtypes::TENSOR_DTYPES;

/// Whether tensor operations compute values of a dtype.
#[must_use]
pub fn is_tensor_dtype(dtype: Dtype) -> bool {
    position(dtype).is_some_and(|place| place < TENSOR_DTYPES.len())
}

/// Whether values are floating-point numbers.
#[must_use]
pub fn is_float(dtype: Dtype) -> bool {
    dtype.code == DTYPE_FLOAT || dtype.code == DTYPE_BFLOAT
}

/// Whether values are integers without a sign.
#[must_use]
pub fn is_unsigned(dtype: Dtype) -> bool {
    dtype.code == DTYPE_UINT
}

/// Whether values are complex numbers.
#[must_use]
pub fn is_complex(dtype: Dtype) -> bool {
    dtype.code == DTYPE_COMPLEX
}

/// The dtype of real and imaginary parts; of real numbers their own.
#[must_use]
pub fn complex_part(dtype: Dtype) -> Dtype {
    if dtype == Dtype::C64 {
        Dtype::F32
    } else if dtype == Dtype::C128 {
        Dtype::F64
    } else {
        dtype
    }
}

/// The complex dtype that holds values of a dtype: complex64 for floats of 32 bits and fewer, and for integers that these hold.
#[must_use]
pub fn as_complex(dtype: Dtype) -> Dtype {
    if is_complex(dtype) {
        return dtype;
    }
    if promote(dtype, Dtype::F32) == Dtype::F32 {
        Dtype::C64
    } else {
        Dtype::C128
    }
}

/// The dtype that holds both, as NumPy promotes arrays: int32 with float32 gives float64, float16 with bfloat16 float32, float64 with complex64
/// complex128. Of a dtype that operations do not compute, the other one.
#[must_use]
pub fn promote(a: Dtype, b: Dtype) -> Dtype {
    if is_complex(a) || is_complex(b) {
        return as_complex(promote(complex_part(a), complex_part(b)));
    }
    let count = TENSOR_DTYPES.len();
    match (position(a), position(b)) {
        (Some(row), Some(column)) if row < count && column < count => PROMOTED[row][column],
        (Some(row), _) if row < count => a,
        _ => b,
    }
}

/// The type in which values of a dtype are computed.
#[must_use]
pub fn compute_type(dtype: Dtype) -> Dtype {
    dtype.row().map_or(dtype, |row| row.computed_in)
}

/// The type of sums over axes: of integers and truth values 64 bits, signed unless they are unsigned.
#[must_use]
pub fn sum_type(dtype: Dtype) -> Dtype {
    dtype.row().map_or(dtype, |row| row.summed_in)
}

/// Floats stay; integers and truth values become float64, in which all but the largest int64 are exact.
#[must_use]
pub fn as_float(dtype: Dtype) -> Dtype {
    dtype.row().map_or(dtype, |row| row.as_float)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensor_dtypes_are_those_of_the_list() {
        assert!(TENSOR_DTYPES.into_iter().all(is_tensor_dtype));
        assert!(!is_tensor_dtype(Dtype::C64));
        let lanes = Dtype {
            lanes: 2,
            ..Dtype::F32
        };
        assert!(!is_tensor_dtype(lanes));
    }

    #[test]
    fn complex_dtypes_hold_what_they_meet() {
        for a in TENSOR_DTYPES {
            assert_eq!(promote(a, Dtype::C128), Dtype::C128);
            assert_eq!(promote(Dtype::C64, a), as_complex(promote(a, Dtype::F32)));
        }
        assert_eq!(promote(Dtype::C64, Dtype::C64), Dtype::C64);
        assert_eq!(promote(Dtype::C64, Dtype::C128), Dtype::C128);
        assert_eq!(promote(Dtype::C64, Dtype::F64), Dtype::C128);
        assert_eq!(promote(Dtype::I32, Dtype::C64), Dtype::C128);
        assert_eq!(promote(Dtype::BF16, Dtype::C64), Dtype::C64);
        assert_eq!(complex_part(Dtype::C128), Dtype::F64);
        assert_eq!(as_complex(Dtype::I64), Dtype::C128);
    }

    #[test]
    fn promotion_is_symmetric_and_holds_both() {
        for a in TENSOR_DTYPES {
            assert_eq!(promote(a, a), a);
            for b in TENSOR_DTYPES {
                let both = promote(a, b);
                assert_eq!(both, promote(b, a), "{a:?} {b:?}");
                assert_eq!(promote(both, a), both);
                assert!(both.bits >= a.bits.max(b.bits));
            }
        }
        assert_eq!(promote(Dtype::U8, Dtype::I8), Dtype::I16);
        assert_eq!(promote(Dtype::U16, Dtype::I8), Dtype::I32);
        assert_eq!(promote(Dtype::I32, Dtype::U32), Dtype::I64);
        assert_eq!(promote(Dtype::U16, Dtype::I32), Dtype::I32);
        assert_eq!(promote(Dtype::U64, Dtype::I8), Dtype::F64);
        assert_eq!(promote(Dtype::U64, Dtype::U8), Dtype::U64);
        assert_eq!(promote(Dtype::F16, Dtype::BF16), Dtype::F32);
        assert_eq!(promote(Dtype::F32, Dtype::I32), Dtype::F64);
        assert_eq!(promote(Dtype::F16, Dtype::I16), Dtype::F32);
    }
}
