//! The Neuromorphic core: network text to a running network.
//!
//! Contract
//! - [`NetworkPlan::compile`] compiles network text with the Nim library (`libagpu_neuro.so`, opened on first use), which checks it; all
//!   findings of a text arrive in one [`Error::Invalid`]. [`config::build`] writes the dict form of the requirement documents as network
//!   text first, so that there is one checker. Networks are built from such plans, and what the compiler checked is not checked again.
//!   Plans from elsewhere come through [`NetworkPlan::from_json`], which checks them once.
//! - Weights and biases are float32, weight matrices row-major `[inputs, outputs]`. Initial values come from Philox4x32-10 keyed by
//!   (seed, object, index, step): the same plan gives the same network everywhere.
//! - [`LayeredNetwork::forward`] computes one dense layer after the other on a [`DenseBackend`]: the Matrix core (Zig), the Math core (Julia) or
//!   the reference (Nim). Layers with several inputs read them side by side through one stacked matrix.
//!   [`LayeredNetwork::forward_on_device`] computes the same on any device through `amdgpu-ops`.
//! - Layers with a state (`lif`, `leaky`) take samples of several steps; the network's output is the mean over them.
//! - [`training::Trainer`] changes the numbers by back-propagation, on the Matrix core or on a device; each batch changes all of them or none.
//! - Shapes and finiteness are validated here, once: what comes in as input, weight or bias is refused when it holds NaN or infinity, and
//!   a learning step that would leave such a weight changes nothing.
//! - A [`LayeredNetwork`] may be used from every thread at the same time: forward passes run side by side, a change of weights waits
//!   for them. No thread is started here.
//! - Watchers of the process see every network that lives, what it does and a sample of its spikes and weights.
//! - Every call into Nim is reported as a boundary crossing, every forward pass as a network step.

pub mod backend;
pub mod config;
mod device;
mod error;
pub mod external_inputs;
mod finite;
mod forward;
mod initial;
mod layered_network;
mod learning;
mod library;
mod npy;
mod parameters;
pub mod philox;
pub mod plan;
pub mod spiking;
mod temporal;
pub mod training;
mod watch;

pub use backend::{DenseBackend, DenseBackendKind, DenseCall};
pub use config::network_text_of_config;
pub use device::DeviceInput;
pub use error::{Error, Result};
pub use layered_network::{BuildOptions, LayeredNetwork};
pub use library::NeuroLibrary;
pub use plan::NetworkPlan;
