//! Layered networks on a device: weights and biases are kept in its memory, and every layer is computed where the one before it lies.
//!
//! Contract
//! - Everything is computed by `amdgpu-ops`: matrix multiplications with bias and activation behind their sums, elementwise operations,
//!   reductions, normalisations. No value passes through the host between the input and the output.
//! - Results have the same bits on every run and on every device of a class. They are within the bounds of a matrix multiplication of what
//!   this machine's cores give, and not their bits, because sums have another order.
//! - A network's numbers are uploaded when a device first needs them, and again only after they changed ([`placed`]).
//! - What a device has no kernel for, the CPU computes: counted and said once.

mod forward;
pub(crate) mod keepers;
mod layers;
mod placed;
pub(crate) mod tensor;
mod update;

pub use forward::DeviceInput;
pub(crate) use forward::{copy_columns, mean_of_steps};
pub(crate) use layers::{activate, apply_slope, compute, copy, dense, empty, neuron_of, number};
pub(crate) use placed::{placed, replace};
pub(crate) use tensor::{are_finite, bytes_of, numbers, part, read, reshaped, upload};
pub(crate) use update::{add_share, squares, update};
