//! Sums of two matrices, as BLAS extensions call them: `alpha op(a) + beta op(b)`, one elementwise operation on views.

use amdgpu_abi::promotion::is_float;
use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, Dims};
use amdgpu_hal::MemoryKind;

use crate::elementwise::{Elementwise, elementwise};
use crate::operand::{Operand, Scalar, Target, broadcast};
use crate::{DeviceOps, Error, Result, strided};

const NAME: &str = "geam";

/// A sum of matrices, or of batches of them whose leading axes broadcast.
#[derive(Clone, Copy, Debug)]
pub struct Geam<'a> {
    pub a: &'a Operand,
    pub b: &'a Operand,
    /// Rounded to the dtype of the matrices. Where it is 0, `a` is not read.
    pub alpha: f64,
    /// As `alpha`, of `b`.
    pub beta: f64,
    pub transpose_a: bool,
    pub transpose_b: bool,
    /// It may be `a` or `b` itself where that is not transposed.
    pub out: Option<&'a Array>,
}

/// `alpha op(a) + beta op(b)`.
///
/// # Errors
///
/// `unsupported-dtype` unless both are floats of one dtype, `shape-mismatch` unless they are matrices of one shape, `invalid-argument` for an
/// `out` that overlaps an input without being the same view.
pub fn geam(ops: &DeviceOps, call: &Geam<'_>) -> Result<Array> {
    let dtype = call.check_dtypes()?;
    let a = oriented("a", call.a, call.transpose_a)?;
    let b = oriented("b", call.b, call.transpose_b)?;
    let shape = check_shapes(&a, &b)?;
    call.check_out(ops, &[(&a, call.alpha), (&b, call.beta)], &shape)?;
    let number = |value: f64| Operand::of_number(Scalar::Float(value), dtype);
    let scaled = |x: &Operand, factor: f64| {
        let inputs = [x.broadcast_to(&shape), number(factor)];
        elementwise(ops, Elementwise::Multiply, &inputs, call.out, 0.0)
    };
    match (call.alpha == 0.0, call.beta == 0.0) {
        (true, true) => {
            let made = match call.out {
                Some(out) => out.clone(),
                None => Array::empty(ops.device(), shape, dtype, MemoryKind::Device)?,
            };
            strided::fill(&made, &[0])?;
            Ok(made)
        }
        (true, false) => scaled(&b, call.beta),
        (false, true) => scaled(&a, call.alpha),
        (false, false) => {
            let inputs = [a, b, number(call.alpha), number(call.beta)];
            elementwise(ops, Elementwise::LinearCombination, &inputs, call.out, 0.0)
        }
    }
}

impl Geam<'_> {
    fn check_dtypes(&self) -> Result<Dtype> {
        let (a, b) = (self.a.dtype, self.b.dtype);
        if a == b && is_float(a) {
            return Ok(a);
        }
        Err(Error::refused(
            ErrorCode::UnsupportedDtype,
            format!(
                "{NAME}: a has dtype {} and b {}; both hold floats of one dtype, so convert them first",
                a.name().unwrap_or("an unknown dtype"),
                b.name().unwrap_or("an unknown dtype")
            ),
        ))
    }

    /// Refuses an `out` that does not fit, or overlaps what is read.
    fn check_out(
        &self,
        ops: &DeviceOps,
        given: &[(&Operand, f64); 2],
        shape: &[i64],
    ) -> Result<()> {
        if self.out.is_none() {
            return Ok(());
        }
        let inputs: Vec<&Operand> = given
            .iter()
            .filter(|(_, factor)| *factor != 0.0)
            .map(|(x, _)| *x)
            .collect();
        let target = Target {
            operation: NAME,
            device: ops.device(),
            out: self.out,
            inputs: &inputs,
            may_alias: true,
            is_dense: false,
        };
        target.resolve(shape, self.a.dtype).map(drop)
    }
}

/// A matrix, or a view of it with rows and columns exchanged.
fn oriented(name: &str, x: &Operand, is_transposed: bool) -> Result<Operand> {
    let rank = x.rank();
    if rank < 2 {
        return Err(Error::refused(
            ErrorCode::ShapeMismatch,
            format!(
                "{NAME}: {name} has shape {:?}; a matrix has two axes, those of a batch before them",
                x.shape.as_slice()
            ),
        ));
    }
    if !is_transposed {
        return Ok(x.clone());
    }
    let mut axes: Vec<usize> = (0..rank).collect();
    axes.swap(rank - 2, rank - 1);
    Ok(x.permuted(&axes))
}

/// The shape of the result; matrices are not broadcast, batches are.
fn check_shapes(a: &Operand, b: &Operand) -> Result<Dims> {
    let matrix = |x: &Operand| -> [i64; 2] { [x.shape[x.rank() - 2], x.shape[x.rank() - 1]] };
    if matrix(a) != matrix(b) {
        return Err(Error::refused(
            ErrorCode::ShapeMismatch,
            format!(
                "{NAME}: op(a) is a matrix of {:?} and op(b) of {:?}; they have one shape, so check transpose_a and transpose_b",
                matrix(a),
                matrix(b)
            ),
        ));
    }
    broadcast(NAME, &[("a", a), ("b", b)])
}
