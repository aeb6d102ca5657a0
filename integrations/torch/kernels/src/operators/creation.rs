//! Ranges and tensors of patterns.

use std::ffi::c_void;

use super::elementwise::write;
use super::table;
use crate::amdgpu::agpu;
use crate::call::{Call, Results, written};
use crate::compute::{Gives, Number, Steps, cast, run};
use crate::dtype::Dtype;
use crate::failure::{Failure, Outcome};
use crate::tensor::{Dims, Place, Tensor, View};

table! {
    c"aten::arange.start_out" => arange,
    c"aten::linspace.out" => linspace,
    c"aten::eye.out" => |c| eye(c, c.int(0)?),
    c"aten::eye.m_out" => |c| eye(c, c.int(1)?),
    c"aten::tril.out" => |c| triangle(c, c"less_equal"),
    c"aten::triu.out" => |c| triangle(c, c"greater_equal"),
}

/// A tensor of values that the host knows.
pub fn of_values<T: Copy>(
    values: &[T],
    shape: &[i64],
    dtype: Dtype,
    place: Place,
) -> Outcome<Tensor> {
    let made = Tensor::empty(shape, dtype, place)?;
    if !values.is_empty() {
        let array = made.array()?;
        agpu!(agpu_array_write(
            array.0,
            values.as_ptr().cast::<c_void>(),
            size_of_val(values) as u64
        ))?;
    }
    Ok(made)
}

/// 0 to `count` - 1.
pub fn iota(count: i64, place: Place) -> Outcome<Tensor> {
    let values: Vec<i64> = (0..count).collect();
    of_values(&values, &[count], Dtype::I64, place)
}

/// How many values there are from `start` on, in steps, before `end`.
fn range_length(start: Number, end: Number, step: Number) -> Outcome<i64> {
    let (from, to, by) = (start.real(), end.real(), step.real());
    if by == 0.0 {
        return Err(Failure::refused("step must be nonzero"));
    }
    if !(from.is_finite() && to.is_finite()) {
        return Err(Failure::refused(format!(
            "unsupported range: {from} -> {to}"
        )));
    }
    if (by > 0.0) != (to >= from) && to != from {
        return Err(Failure::refused(
            "upper bound and lower bound inconsistent with step sign",
        ));
    }
    if let (Number::Int(from), Number::Int(to), Number::Int(by)) = (start, end, step) {
        let (span, by) = (i128::from(to) - i128::from(from), i128::from(by));
        let count = (span + by - by.signum()) / by;
        return i64::try_from(count).map_err(|_| Failure::refused("the range is too long"));
    }
    Ok(((to - from) / by).ceil() as i64)
}

fn arange(c: &Call) -> Outcome<Results> {
    let (start, end) = (c.number(0)?, c.number(1)?);
    let step = if c.has(2) {
        c.number(2)?
    } else {
        Number::Int(1)
    };
    let count = range_length(start, end, step)?;
    let out = c.last()?;
    let out = if out.len() == count {
        (**out).clone()
    } else {
        out.resized(&[count])?
    };
    if count == 0 {
        return written();
    }
    let shape = out.shape.clone();
    let made = if out.dtype.is_integral() {
        let whole = |number: Number| match number {
            Number::Int(value) => value,
            other => other.real() as i64,
        };
        let (from, by) = (whole(start), whole(step));
        let values: Vec<i64> = (0..count)
            .map(|place| from.wrapping_add(place.wrapping_mul(by)))
            .collect();
        of_values(&values, &shape, Dtype::I64, out.place)?
    } else {
        let (from, by) = (start.real(), step.real());
        let values: Vec<f64> = (0..count).map(|place| from + place as f64 * by).collect();
        of_values(&values, &shape, Dtype::F64, out.place)?
    };
    cast(&made, &out)?;
    written()
}

fn linspace(c: &Call) -> Outcome<Results> {
    let (start, end, count) = (c.real(0)?, c.real(1)?, c.int(2)?);
    if count < 0 {
        return Err(Failure::refused("number of steps must be non-negative"));
    }
    let out = c.last()?.resized(&[count])?;
    if out.dtype.is_integral() {
        return Err(Failure::no_kernel("linspace of integers has no kernel"));
    }
    let step = (end - start) / (count - 1).max(1) as f64;
    // From both ends, so that each is exact.
    let value = |place: i64| {
        if place < count / 2 {
            start + step * place as f64
        } else {
            end - step * (count - place - 1) as f64
        }
    };
    let values: Vec<f64> = if count == 1 {
        vec![start]
    } else {
        (0..count).map(value).collect()
    };
    let made = of_values(&values, &[count], Dtype::F64, out.place)?;
    cast(&made, &out)?;
    written()
}

fn eye(c: &Call, columns: i64) -> Outcome<Results> {
    let rows = c.int(0)?;
    if rows < 0 || columns < 0 {
        return Err(Failure::refused(format!(
            "n must be greater or equal to 0, got {}",
            rows.min(columns)
        )));
    }
    let out = c.last()?.resized(&[rows, columns])?;
    cast(Number::Int(0), &out)?;
    let diagonal = out.with_layout(
        Dims::from_slice(&[rows.min(columns)]),
        Dims::from_slice(&[out.strides[0] + out.strides[1]]),
    );
    cast(Number::Int(1), &diagonal)?;
    written()
}

/// A column of row numbers and a row of column numbers.
fn coordinates(x: &View) -> Outcome<(Tensor, Tensor)> {
    let rank = x.rank();
    let (rows, columns) = (x.shape[rank - 2], x.shape[rank - 1]);
    Ok((iota(rows, x.place)?, iota(columns, x.place)?))
}

/// The elements whose column less the diagonal stands so to their row; zero elsewhere.
fn triangle(c: &Call, test: &std::ffi::CStr) -> Outcome<Results> {
    let x = c.tensor(0)?;
    if x.rank() < 2 {
        return Err(Failure::refused(format!(
            "{}: input tensor must have at least 2 dimensions",
            c.name
        )));
    }
    let out = c.last()?.resized(&x.shape)?;
    if out.is_empty() {
        return written();
    }
    let (rows, columns) = coordinates(x)?;
    let steps = Steps {
        dtype: Dtype::I64,
        place: x.place,
    };
    let limits = steps.made(
        c"add",
        &[
            (&rows.with_axis(1)).into(),
            Number::Int(c.int_or(0, 0)?).into(),
        ],
    )?;
    let mask = steps.test(test, &[(&columns).into(), (&limits).into()])?;
    let inputs = [(&mask).into(), x.into(), Number::Int(0).into()];
    if out.address == x.address {
        run(c"where", &inputs, x.dtype, Gives::Same, &out, 0.0)?;
        return written();
    }
    write(c, c"where", &inputs, x.dtype, Gives::Same, 0.0)
}
