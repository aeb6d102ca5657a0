//! Rules about element types that every core shares: what two become together, what values are computed and summed in.

use crate::layout::{DTYPE_BFLOAT, DTYPE_FLOAT, DTYPE_INT, DTYPE_UINT, Dtype};

const UINT8: Dtype = Dtype::new(DTYPE_UINT, 8);
const UINT16: Dtype = Dtype::new(DTYPE_UINT, 16);
const UINT32: Dtype = Dtype::new(DTYPE_UINT, 32);
const INT16: Dtype = Dtype::new(DTYPE_INT, 16);

/// Element types of the tensor operations, in the order in which messages list them.
pub const TENSOR_DTYPES: [Dtype; 13] = [
    Dtype::BOOL,
    UINT8,
    UINT16,
    UINT32,
    Dtype::U64,
    Dtype::I8,
    INT16,
    Dtype::I32,
    Dtype::I64,
    Dtype::F16,
    Dtype::BF16,
    Dtype::F32,
    Dtype::F64,
];

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

/// The dtype that holds both, as NumPy promotes arrays: int32 with float32 gives float64, float16 with bfloat16 float32.
#[must_use]
pub fn promote(a: Dtype, b: Dtype) -> Dtype {
    if a == b || b == Dtype::BOOL {
        return a;
    }
    if a == Dtype::BOOL {
        return b;
    }
    match (is_float(a), is_float(b)) {
        (true, true) if a.bits == b.bits => Dtype::F32,
        (true, true) => wider(a, b),
        (false, false) if a.code == b.code => wider(a, b),
        (false, false) if a.code == DTYPE_UINT => signed_for(a, b),
        (false, false) => signed_for(b, a),
        (true, false) => with_integer(a, b),
        (false, true) => with_integer(b, a),
    }
}

fn wider(a: Dtype, b: Dtype) -> Dtype {
    if a.bits > b.bits { a } else { b }
}

/// The signed integers that hold those of both; no integers hold uint64 and negative numbers.
fn signed_for(unsigned: Dtype, signed: Dtype) -> Dtype {
    match unsigned.bits {
        bits if bits < signed.bits => signed,
        8 => INT16,
        16 => Dtype::I32,
        32 => Dtype::I64,
        _ => Dtype::F64,
    }
}

/// A float that holds the integers of the other dtype, too.
fn with_integer(float: Dtype, integer: Dtype) -> Dtype {
    match integer.bits {
        16 if float.bits == 16 => Dtype::F32,
        8 | 16 => float,
        _ => Dtype::F64,
    }
}

/// The type in which values of a dtype are computed.
#[must_use]
pub fn compute_type(dtype: Dtype) -> Dtype {
    match (is_float(dtype), dtype.bits) {
        (true, 64) => Dtype::F64,
        (true, _) => Dtype::F32,
        (false, 64) if dtype.code == DTYPE_UINT => Dtype::U64,
        (false, 64) => Dtype::I64,
        // Values of uint32 do not fit 32 bits with a sign.
        (false, 32) if dtype.code == DTYPE_UINT => Dtype::I64,
        (false, _) => Dtype::I32,
    }
}

/// The type in which integers and truth values are summed: 64 bits, signed unless they are unsigned.
#[must_use]
pub fn sum_type(dtype: Dtype) -> Dtype {
    if dtype.code == DTYPE_UINT {
        Dtype::U64
    } else {
        Dtype::I64
    }
}

/// Floats stay; integers and truth values become float64, in which all but the largest int64 are exact.
#[must_use]
pub fn as_float(dtype: Dtype) -> Dtype {
    if is_float(dtype) { dtype } else { Dtype::F64 }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(promote(UINT8, Dtype::I8), INT16);
        assert_eq!(promote(UINT16, Dtype::I8), Dtype::I32);
        assert_eq!(promote(Dtype::I32, UINT32), Dtype::I64);
        assert_eq!(promote(UINT16, Dtype::I32), Dtype::I32);
        assert_eq!(promote(Dtype::U64, Dtype::I8), Dtype::F64);
        assert_eq!(promote(Dtype::U64, UINT8), Dtype::U64);
        assert_eq!(promote(Dtype::F16, Dtype::BF16), Dtype::F32);
        assert_eq!(promote(Dtype::F32, Dtype::I32), Dtype::F64);
        assert_eq!(promote(Dtype::F16, INT16), Dtype::F32);
    }
}
