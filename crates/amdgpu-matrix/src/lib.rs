//! The Matrix core: GEMM and dense layers, computed by `libagpu_matrix.so` (Zig) on the CPU.
//!
//! Contract
//! - [`Matrix::global`] opens the library on first use and refuses one that was built from another version. A failed attempt may be
//!   repeated; without the library every other core goes on working.
//! - Operands are [`TensorView`] and [`TensorViewMut`]: borrowed memory with shape and strides, which a view cannot leave. They go to
//!   Zig by address, nothing is copied, and nothing is kept after the call.
//! - Who validates: a view is checked when it is made. Shapes, dtypes, devices and overlap are checked once: for products by the Zig
//!   function, whose words come back unchanged in [`Error::Foreign`]; for tensor operations here ([`Error::Refused`]), Zig only asserts.
//! - Work large enough to gain from it is spread over the shared pool of `amdgpu_hal::cpu::pool` ([`Algorithm::choose`]); no thread is
//!   started here or in Zig. Results do not depend on the number of threads.
//! - Every call is counted in `amdgpu_operations_total{core="matrix",language="zig"}`, timed as a Rust-to-Zig crossing, and leaves its
//!   decision (algorithm, threads) on the bus.
//! - Everything may be called from any thread at the same time, and in a process forked after the library was opened.

mod algorithm;
mod attention;
mod blocks;
mod cast;
mod class_loss;
mod complex;
mod convolve;
mod dense_forward;
mod element;
mod elementwise;
mod embedding;
mod error;
mod executor;
mod layout;
mod matmul;
mod matrix;
mod nonzero;
mod normalize;
mod normalize_gradient;
mod offsets;
mod pool;
mod random;
mod reduce;
mod scan;
mod segments;
mod sort;
mod top_k;
mod transpose;
pub mod vendor;
mod view;
mod window;

pub use algorithm::{Algorithm, Kernel, Problem};
pub use amdgpu_abi::{Activation, Dtype};
pub use attention::{Attention, AttentionOptions};
pub use blocks::{Block, Scatter, blocks_shape};
pub use class_loss::{ClassLoss, ClassLossOptions, Classified, Reduction};
pub use complex::{Complex, Pairs};
pub use convolve::{Convolve, ConvolveOptions, ConvolvePass, Fitted};
pub use dense_forward::DenseOptions;
pub use element::{TENSOR_DTYPES, promote};
pub use elementwise::{Broadcast, Described, Elementwise, ElementwiseOptions, Flat, MAX_INPUTS};
pub use embedding::describe_embedding;
pub use error::Error;
pub use layout::{MAX_RANK, resolve_axes};
pub use matmul::{Epilogue, MatmulOptions, Precision};
pub use matrix::Matrix;
pub use nonzero::NonzeroCounts;
pub use normalize::{Normalize, NormalizeOptions, RowAxes, check_parameter};
pub use offsets::{IndexedAxis, check_indices};
pub use pool::{Fold, Pool, PoolGeometry, PoolOptions, PoolPass};
pub use random::{Distribution, RandomOptions};
pub use reduce::{Reduce, ReduceOptions};
pub use scan::{Scan, ScanOptions};
pub use segments::{Join, JoinOptions, Start};
pub use sort::SortOptions;
pub use top_k::TopKOptions;
pub use transpose::{describe_transpose, transpose_order};
pub use view::{Element, TensorView, TensorViewMut};
pub use window::{ImageLayout, SPATIAL, Sliding, extents_of};
