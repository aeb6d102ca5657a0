//! Operations whose kernels of TensorFlow's own, for any device, would read memory of the device on the host.

use std::ffi::CStr;

use super::{FLOATS_AND_I64, row};
use crate::failure::{Failure, Outcome};
use crate::registry::{Kernel, Row};

const ELEMENTS: &CStr = c"element_dtype";

pub const ROWS: &[Row] = &[
    row(
        c"TensorListStack",
        &[(ELEMENTS, FLOATS_AND_I64)],
        &[c"element_shape"],
        |_| refused(),
    ),
    row(
        c"TensorListFromTensor",
        &[(ELEMENTS, FLOATS_AND_I64)],
        &[c"element_shape"],
        |_| refused(),
    ),
    row(
        c"TensorListGather",
        &[(ELEMENTS, FLOATS_AND_I64)],
        &[c"indices", c"element_shape"],
        |_| refused(),
    ),
    row(
        c"TensorListConcatV2",
        &[(ELEMENTS, FLOATS_AND_I64)],
        &[c"element_shape", c"leading_dims", c"lengths"],
        |_| refused(),
    ),
    row(
        c"TensorListSplit",
        &[(ELEMENTS, FLOATS_AND_I64)],
        &[c"element_shape", c"lengths"],
        |_| refused(),
    ),
];

/// TensorFlow's kernels for any device read the tensors of such a list on the host. Graphs have these nodes on the CPU (`graph/lists.rs`).
fn refused() -> Outcome<Kernel> {
    Ok(Box::new(|c| {
        Err(Failure::no_kernel(format!(
            "{} has no kernel for RDNA, and that of TensorFlow would read memory of the device on the host; call it within a tf.function, whose graph has it on the CPU, or put it there with tf.device(\"CPU\")",
            c.name.to_string_lossy()
        )))
    }))
}
