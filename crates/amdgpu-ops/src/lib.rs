//! Operations on arrays of any device.
//!
//! Contract
//! - One function per family takes a descriptor (operation, operands, options), checks shapes, dtypes and overlap once, chooses a kernel
//!   and launches it. What is chosen follows from the descriptor, the facts of the device and the tuning database alone.
//! - Generated kernels ([`generated`]) are HIP-C written for the dtypes and ranks at hand and compiled by `amdgpu-compiler`; they run on
//!   every kind of device with the same bits. Archived kernels are Zig's, vendor kernels those of the GPU's maker.
//! - On a CPU device the Zig library computes where the arrays lie ([`cpu`]); functions called `on_host` do the same for memory that is no array.
//! - [`Error::NoKernel`] says that a device has no kernel for a call; [`fallback`] then lets the CPU compute it, counted and told once.
//! - Results are new arrays of the operands' device, or `out`. On a GPU nothing waits as long as no host code knows the memory.
//! - A process registers one [`toolchain`] before the first generated kernel is compiled.
//! - Everything may be called from any thread. While a thread records a graph, launches become part of it.

pub mod archived;
pub mod attention;
pub mod batch_norm;
pub mod blocks;
pub mod cast;
mod choices;
pub mod complex;
pub mod convolve;
pub mod cpu;
pub mod cumulative_best;
mod device;
mod div_ceil;
pub mod elementwise;
pub mod embedding;
mod error;
pub mod fallback;
pub mod fold;
pub mod fused;
mod fused_rows;
pub mod geam;
pub mod generated;
mod host_memory;
pub mod index_notes;
mod kernel_form;
mod key;
mod launch;
pub mod layer_norm;
pub mod leaky;
pub mod lines;
pub mod lists;
pub mod loss;
pub mod matmul;
pub mod nonzero;
mod norm_gradient;
pub mod normalize;
pub mod offsets;
mod operand;
pub mod operation;
pub mod pool;
pub mod radix;
pub mod random;
pub mod reduce;
mod row_blocks;
pub mod row_chain;
pub mod scan;
pub mod segments;
pub mod select;
pub mod sort;
mod statistics;
pub mod strided;
pub mod tiled;
pub mod toolchain;
pub mod top_k;
pub mod trace;
pub mod transpose;
pub mod tuning;
pub mod unique_consecutive;
pub mod vendor;
mod words;

pub use amdgpu_matrix::{ImageLayout, SPATIAL, Sliding, TensorView};
pub use attention::{attention, attention_gradient};
pub use batch_norm::{batch_norm, batch_norm_gradient, batch_norm_training};
pub use blocks::{Scatter, gather, scatter};
pub use complex::{Complex, Named, cast, complex_elementwise, reduce, scan};
pub use convolve::convolve;
pub use cumulative_best::cumulative_best;
pub use device::DeviceOps;
pub use elementwise::{Elementwise, elementwise};
pub use embedding::embedding;
pub use error::{Error, Result};
pub use fused_rows::{FusedRows, RowReduction, RowStage, RowValue};
pub use geam::geam;
pub use kernel_form::KernelForm;
pub use key::KernelKey;
pub use launch::{Arg, launch};
pub use loss::{class_loss, element_loss, element_loss_gradient};
pub use nonzero::{masked_select, nonzero};
pub use norm_gradient::norm_parameter_gradients;
pub use normalize::{normalize, normalize_gradient};
pub use offsets::offsets;
pub use operand::{Operand, Scalar, Target, broadcast, check_device};
pub use operation::Operation;
pub use pool::pool;
pub use row_chain::RowChain;
pub use segments::{embedding_gradient, index_add, scatter_reduce, segment_reduce};
pub use sort::{argsort, searchsorted, sort};
pub use top_k::top_k;
pub use transpose::transpose;
pub use unique_consecutive::unique_consecutive;
