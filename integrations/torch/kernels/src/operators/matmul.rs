//! Products of matrices and of batches of them.

use std::ffi::c_char;

use super::table;
use crate::amdgpu::{Matmul, agpu};
use crate::call::{Call, Results, check_castable, written};
use crate::compute::{Gives, Number, Target, cast, contiguous, converted, run};
use crate::dtype::Dtype;
use crate::failure::{Failure, Outcome};
use crate::tensor::{Tensor, View};

table! {
    c"aten::mm.out" => |c| product_of(c, 2),
    c"aten::bmm.out" => |c| product_of(c, 3),
    c"aten::dot" => dot,
    c"aten::mv" => mv,
    c"aten::addmv.out" => addmv,
    c"aten::addmm.out" => |c| sum_with_product(c, 2),
    c"aten::addmm_" => |c| sum_with_product(c, 2),
    c"aten::baddbmm.out" => |c| sum_with_product(c, 3),
}

/// An operand of a product and whether it is given as its transpose.
fn laid_out(x: &View) -> Outcome<(crate::compute::Held, bool)> {
    let rank = x.rank();
    if x.is_contiguous() {
        return Ok((contiguous(x)?, false));
    }
    let mut axes: Vec<usize> = (0..rank).collect();
    axes.swap(rank - 1, rank - 2);
    let transposed = x.permuted(&axes);
    if transposed.is_contiguous() {
        return Ok((contiguous(&transposed)?, true));
    }
    Ok((contiguous(x)?, false))
}

/// What products are computed in, which also says the dtype of their results.
fn precision(dtype: Dtype) -> *const c_char {
    match dtype {
        Dtype::F16 => c"fp16".as_ptr(),
        Dtype::BF16 => c"bf16".as_ptr(),
        _ => std::ptr::null(),
    }
}

/// alpha a b + beta out, of matrices or batches of them.
pub fn product(a: &View, b: &View, out: &View, factors: (f64, f64)) -> Outcome {
    product_with(a, b, None, out, factors)
}

/// The same with a value for each column, if there is one, added.
fn product_with(
    a: &View,
    b: &View,
    bias: Option<&View>,
    out: &View,
    (alpha, beta): (f64, f64),
) -> Outcome {
    if out.is_empty() {
        return Ok(());
    }
    let depth = a.shape[a.rank() - 1];
    if depth == 0 {
        let factor = Number::Real(beta);
        if beta == 0.0 {
            return cast(Number::Int(0), out);
        }
        let inputs = [out.into(), factor.into()];
        return run(c"multiply", &inputs, out.dtype, Gives::Same, out, 0.0);
    }
    let (a, transpose_a) = laid_out(a)?;
    let (b, transpose_b) = laid_out(b)?;
    let target = Target::of(out, a.dtype)?;
    if beta != 0.0 {
        cast(out, target.view())?;
    }
    let options = Matmul {
        precision: precision(a.dtype),
        alpha,
        beta,
        has_factors: 1,
        transpose_a: u32::from(transpose_a),
        transpose_b: u32::from(transpose_b),
        ..Matmul::default()
    };
    let bias = bias.map(View::operand).transpose()?;
    let bias = bias.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    let device = out.device()?;
    let (left, right, place) = (a.operand()?, b.operand()?, target.view().operand()?);
    agpu!(agpu_ops_matmul_at(
        device,
        &raw const left,
        &raw const right,
        bias,
        &raw const options,
        &raw const place
    ))?;
    target.finish()
}

fn check(c: &Call, a: &View, b: &View, rank: usize) -> Outcome {
    let fits = a.rank() == rank
        && b.rank() == rank
        && a.shape[rank - 1] == b.shape[rank - 2]
        && a.shape[..rank - 2] == b.shape[..rank - 2];
    if !fits {
        return Err(Failure::refused(format!(
            "{}: shapes {:?} and {:?} cannot be multiplied",
            c.name,
            a.shape.as_slice(),
            b.shape.as_slice()
        )));
    }
    if a.dtype != b.dtype {
        return Err(Failure::refused(format!(
            "expected both matrices to have the same dtype, but got {} and {}",
            a.dtype.name()?.to_string_lossy(),
            b.dtype.name()?.to_string_lossy()
        )));
    }
    if a.dtype.is_integral() || a.dtype.is_complex() {
        return Err(Failure::no_kernel(
            "products of numbers that are not real have no kernel",
        ));
    }
    a.place.check_same(b.place)
}

fn result_shape(a: &View, b: &View) -> crate::tensor::Dims {
    let mut shape = a.shape.clone();
    let last = shape.len() - 1;
    shape[last] = b.shape[last];
    shape
}

fn product_of(c: &Call, rank: usize) -> Outcome<Results> {
    let (a, b) = (c.tensor(0)?, c.tensor(1)?);
    check(c, a, b, rank)?;
    let out = c.last()?.resized(&result_shape(a, b))?;
    check_castable(a.dtype, &out)?;
    product(a, b, &out, (1.0, 0.0))?;
    written()
}

/// beta self + alpha a b.
fn sum_with_product(c: &Call, rank: usize) -> Outcome<Results> {
    let (x, a, b) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    check(c, a, b, rank)?;
    let (beta, alpha) = (c.real_or(0, 1.0)?, c.real_or(1, 1.0)?);
    let out = if c.tensors.len() == 3 { x } else { c.last()? };
    let shape = result_shape(a, b);
    let addend = x.expanded(&shape)?;
    let out = out.resized(&shape)?;
    check_castable(a.dtype, &out)?;
    if beta == 0.0 {
        product(a, b, &out, (alpha, 0.0))?;
        return written();
    }
    let is_bias = x.rank() == 1 && x.len() == shape[rank - 1] && x.is_contiguous();
    let is_plain = alpha == 1.0 && beta == 1.0 && a.shape[rank - 1] > 0 && !out.is_empty();
    if is_bias && is_plain && x.dtype == a.dtype && x.address != out.address {
        product_with(a, b, Some(x), &out, (1.0, 0.0))?;
        return written();
    }
    let is_same = out.address == addend.address && out.strides == addend.strides;
    if out.is_contiguous() && out.dtype == a.dtype {
        if !is_same {
            cast(&addend, &out)?;
        }
        product(a, b, &out, (alpha, beta))?;
        return written();
    }
    let sum = Tensor::empty(&shape, a.dtype, a.place)?;
    cast(&addend, &sum)?;
    product(a, b, &sum, (alpha, beta))?;
    cast(&sum, &out)?;
    written()
}

fn dot(c: &Call) -> Outcome<Results> {
    let (a, b) = (c.tensor(0)?, c.tensor(1)?);
    if a.rank() != 1 || b.rank() != 1 || a.shape != b.shape {
        return Err(Failure::refused(format!(
            "1D tensors of one size are expected, but got {:?} and {:?}",
            a.shape.as_slice(),
            b.shape.as_slice()
        )));
    }
    let (row, column) = (a.with_axis(0), b.with_axis(1));
    check(c, &row, &column, 2)?;
    let made = Tensor::empty(&[], a.dtype, a.place)?;
    product(&row, &column, &made.with_axis(0).with_axis(0), (1.0, 0.0))?;
    Ok(crate::call::tensors([made]))
}

fn mv(c: &Call) -> Outcome<Results> {
    let (a, b) = (c.tensor(0)?, c.tensor(1)?);
    if b.rank() != 1 {
        return Err(Failure::refused("vector + matrix @ vector expected"));
    }
    let column = b.with_axis(1);
    check(c, a, &column, 2)?;
    let made = Tensor::empty(&a.shape[..1], a.dtype, a.place)?;
    product(a, &column, &made.with_axis(1), (1.0, 0.0))?;
    Ok(crate::call::tensors([made]))
}

fn addmv(c: &Call) -> Outcome<Results> {
    let (x, a, b) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    if b.rank() != 1 {
        return Err(Failure::refused("vector + matrix @ vector expected"));
    }
    let column = b.with_axis(1);
    check(c, a, &column, 2)?;
    let (beta, alpha) = (c.real_or(0, 1.0)?, c.real_or(1, 1.0)?);
    let out = c.last()?.resized(&a.shape[..1])?;
    let sum = Tensor::empty(&a.shape[..1], a.dtype, a.place)?;
    if beta != 0.0 {
        cast(&*converted(&x.expanded(&a.shape[..1])?, a.dtype)?, &sum)?;
    }
    product(a, &column, &sum.with_axis(1), (alpha, beta))?;
    cast(&sum, &out)?;
    written()
}
