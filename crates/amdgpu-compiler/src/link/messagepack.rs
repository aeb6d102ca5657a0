//! A reader of `MessagePack`, as far as metadata notes use it. Source: the `MessagePack` specification.

use super::error::LinkError;

/// The metadata nests six levels; the limit keeps the reader's own recursion short.
const MAX_DEPTH: usize = 16;

/// A value. Floats, binary data and extensions do not occur in metadata and are refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value<'a> {
    Nil,
    Bool(bool),
    Unsigned(u64),
    /// Below zero.
    Negative(i64),
    Text(&'a str),
    Array(Vec<Self>),
    Map(Vec<(Self, Self)>),
}

impl<'a> Value<'a> {
    /// Reads one value that takes all of the bytes.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, LinkError> {
        let mut reader = Reader { bytes };
        let value = reader.value(0)?;
        if reader.bytes.is_empty() {
            Ok(value)
        } else {
            Err(LinkError::malformed("the metadata goes on after its end"))
        }
    }

    /// The value of a key of a map.
    pub fn get(&self, key: &str) -> Option<&Self> {
        let Self::Map(entries) = self else {
            return None;
        };
        let matching = |name: &Self| matches!(name, Self::Text(text) if *text == key);
        entries
            .iter()
            .find(|(name, _)| matching(name))
            .map(|(_, value)| value)
    }

    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Unsigned(value) => Some(*value),
            _ => None,
        }
    }

    pub fn as_text(&self) -> Option<&'a str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(values) => Some(values),
            _ => None,
        }
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], LinkError> {
        let (taken, rest) = self
            .bytes
            .split_at_checked(count)
            .ok_or_else(|| LinkError::malformed("the metadata is cut off"))?;
        self.bytes = rest;
        Ok(taken)
    }

    /// A big-endian number of 1, 2, 4 or 8 bytes.
    fn number(&mut self, count: usize) -> Result<u64, LinkError> {
        let bytes = self.take(count)?;
        Ok(bytes
            .iter()
            .fold(0, |value, &byte| value << 8 | u64::from(byte)))
    }

    fn value(&mut self, depth: usize) -> Result<Value<'a>, LinkError> {
        if depth > MAX_DEPTH {
            return Err(LinkError::malformed(format!(
                "the metadata nests deeper than {MAX_DEPTH} levels"
            )));
        }
        let tag = self.take(1)?[0];
        match tag {
            0x00..=0x7f => Ok(Value::Unsigned(u64::from(tag))),
            0x80..=0x8f => self.map(u64::from(tag & 0xf), depth),
            0x90..=0x9f => self.array(u64::from(tag & 0xf), depth),
            0xa0..=0xbf => self.text(u64::from(tag & 0x1f)),
            0xc0 => Ok(Value::Nil),
            0xc2 | 0xc3 => Ok(Value::Bool(tag == 0xc3)),
            0xcc..=0xcf => Ok(Value::Unsigned(self.number(1 << (tag - 0xcc))?)),
            0xd0..=0xd3 => {
                let bytes = 1 << (tag - 0xd0);
                let unused_bits = 64 - 8 * bytes as u32;
                let value = (self.number(bytes)? << unused_bits) as i64 >> unused_bits;
                Ok(u64::try_from(value).map_or(Value::Negative(value), Value::Unsigned))
            }
            0xd9..=0xdb => {
                let len = self.number(1 << (tag - 0xd9))?;
                self.text(len)
            }
            0xdc | 0xdd => {
                let len = self.number(2 << (tag - 0xdc))?;
                self.array(len, depth)
            }
            0xde | 0xdf => {
                let len = self.number(2 << (tag - 0xde))?;
                self.map(len, depth)
            }
            0xe0..=0xff => Ok(Value::Negative(i64::from(tag as i8))),
            _ => Err(LinkError::malformed(format!(
                "the metadata has the MessagePack type {tag:#x}"
            ))),
        }
    }

    fn text(&mut self, len: u64) -> Result<Value<'a>, LinkError> {
        let bytes = self.take(len as usize)?;
        std::str::from_utf8(bytes)
            .map(Value::Text)
            .map_err(|_| LinkError::malformed("the metadata has text that is not UTF-8"))
    }

    fn array(&mut self, len: u64, depth: usize) -> Result<Value<'a>, LinkError> {
        // Grows with what is there: the length may claim anything. Each element takes a byte at least.
        let mut values = Vec::new();
        for _ in 0..len {
            values.push(self.value(depth + 1)?);
        }
        Ok(Value::Array(values))
    }

    fn map(&mut self, len: u64, depth: usize) -> Result<Value<'a>, LinkError> {
        let mut entries = Vec::new();
        for _ in 0..len {
            entries.push((self.value(depth + 1)?, self.value(depth + 1)?));
        }
        Ok(Value::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_value_is_read() {
        let cases: [(&[u8], Value<'_>); 12] = [
            (&[0x07], Value::Unsigned(7)),
            (&[0xff], Value::Negative(-1)),
            (&[0xc0], Value::Nil),
            (&[0xc3], Value::Bool(true)),
            (&[0xcd, 1, 2], Value::Unsigned(0x102)),
            (&[0xcf, 0, 0, 0, 1, 0, 0, 0, 0], Value::Unsigned(1 << 32)),
            (&[0xd1, 0xff, 0xfe], Value::Negative(-2)),
            (&[0xd0, 5], Value::Unsigned(5)),
            (&[0xa2, b'h', b'i'], Value::Text("hi")),
            (&[0xd9, 2, b'h', b'i'], Value::Text("hi")),
            (
                &[0xdc, 0, 2, 1, 2],
                Value::Array(vec![Value::Unsigned(1), Value::Unsigned(2)]),
            ),
            (
                &[0x81, 0xa1, b'k', 3],
                Value::Map(vec![(Value::Text("k"), Value::Unsigned(3))]),
            ),
        ];
        for (bytes, value) in cases {
            assert_eq!(Value::parse(bytes), Ok(value), "{bytes:x?}");
        }
    }

    #[test]
    fn malformed_values_are_refused() {
        let deep = vec![0x91; 1 << 20];
        let cases: [&[u8]; 8] = [
            &[],
            &[0xdf, 0xff, 0xff, 0xff, 0xff],
            &[0xdb, 0xff, 0xff, 0xff, 0xff, b'x'],
            &[0xcb, 0, 0, 0, 0, 0, 0, 0, 0],
            &[0xc1],
            &[0xa1, 0xff],
            &[1, 2],
            &deep,
        ];
        for bytes in cases {
            assert!(
                Value::parse(bytes).is_err(),
                "{:x?}",
                &bytes[..bytes.len().min(9)]
            );
        }
    }
}
