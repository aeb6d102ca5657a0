//! HIP-C texts of generated kernels, written for the dtypes, ranks and strides at hand.
//!
//! Elementary functions are those of the compiler's device library: the same bits on every kind of device.

pub mod attention;
pub mod blocks;
pub mod cast;
pub mod channels;
pub mod complex;
pub mod complex_math;
pub mod convolve;
pub mod elementwise;
pub mod embedding;
pub mod fold;
pub mod formulas;
pub mod fused;
pub mod fused_rows;
pub mod join;
pub mod layer_norm;
pub mod leaky;
pub mod lists;
pub mod loss;
pub mod matmul;
pub mod moments;
pub mod nonzero;
pub mod normalize;
pub mod offsets;
pub mod patches;
pub mod pool;
pub mod radix;
pub mod radix_pass;
pub mod random;
pub mod reduce;
pub mod scan;
pub mod segments;
pub mod select;
pub mod sort;
pub mod source;
pub mod tiled;
pub mod top_k;
pub mod transpose;
