//! Lines of `printf` from the words that kernels wrote: C11 7.21.6.1, in the "C" locale.

use std::fmt::Write;

use amdgpu_compiler::messages::{
    Amount, Conversion, Flags, LONGEST_STRING_BYTES, MAX_AMOUNT, Message, MessageTable, Piece,
};

/// The text of all lines, up to the first that was not written whole.
pub fn lines(table: &MessageTable, words: &[u32]) -> String {
    let mut reader = Reader { words, next: 0 };
    let mut bytes = Vec::new();
    while let Some(number) = reader.word().filter(|number| *number > 0) {
        let Some(Message::Print(pieces)) = table.messages.get(number as usize - 1) else {
            break;
        };
        let mut line = Vec::new();
        if print(pieces, &mut reader, &mut line).is_none() {
            break;
        }
        bytes.extend(line);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

struct Reader<'a> {
    words: &'a [u32],
    next: usize,
}

impl Reader<'_> {
    fn word(&mut self) -> Option<u32> {
        let word = self.words.get(self.next).copied();
        self.next += 1;
        word
    }

    fn long(&mut self) -> Option<u64> {
        let low = self.word()?;
        Some(u64::from(low) | u64::from(self.word()?) << 32)
    }

    fn text(&mut self) -> Option<Vec<u8>> {
        let bytes = self.word()?;
        if bytes == u32::MAX {
            return Some(b"(null)".to_vec());
        }
        let bytes = bytes.min(LONGEST_STRING_BYTES) as usize;
        let mut text = Vec::with_capacity(bytes + 3);
        while text.len() < bytes {
            text.extend(self.word()?.to_le_bytes());
        }
        text.truncate(bytes);
        Some(text)
    }
}

fn print(pieces: &[Piece], reader: &mut Reader<'_>, out: &mut Vec<u8>) -> Option<()> {
    for piece in pieces {
        match piece {
            Piece::Text(text) => out.extend(text),
            Piece::Conversion(conversion) => convert(conversion, reader, out)?,
        }
    }
    Some(())
}

fn convert(conversion: &Conversion, reader: &mut Reader<'_>, out: &mut Vec<u8>) -> Option<()> {
    let mut flags = conversion.flags;
    let width = match conversion.width {
        Amount::None => 0,
        Amount::Fixed(width) => width,
        Amount::Argument => {
            let width = reader.word()? as i32;
            // A negative width is a flag and its positive value.
            flags.minus |= width < 0;
            width.unsigned_abs().min(MAX_AMOUNT)
        }
    } as usize;
    let precision = match conversion.precision {
        Amount::None => None,
        Amount::Fixed(precision) => Some(precision as usize),
        Amount::Argument => {
            let precision = reader.word()? as i32;
            // A negative precision is none.
            usize::try_from(precision)
                .ok()
                .map(|precision| precision.min(MAX_AMOUNT as usize))
        }
    };
    let letter = conversion.letter;
    let (sign, digits, may_fill) = match letter {
        b's' => {
            let mut text = reader.text()?;
            text.truncate(precision.unwrap_or(usize::MAX));
            pad(out, flags.minus, width, &text);
            return Some(());
        }
        b'c' => {
            let byte = reader.word()? as u8;
            pad(out, flags.minus, width, &[byte]);
            return Some(());
        }
        b'p' => {
            let text = format!("{:#x}", reader.long()?);
            pad(out, flags.minus, width, text.as_bytes());
            return Some(());
        }
        b'd' | b'u' | b'x' | b'X' | b'o' => {
            let value = if conversion.bits == 64 {
                reader.long()?
            } else {
                u64::from(reader.word()?)
            };
            let (sign, digits) = integer(value, conversion, flags, precision);
            (sign, digits, precision.is_none())
        }
        _ => {
            let value = f64::from_bits(reader.long()?);
            let (sign, digits) = float(value, letter, flags, precision);
            (sign, digits, value.is_finite())
        }
    };
    if flags.zero && !flags.minus && may_fill {
        let zeros = width.saturating_sub(sign.len() + digits.len());
        out.extend(sign.bytes());
        out.extend(std::iter::repeat_n(b'0', zeros));
        out.extend(digits.bytes());
    } else {
        pad(
            out,
            flags.minus,
            width,
            format!("{sign}{digits}").as_bytes(),
        );
    }
    Some(())
}

fn pad(out: &mut Vec<u8>, is_left: bool, width: usize, text: &[u8]) {
    let spaces = std::iter::repeat_n(b' ', width.saturating_sub(text.len()));
    if is_left {
        out.extend(text);
        out.extend(spaces);
    } else {
        out.extend(spaces);
        out.extend(text);
    }
}

fn plus_sign(is_negative: bool, flags: Flags) -> &'static str {
    match (is_negative, flags.plus, flags.space) {
        (true, _, _) => "-",
        (false, true, _) => "+",
        (false, false, true) => " ",
        (false, false, false) => "",
    }
}

/// Sign or prefix, and digits.
fn integer(
    value: u64,
    conversion: &Conversion,
    flags: Flags,
    precision: Option<usize>,
) -> (String, String) {
    let unused = 64 - u32::from(conversion.bits);
    let signed = (value << unused) as i64 >> unused;
    let bare = (value << unused) >> unused;
    let (sign, mut digits) = match conversion.letter {
        b'd' => (
            plus_sign(signed < 0, flags),
            signed.unsigned_abs().to_string(),
        ),
        b'x' => (
            if flags.hash && bare != 0 { "0x" } else { "" },
            format!("{bare:x}"),
        ),
        b'X' => (
            if flags.hash && bare != 0 { "0X" } else { "" },
            format!("{bare:X}"),
        ),
        b'o' => ("", format!("{bare:o}")),
        _ => ("", bare.to_string()),
    };
    if precision == Some(0) && bare == 0 {
        digits.clear();
    }
    let missing = precision.unwrap_or(1).saturating_sub(digits.len());
    digits.insert_str(0, &"0".repeat(missing));
    if conversion.letter == b'o' && flags.hash && !digits.starts_with('0') {
        digits.insert(0, '0');
    }
    (sign.to_owned(), digits)
}

fn float(value: f64, letter: u8, flags: Flags, precision: Option<usize>) -> (String, String) {
    let sign = plus_sign(value.is_sign_negative(), flags).to_owned();
    let value = value.abs();
    let is_upper = letter.is_ascii_uppercase();
    let (prefix, mut digits) = match letter.to_ascii_lowercase() {
        _ if value.is_nan() => (String::new(), "nan".to_owned()),
        _ if value.is_infinite() => (String::new(), "inf".to_owned()),
        b'f' => (
            String::new(),
            fixed(value, precision.unwrap_or(6), flags.hash),
        ),
        b'e' => (
            String::new(),
            scientific(value, precision.unwrap_or(6), flags.hash),
        ),
        b'g' => (
            String::new(),
            shorter(value, precision.unwrap_or(6), flags.hash),
        ),
        _ => ("0x".to_owned(), hexadecimal(value, precision, flags.hash)),
    };
    let mut sign = sign + &prefix;
    if is_upper {
        digits.make_ascii_uppercase();
        sign.make_ascii_uppercase();
    }
    (sign, digits)
}

fn fixed(value: f64, precision: usize, keeps_point: bool) -> String {
    let point = if keeps_point && precision == 0 {
        "."
    } else {
        ""
    };
    format!("{value:.precision$}{point}")
}

/// Mantissa digits and exponent of `d.ddde±dd`.
fn parts(value: f64, precision: usize) -> (String, i32) {
    let text = format!("{value:.precision$e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) => (mantissa.to_owned(), exponent.parse().unwrap_or(0)),
        None => (text, 0),
    }
}

fn with_exponent(mantissa: &str, exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}

fn scientific(value: f64, precision: usize, keeps_point: bool) -> String {
    let (mut mantissa, exponent) = parts(value, precision);
    if keeps_point && precision == 0 {
        mantissa.push('.');
    }
    with_exponent(&mantissa, exponent)
}

/// `%g`: the style follows from the exponent that `%e` would show.
fn shorter(value: f64, precision: usize, keeps_zeros: bool) -> String {
    let precision = precision.max(1);
    let (mantissa, exponent) = parts(value, precision - 1);
    let trimmed = |text: String| {
        if keeps_zeros || !text.contains('.') {
            return text;
        }
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    if exponent < -4 || exponent >= precision as i32 {
        let mut mantissa = trimmed(mantissa);
        if keeps_zeros && !mantissa.contains('.') {
            mantissa.push('.');
        }
        return with_exponent(&mantissa, exponent);
    }
    let decimals = (precision as i32 - 1 - exponent).max(0) as usize;
    trimmed(fixed(value, decimals, keeps_zeros))
}

/// `%a` without its prefix, as glibc writes it: one digit before the point, 0 for denormals and zero.
fn hexadecimal(value: f64, precision: Option<usize>, keeps_point: bool) -> String {
    const MANTISSA_DIGITS: usize = 13;
    let bits = value.to_bits();
    let (biased, mut mantissa) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
    let exponent = match (biased, mantissa) {
        (0, 0) => 0,
        (0, _) => -1022,
        _ => biased - 1023,
    };
    let mut lead = u64::from(biased != 0);
    let mut digits = MANTISSA_DIGITS;
    match precision {
        Some(precision) if precision < MANTISSA_DIGITS => {
            let dropped = 4 * (MANTISSA_DIGITS - precision) as u32;
            let whole = lead << 52 | mantissa;
            let (kept, rest, half) = (
                whole >> dropped,
                whole & ((1 << dropped) - 1),
                1_u64 << (dropped - 1),
            );
            let up = rest > half || rest == half && kept & 1 == 1;
            let rounded = (kept + u64::from(up)) << dropped;
            (lead, mantissa) = (rounded >> 52, rounded & ((1 << 52) - 1));
            digits = precision;
        }
        Some(_) => {}
        None => {
            let zeros = (mantissa.trailing_zeros() / 4) as usize;
            digits = digits.saturating_sub(zeros);
        }
    }
    let all = format!("{mantissa:013x}");
    let mut text = format!("{lead}");
    let extra = precision.unwrap_or(0).saturating_sub(MANTISSA_DIGITS);
    if digits > 0 || keeps_point {
        text.push('.');
        text.push_str(&all[..digits]);
        text.push_str(&"0".repeat(extra));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    // Writing to a String cannot fail.
    let _ = write!(text, "p{sign}{}", exponent.unsigned_abs());
    text
}

#[cfg(test)]
mod tests {
    use std::ffi::{CString, c_char, c_int};

    use amdgpu_compiler::messages::parse_format;

    use super::*;

    fn line(format: &str, words: &[u32]) -> String {
        let table = MessageTable {
            messages: vec![Message::Print(parse_format(format.as_bytes()).unwrap())],
            kernels: Vec::new(),
        };
        let mut all = vec![1];
        all.extend(words);
        lines(&table, &all)
    }

    fn double(format: &str, value: f64) -> String {
        let bits = value.to_bits();
        line(format, &[bits as u32, (bits >> 32) as u32])
    }

    #[test]
    fn integers_follow_flags_width_and_precision() {
        for (format, value, text) in [
            ("%d", -5_i32, "-5"),
            ("%5d|", 42, "   42|"),
            ("%-5d|", 42, "42   |"),
            ("%05d", -42, "-0042"),
            ("%+d", 7, "+7"),
            ("% d", 7, " 7"),
            ("%.3d", 7, "007"),
            ("%05.3d", 7, "  007"),
            ("%.0d", 0, ""),
            ("%u", -1, "4294967295"),
            ("%hhd", 300, "44"),
            ("%hd", 65535, "-1"),
            ("%#x", 255, "0xff"),
            ("%#X", 255, "0XFF"),
            ("%#o", 8, "010"),
            ("%x", 0, "0"),
            ("%c", 65, "A"),
            ("%3c", 65, "  A"),
        ] {
            assert_eq!(line(format, &[value as u32]), text, "{format}");
        }
        assert_eq!(line("%*d|", &[-4_i32 as u32, 7]), "7   |");
        assert_eq!(line("%lld", &[0, 0x8000_0000]), "-9223372036854775808");
        assert_eq!(line("%zu %p", &[1, 1, 0x1234, 0]), "4294967297 0x1234");
    }

    #[test]
    fn floats_follow_c() {
        for (format, value, text) in [
            ("%f", 1.5, "1.500000"),
            ("%5.2f", 3.1484, " 3.15"),
            ("%.0f", 2.5, "2"),
            ("%#.0f", 2.5, "2."),
            ("%08.2f", -1.5, "-0001.50"),
            ("%e", 12345.678, "1.234568e+04"),
            ("%.0e", 0.00025, "3e-04"),
            ("%E", 1e-100, "1.000000E-100"),
            ("%g", 0.0001, "0.0001"),
            ("%g", 0.00001, "1e-05"),
            ("%g", 1e5, "100000"),
            ("%g", 1e6, "1e+06"),
            ("%.3g", 1234.5, "1.23e+03"),
            ("%#g", 1.0, "1.00000"),
            ("%g", 999_999.5, "1e+06"),
            ("%f", f64::INFINITY, "inf"),
            ("%05f", f64::NEG_INFINITY, " -inf"),
            ("%F", f64::NAN, "NAN"),
            ("%a", 1.0, "0x1p+0"),
            ("%a", -0.1, "-0x1.999999999999ap-4"),
            ("%.2a", 0.1, "0x1.9ap-4"),
            ("%A", 255.5, "0X1.FFP+7"),
            ("%a", 0.0, "0x0p+0"),
            ("%+.1f", 0.05, "+0.1"),
            ("%.1f", -0.0, "-0.0"),
        ] {
            assert_eq!(double(format, value), text, "{format} of {value}");
        }
    }

    unsafe extern "C" {
        fn snprintf(text: *mut c_char, bytes: usize, format: *const c_char, ...) -> c_int;
    }

    /// What C's own `snprintf` makes of one value, which `write` hands to it.
    fn of_c(format: &str, write: impl Fn(*mut c_char, usize, *const c_char) -> c_int) -> String {
        let format = CString::new(format).unwrap();
        let mut text = vec![0_u8; 8192];
        let length = write(text.as_mut_ptr().cast(), text.len(), format.as_ptr());
        text.truncate(usize::try_from(length).unwrap());
        String::from_utf8(text).unwrap()
    }

    fn double_of_c(format: &str, value: f64) -> String {
        // SAFETY: the format has one conversion, of a double; the text has room for the longest.
        of_c(format, |text, bytes, format| unsafe {
            snprintf(text, bytes, format, value)
        })
    }

    fn long_of_c(format: &str, value: i64) -> String {
        // SAFETY: the format has one conversion, of a long; the text has room for the longest.
        of_c(format, |text, bytes, format| unsafe {
            snprintf(text, bytes, format, value)
        })
    }

    fn int_of_c(format: &str, value: i32) -> String {
        // SAFETY: the format has one conversion, of an int or what it holds; the text has room for the longest.
        of_c(format, |text, bytes, format| unsafe {
            snprintf(text, bytes, format, value)
        })
    }

    /// Whether rounding to so many digits raises the exponent: 9.99 to 1.0e1.
    fn gains_a_digit(value: f64, digits: usize) -> bool {
        let exponent = |text: String| {
            text.split_once('e')
                .map(|(_, exponent)| exponent.to_owned())
        };
        let rounded = format!("{value:.*e}", digits.max(1) - 1);
        exponent(rounded) != exponent(format!("{value:e}"))
    }

    const FLAGS: [&str; 11] = ["", "-", "+", " ", "#", "0", "+0", "-+", "#0", " #", "+#0"];
    const WIDTHS: [&str; 3] = ["", "1", "24"];

    #[test]
    fn floats_are_written_as_by_c() {
        let mut values = vec![
            0.0,
            1.0,
            0.5,
            1.5,
            2.5,
            9.5,
            0.1,
            9.999_999_5,
            99.999_95,
            123_456_789.0,
            1e15,
            1e16,
            1e22,
            1e300,
            5e-5,
            1e-4,
            9.9999e-5,
            999_999.5,
            1_000_000.0,
            0.000_123_456_789,
            f64::MAX,
            f64::MIN_POSITIVE,
            f64::from_bits(1),
            f64::from_bits(0x000f_ffff_ffff_ffff),
            f64::from_bits(0x0008_0000_0000_0000),
            1.0 + f64::EPSILON,
            2.0 - f64::EPSILON,
            255.5,
            std::f64::consts::PI,
            f64::INFINITY,
        ];
        values.extend(values.clone().iter().map(|value| -value));
        for letter in ["f", "F", "e", "E", "g", "G", "a", "A"] {
            for flags in FLAGS {
                for width in WIDTHS {
                    for precision in ["", ".", ".1", ".2", ".5", ".12", ".13", ".20"] {
                        let format = format!("%{flags}{width}{precision}{letter}");
                        for &value in &values {
                            // glibc forgets the zeros that `#` keeps where rounding makes one digit more.
                            let digits = precision
                                .strip_prefix('.')
                                .map_or(6, |digits| digits.parse().unwrap_or(0));
                            if "gG".contains(letter)
                                && flags.contains('#')
                                && gains_a_digit(value, digits)
                            {
                                continue;
                            }
                            assert_eq!(
                                double(&format, value),
                                double_of_c(&format, value),
                                "{format} of {value:e}"
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn integers_are_written_as_by_c() {
        let values = [
            0,
            1,
            7,
            8,
            9,
            42,
            255,
            256,
            65535,
            1 << 31,
            i64::MAX,
            -1,
            -8,
            -42,
            -32768,
            i64::MIN,
            0x1234_5678_9abc,
        ];
        for letter in ["d", "i", "u", "x", "X", "o"] {
            for flags in FLAGS {
                for width in WIDTHS {
                    for precision in ["", ".", ".1", ".5", ".20"] {
                        for length in ["hh", "h", "", "l", "ll", "z"] {
                            // What C leaves open, and its compilers warn of.
                            if flags.contains('#') && "diu".contains(letter) {
                                continue;
                            }
                            let format = format!("%{flags}{width}{precision}{length}{letter}");
                            for &value in &values {
                                let (low, high) = (value as u32, (value >> 32) as u32);
                                let (found, expected) = match length {
                                    "l" | "ll" | "z" => {
                                        (line(&format, &[low, high]), long_of_c(&format, value))
                                    }
                                    _ => (line(&format, &[low]), int_of_c(&format, value as i32)),
                                };
                                assert_eq!(found, expected, "{format} of {value}");
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn strings_are_cut_and_padded() {
        let word = u32::from_le_bytes(*b"abcd");
        assert_eq!(line("[%s]", &[3, word]), "[abc]");
        assert_eq!(line("[%6s]", &[4, word]), "[  abcd]");
        assert_eq!(line("[%-6.2s]", &[4, word]), "[ab    ]");
        assert_eq!(line("[%s]", &[0]), "[]");
        assert_eq!(line("[%s]", &[u32::MAX]), "[(null)]");
    }

    #[test]
    fn what_was_not_written_whole_ends_the_text() {
        let table = MessageTable {
            messages: vec![Message::Print(parse_format(b"%d\n").unwrap())],
            kernels: Vec::new(),
        };
        assert_eq!(lines(&table, &[1, 5, 1, 6, 0, 7]), "5\n6\n");
        assert_eq!(lines(&table, &[1, 5, 1]), "5\n");
        assert_eq!(lines(&table, &[9, 5]), "");
    }
}
