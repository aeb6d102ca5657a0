//! What kernels tell the host: texts of `printf`, and failed assertions. Kernels write numbers and arguments into
//! `__agpu_messages` (`device_lib/messages.hip`); this module says what they stand for.
//!
//! A line is a word with the number of its message from 1, then its arguments in order: integers of up to 32 bits one word,
//! other numbers and pointers two with the low one first, strings their length (all ones: null pointer) and their bytes.

use serde::{Deserialize, Serialize};

/// Name of the variable in the module.
pub const MESSAGE_VARIABLE: &str = "__agpu_messages";
/// Words before the lines: used, lost, faults, message, kernel, block (3), thread (3), reserved (5).
pub const MESSAGE_HEADER_WORDS: usize = 16;
/// Words of all lines.
pub const MESSAGE_WORDS: usize = 262_144;
/// Most bytes of one string.
pub const LONGEST_STRING_BYTES: u32 = 1024;

/// Everything a module may say.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct MessageTable {
    /// Message number 1 comes first.
    pub messages: Vec<Message>,
    /// Names of kernels, by the numbers that faults have.
    pub kernels: Vec<String>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Message {
    Print(Vec<Piece>),
    /// A work-item ended here.
    Failure {
        /// `assertion 'x > 0' failed`, `abort() was called`.
        what: String,
        file: String,
        line: u32,
    },
}

/// A part of a format.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Piece {
    Text(Vec<u8>),
    Conversion(Conversion),
}

/// `%-8.3f` and its like, as C11 7.21.6.1 has them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Conversion {
    pub flags: Flags,
    pub width: Amount,
    pub precision: Amount,
    /// Bits of an integer: 8, 16, 32 or 64.
    pub bits: u8,
    /// `d u x X o c s f F e E g G a A p`.
    pub letter: u8,
}

#[allow(clippy::struct_excessive_bools)] // One for each flag of C.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Flags {
    pub minus: bool,
    pub plus: bool,
    pub space: bool,
    pub hash: bool,
    pub zero: bool,
}

/// A width or precision.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Amount {
    None,
    Fixed(u32),
    /// `*`: an `int` argument before the value.
    Argument,
}

/// Largest width or precision: what C demands of every implementation, for one conversion.
pub const MAX_AMOUNT: u32 = 4095;

/// Reads a format; the error is a sentence with the offset of the conversion.
pub fn parse_format(format: &[u8]) -> Result<Vec<Piece>, (usize, String)> {
    let mut pieces = Vec::new();
    let mut text = Vec::new();
    let mut at = 0;
    while at < format.len() {
        if format[at] != b'%' {
            text.push(format[at]);
            at += 1;
            continue;
        }
        if format.get(at + 1) == Some(&b'%') {
            text.push(b'%');
            at += 2;
            continue;
        }
        if !text.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut text)));
        }
        let (conversion, end) = conversion(format, at).map_err(|message| (at, message))?;
        pieces.push(Piece::Conversion(conversion));
        at = end;
    }
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    Ok(pieces)
}

/// The conversion that starts at a `%`, and where it ends.
fn conversion(format: &[u8], start: usize) -> Result<(Conversion, usize), String> {
    let mut at = start + 1;
    let mut flags = Flags::default();
    while let Some(letter) = format.get(at) {
        match letter {
            b'-' => flags.minus = true,
            b'+' => flags.plus = true,
            b' ' => flags.space = true,
            b'#' => flags.hash = true,
            b'0' => flags.zero = true,
            _ => break,
        }
        at += 1;
    }
    let width = amount(format, &mut at)?;
    let precision = if format.get(at) == Some(&b'.') {
        at += 1;
        match amount(format, &mut at)? {
            Amount::None => Amount::Fixed(0),
            other => other,
        }
    } else {
        Amount::None
    };
    let length_start = at;
    while matches!(
        format.get(at),
        Some(b'h' | b'l' | b'j' | b'z' | b't' | b'L' | b'q')
    ) {
        at += 1;
    }
    let bits = match &format[length_start..at] {
        b"hh" => 8,
        b"h" => 16,
        b"" | b"L" => 32,
        b"l" | b"ll" | b"j" | b"z" | b"t" | b"q" => 64,
        other => {
            let text = String::from_utf8_lossy(other);
            return Err(format!("'{text}' is no length of a conversion"));
        }
    };
    let Some(&letter) = format.get(at) else {
        return Err("the format ends within a conversion; a percent sign is written %%".to_owned());
    };
    let (letter, bits) = match letter {
        b'i' => (b'd', bits),
        b'd' | b'u' | b'x' | b'X' | b'o' => (letter, bits),
        b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' | b'p' => (letter, 64),
        b'c' | b's' if bits == 32 => (letter, 32),
        b'n' => return Err("%n, which writes memory, is not supported".to_owned()),
        b'c' | b's' => return Err("wide characters are not supported".to_owned()),
        other => return Err(format!("'%{}' is no conversion", other.escape_ascii())),
    };
    Ok((
        Conversion {
            flags,
            width,
            precision,
            bits,
            letter,
        },
        at + 1,
    ))
}

fn amount(format: &[u8], at: &mut usize) -> Result<Amount, String> {
    if format.get(*at) == Some(&b'*') {
        *at += 1;
        return Ok(Amount::Argument);
    }
    let mut number = None;
    while let Some(digit) = format.get(*at).filter(|letter| letter.is_ascii_digit()) {
        let value = number.unwrap_or(0) * 10 + u32::from(digit - b'0');
        if value > MAX_AMOUNT {
            return Err(format!("widths and precisions end at {MAX_AMOUNT}"));
        }
        number = Some(value);
        *at += 1;
    }
    Ok(number.map_or(Amount::None, Amount::Fixed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_cut_at_conversions() {
        let pieces = parse_format(b"a%% %-5.2lf|%*d%hhu").unwrap();
        assert_eq!(pieces.len(), 5);
        assert_eq!(pieces[0], Piece::Text(b"a% ".to_vec()));
        let Piece::Conversion(float) = pieces[1] else {
            panic!("{pieces:?}");
        };
        assert!(float.flags.minus);
        assert_eq!(
            (float.width, float.precision),
            (Amount::Fixed(5), Amount::Fixed(2))
        );
        let (Piece::Conversion(star), Piece::Conversion(byte)) = (&pieces[3], &pieces[4]) else {
            panic!("{pieces:?}");
        };
        assert_eq!((star.width, star.letter), (Amount::Argument, b'd'));
        assert_eq!((byte.bits, byte.letter), (8, b'u'));
    }

    #[test]
    fn malformed_formats_are_refused_at_their_place() {
        for (format, at, words) in [
            ("100%", 3, "ends within"),
            ("a%y", 1, "no conversion"),
            ("%n", 0, "%n"),
            ("%ls", 0, "wide"),
            ("%hld", 0, "no length"),
            ("%99999d", 0, "4095"),
        ] {
            let (position, message) = parse_format(format.as_bytes()).unwrap_err();
            assert_eq!(position, at, "{format}");
            assert!(message.contains(words), "{format}: {message}");
        }
    }
}
