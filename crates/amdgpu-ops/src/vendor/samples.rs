//! Numbers of the examples that libraries are tried with.

use amdgpu_array::{Array, Side, copy};
use amdgpu_hal::DevicePointer;
use half::{bf16, f16};

use crate::archived::problem::Number;
use crate::{DeviceOps, Result};

/// Error of a result, relative to the sum of absolute products: rounding of operands and results, and of sums over thousands of products.
#[must_use]
pub const fn error_bound(number: Number) -> f64 {
    match number.product_error() {
        Some(error) => error,
        None => 0.0,
    }
}

/// Numbers that are the same in every process.
pub struct Random(u64);

impl Random {
    /// The same numbers each time.
    pub fn new() -> Self {
        Self(20_261_121)
    }

    /// Uniform in [0, 1): the upper bits of Knuth's linear congruential generator.
    fn unit(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Of about a normal distribution: a sum of twelve.
    pub fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }

    /// Whole, from -limit up to and without limit.
    pub fn integer(&mut self, limit: i32) -> f64 {
        (self.unit() * f64::from(2 * limit)).floor() - f64::from(limit)
    }
}

/// An array of numbers that are rounded to a format.
pub fn upload(ops: &DeviceOps, values: &[f64], shape: &[usize], number: Number) -> Result<Array> {
    let bytes: Vec<u8> = values
        .iter()
        .flat_map(|value| encode(*value, number))
        .collect();
    let shape: Vec<i64> = shape.iter().map(|extent| *extent as i64).collect();
    let dtype = number.dtype();
    Ok(Array::from_host(
        ops.device(),
        &bytes,
        shape.as_slice(),
        dtype,
    )?)
}

/// What an array holds.
pub fn download(array: &Array, number: Number) -> Result<Vec<f64>> {
    let mut bytes = vec![0_u8; array.bytes()];
    let host = Side {
        address: DevicePointer::from_host(bytes.as_mut_ptr()),
        device: None,
    };
    // SAFETY: both hold as many bytes, and live until the copy, which is waited for, is over.
    unsafe { copy(&host, &array.side(), array.bytes() as u64) }
        .map_err(amdgpu_array::Error::from)?;
    let items = bytes.chunks_exact(number.bytes() as usize);
    Ok(items.map(|item| decode(item, number)).collect())
}

/// A number as the format holds it.
fn encode(value: f64, number: Number) -> Vec<u8> {
    match number {
        Number::F64 => value.to_ne_bytes().to_vec(),
        Number::F32 | Number::Tf32 => (value as f32).to_ne_bytes().to_vec(),
        Number::F16 => f16::from_f64(value).to_ne_bytes().to_vec(),
        Number::Bf16 => bf16::from_f64(value).to_ne_bytes().to_vec(),
        Number::I8 => (value as i8).to_ne_bytes().to_vec(),
        Number::I32 => (value as i32).to_ne_bytes().to_vec(),
    }
}

/// The number that an item holds.
fn decode(item: &[u8], number: Number) -> f64 {
    fn of<const N: usize>(item: &[u8]) -> [u8; N] {
        let mut bytes = [0; N];
        bytes.copy_from_slice(item);
        bytes
    }
    match number {
        Number::F64 => f64::from_ne_bytes(of(item)),
        Number::F32 | Number::Tf32 => f64::from(f32::from_ne_bytes(of(item))),
        Number::F16 => f16::from_ne_bytes(of(item)).to_f64(),
        Number::Bf16 => bf16::from_ne_bytes(of(item)).to_f64(),
        Number::I8 => f64::from(i8::from_ne_bytes(of(item))),
        Number::I32 => f64::from(i32::from_ne_bytes(of(item))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_as_their_format_holds_them() {
        for number in Number::ALL {
            for value in [0.0, 1.0, -3.0, 100.0] {
                let item = encode(value, number);
                assert_eq!(item.len() as u64, number.bytes());
                assert!((decode(&item, number) - value).abs() < f64::EPSILON);
            }
        }
        assert!(decode(&encode(f64::NAN, Number::Bf16), Number::Bf16).is_nan());
        assert!((decode(&encode(0.1, Number::F16), Number::F16) - 0.1).abs() < 1e-4);
    }

    #[test]
    fn drawn_numbers_are_spread_as_wanted() {
        let mut random = Random::new();
        let whole: Vec<f64> = (0..1000).map(|_| random.integer(128)).collect();
        assert!(
            whole
                .iter()
                .all(|x| x.fract() == 0.0 && (-128.0..128.0).contains(x))
        );
        let mean = (0..1000).map(|_| random.normal()).sum::<f64>() / 1000.0;
        assert!(mean.abs() < 0.2, "{mean}");
    }
}
