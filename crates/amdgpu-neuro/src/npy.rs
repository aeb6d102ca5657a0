//! NumPy's `.npy` files, versions 1 to 3: floats, integers and truth values.
//!
//! Format: <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use crate::error::{Error, Result};

/// Numbers in a shape, row-major.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Array {
    pub shape: Vec<usize>,
    pub values: Vec<f64>,
}

/// Longest header that is read; NumPy's own are a few hundred bytes.
const MAX_HEADER_BYTES: usize = 64 * 1024;

/// How an entry is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Float,
    Signed,
    Unsigned,
}

struct Header {
    kind: Kind,
    entry_bytes: usize,
    is_big_endian: bool,
    is_fortran_order: bool,
    shape: Vec<usize>,
}

fn refuse(path: &Path, reason: &str) -> Error {
    Error::InvalidDescription(format!("the file {} {reason}", path.display()))
}

/// The text after `key` in the header, which is a Python dictionary.
fn value_of<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = header.split_once(&format!("'{key}'"))?;
    Some(rest.trim_start().strip_prefix(':')?.trim_start())
}

/// Kind, bytes and byte order of entries that are numbers.
fn entries_of(descr: &str) -> Option<(Kind, usize, bool)> {
    let is_big_endian = match descr.as_bytes().first()? {
        b'<' | b'|' | b'=' => false,
        b'>' => true,
        _ => return None,
    };
    let (kind, bytes) = match descr.get(1..)? {
        "f4" => (Kind::Float, 4),
        "f8" => (Kind::Float, 8),
        "i1" => (Kind::Signed, 1),
        "i2" => (Kind::Signed, 2),
        "i4" => (Kind::Signed, 4),
        "i8" => (Kind::Signed, 8),
        "b1" | "u1" => (Kind::Unsigned, 1),
        "u2" => (Kind::Unsigned, 2),
        "u4" => (Kind::Unsigned, 4),
        "u8" => (Kind::Unsigned, 8),
        _ => return None,
    };
    Some((kind, bytes, is_big_endian))
}

fn parse_header(header: &str) -> std::result::Result<Header, String> {
    let missing = |key: &str| format!("has no {key} in its header");
    let descr = value_of(header, "descr").ok_or_else(|| missing("descr"))?;
    let descr = descr
        .strip_prefix('\'')
        .and_then(|text| text.split('\'').next())
        .ok_or("holds structured values; numbers are expected")?;
    let (kind, entry_bytes, is_big_endian) = entries_of(descr).ok_or_else(|| {
        format!("holds values of type {descr:?}; float32, float64 or integers are expected")
    })?;
    let order = value_of(header, "fortran_order").ok_or_else(|| missing("fortran_order"))?;
    let shape = value_of(header, "shape").ok_or_else(|| missing("shape"))?;
    let shape = shape
        .strip_prefix('(')
        .and_then(|text| text.split(')').next())
        .ok_or_else(|| missing("shape"))?;
    let shape = shape
        .split(',')
        .map(str::trim)
        .filter(|text| !text.is_empty())
        .map(|text| text.trim_end_matches('L').parse::<usize>())
        .collect::<std::result::Result<Vec<_>, _>>()
        .map_err(|_| missing("readable shape"))?;
    Ok(Header {
        kind,
        entry_bytes,
        is_big_endian,
        is_fortran_order: order.starts_with("True"),
        shape,
    })
}

fn read_header(reader: &mut impl Read) -> std::result::Result<Header, String> {
    let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
    let mut start = [0_u8; 8];
    reader.read_exact(&mut start).map_err(unreadable)?;
    if start[..6] != *b"\x93NUMPY" {
        return Err("is no .npy file".to_owned());
    }
    let len = if start[6] == 1 {
        let mut bytes = [0_u8; 2];
        reader.read_exact(&mut bytes).map_err(unreadable)?;
        usize::from(u16::from_le_bytes(bytes))
    } else {
        let mut bytes = [0_u8; 4];
        reader.read_exact(&mut bytes).map_err(unreadable)?;
        u32::from_le_bytes(bytes) as usize
    };
    if !(1..=3).contains(&start[6]) || len > MAX_HEADER_BYTES {
        return Err("has a header of an unknown version or size".to_owned());
    }
    let mut header = vec![0_u8; len];
    reader.read_exact(&mut header).map_err(unreadable)?;
    parse_header(&String::from_utf8_lossy(&header))
}

fn open(path: &Path) -> Result<(Header, BufReader<File>)> {
    let file =
        File::open(path).map_err(|error| refuse(path, &format!("cannot be opened: {error}")))?;
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let header = read_header(&mut reader).map_err(|reason| refuse(path, &reason))?;
    Ok((header, reader))
}

impl Header {
    /// The number of an entry's bytes.
    fn value(&self, bytes: &[u8]) -> f64 {
        let mut word = [0_u8; 8];
        for (place, byte) in bytes.iter().enumerate() {
            let place = if self.is_big_endian {
                bytes.len() - 1 - place
            } else {
                place
            };
            word[place] = *byte;
        }
        let bits = u64::from_le_bytes(word);
        match (self.kind, bytes.len()) {
            (Kind::Float, 4) => f64::from(f32::from_bits(bits as u32)),
            (Kind::Float, _) => f64::from_bits(bits),
            (Kind::Unsigned, _) => bits as f64,
            (Kind::Signed, len) => {
                let unused = 64 - 8 * len as u32;
                ((bits << unused) as i64 >> unused) as f64
            }
        }
    }

    /// The row-major place of the entry that stands at `position` of the file.
    fn place(&self, position: usize) -> usize {
        if !self.is_fortran_order {
            return position;
        }
        let (mut rest, mut place, mut weight) = (position, 0, 1);
        let strides: Vec<usize> = self
            .shape
            .iter()
            .rev()
            .map(|count| {
                let stride = weight;
                weight *= count;
                stride
            })
            .collect();
        for (count, stride) in self.shape.iter().zip(strides.iter().rev()) {
            place += rest % count * stride;
            rest /= count;
        }
        place
    }

    /// Calls `put` with the row-major place and the value of each entry.
    fn each(
        &self,
        reader: &mut impl Read,
        count: usize,
        mut put: impl FnMut(usize, f64),
    ) -> std::result::Result<(), String> {
        let mut bytes = [0_u8; 8];
        let bytes = &mut bytes[..self.entry_bytes];
        for position in 0..count {
            reader
                .read_exact(bytes)
                .map_err(|error| format!("ends too early: {error}"))?;
            put(self.place(position), self.value(bytes));
        }
        Ok(())
    }
}

/// Reads a whole array of any shape.
pub(crate) fn read(path: &Path) -> Result<Array> {
    let (header, mut reader) = open(path)?;
    let axes = header.shape.iter();
    let count = axes.fold(1_usize, |all, count| all.saturating_mul(*count));
    let wanted = count.saturating_mul(header.entry_bytes) as u64;
    // A header that promises more than the file holds must not make us ask for the memory.
    let held = reader.get_ref().metadata().map_or(0, |data| data.len());
    if wanted > held {
        return Err(refuse(
            path,
            &format!("ends too early: its shape {:?} does not fit", header.shape),
        ));
    }
    let mut values = Vec::new();
    values
        .try_reserve_exact(count)
        .map_err(|_| Error::OutOfMemory {
            what: format!("the values of {}", path.display()),
            bytes: count.saturating_mul(size_of::<f64>()),
        })?;
    values.resize(count, 0.0);
    let done = header.each(&mut reader, count, |place, value| values[place] = value);
    done.map_err(|reason| refuse(path, &reason))?;
    Ok(Array {
        shape: header.shape,
        values,
    })
}

/// Reads an array of floats of exactly `shape` into `out`, row-major.
pub(crate) fn read_into(path: &Path, shape: &[usize], out: &mut [f32]) -> Result<()> {
    let (header, mut reader) = open(path)?;
    if header.kind != Kind::Float {
        return Err(refuse(
            path,
            "holds integers; float32 or float64 are expected",
        ));
    }
    if header.shape != shape {
        return Err(refuse(
            path,
            &format!("has the shape {:?}, expected {shape:?}", header.shape),
        ));
    }
    let count = out.len();
    let done = header.each(&mut reader, count, |place, value| out[place] = value as f32);
    done.map_err(|reason| refuse(path, &reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, header: &str, data: &[u8]) -> std::path::PathBuf {
        let path = std::env::temp_dir().join(format!("agpu-npy-{}-{name}.npy", std::process::id()));
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    fn read(path: &Path, shape: &[usize]) -> Result<Vec<f32>> {
        let mut out = vec![0.0; shape.iter().product()];
        let outcome = read_into(path, shape, &mut out);
        std::fs::remove_file(path).unwrap();
        outcome.map(|()| out)
    }

    fn float32(values: &[f32]) -> Vec<u8> {
        values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect()
    }

    #[test]
    fn both_orders_and_both_precisions_are_read() {
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n";
        let path = file("c", header, &float32(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
        assert_eq!(
            read(&path, &[2, 3]).unwrap(),
            [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
        );
        let header = "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }\n";
        let path = file("f", header, &float32(&[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]));
        assert_eq!(
            read(&path, &[2, 3]).unwrap(),
            [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
        );
        let header = "{'descr': '>f8', 'fortran_order': False, 'shape': (2,), }\n";
        let data: Vec<u8> = [0.5_f64, -2.0]
            .iter()
            .flat_map(|v| v.to_be_bytes())
            .collect();
        assert_eq!(read(&file("d", header, &data), &[2]).unwrap(), [0.5, -2.0]);
    }

    #[test]
    fn integers_of_every_size_and_three_axes_in_either_order_are_read() {
        let header = "{'descr': '>i2', 'fortran_order': False, 'shape': (3,), }\n";
        let data: Vec<u8> = [-2_i16, 0, 300]
            .iter()
            .flat_map(|v| v.to_be_bytes())
            .collect();
        let path = file("i2", header, &data);
        let found = super::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(
            (found.shape, found.values),
            (vec![3], vec![-2.0, 0.0, 300.0])
        );
        let header = "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2, 3), }\n";
        // Entry (a, b, c) is 100 a + 10 b + c, the first axis fastest in the file.
        let data: Vec<u8> = (0..12)
            .map(|n| 100 * (n % 2) + 10 * (n / 2 % 2) + n / 4)
            .collect();
        let path = file("u1", header, &data);
        let found = super::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let wanted = [0, 1, 2, 10, 11, 12, 100, 101, 102, 110, 111, 112];
        assert_eq!(found.values, wanted.map(f64::from));
        let path = file(
            "c8",
            "{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }\n",
            &[],
        );
        assert!(super::read(&path).unwrap_err().to_string().contains("<c8"));
        std::fs::remove_file(path).unwrap();
        let path = file(
            "huge",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }\n",
            &[],
        );
        assert!(
            super::read(&path)
                .unwrap_err()
                .to_string()
                .contains("ends too early")
        );
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn numbers_of_every_kind_size_and_byte_order_are_read() {
        fn bytes(order: char, little: &[u8], size: usize) -> Vec<u8> {
            let mut data = little.to_vec();
            if order == '>' {
                data.chunks_mut(size).for_each(<[u8]>::reverse);
            }
            data
        }
        // The same two numbers of each kind, in little endian; the negative ones have all bits above.
        let signed = [-2_i64, 77];
        let unsigned = [200_u64, 77];
        for size in [1, 2, 4, 8] {
            for order in ['<', '>', '|', '='] {
                let header = |kind: &str| {
                    format!(
                        "{{'descr': '{order}{kind}', 'fortran_order': False, 'shape': (2,), }}\n"
                    )
                };
                let of = |kind: &str, little: Vec<u8>| {
                    let path = file(
                        "kinds",
                        &header(kind),
                        &bytes(order, &little, little.len() / 2),
                    );
                    let found = super::read(&path).unwrap();
                    std::fs::remove_file(&path).unwrap();
                    found.values
                };
                let cut = |words: [[u8; 8]; 2]| {
                    words
                        .iter()
                        .flat_map(|word| word[..size].to_vec())
                        .collect()
                };
                let name = format!("i{size}");
                assert_eq!(
                    of(&name, cut(signed.map(i64::to_le_bytes))),
                    [-2.0, 77.0],
                    "{order}{name}"
                );
                let name = format!("u{size}");
                assert_eq!(
                    of(&name, cut(unsigned.map(u64::to_le_bytes))),
                    [200.0, 77.0],
                    "{order}{name}"
                );
                if size == 4 {
                    let data = float32(&[0.5, -3.0]);
                    assert_eq!(of("f4", data), [0.5, -3.0], "{order}f4");
                }
                if size == 8 {
                    let data = [0.5_f64, -3.0]
                        .iter()
                        .flat_map(|x| x.to_le_bytes())
                        .collect();
                    assert_eq!(of("f8", data), [0.5, -3.0], "{order}f8");
                }
            }
        }
        let path = file(
            "bool",
            "{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }\n",
            &[1, 0],
        );
        assert_eq!(super::read(&path).unwrap().values, [1.0, 0.0]);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn wrong_files_are_refused_with_their_name_and_the_reason() {
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n";
        let message = |path: &Path, shape: &[usize]| read(path, shape).unwrap_err().to_string();
        let path = file("shape", header, &float32(&[0.0; 6]));
        let text = message(&path, &[3, 2]);
        assert!(
            text.contains("agpu-npy") && text.contains("[2, 3], expected [3, 2]"),
            "{text}"
        );
        let path = file("short", header, &float32(&[0.0; 5]));
        assert!(message(&path, &[2, 3]).contains("ends too early"));
        let path = file("ints", &header.replace("<f4", "<i8"), &[]);
        assert!(message(&path, &[2, 3]).contains("holds integers"));
        let path = file("none", "{}", &[]);
        assert!(message(&path, &[2, 3]).contains("no descr"));
        let path = file("none", "", &[]);
        std::fs::write(&path, b"text").unwrap();
        assert!(message(&path, &[2]).contains("cannot be read"));
        assert!(
            read_into(Path::new("/nowhere/w.npy"), &[1], &mut [0.0])
                .unwrap_err()
                .to_string()
                .contains("/nowhere/w.npy cannot be opened")
        );
    }
}
