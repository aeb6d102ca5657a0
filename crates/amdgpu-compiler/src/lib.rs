//! The AURA compiler: HIP-C source text in, LLVM IR text out.
//!
//! Promises:
//! - One source gives the same results, bit for bit, on every target: the front end fixes contraction, conversions, integer
//!   division and shifts; the math library is HIP-C compiled by this very compiler. `fast_math` gives that up.
//! - Every error points at a line with a caret and says what to do; all errors of a source are reported, not only the first.
//!   What HIP has and this compiler does not is refused by name ([`Error::UnsupportedFeature`]).
//! - Any input ends in a result or an error: nesting, macro expansion, source size and every loop over input are bounded.
//! - Deterministic: the same source and options give the same text.
//!
//! Refuses: running LLVM (the [`CodeGenerator`] does), caching, launching. Knows nothing of devices.
//!
//! Stages, each a module: [`preprocessor`] over [`lexer`] -> [`parser`] ([`ast`]) -> [`sema`] ([`hir`], [`types`]) -> [`lower`]
//! -> [`ir`] with [`passes`] -> [`llvm`]. The device library (`device_lib/`) goes through the same stages.
//!
//! Threads: [`Compiler`] may be used from any number of threads; each compile runs on a thread of its own, whose stack size
//! is known.

// The crate's parts call each other through `pub` items of private modules; unused results are theirs to judge.
#![allow(clippy::must_use_candidate, clippy::return_self_not_must_use)]
// Exhaustive matches over operations are long by nature and clearer in one piece.
#![allow(clippy::too_many_lines)]

mod ast;
pub mod checks;
mod codegen;
mod compiled_unit;
mod compiler;
mod cooperative;
mod diagnostics;
mod effort;
mod error;
mod globals;
mod hir;
mod interner;
pub mod ir;
mod lanes;
mod lexer;
mod libcalls;
mod library;
pub mod link;
mod llvm;
mod lockstep;
mod lower;
mod memory_limits;
pub mod messages;
mod narrow_float;
pub mod occupancy;
mod options;
mod parser;
mod passes;
mod pipeline;
mod preprocessor;
pub mod profile;
mod profiling;
mod regions;
mod sema;
mod signature;
mod source;
mod target;
mod telemetry;
mod token;
mod types;
mod waves;
mod work;

pub use codegen::{CodeGenerator, CodegenRequest, Emit};
pub use compiled_unit::CompiledUnit;
pub use compiler::{Compiler, MAX_SOURCE_BYTES};
pub use diagnostics::{Diagnostic, MAX_ERRORS, Severity};
pub use error::Error;
pub use globals::GlobalVariable;
pub use narrow_float::{bfloat16_from_f64, half_from_f64};
pub use options::{CompileOptions, OptimizationLevel};
pub use passes::{ir_names as ir_pass_names, names as pass_names, run_pass};
pub use signature::{
    Dtype, KernelSignature, LaunchBounds, Parameter, ParameterKind, cpu_shared_bytes,
};
pub use target::{Target, TargetKind};
pub use telemetry::{CompilerTelemetry, Finding, LaneMetrics, PassMetrics};
pub use work::{Bound, Work};
