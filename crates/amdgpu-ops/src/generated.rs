//! HIP-C texts of generated kernels, written for the dtypes, ranks and strides at hand.
//!
//! Elementary functions are those of the compiler's device library: the same bits on every kind of device.

pub mod elementwise;
pub mod formulas;
pub mod matmul;
pub mod source;
pub mod tiled;
