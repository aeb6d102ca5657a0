//! The wire format of protocol buffers (<https://protobuf.dev/programming-guides/encoding>), as far as graphs need it.

use crate::failure::{Failure, Outcome};

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    Float(f32),
    Double(f64),
}

/// A field: its number, what it holds, and all its bytes.
pub struct Field<'a> {
    pub number: u64,
    pub value: Value<'a>,
    pub whole: &'a [u8],
}

/// The fields of a message, in the order in which they stand.
pub struct Fields<'a>(pub &'a [u8]);

fn cut_off() -> Failure {
    Failure::refused("a message of the graph ends within a field")
}

/// A number in groups of seven bits, the lowest first.
pub fn number(bytes: &mut &[u8]) -> Outcome<u64> {
    const GROUPS: usize = 10;
    let mut value = 0;
    for place in 0..GROUPS {
        let (first, rest) = bytes.split_first().ok_or_else(cut_off)?;
        *bytes = rest;
        value |= u64::from(first & 0x7f) << (7 * place).min(63);
        if first & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(Failure::refused("a number of the graph does not end"))
}

fn taken<'a>(bytes: &mut &'a [u8], count: usize) -> Outcome<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(count).ok_or_else(cut_off)?;
    *bytes = rest;
    Ok(taken)
}

fn fixed<const N: usize>(bytes: &mut &[u8]) -> Outcome<[u8; N]> {
    taken(bytes, N)?.try_into().map_err(|_| cut_off())
}

impl<'a> Iterator for Fields<'a> {
    type Item = Outcome<Field<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let read = read(&mut self.0);
        if read.is_err() {
            self.0 = &[];
        }
        Some(read)
    }
}

fn read<'a>(bytes: &mut &'a [u8]) -> Outcome<Field<'a>> {
    let begin = *bytes;
    let tag = number(bytes)?;
    let value = match tag & 7 {
        0 => Value::Number(number(bytes)?),
        1 => Value::Double(f64::from_le_bytes(fixed(bytes)?)),
        2 => {
            let length = number(bytes)?;
            Value::Bytes(taken(
                bytes,
                usize::try_from(length).map_err(|_| cut_off())?,
            )?)
        }
        5 => Value::Float(f32::from_le_bytes(fixed(bytes)?)),
        kind => {
            return Err(Failure::refused(format!(
                "a field of the graph has wire type {kind}, which is not known"
            )));
        }
    };
    Ok(Field {
        number: tag >> 3,
        value,
        whole: &begin[..begin.len() - bytes.len()],
    })
}

/// A message that is written.
#[derive(Default)]
pub struct Message(pub Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    pub fn number(&mut self, field: u64, value: u64) {
        self.varint(field << 3);
        self.varint(value);
    }

    pub fn float(&mut self, field: u64, value: f32) {
        self.varint(field << 3 | 5);
        self.0.extend(value.to_le_bytes());
    }

    pub fn bytes(&mut self, field: u64, value: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(value.len() as u64);
        self.0.extend(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut message = Message::default();
        message.number(1, 300);
        message.bytes(2, b"AddV2");
        message.float(40, -0.5);
        message.number(3, u64::MAX);
        let fields: Vec<_> = Fields(&message.0).map(Result::unwrap).collect();
        let read: Vec<_> = fields.iter().map(|one| (one.number, one.value)).collect();
        let wanted = [
            (1, Value::Number(300)),
            (2, Value::Bytes(b"AddV2")),
            (40, Value::Float(-0.5)),
            (3, Value::Number(u64::MAX)),
        ];
        assert_eq!(read, wanted);
        let joined: Vec<u8> = fields.iter().flat_map(|one| one.whole).copied().collect();
        assert_eq!(joined, message.0);
    }

    #[test]
    fn messages_that_are_cut_off_are_refused() {
        for bytes in [
            &[0x0a, 5, b'x'][..],
            &[0x08],
            &[0x0d, 0, 0],
            &[0x0b],
            &[0x80; 12],
        ] {
            assert!(Fields(bytes).next().is_some_and(|field| field.is_err()));
        }
    }
}
