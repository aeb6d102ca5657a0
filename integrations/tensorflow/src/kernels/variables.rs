//! Updates of variables, where TensorFlow exports what they need.

use std::ffi::{CStr, c_int};

use super::{FLOATS_AND_I64, row};
use crate::call::Call;
use crate::compute::{cast, launch};
use crate::failure::{Failure, Outcome, caught};
use crate::registry::{Kernel, Row};
use crate::tensor::Tensor;
use crate::tensorflow::{self, Opaque};

const DTYPE: &CStr = c"dtype";

pub const ROWS: &[Row] = &[
    row(
        c"AssignAddVariableOp",
        &[(DTYPE, FLOATS_AND_I64)],
        &[c"resource"],
        |_| update(ADD),
    ),
    row(
        c"AssignSubVariableOp",
        &[(DTYPE, FLOATS_AND_I64)],
        &[c"resource"],
        |_| update(SUBTRACT),
    ),
];

/// What `TF_AssignUpdateVariable` does.
const ADD: c_int = 0;
const SUBTRACT: c_int = 1;

fn update(what: c_int) -> Outcome<Kernel> {
    Ok(Box::new(move |c| {
        let Some(updates) = tensorflow::updates() else {
            return Err(Failure::no_kernel(format!(
                "{} has no kernel for RDNA, as this TensorFlow does not export TF_AssignUpdateVariable; use assign_add and assign_sub of tf.Variable, which tf_rdna changes, or assign",
                c.name.to_string_lossy()
            )));
        };
        // SAFETY: a live context and status; the functions take the tensors over that they are given.
        unsafe {
            (updates.TF_AssignUpdateVariable)(c.context, 0, 1, what, 0, copy, change, c.status.0);
        }
        c.status.done()
    }))
}

/// A call within another one, for functions that TensorFlow calls back.
fn within(context: Opaque, tensors: [Opaque; 2], work: impl FnOnce(&Call, [Tensor; 2]) -> Outcome) {
    let done = caught(|| {
        let call = Call::of(context, c"AssignUpdateVariable", false)?;
        let [first, second] = tensors;
        let tensors = [
            Tensor::of(first, call.device)?,
            Tensor::of(second, call.device)?,
        ];
        call.run(|call| work(call, tensors))
    });
    if let Err(failure) = done {
        crate::registry::fail_call(context, failure);
    }
}

extern "C" fn copy(context: Opaque, source: Opaque, destination: Opaque) {
    within(context, [source, destination], |_, [from, to]| {
        cast(&from, &to)
    });
}

extern "C" fn change(context: Opaque, variable: Opaque, value: Opaque, what: c_int) {
    let operation = if what == ADD { c"add" } else { c"subtract" };
    within(context, [variable, value], |_, [variable, value]| {
        launch(
            operation,
            &[(&variable).into(), (&value).into()],
            &variable,
            0.0,
        )
    });
}
