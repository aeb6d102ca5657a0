//! The numbers that integer dtypes hold.

use amdgpu_abi::Dtype;
use amdgpu_abi::layout::{DTYPE_BOOL, DTYPE_UINT};

/// The smallest and the largest number of an integer dtype.
pub(crate) fn integer_range(dtype: Dtype) -> (i128, i128) {
    let bits = u32::from(dtype.bits);
    match dtype.code {
        DTYPE_BOOL => (0, 1),
        DTYPE_UINT => (0, (1 << bits) - 1),
        _ => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_two_s_complement() {
        assert_eq!(integer_range(Dtype::BOOL), (0, 1));
        assert_eq!(integer_range(Dtype::I8), (-128, 127));
        assert_eq!(integer_range(Dtype::U64), (0, i128::from(u64::MAX)));
        assert_eq!(
            integer_range(Dtype::I64),
            (i128::from(i64::MIN), i128::from(i64::MAX))
        );
    }
}
