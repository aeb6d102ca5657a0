//! Element types of the tensor operations: which there are, what they become together, and what they are computed in.

pub use amdgpu_abi::promotion::{TENSOR_DTYPES, promote};
pub(crate) use amdgpu_abi::promotion::{as_float, compute_type, is_float, sum_type};
use amdgpu_abi::{Dtype, ErrorCode};

use crate::Error;

pub(crate) fn name(dtype: Dtype) -> &'static str {
    dtype.name().unwrap_or("an unknown dtype")
}

/// Refuses what the tensor operations do not compute.
pub(crate) fn check(operation: &str, argument: &str, dtype: Dtype) -> Result<(), Error> {
    if TENSOR_DTYPES.contains(&dtype) {
        return Ok(());
    }
    let known: Vec<_> = TENSOR_DTYPES.iter().map(|dtype| name(*dtype)).collect();
    Err(Error::refused(
        ErrorCode::UnsupportedDtype,
        format!(
            "{operation}: {argument} has dtype {}; known are {}",
            name(dtype),
            known.join(", ")
        ),
    ))
}
