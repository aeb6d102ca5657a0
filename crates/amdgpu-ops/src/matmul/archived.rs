//! Matrix multiplication by archived kernels or a vendor's library: operands as these take them, what follows the sums fused or apart.

use amdgpu_abi::Dtype;
use amdgpu_array::{Array, Dims};
use smallvec::SmallVec;

use super::Activation;
use super::checked::{Checked, swapped};
use super::generated::follow;
use crate::archived::problem::{Epilogue, Layout, Number, Problem, VECTOR_BYTES};
use crate::archived::{Gemm, multiply as multiply_problem};
use crate::{DeviceOps, Error, Operand, Result, elementwise, transpose};

/// Activations of so many steps that they cost more than a large product: every sum in a register has a copy of their code, so that a kernel
/// by wgmma has 477 KB with gelu and 39 without. No cache of instructions holds them, and the driver compiles them for many seconds. On the
/// H200 float32 products of 4096 x 4096 took 3402 us with bias and gelu fused, 3290 us with bias, residual and tanh apart, 2953 us without.
/// For smaller results the second launch counts.
const SLOW_FROM_RESULTS: i64 = 1 << 20;

/// What operands are converted to, and whether one kernel computes all of it.
type Way = (Dtype, bool);

/// The product by the first of its ways that the archive, or the vendor's library, has.
///
/// # Errors
///
/// [`Error::NoKernel`] where it has none; what the device reports.
pub fn multiply(ops: &DeviceOps, checked: &Checked) -> Result<()> {
    let mut missing = Error::no_kernel("there is no way to compute the product");
    for (operand, is_fused) in ways(checked) {
        match compute(ops, checked, operand, is_fused) {
            Err(error @ Error::NoKernel { .. }) => missing = error,
            other => return other,
        }
    }
    Err(missing)
}

/// The fastest way first.
fn ways(checked: &Checked) -> SmallVec<[Way; 4]> {
    let (a, b) = (checked.a.dtype, checked.b.dtype);
    let narrow = checked.rounding.or((a == b).then_some(a));
    let narrow = narrow.filter(|dtype| is_narrow(*dtype) && checked.sums == Dtype::F32);
    // Numbers of 16 bits fit into float32, and kernels of float32 into every archive.
    let wide = if checked.sums == Dtype::I32 {
        Dtype::I8
    } else {
        checked.sums
    };
    let is_slow = matches!(checked.activation, Activation::Gelu | Activation::Silu)
        && checked.result.len() >= SLOW_FROM_RESULTS;
    let mut found = SmallVec::new();
    for operand in narrow.into_iter().chain([wide]) {
        let result = checked.result.dtype;
        // One kernel gives the dtype of the operands or that of the sums.
        let is_fused = can_fuse(checked) && (result == operand || result == checked.sums);
        match (is_fused, is_slow) {
            (true, false) => found.extend([(operand, true), (operand, false)]),
            (true, true) => found.extend([(operand, false), (operand, true)]),
            (false, _) => found.push((operand, false)),
        }
    }
    found
}

fn is_narrow(dtype: Dtype) -> bool {
    dtype == Dtype::F16 || dtype == Dtype::BF16
}

/// Whether one archived kernel computes all of it.
fn can_fuse(checked: &Checked) -> bool {
    if checked.sums == Dtype::I32 {
        #[allow(clippy::float_cmp, reason = "a factor of exactly 1 changes nothing")]
        let is_unscaled = checked.alpha == 1.0;
        return checked.is_plain() && is_unscaled && !checked.reads_result();
    }
    let Some(epilogue) = fused(checked.activation) else {
        return false;
    };
    if checked.residual.is_some() {
        return false;
    }
    if checked.rounding.is_some() {
        // Results are float32; archived kernels for them have the epilogues of float32.
        return checked.bias.is_none() && epilogue == Epilogue::None;
    }
    let Some(bias) = &checked.bias else {
        return epilogue == Epilogue::None;
    };
    if epilogue != Epilogue::None && checked.sums == Dtype::F64 {
        return false;
    }
    // A bias that is wider than the result would be rounded.
    bias.dtype == checked.result.dtype
}

/// What archived kernels compute after the sums, beside a bias.
fn fused(activation: Activation) -> Option<Epilogue> {
    Some(match activation {
        Activation::Identity => Epilogue::None,
        Activation::Relu => Epilogue::Relu,
        Activation::Gelu => Epilogue::Gelu,
        Activation::Silu => Epilogue::Silu,
        _ => return None,
    })
}

/// The product with what follows it fused, or as one more kernel over unrounded sums.
fn compute(ops: &DeviceOps, checked: &Checked, operand: Dtype, is_fused: bool) -> Result<()> {
    let matrices = Matrices::of(ops, checked, operand)?;
    let device = ops.device();
    if !is_fused {
        let kind = amdgpu_hal::MemoryKind::Device;
        let sums = Array::empty(device, checked.result.shape.clone(), checked.sums, kind)?;
        let problem = matrices.problem(checked, checked.sums, Epilogue::None, &sums)?;
        let call = Gemm {
            problem,
            a: &matrices.a,
            b: &matrices.b,
            out: &sums,
            bias: None,
            alpha: 1.0,
            beta: 0.0,
        };
        multiply_problem(ops, &call)?;
        return follow(ops, checked, Operand::of_array(sums));
    }
    let bias = checked
        .bias
        .as_ref()
        .map(|bias| dense(ops, bias, checked.result.dtype))
        .transpose()?;
    let epilogue = match (fused(checked.activation), &bias) {
        (Some(Epilogue::None) | None, Some(_)) => Epilogue::Bias,
        (Some(epilogue), _) => epilogue,
        (None, None) => Epilogue::None,
    };
    let problem = matrices.problem(checked, checked.result.dtype, epilogue, &checked.out)?;
    let call = Gemm {
        problem,
        a: &matrices.a,
        b: &matrices.b,
        out: &checked.out,
        bias: bias.as_ref(),
        alpha: checked.alpha,
        beta: checked.beta,
    };
    multiply_problem(ops, &call)
}

/// Both operands without gaps, as they are stored.
struct Matrices {
    a: Array,
    b: Array,
    is_transposed: [bool; 2],
    /// Rows of the result, and how many products: one matrix for all makes rows of the batch rows of one matrix.
    m: i64,
    batch: i64,
    /// Operands may be rounded to tf32.
    is_tf32: bool,
}

impl Matrices {
    fn of(ops: &DeviceOps, checked: &Checked, dtype: Dtype) -> Result<Self> {
        let (m, _, _) = checked.extents();
        let count = checked.batch();
        let (a, b) = (&checked.a, &checked.b);
        // Narrow numbers fit into tf32, so nothing is lost there.
        let loses_nothing =
            checked.rounding.is_some() || (is_narrow(a.dtype) && is_narrow(b.dtype));
        let is_tf32 = dtype == Dtype::F32 && (checked.may_be_tf32 || loses_nothing);
        if let Some([a, b]) = as_given(checked, dtype) {
            return Ok(Self {
                a: a.clone(),
                b: b.clone(),
                is_transposed: checked.is_transposed,
                m,
                batch: 1,
                is_tf32,
            });
        }
        let is_one_b = b.strides[..b.rank() - 2].iter().all(|stride| *stride == 0);
        if count > 1 && is_one_b && !is_stored_transposed(a) {
            let tail = b.rank() - 2;
            let own = b.with_layout(
                Dims::from_slice(&b.shape[tail..]),
                Dims::from_slice(&b.strides[tail..]),
            );
            let (b, is_transposed) = stored(ops, &own, checked, dtype)?;
            return Ok(Self {
                a: matrix(ops, a, checked, dtype)?,
                b,
                is_transposed: [false, is_transposed],
                m: count * m,
                batch: 1,
                is_tf32,
            });
        }
        let (a, is_a) = stored(ops, a, checked, dtype)?;
        let (b, is_b) = stored(ops, b, checked, dtype)?;
        Ok(Self {
            a,
            b,
            is_transposed: [is_a, is_b],
            m,
            batch: count,
            is_tf32,
        })
    }

    /// The problem of these operands and a result of a dtype at a place.
    fn problem(
        &self,
        checked: &Checked,
        result: Dtype,
        epilogue: Epilogue,
        out: &Array,
    ) -> Result<Problem> {
        let number = |dtype: Dtype| {
            Number::of_dtype(dtype).ok_or_else(|| {
                let name = dtype.name().unwrap_or("?");
                Error::no_kernel(format!("no archived kernel takes {name}"))
            })
        };
        let operand = if self.is_tf32 {
            Number::Tf32
        } else {
            number(self.a.dtype)?
        };
        let output = number(result)?;
        let (_, n, k) = checked.extents();
        let mut problem = Problem {
            m: self.m as u64,
            n: n as u64,
            k: k as u64,
            batch: self.batch as u64,
            operand,
            output,
            layout: Layout::of(self.is_transposed),
            epilogue,
            is_aligned: true,
        };
        let [lead_a, lead_b, lead_out] = problem.leads();
        let item = operand.bytes();
        let sizes = [
            lead_a * item,
            lead_b * item,
            lead_out * output.bytes(),
            self.a.address().address(),
            self.b.address().address(),
            out.address().address(),
        ];
        problem.is_aligned = sizes.iter().all(|size| size % VECTOR_BYTES == 0);
        Ok(problem)
    }
}

/// Two matrices of a dtype that were given without gaps, transposed or not, as they are.
fn as_given(checked: &Checked, dtype: Dtype) -> Option<[&Array; 2]> {
    let given = |x: &'_ Operand| {
        let array = x.array.as_ref()?;
        let is_plain = array.shape.len() == 2 && array.dtype == dtype && array.is_contiguous();
        is_plain.then_some(())
    };
    if checked.rounding.is_some() {
        return None;
    }
    given(&checked.a)?;
    given(&checked.b)?;
    if !checked.batch_shape().is_empty() || checked.out.shape.len() != 2 {
        return None;
    }
    Some([checked.a.array.as_ref()?, checked.b.array.as_ref()?])
}

/// An operand whose axes of one element have the stride of the row-major order, which is never walked.
fn with_units(x: &Operand) -> Operand {
    let mut made = x.clone();
    let dense = amdgpu_array::row_major(&x.shape);
    for (axis, extent) in x.shape.iter().enumerate() {
        if *extent == 1 {
            made.strides[axis] = dense[axis];
        }
    }
    made
}

/// Whether the memory is that of the transposed matrices without gaps.
fn is_stored_transposed(x: &Operand) -> bool {
    !with_units(x).is_dense() && with_units(&swapped(x)).is_dense()
}

/// The matrices without gaps as they are stored, and whether that is transposed.
fn stored(ops: &DeviceOps, x: &Operand, checked: &Checked, dtype: Dtype) -> Result<(Array, bool)> {
    let is_transposed = is_stored_transposed(x);
    let own = if is_transposed { swapped(x) } else { x.clone() };
    Ok((matrix(ops, &own, checked, dtype)?, is_transposed))
}

/// The matrices without gaps, in a dtype, rounded where the precision says so.
fn matrix(ops: &DeviceOps, x: &Operand, checked: &Checked, dtype: Dtype) -> Result<Array> {
    let x = with_units(x);
    match checked.rounding {
        Some(rounding) if x.dtype != rounding => {
            let rounded = elementwise::convert(ops, &x, rounding)?;
            dense(ops, &rounded, dtype)
        }
        _ => dense(ops, &x, dtype),
    }
}

/// The values in row-major order in a dtype: the array itself, or a copy.
fn dense(ops: &DeviceOps, x: &Operand, dtype: Dtype) -> Result<Array> {
    if x.dtype == dtype {
        return transpose::dense(ops, x);
    }
    let made = elementwise::convert(ops, x, dtype)?;
    made.array
        .ok_or_else(|| Error::no_kernel("a number is no matrix"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use amdgpu_hal::MemoryKind;

    use super::*;
    use crate::matmul::{Matmul, Precision};

    fn ops() -> Arc<DeviceOps> {
        let device = amdgpu_aura::OpenDevice::open("cpu:0").unwrap();
        DeviceOps::of(&device).unwrap()
    }

    fn operand(ops: &DeviceOps, shape: &[i64], dtype: Dtype) -> Operand {
        let made = Array::empty(ops.device(), shape, dtype, MemoryKind::Device);
        Operand::of_array(made.unwrap())
    }

    fn ways_of(call: &Matmul<'_>, ops: &DeviceOps) -> Vec<Way> {
        ways(&Checked::of(ops, call).unwrap()).to_vec()
    }

    #[test]
    fn narrow_operands_are_multiplied_as_they_are_before_they_are_widened() {
        let ops = ops();
        let (a, b) = (
            operand(&ops, &[8, 4], Dtype::F16),
            operand(&ops, &[4, 8], Dtype::F16),
        );
        let plain = Matmul::of(&a, &b);
        let both = |dtype| [(dtype, true), (dtype, false)];
        let all = [both(Dtype::F16), both(Dtype::F32)].concat();
        assert_eq!(ways_of(&plain, &ops), all);
        // Sums that a residual is added to are kept as they are.
        let residual = operand(&ops, &[8, 8], Dtype::F32);
        let added = Matmul {
            residual: Some(&residual),
            ..plain
        };
        assert_eq!(
            ways_of(&added, &ops),
            [(Dtype::F16, false), (Dtype::F32, false)]
        );
        // What is rounded gives float32, and an activation needs a bias of the result's dtype.
        let wide = operand(&ops, &[8, 4], Dtype::F32);
        let rounded = Matmul {
            a: &wide,
            precision: Some(Precision::Bf16),
            activation: Activation::Relu,
            ..plain
        };
        let apart = [(Dtype::BF16, false), (Dtype::F32, false)];
        assert_eq!(ways_of(&rounded, &ops), apart);
    }

    #[test]
    fn slow_activations_of_many_results_come_apart_first() {
        let ops = ops();
        let (a, b) = (
            operand(&ops, &[1024, 4], Dtype::F32),
            operand(&ops, &[4, 1024], Dtype::F32),
        );
        let bias = operand(&ops, &[1024], Dtype::F32);
        let call = |activation| Matmul {
            bias: Some(&bias),
            activation,
            ..Matmul::of(&a, &b)
        };
        let fused = |activation| ways_of(&call(activation), &ops)[0].1;
        assert!(fused(Activation::Relu) && !fused(Activation::Gelu) && !fused(Activation::Tanh));
    }

    #[test]
    fn integers_are_scaled_apart() {
        let ops = ops();
        let (a, b) = (
            operand(&ops, &[8, 4], Dtype::I8),
            operand(&ops, &[4, 8], Dtype::I8),
        );
        let call = |alpha| Matmul {
            precision: Some(Precision::Int8),
            alpha,
            ..Matmul::of(&a, &b)
        };
        assert_eq!(ways_of(&call(1.0), &ops)[0], (Dtype::I8, true));
        assert_eq!(ways_of(&call(2.0), &ops), [(Dtype::I8, false)]);
    }

    /// Layout, m, n, k and batch, and whether both operands are the memory that was given.
    fn problem_of(ops: &DeviceOps, call: &Matmul<'_>) -> (Layout, [u64; 4], bool) {
        let checked = Checked::of(ops, call).unwrap();
        let made = Matrices::of(ops, &checked, call.a.dtype).unwrap();
        let problem = made
            .problem(&checked, call.a.dtype, Epilogue::None, &checked.out)
            .unwrap();
        let is_given = made.a.address().address() == call.a.address()
            && made.b.address().address() == call.b.address();
        let extents = [problem.m, problem.n, problem.k, problem.batch];
        (problem.layout, extents, is_given)
    }

    #[test]
    fn operands_without_gaps_are_taken_as_they_are_stored() {
        let ops = ops();
        let of = |shape: &[i64]| operand(&ops, shape, Dtype::F32);
        let (a, b) = (of(&[64, 32]), of(&[16, 32]));
        let call = Matmul {
            transpose_b: true,
            ..Matmul::of(&a, &b)
        };
        assert_eq!(problem_of(&ops, &call), (Layout::Nt, [64, 16, 32, 1], true));
        // One matrix for all: rows of the batch are rows of one matrix.
        let (a, b) = (of(&[4, 8, 32]), of(&[32, 16]));
        let call = Matmul::of(&a, &b);
        assert_eq!(problem_of(&ops, &call), (Layout::Nn, [32, 16, 32, 1], true));
        let b = of(&[4, 16, 32]);
        let call = Matmul {
            transpose_b: true,
            ..Matmul::of(&a, &b)
        };
        assert_eq!(problem_of(&ops, &call), (Layout::Nt, [8, 16, 32, 4], true));
        // Vectors are single rows and columns.
        let (a, b) = (of(&[32]), of(&[32, 16]));
        let call = Matmul::of(&a, &b);
        assert_eq!(problem_of(&ops, &call), (Layout::Nn, [1, 16, 32, 1], true));
        let (a, b) = (of(&[16, 32]), of(&[32]));
        let call = Matmul::of(&a, &b);
        assert_eq!(problem_of(&ops, &call), (Layout::Nn, [16, 1, 32, 1], true));
    }
}
