//! The facts that every language of amdgpu shares.
//!
//! Contract
//! - `include/agpu.h`, `dtypes.toml`, `ops.toml`, `errors.toml`, `metrics.toml` and `environment.toml` are the only places where these
//!   facts are written; everything under `generated/` follows from them (`./x generate`).
//! - [`library::NativeLibrary`] opens `libagpu_*.so`, and refuses a file whose ABI version, ABI hash or package version differ
//!   from this build: a stale library is an error that names the file, never undefined behaviour.
//! - An error that can reach the user implements [`Coded`]: code and hint come from the catalogue, the message from the place
//!   that knows what happened, the language from where it arose.
//! - This crate depends on nothing else of the workspace. All of it may be used from any thread.

pub mod dtypes;
pub mod environment;
mod error;
pub mod layout;
pub mod library;
pub mod metrics;
pub mod ops;
pub mod promotion;
mod tensor;

pub use error::{Coded, ErrorCode, Language};
pub use layout::*;
pub use metrics::{Metric, MetricId, MetricKind};
