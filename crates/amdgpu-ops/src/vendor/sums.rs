//! Sums of matrices by cuBLAS and rocBLAS, where `AMDGPU_MATMUL` demands a library: such a sum takes as long as its memory is read and written,
//! whoever computes it.

use amdgpu_abi::promotion::{complex_part, is_complex};
use amdgpu_abi::{Coded, Dtype};
use amdgpu_array::Array;
use amdgpu_matrix::vendor::{MatrixSum, Session, VendorLibrary};
use amdgpu_telemetry::fallback;

use super::samples::{Random, download, error_bound, upload};
use super::{Sessions, queue, tell_failure};
use crate::archived::problem::Number;
use crate::{DeviceOps, Result};

/// As the operation is called in messages and in telemetry.
const NAME: &str = "geam";
/// Of the sum that is compared.
const ROWS: usize = 37;
const COLUMNS: usize = 21;
const FACTORS: [f64; 2] = [2.0, -0.5];

/// A sum of two matrices of one dtype; all arrays lie on the device without gaps.
#[derive(Clone, Copy, Debug)]
pub struct Sum<'a> {
    pub a: &'a Array,
    pub b: &'a Array,
    /// Shape (rows, columns).
    pub out: &'a Array,
    pub alpha: f64,
    pub beta: f64,
    /// Whether `a` and `b` are stored transposed.
    pub is_transposed: [bool; 2],
}

impl Sum<'_> {
    fn work(&self) -> Option<MatrixSum> {
        let [rows, columns] = *self.out.shape.as_slice() else {
            return None;
        };
        let dtype = self.out.dtype;
        let number = match complex_part(dtype) {
            part if part == Dtype::F32 => Number::F32,
            part if part == Dtype::F64 => Number::F64,
            _ => return None,
        };
        let address = |array: &Array| array.address().address();
        Some(MatrixSum {
            rows: rows as u64,
            columns: columns as u64,
            number,
            is_complex: is_complex(dtype),
            is_transposed: self.is_transposed,
            alpha: [self.alpha, 0.0],
            beta: [self.beta, 0.0],
            a: address(self.a),
            b: address(self.b),
            out: address(self.out),
        })
    }
}

/// The libraries of a device that add matrices, with verdicts by number format and whether elements are complex.
#[derive(Default)]
pub struct SumLibraries(Sessions<MatrixSum, (Number, bool)>);

impl SumLibraries {
    /// The libraries that are there, best first.
    pub fn all(&self, ops: &DeviceOps) -> Vec<VendorLibrary> {
        self.0.all((ops, NAME))
    }

    /// Computes by the best library that was found right; false when none does, which is told and counted.
    pub fn add(&self, ops: &DeviceOps, call: &Sum<'_>) -> bool {
        let Some(work) = call.work() else {
            self.0.tell_absence((ops, NAME), "sums of this kind");
            return false;
        };
        let kind = (work.number, work.is_complex);
        let check = |session: &Session<MatrixSum>| is_right(ops, session, kind);
        let found = self.all(ops).into_iter().find(|library| {
            let asking = (ops, NAME);
            self.0.verdict(asking, *library, kind, check)
        });
        let session = found.and_then(|library| self.0.get((ops, NAME), library));
        let Some(session) = session else {
            let what = format!("{} sums", work.number.name());
            self.0.tell_absence((ops, NAME), &what);
            return false;
        };
        match submit(ops, session, call, &work) {
            Ok(is_taken) => is_taken,
            Err(error) => {
                tell_failure(NAME, session.library(), &error);
                false
            }
        }
    }
}

fn submit(
    ops: &DeviceOps,
    session: &Session<MatrixSum>,
    call: &Sum<'_>,
    work: &MatrixSum,
) -> Result<bool> {
    // SAFETY: the arrays are of this device and as large as the shape of the result says.
    unsafe { queue(ops, session, work, &[call.a, call.b, call.out]) }
}

/// Compares sums of a format in all layouts; says what is wrong.
fn is_right(ops: &DeviceOps, session: &Session<MatrixSum>, kind: (Number, bool)) -> bool {
    let (number, is_complex) = kind;
    let refuse = |what: &str| {
        let reason = format!(
            "{} {what} for {}{} sums of matrices on {}: our own kernels compute them",
            session.library().name(),
            if is_complex { "complex " } else { "" },
            number.name(),
            ops.device().info().architecture
        );
        fallback(NAME, &reason);
        false
    };
    for is_transposed in [[false, false], [true, false], [false, true], [true, true]] {
        match compare(ops, session, kind, is_transposed) {
            Ok(Some(true)) => {}
            Ok(Some(false)) => return refuse("gives other results than our own kernels"),
            Ok(None) => return false,
            Err(error) => return refuse(&format!("fails with {}", error.code().class())),
        }
    }
    true
}

fn compare(
    ops: &DeviceOps,
    session: &Session<MatrixSum>,
    (number, is_complex): (Number, bool),
    is_transposed: [bool; 2],
) -> Result<Option<bool>> {
    // A complex number is two reals behind each other.
    let parts = if is_complex { 2 } else { 1 };
    let count = ROWS * COLUMNS * parts;
    let mut random = Random::new();
    let mut draw = || -> Vec<f64> { (0..count).map(|_| random.normal()).collect() };
    let upload = |values: &[f64]| upload(ops, values, &[ROWS, COLUMNS * parts], number);
    let [a, b, out] = [upload(&draw())?, upload(&draw())?, upload(&draw())?];
    let [alpha, beta] = FACTORS;
    let call = Sum {
        a: &a,
        b: &b,
        out: &out,
        alpha,
        beta,
        is_transposed,
    };
    let Some(plain) = call.work() else {
        return Ok(None);
    };
    let work = MatrixSum {
        columns: COLUMNS as u64,
        is_complex,
        ..plain
    };
    if !submit(ops, session, &call, &work)? {
        return Ok(None);
    }
    let (a, b) = (download(&a, number)?, download(&b, number)?);
    let result = download(&out, number)?;
    let at = |values: &[f64], side: usize, index: usize| {
        let (element, part) = (index / parts, index % parts);
        let (row, column) = (element / COLUMNS, element % COLUMNS);
        let stored = if is_transposed[side] {
            column * ROWS + row
        } else {
            element
        };
        values[stored * parts + part]
    };
    let bound = 2.0 * error_bound(number);
    let is_near = |(index, value): (usize, &f64)| {
        let terms = [alpha * at(&a, 0, index), beta * at(&b, 1, index)];
        let scale = terms[0].abs() + terms[1].abs();
        (value - terms[0] - terms[1]).abs() <= bound * scale
    };
    Ok(Some(result.iter().enumerate().all(is_near)))
}
