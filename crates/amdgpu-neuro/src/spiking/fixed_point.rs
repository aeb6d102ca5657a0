//! Fixed-point numbers for the inputs of neurons: sums of integers are the same in any order, on any number of threads, on any device.

use crate::error::{Error, Result};

/// The fixed-point unit of an input: the value of 1 in its rows, 2 to this power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FixedPointUnit {
    pub exponent: i32,
}

/// Powers of two that float32 holds together with their inverses.
const EXPONENTS: std::ops::RangeInclusive<i32> = -126..=126;

/// Bits behind the point of an amount of the size that is expected: float32 has 24, and an amount may be smaller.
const WIDE_FRACTION_BITS: f64 = 34.0;
/// Quanta that a sum of 64 bits holds, with room for the roundings of its terms.
const WIDE_SUM: f64 = (1_u64 << 62) as f64;

impl FixedPointUnit {
    /// The smallest unit for which no sum of `terms` numbers, whose absolute values sum up to `bound`, leaves 32 bits.
    pub fn for_sums(bound: f64, terms: u64, what: &str) -> Result<Self> {
        if bound == 0.0 {
            return Ok(Self { exponent: 0 });
        }
        // Each rounded number may be half a unit larger than the number itself.
        let largest = f64::from(i32::MAX) - 1.0 - terms as f64 / 2.0;
        let exponent = (bound / largest.max(1.0)).log2().ceil();
        if !exponent.is_finite() || exponent > f64::from(*EXPONENTS.end()) || largest < 1.0 {
            return Err(Error::InvalidDescription(format!(
                "the weights of {what} sum up to {bound}, which has no place in its fixed-point rows"
            )));
        }
        Ok(Self {
            exponent: (exponent as i32).max(*EXPONENTS.start()),
        })
    }

    /// For sums of 64 bits of amounts of a size: fine enough for amounts that are a thousand times smaller.
    pub fn for_size(size: f64, what: &str) -> Result<Self> {
        let exponent = size.log2().ceil() - WIDE_FRACTION_BITS;
        if !(f64::from(*EXPONENTS.start())..=f64::from(*EXPONENTS.end())).contains(&exponent) {
            return Err(Error::InvalidDescription(format!(
                "synapses add amounts of the size {size} to {what}, which is outside the range of its fixed-point sums"
            )));
        }
        Ok(Self {
            exponent: exponent as i32,
        })
    }

    /// The most units that each of `terms` amounts of a sum of 64 bits may have.
    pub fn most_wide(terms: u64) -> f64 {
        f64::from((WIDE_SUM / terms.max(1) as f64) as f32).min(WIDE_SUM)
    }

    pub fn value(self) -> f64 {
        2.0_f64.powi(self.exponent)
    }

    /// The largest float32 of units that an amount has room for.
    pub fn most(self, amount: f64) -> f64 {
        let exact = amount / self.value();
        let nearest = exact as f32;
        if f64::from(nearest) > exact {
            return f64::from(nearest.next_down());
        }
        f64::from(nearest)
    }

    /// A weight in units, rounded to the nearest, halves to even.
    pub fn units(self, weight: f64) -> i32 {
        (weight / self.value()).round_ties_even() as i32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_sum_stays_inside_32_bits_and_uses_most_of_them() {
        for (weight, terms) in [
            (1.62e-3, 80_u64),
            (1e-12, 11_250),
            (87.8e-12, 1),
            (3.0, 1_000_000),
            (1e9, 7),
        ] {
            let unit = FixedPointUnit::for_sums(weight * terms as f64, terms, "v").unwrap();
            let sum = i64::from(unit.units(weight)) * terms as i64;
            assert!(sum <= i64::from(i32::MAX), "{sum}");
            assert!(
                sum * 2 + 2 * terms as i64 > i64::from(i32::MAX) / 2,
                "{sum}"
            );
        }
        assert_eq!(FixedPointUnit::for_sums(0.0, 0, "v").unwrap().exponent, 0);
        assert!(FixedPointUnit::for_sums(f64::MAX, 2, "v").is_err());
    }
}
