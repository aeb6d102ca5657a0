//! The Math core: numerical kernels written in Julia, called from any thread.
//!
//! Contract
//! - [`Math::global`] starts the runtime on first use: it finds `julia` (`AMDGPU_JULIA`, `PATH`, `~/.juliaup/bin`), opens its
//!   `libjulia` on one dedicated thread that owns it from then on, loads `AgpuKernels` from the native library folder and receives its
//!   table of C function pointers; the kernels are handed the Matrix core's matrix multiplication. Nothing of Julia is opened before. [`Math::availability`] answers without starting it.
//! - A process that already runs Julia (juliacall) hands over the table with [`Math::adopt`]; this crate then opens nothing.
//! - The runtime behaves as a guest: signal dispositions, the signal mask, the locale and the flags of the standard streams are after
//!   the start what they were before; Ctrl-C still belongs to the host program. Julia runs with one thread.
//! - Calls check lengths here, once, then run on the owning thread while the caller waits; they are safe from every thread. Data is
//!   neither copied nor allocated. Calls from several threads take turns.
//! - Julia's exceptions come back as [`Error::Foreign`] with Julia's own words and the runtime stays usable. Sources of another version
//!   are refused ([`amdgpu_abi::ErrorCode::LibraryStale`]) before any of their kernels runs.
//! - After `fork` the child gets [`Error::Forked`], unless the runtime was not started before.
//! - The owning thread is never joined and the runtime is never finalised: at exit it is parked and holds nothing up.
//! - Every call is counted in `amdgpu_operations_total` and timed as a Rust-to-Julia crossing.

mod activation;
mod adaptive_learning_rate;
mod dense_forward;
mod error;
mod executor;
mod fork;
mod julia;
mod math;
mod momentum_update;
mod shape;
mod softmax;
mod table;

pub use amdgpu_abi::Activation;
pub use error::Error;
pub use executor::{Runner, Task};
pub use julia::{Availability, matmul_address};
pub use math::Math;
