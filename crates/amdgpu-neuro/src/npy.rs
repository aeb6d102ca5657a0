//! Weight files: NumPy's `.npy` format, versions 1 to 3, float32 and float64.
//!
//! Format: <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use crate::error::{Error, Result};

/// Longest header that is read; NumPy's own are a few hundred bytes.
const MAX_HEADER_BYTES: usize = 64 * 1024;

struct Header {
    is_double: bool,
    is_big_endian: bool,
    is_fortran_order: bool,
    shape: Vec<usize>,
}

fn refuse(path: &Path, reason: &str) -> Error {
    Error::InvalidDescription(format!("the weight file {} {reason}", path.display()))
}

/// The text after `key` in the header, which is a Python dictionary.
fn value_of<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = header.split_once(&format!("'{key}'"))?;
    Some(rest.trim_start().strip_prefix(':')?.trim_start())
}

fn parse_header(header: &str) -> std::result::Result<Header, String> {
    let missing = |key: &str| format!("has no {key} in its header");
    let descr = value_of(header, "descr").ok_or_else(|| missing("descr"))?;
    let descr = descr
        .strip_prefix('\'')
        .and_then(|text| text.split('\'').next())
        .ok_or("holds structured values; float32 or float64 are expected")?;
    let (is_double, is_big_endian) = match descr {
        "<f4" => (false, false),
        ">f4" => (false, true),
        "<f8" => (true, false),
        ">f8" => (true, true),
        other => {
            return Err(format!(
                "holds values of type {other:?}; float32 or float64 are expected"
            ));
        }
    };
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
        is_double,
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

/// Reads an array of exactly `shape` into `out`, row-major.
pub(crate) fn read_into(path: &Path, shape: &[usize], out: &mut [f32]) -> Result<()> {
    let file =
        File::open(path).map_err(|error| refuse(path, &format!("cannot be opened: {error}")))?;
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let header = read_header(&mut reader).map_err(|reason| refuse(path, &reason))?;
    if header.shape != shape {
        return Err(refuse(
            path,
            &format!("has the shape {:?}, expected {shape:?}", header.shape),
        ));
    }
    let (rows, columns) = match *shape {
        [rows, columns] => (rows, columns),
        _ => (1, out.len()),
    };
    let truncated = |error: std::io::Error| refuse(path, &format!("ends too early: {error}"));
    for position in 0..out.len() {
        let value = if header.is_double {
            let mut bytes = [0_u8; 8];
            reader.read_exact(&mut bytes).map_err(truncated)?;
            let value = if header.is_big_endian {
                f64::from_be_bytes(bytes)
            } else {
                f64::from_le_bytes(bytes)
            };
            value as f32
        } else {
            let mut bytes = [0_u8; 4];
            reader.read_exact(&mut bytes).map_err(truncated)?;
            if header.is_big_endian {
                f32::from_be_bytes(bytes)
            } else {
                f32::from_le_bytes(bytes)
            }
        };
        let place = if header.is_fortran_order {
            (position % rows) * columns + position / rows
        } else {
            position
        };
        out[place] = value;
    }
    Ok(())
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
        assert!(message(&path, &[2, 3]).contains("<i8"));
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
