//! Division of counts, rounded up.

/// `div_ceil` of numbers that are not negative; the standard library's is for unsigned ones alone.
pub(crate) trait DivCeil {
    fn div_ceil_positive(self, divisor: Self) -> Self;
}

impl DivCeil for i64 {
    fn div_ceil_positive(self, divisor: Self) -> Self {
        (self + divisor - 1) / divisor
    }
}
