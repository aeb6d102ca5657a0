//! Spiking networks.
pub(crate) mod connectivity;
mod cpu;
pub(crate) mod group;
pub(crate) mod kernels;
pub(crate) mod memory;
mod network;
pub(crate) mod objects;
pub mod planner;
pub(crate) mod projection;
pub(crate) mod quantum;
mod recorder;
mod report;
pub(crate) mod source;
pub(crate) mod storage;
pub(crate) mod values;
pub use network::{Progress, SpikingNetwork, SpikingOptions, memory_estimate};
pub use planner::{MemoryEstimate, ProjectionEstimate};
pub use recorder::{RunResult, SpikeRecord, StateRecord};
