//! Kernels that come built with the package (`zig/src/kernels`): one archive for each architecture, and the choice among its kernels.
//!
//! Contract
//! - An [`Archive`] is a zip file with a versioned manifest, which says what every kernel computes and how it is called, and files of code:
//!   PTX for NVIDIA, code objects for AMD. It is read when a device is first asked for a kernel.
//! - [`choice`] decides which kernel computes a matrix multiplication: a pure function of the problem, the facts of the device, its archive
//!   and what was measured.
//! - Launches go through [`launch`](crate::launch()) in the order of the device's default stream.

pub mod archive;
mod attention;
pub mod choice;
pub mod direct;
mod gemm;
mod load;
mod operations;
mod pad;
pub mod problem;
mod split_k;
mod tensor_map;

pub use archive::{Archive, ArchivedKernel, Manifest, Unit};
pub use attention::Flash;
pub use gemm::{Gemm, choose, multiply, multiply_with, ways};
pub use load::{Archived, Facts};
pub use operations::{
    Convolution, convolution_for, convolution_layout, launch_convolution, takes_filters_first,
    transpose,
};
