//! What a compile did and how long it took; the caller puts it on the telemetry bus.

use serde::{Deserialize, Serialize};

/// Something a pass noticed, for the user to read.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Finding {
    pub function: String,
    /// Line of the source; 0 when it has none.
    pub line: u32,
    pub text: String,
}

/// One pass; all its runs together.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct PassMetrics {
    pub name: String,
    pub runs: u64,
    pub duration_ns: u64,
    /// Changes the pass made.
    pub transformations: u64,
    /// Instructions that are gone since.
    pub instructions_removed: u64,
    /// Instructions that came, by unrolling and inlining for example.
    pub instructions_added: u64,
    /// What the cost model expects to be saved: instructions weighted by what they cost and how often their loop runs. Negative
    /// where a pass makes room for others.
    pub estimated_gain: i64,
    pub findings: Vec<Finding>,
}

impl PassMetrics {
    /// Adds another run of the same pass.
    pub(crate) fn add(&mut self, other: Self) {
        self.runs += other.runs;
        self.duration_ns += other.duration_ns;
        self.transformations += other.transformations;
        self.instructions_removed += other.instructions_removed;
        self.instructions_added += other.instructions_added;
        self.estimated_gain += other.estimated_gain;
        for finding in other.findings {
            if !self.findings.contains(&finding) {
                self.findings.push(finding);
            }
        }
    }
}

/// How a kernel runs on a CPU.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LaneMetrics {
    pub kernel: String,
    /// Work-items that one vector takes; 1 when they run one at a time.
    pub lanes: u32,
    /// Why they run one at a time.
    pub scalar_fallback: Option<String>,
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
    /// The check that the code given to LLVM is well formed; part of `emit_ns`.
    #[serde(default)]
    pub verify_ns: u64,
    /// Work that was counted against the limit of the source (`effort::limit`).
    #[serde(default)]
    pub work_units: u64,
    pub total_ns: u64,
    pub passes: Vec<PassMetrics>,
    /// Kernels for CPUs; empty where lanes were not asked for.
    #[serde(default)]
    pub lanes: Vec<LaneMetrics>,
}
