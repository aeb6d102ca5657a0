//! Operations on arrays, one file each.

pub mod convolve;
pub mod elementwise;
pub mod embedding;
pub mod matmul;
pub mod normalize;
pub mod on_device;
pub mod pool;
pub mod reduce;
pub mod scan;
mod tensors;
pub mod top_k;
pub mod transpose;
