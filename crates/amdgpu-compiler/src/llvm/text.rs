//! Short texts: names, constants and operands, of which there are several for each instruction.

use std::fmt;
use std::ops::Deref;

/// Bytes of a text that is stored in place: as many as the longest name and nearly all constants have.
const SHORT_BYTES: usize = 38;

/// A text that needs no memory of its own as long as it is short.
#[derive(Clone)]
pub(super) enum Text {
    Short { len: u8, bytes: [u8; SHORT_BYTES] },
    Long(Box<str>),
}

impl Text {
    pub const fn new() -> Self {
        Self::Short {
            len: 0,
            bytes: [0; SHORT_BYTES],
        }
    }

    /// A name that ends with a number.
    pub fn numbered(prefix: &str, number: u32) -> Self {
        let mut text = Self::from(prefix);
        text.push(Digits::new(u64::from(number)).text());
        text
    }

    pub fn push(&mut self, more: &str) {
        if let Self::Short { len, bytes } = self {
            let (start, end) = (usize::from(*len), usize::from(*len) + more.len());
            if end <= SHORT_BYTES {
                bytes[start..end].copy_from_slice(more.as_bytes());
                *len = end as u8;
                return;
            }
        }
        *self = Self::Long([&**self, more].concat().into());
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            // What was pushed are whole texts.
            Self::Short { len, bytes } => {
                std::str::from_utf8(&bytes[..usize::from(*len)]).unwrap_or_default()
            }
            Self::Long(text) => text,
        }
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        let mut new = Self::new();
        new.push(text);
        new
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        if text.len() <= SHORT_BYTES {
            Self::from(text.as_str())
        } else {
            Self::Long(text.into())
        }
    }
}

impl fmt::Display for Text {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self)
    }
}

/// An operand with its type.
pub(super) struct Typed<T, V> {
    pub ty: T,
    pub text: V,
}

impl<T: AsRef<str>, V: Deref<Target = str>> fmt::Display for Typed<T, V> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.ty.as_ref())?;
        out.write_str(" ")?;
        out.write_str(&self.text)
    }
}

/// A number in decimal.
pub(super) struct Digits {
    bytes: [u8; 20],
    start: usize,
}

impl Digits {
    pub fn new(mut number: u64) -> Self {
        let (mut bytes, mut start) = ([b'0'; 20], 20);
        loop {
            start -= 1;
            bytes[start] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                return Self { bytes, start };
            }
        }
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes[self.start..]).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_every_length_are_what_was_pushed() {
        let (mut text, mut expected) = (Text::new(), String::new());
        for number in 0..40u32 {
            assert_eq!(&*text, expected);
            assert_eq!(text.to_string(), expected);
            assert_eq!(&*Text::from(expected.clone()), expected);
            text.push(&number.to_string());
            expected.push_str(&number.to_string());
        }
    }

    #[test]
    fn numbers_end_names() {
        for number in [0, 9, 10, 4_294_967_295] {
            assert_eq!(&*Text::numbered("%v", number), format!("%v{number}"));
        }
        assert_eq!(Digits::new(u64::MAX).text(), u64::MAX.to_string());
    }
}
