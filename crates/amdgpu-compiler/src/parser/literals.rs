//! Values of numbers and characters.

use crate::types::ScalarType::{self, self as S};

/// A number's value and type.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Number {
    Integer { value: u64, ty: ScalarType },
    Float { value: f64, ty: ScalarType },
}

/// Reads a preprocessing number; the error is a sentence.
pub fn number(text: &str) -> Result<Number, String> {
    let clean: String = text
        .chars()
        .filter(|&character| character != '\'')
        .collect();
    let lower = clean.to_ascii_lowercase();
    let is_hexadecimal = lower.starts_with("0x");
    let is_float = if is_hexadecimal {
        lower.contains(['.', 'p'])
    } else {
        !lower.starts_with("0b") && lower.contains(['.', 'e'])
            || lower.ends_with('f') && lower.len() > 1
    };
    if is_float {
        float(text, &lower, is_hexadecimal)
    } else {
        integer(text, &lower)
    }
}

fn float(text: &str, lower: &str, is_hexadecimal: bool) -> Result<Number, String> {
    let (digits, ty) = match lower.as_bytes().last() {
        Some(b'f') if !is_hexadecimal || lower.contains('p') => {
            (&lower[..lower.len() - 1], ScalarType::Float)
        }
        Some(b'l') => (&lower[..lower.len() - 1], ScalarType::Double),
        _ => (lower, ScalarType::Double),
    };
    let value = if is_hexadecimal {
        hexadecimal_float(&digits[2..])
    } else if ty == ScalarType::Float {
        // Rounded once, to the type it has.
        digits.parse::<f32>().ok().map(f64::from)
    } else {
        digits.parse::<f64>().ok()
    };
    let value = value.map(|value| {
        if ty == ScalarType::Float {
            f64::from(value as f32)
        } else {
            value
        }
    });
    value
        .map(|value| Number::Float { value, ty })
        .ok_or_else(|| format!("'{text}' is not a number"))
}

fn hexadecimal_float(digits: &str) -> Option<f64> {
    let (mantissa, exponent) = digits.split_once('p')?;
    let mut exponent: i32 = exponent
        .parse()
        .ok()
        .filter(|exponent: &i32| exponent.abs() < 100_000)?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut value = 0u64;
    for (index, digit) in whole.chars().chain(fraction.chars()).enumerate() {
        let digit = u64::from(digit.to_digit(16)?);
        if value >> 56 == 0 {
            value = value << 4 | digit;
            exponent -= if index >= whole.len() { 4 } else { 0 };
        } else {
            // Digits past 60 bits only decide rounding ties: keep them sticky.
            value |= u64::from(digit != 0);
            exponent += if index < whole.len() { 4 } else { 0 };
        }
    }
    // Two exact steps keep the scale factor itself in range.
    let half = exponent / 2;
    Some(value as f64 * 2f64.powi(half) * 2f64.powi(exponent - half))
}

fn integer(text: &str, lower: &str) -> Result<Number, String> {
    let digits_end = lower.trim_end_matches(['u', 'l', 'z']).len();
    let (digits, suffix) = lower.split_at(digits_end);
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x', ..] => (16, &digits[2..]),
        [b'0', b'b', ..] => (2, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    let (is_unsigned, longs) = match suffix {
        "" => (false, 0),
        "u" => (true, 0),
        "l" => (false, 1),
        "ul" | "lu" | "zu" | "uz" => (true, 1),
        "ll" => (false, 2),
        "ull" | "llu" => (true, 2),
        _ => return Err(format!("'{suffix}' is not a suffix of numbers")),
    };
    let value = match u64::from_str_radix(digits, radix) {
        Ok(value) => value,
        Err(error) if *error.kind() == std::num::IntErrorKind::PosOverflow => {
            return Err(format!("the number {text} does not fit into 64 bits"));
        }
        Err(_) => return Err(format!("'{text}' is not a number")),
    };
    let fits = |ty: ScalarType| match (ty.bytes(), ty.is_signed()) {
        (4, true) => i32::try_from(value).is_ok(),
        (4, false) => u32::try_from(value).is_ok(),
        (_, true) => i64::try_from(value).is_ok(),
        (_, false) => true,
    };
    let ladder: &[S] = match longs {
        0 => &[S::Int, S::UnsignedInt, S::Long, S::UnsignedLong],
        1 => &[S::Long, S::UnsignedLong],
        _ => &[S::LongLong, S::UnsignedLongLong],
    };
    let allowed = |ty: S| {
        if is_unsigned {
            !ty.is_signed()
        } else {
            ty.is_signed() || radix != 10
        }
    };
    let ty = ladder.iter().copied().find(|&ty| allowed(ty) && fits(ty));
    // A decimal number too large for long is unsigned, as compilers do with a warning.
    Ok(Number::Integer {
        value,
        ty: ty.unwrap_or(S::UnsignedLong),
    })
}

/// The value of a character literal.
pub fn character(text: &str) -> Option<i64> {
    let inner = text.strip_prefix('\'')?.strip_suffix('\'')?;
    let mut characters = inner.chars();
    let first = characters.next()?;
    if first != '\\' {
        let value = u32::from(first);
        return (characters.next().is_none() && value < 128).then_some(i64::from(value));
    }
    let escape = characters.next()?;
    let rest = characters.as_str();
    let value = match escape {
        'n' => 10,
        't' => 9,
        'r' => 13,
        'a' => 7,
        'b' => 8,
        'f' => 12,
        'v' => 11,
        '\\' | '\'' | '"' | '?' => i64::from(u32::from(escape)),
        'x' => {
            return u8::from_str_radix(rest, 16)
                .ok()
                .map(|value| i64::from(value as i8));
        }
        '0'..='7' => {
            let digits = &inner[1..];
            return u8::from_str_radix(digits, 8)
                .ok()
                .map(|value| i64::from(value as i8));
        }
        _ => return None,
    };
    rest.is_empty().then_some(value)
}

/// The bytes of a string with its quotes; `None` for an unknown escape, a wide string, or one that does not end.
pub fn string(text: &str) -> Option<Vec<u8>> {
    let text = text.strip_prefix("u8").unwrap_or(text);
    if let Some(raw) = text.strip_prefix("R\"") {
        let (delimiter, rest) = raw.split_once('(')?;
        let body = rest.strip_suffix('"')?.strip_suffix(delimiter)?;
        return Some(body.strip_suffix(')')?.as_bytes().to_vec());
    }
    let inner = text.strip_prefix('"')?.strip_suffix('"')?.as_bytes();
    let mut bytes = Vec::with_capacity(inner.len());
    let mut at = 0;
    while at < inner.len() {
        if inner[at] != b'\\' {
            bytes.push(inner[at]);
            at += 1;
            continue;
        }
        let digits = |from: usize, most: usize, radix: u32| {
            let rest = inner.get(from..).unwrap_or_default();
            let is_digit = |byte: &&u8| char::from(**byte).is_digit(radix);
            rest.iter().take(most).take_while(is_digit).count()
        };
        let (start, count, radix) = match *inner.get(at + 1)? {
            b'x' => (at + 2, digits(at + 2, 2, 16), 16),
            b'0'..=b'7' => (at + 1, digits(at + 1, 3, 8), 8),
            _ => (at + 1, 0, 10),
        };
        if count > 0 {
            let number = std::str::from_utf8(&inner[start..start + count]).ok()?;
            bytes.push(u32::from_str_radix(number, radix).ok()? as u8);
            at = start + count;
        } else {
            bytes.push(match inner[at + 1] {
                b'n' => b'\n',
                b't' => b'\t',
                b'r' => b'\r',
                b'a' => 7,
                b'b' => 8,
                b'f' => 12,
                b'v' => 11,
                same @ (b'\\' | b'\'' | b'"' | b'?') => same,
                _ => return None,
            });
            at += 2;
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_get_the_first_type_that_fits() {
        let ty = |text: &str| match number(text) {
            Ok(Number::Integer { ty, .. }) => ty,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(ty("1"), S::Int);
        assert_eq!(ty("2147483648"), S::Long);
        assert_eq!(ty("0x80000000"), S::UnsignedInt);
        assert_eq!(ty("1u"), S::UnsignedInt);
        assert_eq!(ty("1ULL"), S::UnsignedLongLong);
        assert_eq!(ty("0xffffffffffffffff"), S::UnsignedLong);
        assert_eq!(
            number("0b101"),
            Ok(Number::Integer {
                value: 5,
                ty: S::Int
            })
        );
        assert_eq!(
            number("017"),
            Ok(Number::Integer {
                value: 15,
                ty: S::Int
            })
        );
        assert!(
            number("99999999999999999999").is_err()
                && number("12abc").is_err()
                && number("08").is_err()
        );
    }

    #[test]
    fn floats_are_rounded_once_to_their_type() {
        assert_eq!(
            number("0.1f"),
            Ok(Number::Float {
                value: f64::from(0.1f32),
                ty: S::Float
            })
        );
        assert_eq!(
            number("1e3"),
            Ok(Number::Float {
                value: 1000.0,
                ty: S::Double
            })
        );
        assert_eq!(
            number("0x1.8p+1f"),
            Ok(Number::Float {
                value: 3.0,
                ty: S::Float
            })
        );
        assert_eq!(
            number("0x1p-1074"),
            Ok(Number::Float {
                value: f64::from_bits(1),
                ty: S::Double
            })
        );
        assert_eq!(
            number("1.f"),
            Ok(Number::Float {
                value: 1.0,
                ty: S::Float
            })
        );
    }

    #[test]
    fn strings_know_their_escapes() {
        assert_eq!(string("\"a\\n\\x41\\101\\\"\""), Some(b"a\nAA\"".to_vec()));
        assert_eq!(string("R\"x(a\\n)x\""), Some(br"a\n".to_vec()));
        assert_eq!(string("\"\u{e9}\""), Some(vec![0xc3, 0xa9]));
        for bad in ["\"\\q\"", "\"open", "L\"wide\"", "\"\\x\""] {
            assert_eq!(string(bad), None, "{bad}");
        }
    }

    #[test]
    fn characters_know_their_escapes() {
        assert_eq!(character("'a'"), Some(97));
        assert_eq!(character("'\\n'"), Some(10));
        assert_eq!(character("'\\0'"), Some(0));
        assert_eq!(character("'\\xff'"), Some(-1));
        assert_eq!(character("'ab'"), None);
    }
}
