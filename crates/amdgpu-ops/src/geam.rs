//! Sums of two matrices, as BLAS extensions call them: `alpha op(a) + beta op(b)`, one elementwise operation on views, or the vendor's library
//! where it is demanded.

use amdgpu_abi::promotion::{complex_part, is_complex, is_float};
use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, Dims, recording};
use amdgpu_hal::MemoryKind;

use crate::archived::Archived;
use crate::archived::choice::Demand;
use crate::complex::pairs;
use crate::elementwise::{Elementwise, elementwise};
use crate::operand::{Operand, Scalar, Target, broadcast};
use crate::vendor::Sum;
use crate::{DeviceOps, Error, Result, strided, trace, tuning};

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
/// `unsupported-dtype` unless both are floats or complex numbers of one dtype, `shape-mismatch` unless they are matrices of one shape, `invalid-argument` for an
/// `out` that overlaps an input without being the same view.
pub fn geam(ops: &DeviceOps, call: &Geam<'_>) -> Result<Array> {
    let dtype = call.check_dtypes()?;
    let a = oriented("a", call.a, call.transpose_a)?;
    let b = oriented("b", call.b, call.transpose_b)?;
    let shape = check_shapes(&a, &b)?;
    call.check_out(ops, &[(&a, call.alpha), (&b, call.beta)], &shape)?;
    if let Some(made) = call.by_library(ops, &shape)? {
        return Ok(made);
    }
    if !is_complex(dtype) {
        return call.combine(ops, [a, b], &shape, call.out);
    }
    if trace::is_tracing() {
        return Err(Error::refused(
            ErrorCode::UnsupportedDtype,
            format!("{NAME}: sums of complex matrices do not become part of a graph"),
        ));
    }
    // The factors are real, so parts are added as numbers of their own.
    let made = call.target(ops, &shape)?;
    let target = pairs(&Operand::of_array(made.clone())).into_array()?;
    let shape = target.shape.clone();
    let [a, b] = [a, b].map(|x| pairs(&x));
    call.combine(ops, [a, b], &shape, Some(&target))?;
    Ok(made)
}

impl Geam<'_> {
    fn target(&self, ops: &DeviceOps, shape: &[i64]) -> Result<Array> {
        match self.out {
            Some(out) => Ok(out.clone()),
            None => Ok(Array::empty(
                ops.device(),
                shape,
                self.a.dtype,
                MemoryKind::Device,
            )?),
        }
    }

    /// The sum of operands of this shape, of real numbers.
    fn combine(
        &self,
        ops: &DeviceOps,
        [a, b]: [Operand; 2],
        shape: &[i64],
        out: Option<&Array>,
    ) -> Result<Array> {
        let number = |value: f64| Operand::of_number(Scalar::Float(value), a.dtype);
        let scaled = |x: &Operand, factor: f64| {
            let inputs = [x.broadcast_to(shape), number(factor)];
            elementwise(ops, Elementwise::Multiply, &inputs, out, 0.0)
        };
        match (self.alpha == 0.0, self.beta == 0.0) {
            (true, true) => {
                let made = match out {
                    Some(out) => out.clone(),
                    None => self.target(ops, shape)?,
                };
                strided::fill(&made, &[0])?;
                Ok(made)
            }
            (true, false) => scaled(&b, self.beta),
            (false, true) => scaled(&a, self.alpha),
            (false, false) => {
                let [alpha, beta] = [self.alpha, self.beta].map(number);
                let inputs = [a, b, alpha, beta];
                elementwise(ops, Elementwise::LinearCombination, &inputs, out, 0.0)
            }
        }
    }

    /// The sum of two matrices by the vendor's library, where one is demanded and takes it.
    fn by_library(&self, ops: &DeviceOps, shape: &[i64]) -> Result<Option<Array>> {
        let is_plain = |x: &Operand| x.is_dense() && x.rank() == 2;
        let is_for_library = !ops.computes_on_host()
            && !recording::is_recording()
            && !trace::is_tracing()
            && [self.a, self.b].into_iter().all(is_plain)
            && self.out.is_none_or(Array::is_contiguous)
            && shape.iter().all(|extent| *extent > 0)
            && tuning::settings::demand()? == Demand::Vendor;
        let (true, Some(a), Some(b)) = (is_for_library, &self.a.array, &self.b.array) else {
            return Ok(None);
        };
        let made = self.target(ops, shape)?;
        let sum = Sum {
            a,
            b,
            out: &made,
            alpha: self.alpha,
            beta: self.beta,
            is_transposed: [self.transpose_a, self.transpose_b],
        };
        let is_added = Archived::of(ops).sums.add(ops, &sum);
        Ok(is_added.then_some(made))
    }

    fn check_dtypes(&self) -> Result<Dtype> {
        let (a, b) = (self.a.dtype, self.b.dtype);
        if a == b && is_float(complex_part(a)) {
            return Ok(a);
        }
        Err(Error::refused(
            ErrorCode::UnsupportedDtype,
            format!(
                "{NAME}: a has dtype {} and b {}; both hold floats or complex numbers of one dtype, so convert them first",
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
