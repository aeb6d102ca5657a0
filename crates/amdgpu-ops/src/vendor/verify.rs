//! Whether a library's products are right: computed a second time with `beta`, compared with float64 on the host.

use amdgpu_abi::Coded;
use amdgpu_array::{Array, Side, copy};
use amdgpu_hal::DevicePointer;
use amdgpu_matrix::vendor::Session;
use amdgpu_telemetry::fallback;
use half::{bf16, f16};

use super::submit;
use crate::archived::Archived;
use crate::archived::Gemm;
use crate::archived::problem::{Epilogue, Layout, Number, Problem};
use crate::matmul::NAME;
use crate::{DeviceOps, Result};

/// Of the product that is compared: no multiple of a tile, but rows of whole vectors in every format.
const M: usize = 80;
const N: usize = 48;
const K: usize = 112;
const BATCH: usize = 2;
const ALPHA: f64 = 2.0;
/// An element of `a` that is not a number where an activation follows: it stays so.
const NAN_AT: usize = 3 * K + 5;

/// Error of a result, relative to the sum of absolute products: rounding of operands and results, and of sums over thousands of products.
#[must_use]
pub const fn error_bound(number: Number) -> f64 {
    match number.product_error() {
        Some(error) => error,
        None => 0.0,
    }
}

/// Compares products of both layouts of `b`; says what is wrong.
pub fn is_right(ops: &DeviceOps, session: &Session, operand: Number, epilogue: Epilogue) -> bool {
    let refuse = |what: &str| {
        let reason = format!(
            "{} {what} for {} products on {}: our own kernels compute them",
            session.library().name(),
            operand.name(),
            Archived::of(ops).facts().architecture
        );
        fallback(NAME, &reason);
        false
    };
    let mut tried = false;
    for layout in [Layout::Nn, Layout::Nt] {
        match compare(ops, session, operand, epilogue, layout) {
            Ok(Some(true)) => tried = true,
            Ok(Some(false)) => return refuse("gives other results than our own kernels"),
            // The library does not compute it.
            Ok(None) => {}
            Err(error) => return refuse(&format!("fails with {}", error.code().class())),
        }
    }
    tried
}

fn compare(
    ops: &DeviceOps,
    session: &Session,
    operand: Number,
    epilogue: Epilogue,
    layout: Layout,
) -> Result<Option<bool>> {
    let mut random = Random(20_261_121);
    let mut values = |count: usize, is_whole: bool| -> Vec<f64> {
        let draw = |_| {
            if is_whole {
                random.integer(128)
            } else {
                random.normal()
            }
        };
        (0..count).map(draw).collect()
    };
    let is_whole = operand == Number::I8;
    let mut a = values(BATCH * M * K, is_whole);
    let b = values(BATCH * K * N, is_whole);
    let has_bias = epilogue != Epilogue::None;
    if epilogue == Epilogue::Relu && !is_whole {
        a[NAN_AT] = f64::NAN;
    }
    let bias: Vec<f64> = values(N, true)
        .into_iter()
        .map(|one| (one / 2.0).floor())
        .collect();
    let output = operand.output();
    let a_made = upload(ops, &a, &[BATCH, M, K], operand)?;
    let shape_b = if layout == Layout::Nt {
        [BATCH, N, K]
    } else {
        [BATCH, K, N]
    };
    let b_made = upload(ops, &b, &shape_b, operand)?;
    let bias_made = upload(ops, &bias, &[N], output)?;
    let out = upload(ops, &vec![7.0; BATCH * M * N], &[BATCH, M, N], output)?;
    for beta in [0.0, 1.0] {
        let call = Gemm {
            problem: Problem {
                m: M as u64,
                n: N as u64,
                k: K as u64,
                batch: BATCH as u64,
                operand,
                output,
                layout,
                epilogue,
                is_aligned: true,
            },
            a: &a_made,
            b: &b_made,
            out: &out,
            bias: has_bias.then_some(&bias_made),
            alpha: ALPHA,
            beta,
        };
        if !submit(ops, session, &call)? {
            return Ok(None);
        }
    }
    // What the formats left of the numbers.
    let (a, b) = (download(&a_made, operand)?, download(&b_made, operand)?);
    let result = download(&out, output)?;
    let expected = Expected {
        a: &a,
        b: &b,
        bias: has_bias.then_some(&bias),
        layout,
        epilogue,
    };
    let bound = 2.0 * error_bound(operand);
    let is_near = |(index, value): (usize, &f64)| {
        let (wanted, scale) = expected.at(index);
        (value - wanted).abs() <= bound * scale || (value.is_nan() && wanted.is_nan())
    };
    Ok(Some(result.iter().enumerate().all(is_near)))
}

struct Expected<'a> {
    a: &'a [f64],
    b: &'a [f64],
    bias: Option<&'a Vec<f64>>,
    layout: Layout,
    epilogue: Epilogue,
}

impl Expected<'_> {
    /// An element of the second result, and the sum of absolute values that errors are relative to.
    fn at(&self, index: usize) -> (f64, f64) {
        let (batch, row, column) = (index / (M * N), index / N % M, index % N);
        let (mut sum, mut scale) = (0.0, 0.0);
        for k in 0..K {
            let x = self.a[(batch * M + row) * K + k];
            let y = if self.layout == Layout::Nt {
                self.b[(batch * N + column) * K + k]
            } else {
                self.b[(batch * K + k) * N + column]
            };
            sum += x * y;
            scale += (x * y).abs();
        }
        let added = self.bias.map_or(0.0, |bias| bias[column]);
        let activated = |x: f64| {
            if self.epilogue == Epilogue::Relu && x < 0.0 {
                0.0
            } else {
                x
            }
        };
        let first = activated(ALPHA * sum + added);
        let second = activated(ALPHA * sum + first + added);
        (second, 4.0 * scale + 2.0 * added.abs())
    }
}

/// Numbers that are the same in every process.
struct Random(u64);

impl Random {
    /// Uniform in [0, 1): the upper bits of Knuth's linear congruential generator.
    fn unit(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Of about a normal distribution: a sum of twelve.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }

    /// Whole, from -limit up to and without limit.
    fn integer(&mut self, limit: i32) -> f64 {
        (self.unit() * f64::from(2 * limit)).floor() - f64::from(limit)
    }
}

fn upload(ops: &DeviceOps, values: &[f64], shape: &[usize], number: Number) -> Result<Array> {
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

fn download(array: &Array, number: Number) -> Result<Vec<f64>> {
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
        let mut random = Random(1);
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
