//! What kernel libraries of frameworks (PyTorch, TensorFlow) share: the functions of `libamdgpu.so`, tensors as its arrays, and why a
//! kernel was not computed.
//!
//! Contract
//! - Libraries are found among those that the process has loaded, so that there is one copy of the core (ADR 10) and nothing is linked.
//! - A failure says whether the arguments are wrong, no kernel takes them, or memory is short; the framework makes its own error of it.
//! - Nothing unwinds into a framework: [`failure::caught`] makes a failure of a panic.

#![allow(
    clippy::macro_metavars_in_unsafe,
    reason = "`agpu!` takes any number of arguments, which are plain expressions of kernels"
)]

pub mod amdgpu;
pub mod dynamic;
pub mod failure;
pub mod view;
