//! Operations on arrays, one file each.

pub mod attention;
pub mod batch_norm;
pub mod blocks;
pub mod cast;
pub mod convolve;
pub mod elementwise;
pub mod embedding;
pub mod forms;
pub mod geam;
mod host;
pub mod loss;
pub mod matmul;
pub mod nonzero;
pub mod normalize;
pub mod number;
pub mod offsets;
pub mod on_device;
mod place;
pub mod pool;
pub mod random;
pub mod reduce;
pub mod scan;
pub mod segments;
pub mod sort;
pub mod top_k;
pub mod transpose;
pub mod window;
