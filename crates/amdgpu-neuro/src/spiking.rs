//! Spiking networks on a device: built from a plan of version 2, stepped, recorded, saved.
//!
//! Contract
//! - [`SpikingNetwork::build`] predicts the memory first and refuses what does not fit, naming what would. Connectivity, initial values,
//!   weights and delays come from counters: the same plan is the same network everywhere, with any number of threads.
//! - Kernels are compiled through AURA with the toolchain that the caller hands in, and bound by the roles of their arguments. They are
//!   trusted: a plan comes from our own compiler of network text.
//! - What arrives at a neuron is summed in fixed point ([`unit`]), so the order of additions changes nothing: runs with any number of
//!   threads have the same bits, which [`RunResult::spike_hash`] shows.
//! - The order within a step is that of `docs/plan_schema.md`.
//! - [`SpikingNetwork::run`] may be called from any thread; callers wait for one another. A run that is ended by its watcher leaves a whole state.
//! - A value that is not finite stops the network with its variable, population and step.

mod batch;
mod connectivity;
mod coupling;
mod cpu;
mod device;
mod fixed_point;
mod geometric_skip;
mod group;
mod kernel_signature;
mod kernels;
mod memory;
mod network;
mod parts;
mod planner;
mod prefetch;
mod projection;
mod recorder;
mod report;
mod reward;
mod rng_streams;
mod snapshot_publisher;
mod source;
mod space;
mod state;
mod stepper;
mod storage;
mod values;
mod variables;
mod weight_sample;
mod weights;

pub(crate) use space::check_convolution;

pub use batch::SpikingBatch;
pub use network::{Progress, SpikingNetwork, SpikingOptions, memory_estimate};
pub use planner::{MemoryEstimate, ProjectionEstimate};
pub use recorder::{RunResult, SpikeRecord, StateRecord};
pub use state::StateArray;
pub use weights::SynapseTable;
