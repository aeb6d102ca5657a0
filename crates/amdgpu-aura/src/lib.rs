//! AURA core: an open device with its allocator, compiled kernels and their launches.
//!
//! Contract
//! - An [`OpenDevice`] is a device as this process has it open, once: it owns the allocator, the default stream and the order of work.
//! - A [`Context`] is one of its openings: it hands out [`Kernel`]s and counts what it does on the telemetry bus. After [`Context::close`]
//!   its kernels answer `closed`; memory lives on for as long as somebody holds it.
//! - Layers above keep typed caches beside either: [`OpenDevice::cache`] and [`Context::cache`]. Closing drops all of them.
//! - [`current_device`] is a thread's own choice, used only where neither an operand nor an argument names a device. [`rocm`] sets and reads
//!   the same one by ROCm's ids and texts.
//! - [`Context::compile`] turns source into kernels. Answers come from memory, then from the disk cache, then from the compiler; a
//!   damaged cache entry is dropped, counted as a fallback and rebuilt.
//! - [`Kernel::launch`] is the one place where a launch is validated: argument count and kinds, grid, block and shared memory against
//!   the limits of the device. The hardware layer below trusts it.
//! - [`GraphRecorder`] takes launches, copies and fills that were checked already and makes a [`Graph`], which is replayed with one call.
//! - [`compile_source`] compiles for a target by name, without a device and without the cache.
//! - Objects for AMD are linked here, so that what reaches devices, files and the cache is a loadable code object.
//! - LLVM is not linked here: the caller hands in a [`Toolchain`].
//! - Everything may be called from any thread. Compiling the same source twice at the same time compiles it twice and keeps one.

mod arguments;
mod cache;
mod checks;
mod compile;
mod context;
mod current;
mod error;
mod facts;
mod graph;
mod kept;
mod kernel;
mod loaded;
mod messages;
mod occupancy;
mod offline;
mod open_device;
mod order;
mod remote;
pub mod rocm;
mod shared;
mod slots;
mod stream_gauges;
mod toolchain;
mod unit;
mod watch;

pub use arguments::{Argument, Parameter, ParameterKind};
pub use cache::CacheAnswer;
pub use compile::CompileRequest;
pub use context::{Context, ContextOptions};
pub use current::{current_device, set_current_device};
pub use error::{Error, Result};
pub use facts::KernelFacts;
pub use graph::{Graph, GraphNode, GraphRecorder, Lane};
pub use kept::{Kept, KeptOwners};
pub use kernel::{DirectKernel, InsideLaunches, Kernel, LaunchShape, LaunchTimes, PackedArguments};
pub use messages::{flush_printf, set_output};
pub use occupancy::KernelOccupancy;
pub use offline::{OfflineUnit, OutputKind, compile_source, find_target};
pub use open_device::OpenDevice;
pub use remote::compile_job;
pub use shared::{CoreType, LaunchRecords};
pub use toolchain::{CompileJob, RemoteCompiler, Toolchain};
pub use watch::KernelCacheSizes;
