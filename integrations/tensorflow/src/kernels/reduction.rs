//! Reductions over axes, the place of the best value, and prefix sums.

use std::ffi::CStr;

use super::elementwise::plain;
use super::{FLOATS, FLOATS_AND_I64, NUMBERS, NUMBERS_AND_INT32, T, row};
use crate::amdgpu::{Owned, Reduce, Scan, agpu};
use crate::call::Call;
use crate::compute::cast;
use crate::dtype::Dtype;
use crate::failure::{Failure, Outcome};
use crate::registry::{Kernel, Row};
use crate::tensor::{Dims, Tensor, View, axis_of};

const AXES: &[&CStr] = &[c"reduction_indices"];
const ALL_ON_HOST: &[&CStr] = &[c"input", c"reduction_indices", c"output"];

pub const ROWS: &[Row] = &[
    row(c"Sum", &[(T, NUMBERS)], AXES, |a| {
        reduction(c"sum", a.flag(c"keep_dims")?)
    })
    .and_host_int32(ALL_ON_HOST),
    row(c"Prod", &[(T, FLOATS_AND_I64)], AXES, |a| {
        reduction(c"prod", a.flag(c"keep_dims")?)
    })
    .and_host_int32(ALL_ON_HOST),
    row(c"Mean", &[(T, FLOATS)], AXES, |a| {
        reduction(c"mean", a.flag(c"keep_dims")?)
    }),
    row(c"Max", &[(T, NUMBERS)], AXES, |a| {
        reduction(c"max", a.flag(c"keep_dims")?)
    }),
    row(c"Min", &[(T, NUMBERS)], AXES, |a| {
        reduction(c"min", a.flag(c"keep_dims")?)
    }),
    row(c"All", &[], AXES, |a| {
        reduction(c"all", a.flag(c"keep_dims")?)
    }),
    row(c"Any", &[], AXES, |a| {
        reduction(c"any", a.flag(c"keep_dims")?)
    }),
    row(c"EuclideanNorm", &[(T, FLOATS)], AXES, |a| {
        norm(a.flag(c"keep_dims")?)
    }),
    row(
        c"ArgMax",
        &[(T, NUMBERS_AND_INT32)],
        &[c"dimension"],
        |_| plain(|c| place_of_best(c, c"argmax")),
    ),
    row(
        c"ArgMin",
        &[(T, NUMBERS_AND_INT32)],
        &[c"dimension"],
        |_| plain(|c| place_of_best(c, c"argmin")),
    ),
    row(c"Cumsum", &[(T, NUMBERS_AND_INT32)], &[c"axis"], |a| {
        scan(c"cumsum", a.flag(c"exclusive")?, a.flag(c"reverse")?)
    }),
    row(c"Cumprod", &[(T, NUMBERS_AND_INT32)], &[c"axis"], |a| {
        scan(c"cumprod", a.flag(c"exclusive")?, a.flag(c"reverse")?)
    }),
];

/// Axes that are named, in their order.
fn axes_of(named: &[i64], rank: usize) -> Outcome<Vec<i64>> {
    let mut axes = Vec::with_capacity(named.len());
    for axis in named {
        let place = axis_of(*axis, rank).map_err(|_| {
            Failure::refused(format!(
                "Invalid reduction dimension ({axis} for input with {rank} dimension(s))"
            ))
        })?;
        axes.push(place as i64);
    }
    axes.sort_unstable();
    if axes.windows(2).any(|two| two[0] == two[1]) {
        return Err(Failure::refused(
            "Invalid reduction arguments: Axes contains duplicate dimension",
        ));
    }
    Ok(axes)
}

/// The shape of what a reduction over these axes leaves.
pub fn reduced_shape(shape: &[i64], axes: &[i64], keeps: bool) -> Dims {
    let extents = shape.iter().enumerate().filter_map(|(axis, extent)| {
        if !axes.contains(&(axis as i64)) {
            Some(*extent)
        } else if keeps {
            Some(1)
        } else {
            None
        }
    });
    extents.collect()
}

/// What reductions of no values give.
fn of_nothing(operation: &CStr) -> f64 {
    match operation.to_bytes() {
        b"prod" | b"all" => 1.0,
        b"mean" => f64::NAN,
        b"max" => f64::NEG_INFINITY,
        b"min" => f64::INFINITY,
        _ => 0.0,
    }
}

/// `operation(x)` over axes to `out`, whose shape fits and which is of the dtype of x; of integers also of int64.
pub fn reduce(
    c: &Call,
    operation: &CStr,
    x: &View,
    axes: &[i64],
    keeps: bool,
    out: &View,
) -> Outcome {
    if out.is_empty() {
        return Ok(());
    }
    if x.is_empty() {
        return cast(of_nothing(operation), out);
    }
    if axes.is_empty() {
        return cast(x, out);
    }
    let is_joined = matches!(operation.to_bytes(), b"sum" | b"prod");
    let is_place = matches!(operation.to_bytes(), b"argmax" | b"argmin");
    let gives = match (is_joined, is_place) {
        (_, true) => Dtype::I64,
        (true, _) => x.dtype.summed(),
        _ => x.dtype,
    };
    // Sums of integers are computed in 64 bits.
    let x = if is_joined {
        c.converted(x, gives)?
    } else {
        c.converted(x, x.dtype)?
    };
    let made = if out.dtype == gives {
        None
    } else {
        Some(c.temporary(gives, &out.shape)?)
    };
    let place = made.as_deref().unwrap_or(out).array()?;
    let options = Reduce {
        out: place.0,
        axes: axes.as_ptr(),
        axis_count: axes.len() as u64,
        keeps_axes: u32::from(keeps),
        ..Reduce::default()
    };
    let (array, mut result) = (x.array()?, 0);
    agpu!(agpu_ops_reduce(
        operation.as_ptr(),
        array.0,
        &raw const options,
        &raw mut result
    ))?;
    drop(Owned(result));
    made.map_or(Ok(()), |made| cast(&made, out))
}

/// A new tensor with `operation(x)` over axes.
pub fn reduced(c: &Call, operation: &CStr, x: &View, axes: &[i64], keeps: bool) -> Outcome<Tensor> {
    let made = c.temporary(x.dtype, &reduced_shape(&x.shape, axes, keeps))?;
    reduce(c, operation, x, axes, keeps, &made)?;
    Ok(made)
}

/// As [`reduced`], with float32 results of half precision.
pub fn reduced_wide(c: &Call, operation: &CStr, x: &View, axes: &[i64]) -> Outcome<Tensor> {
    let dtype = x.dtype.wide();
    let made = c.temporary(dtype, &reduced_shape(&x.shape, axes, false))?;
    let place = made.array()?;
    let options = Reduce {
        out: place.0,
        axes: axes.as_ptr(),
        axis_count: axes.len() as u64,
        dtype: if dtype == x.dtype {
            std::ptr::null()
        } else {
            dtype.name()?.as_ptr()
        },
        ..Reduce::default()
    };
    let (array, mut result) = (x.array()?, 0);
    agpu!(agpu_ops_reduce(
        operation.as_ptr(),
        array.0,
        &raw const options,
        &raw mut result
    ))?;
    drop(Owned(result));
    Ok(made)
}

fn reduction(operation: &'static CStr, keeps: bool) -> Outcome<Kernel> {
    Ok(Box::new(move |c| {
        let x = c.input(0)?;
        let axes = axes_of(&c.host_ints(1)?, x.rank())?;
        let out = c.output(0, x.dtype, &reduced_shape(&x.shape, &axes, keeps))?;
        reduce(c, operation, &x, &axes, keeps, &out)
    }))
}

fn norm(keeps: bool) -> Outcome<Kernel> {
    Ok(Box::new(move |c| {
        let x = c.input(0)?;
        let axes = axes_of(&c.host_ints(1)?, x.rank())?;
        let s = c.steps(x.dtype);
        let square = s.made(c"square", &[(&s.of(&x)?).into()])?;
        let sum = reduced(c, c"sum", &square, &axes, keeps)?;
        let out = c.output(0, x.dtype, &sum.shape)?;
        s.into(c"sqrt", &[(&sum).into()], &out)
    }))
}

fn place_of_best(c: &Call, operation: &CStr) -> Outcome {
    let x = c.input(0)?;
    let axis = axis_of(c.host_int(1)?, x.rank())? as i64;
    if x.shape[axis as usize] == 0 {
        return Err(Failure::refused(format!(
            "Reduction axis {axis} is empty in shape {}",
            crate::tensor::shown(&x.shape)
        )));
    }
    let out = c.output(
        0,
        c.output_dtype(0)?,
        &reduced_shape(&x.shape, &[axis], false),
    )?;
    if out.is_empty() {
        return Ok(());
    }
    reduce(c, operation, &x, &[axis], false, &out)
}

fn scan(operation: &'static CStr, is_exclusive: bool, is_reversed: bool) -> Outcome<Kernel> {
    Ok(Box::new(move |c| {
        let x = c.input(0)?;
        let axis = axis_of(c.host_int(1)?, x.rank())? as i64;
        let out = c.output(0, x.dtype, &x.shape)?;
        if out.is_empty() {
            return Ok(());
        }
        let gives = x.dtype.summed();
        let x = c.converted(&x, gives)?;
        let made = if out.dtype == gives {
            None
        } else {
            Some(c.temporary(gives, &out.shape)?)
        };
        let place = made.as_deref().unwrap_or(&out).array()?;
        let options = Scan {
            out: place.0,
            is_exclusive: u32::from(is_exclusive),
            is_reversed: u32::from(is_reversed),
            ..Scan::default()
        };
        let (array, mut result) = (x.array()?, 0);
        agpu!(agpu_ops_scan(
            operation.as_ptr(),
            array.0,
            axis,
            &raw const options,
            &raw mut result
        ))?;
        drop(Owned(result));
        made.map_or(Ok(()), |made| cast(&made, &out))
    }))
}
