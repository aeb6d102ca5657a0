//! Operations on arrays, one file each.

pub mod elementwise;
pub mod matmul;
pub mod normalize;
pub mod reduce;
mod tensors;
