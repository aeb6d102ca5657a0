//! What a compile did and how long it took; the caller puts it on the telemetry bus.

use serde::{Deserialize, Serialize};

/// One pass.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PassMetrics {
    pub name: String,
    pub duration_ns: u64,
    /// Changes the pass made.
    pub transformations: u64,
    /// Instructions that are gone since.
    pub instructions_removed: u64,
}

/// One compile, front end to LLVM IR text.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CompilerTelemetry {
    pub source_bytes: u64,
    pub tokens: u64,
    pub functions: u64,
    pub instructions_before_passes: u64,
    pub instructions_after_passes: u64,
    pub preprocess_ns: u64,
    pub parse_ns: u64,
    pub check_ns: u64,
    pub lower_ns: u64,
    pub emit_ns: u64,
    pub total_ns: u64,
    pub passes: Vec<PassMetrics>,
}
