//! The TensorFlow device `RDNA`: `libamdgpu_tensorflow.so`, a plug-in that TensorFlow loads.
//!
//! Contract
//! - Of TensorFlow only the C interface is used, found by name among the libraries of the process: one binary serves every version that has
//!   these functions, and nothing is linked. Structs that cross the interface are declared in `platform.rs` and `tensorflow.rs`.
//! - `SE_InitPlugin` makes devices of those of `libamdgpu.so`: memory, streams and events are its own. `TF_InitKernel` registers the kernels
//!   of [`kernels::all`], which call operations of `libamdgpu.so`; nothing is computed here. `TF_InitGraph` registers an optimizer of graphs, whose
//!   nodes are operations of the plug-in's own.
//! - Nothing unwinds into TensorFlow: a panic is an error with a message.

#![allow(
    clippy::many_single_char_names,
    reason = "c is the call of a kernel; the others are tensors by the names of their formulas"
)]
#![allow(
    clippy::similar_names,
    reason = "indices and what is picked by them stand side by side"
)]
#![allow(
    clippy::float_cmp,
    reason = "attributes are compared with the very numbers that they mean"
)]
#![allow(
    clippy::unnecessary_wraps,
    reason = "functions that make kernels have one type, whether they can fail or not"
)]

use amdgpu_client::{amdgpu, dynamic, failure};

mod call;
mod collectives;
mod compute;
mod devices;
mod dtype;
mod graph;
mod kernels;
mod operations;
mod platform;
mod registry;
mod reports;
mod streams;
mod tensor;
mod tensorflow;
