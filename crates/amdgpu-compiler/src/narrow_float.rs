//! Half and bfloat16 of constants: rounding a double once, to nearest, ties to even. The conversions from float are those of the `half` crate;
//! its own conversions from double drop the low 32 bits first and so would round some values down to a tie.

use half::{bf16, f16};

use crate::types::ScalarType;

const HALF_NAN: u16 = 0x7e00;
const BFLOAT16_NAN: u16 = 0x7fc0;

/// The bits of the half nearest to `value`, ties to even.
pub fn half_from_f64(value: f64) -> u16 {
    bits(ScalarType::Half, value)
}

/// The bits of the bfloat16 nearest to `value`, ties to even.
pub fn bfloat16_from_f64(value: f64) -> u16 {
    bits(ScalarType::BFloat16, value)
}

/// The bits of `value` as half or bfloat16. There is one NaN of each sign in half and one in bfloat16, whatever `value` holds.
pub fn bits(ty: ScalarType, value: f64) -> u16 {
    let single = round_to_odd(value);
    match ty {
        ScalarType::BFloat16 if single.is_nan() => BFLOAT16_NAN,
        ScalarType::BFloat16 => bf16::from_f32(single).to_bits(),
        _ if single.is_nan() => (single.to_bits() >> 16 & 0x8000) as u16 | HALF_NAN,
        _ => f16::from_f32(single).to_bits(),
    }
}

/// `value` rounded to half or bfloat16.
pub fn round(ty: ScalarType, value: f64) -> f64 {
    let bits = bits(ty, value);
    match ty {
        ScalarType::BFloat16 => bf16::from_bits(bits).to_f64(),
        _ => f16::from_bits(bits).to_f64(),
    }
}

/// An integer of 64 bits, rounded once.
pub fn round_integer(ty: ScalarType, value: i64, is_signed: bool) -> f64 {
    let magnitude = if is_signed {
        value.unsigned_abs()
    } else {
        value as u64
    };
    // Beyond 2^30 the low bits only tell whether there are any: neither type has more than 11 bits.
    let kept = if magnitude >> 30 == 0 {
        magnitude
    } else {
        magnitude & !0xfff | u64::from(magnitude & 0xfff != 0) << 12
    };
    let rounded = round(ty, kept as f64);
    if is_signed && value < 0 {
        -rounded
    } else {
        rounded
    }
}

/// The nearest float whose last bit is 1 when the value is not a float itself: rounding it again is rounding once.
fn round_to_odd(value: f64) -> f32 {
    let nearest = value as f32;
    #[allow(clippy::float_cmp)] // Whether it is exact.
    if f64::from(nearest) == value || nearest.to_bits() & 1 == 1 || value.is_nan() {
        return nearest;
    }
    let bits = nearest.to_bits();
    f32::from_bits(if f64::from(nearest).abs() < value.abs() {
        bits + 1
    } else {
        bits - 1
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::float_cmp)] // Exact values.
    use super::*;
    use ScalarType::{BFloat16, Half};

    #[test]
    fn every_half_survives_the_way_through_double() {
        for bits in 0..=u16::MAX {
            let value = f16::from_bits(bits).to_f64();
            if !value.is_nan() {
                assert_eq!(super::bits(Half, value), bits, "{value}");
            }
        }
    }

    #[test]
    fn doubles_are_rounded_once() {
        // Just above the middle of 1 and the next half: float would round down to the middle, and then to even.
        assert_eq!(bits(Half, 1.0 + 2f64.powi(-11) + 2f64.powi(-40)), 0x3c01);
        assert_eq!(bits(Half, 1.0 + 2f64.powi(-11)), 0x3c00);
        assert_eq!(bits(BFloat16, 1.0 + 2f64.powi(-8) + 2f64.powi(-40)), 0x3f81);
        assert_eq!(bits(BFloat16, 1.0 + 2f64.powi(-8)), 0x3f80);
        assert_eq!(bits(Half, 65519.999), 0x7bff);
        assert_eq!(bits(Half, 65520.0), 0x7c00);
        assert_eq!(bits(Half, -1e300), 0xfc00);
        assert_eq!(bits(Half, 2f64.powi(-25)), 0);
        assert_eq!(bits(Half, 2f64.powi(-25) * 1.001), 1);
    }

    #[test]
    fn integers_are_rounded_once() {
        let middle = (1i64 << 60) + (1 << 52);
        assert_eq!(round_integer(BFloat16, middle, true), 2f64.powi(60));
        assert!(round_integer(BFloat16, middle + 1, true) > 2f64.powi(60));
        assert_eq!(round_integer(Half, -7, true), -7.0);
    }
}
