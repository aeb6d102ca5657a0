//! Operations on arrays, one file each.

pub mod matmul;
