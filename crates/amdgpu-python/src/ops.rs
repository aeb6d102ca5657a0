//! Operations on arrays, one file each.

pub mod blocks;
pub mod cast;
pub mod convolve;
pub mod elementwise;
pub mod embedding;
pub mod matmul;
pub mod nonzero;
pub mod normalize;
pub mod offsets;
pub mod on_device;
pub mod pool;
pub mod reduce;
pub mod scan;
pub mod sort;
mod tensors;
pub mod top_k;
pub mod transpose;
