//! Half and bfloat16 of constants: rounding a double once, to nearest, ties to even.

use crate::types::ScalarType;

/// The bits of the half nearest to `value`, ties to even.
pub fn half_from_f64(value: f64) -> u16 {
    bits(ScalarType::Half, value)
}

/// The bits of the bfloat16 nearest to `value`, ties to even.
pub fn bfloat16_from_f64(value: f64) -> u16 {
    bits(ScalarType::BFloat16, value)
}

/// The bits of `value` as half or bfloat16.
pub fn bits(ty: ScalarType, value: f64) -> u16 {
    let single = round_to_odd(value);
    match ty {
        ScalarType::BFloat16 => bfloat_bits(single),
        _ => half_bits(single),
    }
}

/// `value` rounded to half or bfloat16.
pub fn round(ty: ScalarType, value: f64) -> f64 {
    let bits = bits(ty, value);
    match ty {
        ScalarType::BFloat16 => f64::from(f32::from_bits(u32::from(bits) << 16)),
        _ => half_value(bits),
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

fn bfloat_bits(value: f32) -> u16 {
    let bits = value.to_bits();
    if value.is_nan() {
        return 0x7fc0;
    }
    (bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16) as u16
}

fn half_bits(value: f32) -> u16 {
    let sign = (value.to_bits() >> 16 & 0x8000) as u16;
    let size = value.abs();
    let rounded = if size.is_nan() {
        0x7e00
    } else if size < 1.0 / 16384.0 {
        // Below 2^-14: multiples of 2^-24, which adding 1/2 rounds to.
        ((size + 0.5).to_bits() - 0.5f32.to_bits()) as u16
    } else {
        let bits = size.to_bits();
        let exponent_moved = (bits + 0xfff + (bits >> 13 & 1)) - 0x3800_0000;
        (exponent_moved >> 13).min(0x7c00) as u16
    };
    sign | rounded
}

fn half_value(bits: u16) -> f64 {
    let mantissa = f64::from(bits & 0x3ff);
    let size = match i32::from(bits >> 10 & 0x1f) {
        0x1f if mantissa == 0.0 => f64::INFINITY,
        0x1f => f64::NAN,
        0 => mantissa * 2f64.powi(-24),
        exponent => (1024.0 + mantissa) * 2f64.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -size } else { size }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::float_cmp)] // Exact values.
    use super::*;
    use ScalarType::{BFloat16, Half};

    #[test]
    fn every_half_survives_the_way_through_double() {
        for bits in 0..=u16::MAX {
            let value = half_value(bits);
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
