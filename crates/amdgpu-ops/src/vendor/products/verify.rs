//! Whether a library's products are right: computed a second time with `beta`, compared with float64 on the host.

use amdgpu_abi::Coded;
use amdgpu_matrix::vendor::Session;
use amdgpu_telemetry::fallback;

use super::submit;
use crate::archived::Archived;
use crate::archived::Gemm;
use crate::archived::problem::{Epilogue, Layout, Number, Problem};
use crate::matmul::NAME;
use crate::vendor::samples::{Random, download, error_bound, upload};
use crate::{DeviceOps, Result};

/// Of the product that is compared: no multiple of a tile, but rows of whole vectors in every format.
const M: usize = 80;
const N: usize = 48;
const K: usize = 112;
const BATCH: usize = 2;
const ALPHA: f64 = 2.0;
/// An element of `a` that is not a number where an activation follows: it stays so.
const NAN_AT: usize = 3 * K + 5;

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

/// Numbers of `a`, `b` and the bias.
fn draw(operand: Number, epilogue: Epilogue) -> [Vec<f64>; 3] {
    let mut random = Random::new();
    let is_whole = operand == Number::I8;
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
    let mut a = values(BATCH * M * K, is_whole);
    let b = values(BATCH * K * N, is_whole);
    if epilogue == Epilogue::Relu && !is_whole {
        a[NAN_AT] = f64::NAN;
    }
    let bias = values(N, true).into_iter();
    [a, b, bias.map(|one| (one / 2.0).floor()).collect()]
}

fn compare(
    ops: &DeviceOps,
    session: &Session,
    operand: Number,
    epilogue: Epilogue,
    layout: Layout,
) -> Result<Option<bool>> {
    let [a, b, bias] = draw(operand, epilogue);
    let has_bias = epilogue != Epilogue::None;
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
