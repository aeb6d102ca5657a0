//! Functions of one, two and three tensors, element by element, with TensorFlow's broadcasting.

use std::ffi::CStr;

use super::{FLOATS, NUMBERS, row};
use crate::call::{Attributes, Call};
use crate::compute::launch;
use crate::dtype::Dtype;
use crate::failure::Outcome;
use crate::registry::{Kernel, Row};
use crate::tensor::broadcast;

const T: &CStr = c"T";

pub const ROWS: &[Row] = &[
    row(c"AddV2", &[(T, NUMBERS)], &[], |_| binary(c"add")),
    row(c"Sub", &[(T, NUMBERS)], &[], |_| binary(c"subtract")),
    row(c"Mul", &[(T, NUMBERS)], &[], |_| binary(c"multiply")),
    row(c"RealDiv", &[(T, FLOATS)], &[], |_| binary(c"divide")),
];

/// `operation(x, y)` in the dtype of both.
fn binary(operation: &'static CStr) -> Outcome<Kernel> {
    Ok(Box::new(move |c| two(c, operation, None)))
}

fn two(c: &Call, operation: &CStr, gives: Option<Dtype>) -> Outcome {
    let (x, y) = (c.input(0)?, c.input(1)?);
    let shape = broadcast(&x.shape, &y.shape)?;
    let out = match gives {
        Some(dtype) => c.output(0, dtype, &shape)?,
        None => c.output_in_place(&[0, 1], x.dtype, &shape)?,
    };
    launch(operation, &[(&x).into(), (&y).into()], &out, 0.0)
}
