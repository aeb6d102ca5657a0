//! Graphs of operations: made by tracing a function or by hand, simplified, fused, planned, and executed as often as wanted.
//!
//! Contract
//! - A [`Graph`] holds typed nodes in the order of their computation: each has one value of a known shape and dtype. The node of an operation
//!   with several results is its first one; the others are nodes that read it. Nothing is ever changed in place: an assignment gives the array
//!   as it is afterwards.
//! - [`trace()`] makes one from a function that asks for operations of `amdgpu-ops`; [`Graph`] has methods to add nodes by hand, which infer
//!   shapes and dtypes and refuse what does not fit.
//! - [`passes`] rewrite graphs without changing what they compute: bit for bit where elementwise steps are joined, within the bounds of the
//!   operations where products and normalisations take up what surrounds them.
//! - [`Executable`] plans the memory of a graph once, so that values share it whose lives do not overlap, and runs it for arrays of the
//!   shapes it was made for. Several threads may run one executable at the same time.
//! - Where streams are queues of the hardware, runs whose memory lies where it lay before are replays of one graph of the device ([`Replay`]).
//! - Constants are arrays that the graph refers to; they are not to be changed as long as it lives.

pub mod attributes;
mod dot;
mod error;
mod execute;
mod fused_parts;
mod graph;
mod node;
pub mod passes;
mod plan;
mod replay;
mod text;
mod trace;
mod watch;

pub use error::{Error, Result};
pub use execute::Executable;
pub use graph::Graph;
pub use node::{Input, Kind, Layout, Node, NodeId};
pub use plan::{Place, Plan};
pub use replay::{Replay, ReplayCounts};
pub use text::{parse, parse_attributes, parse_steps};
pub use trace::{Traced, trace};
pub use watch::Timing;
