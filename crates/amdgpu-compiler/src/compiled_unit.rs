//! What a compilation gives.

use serde::{Deserialize, Serialize};

use crate::diagnostics::Diagnostic;
use crate::globals::GlobalVariable;
use crate::messages::MessageTable;
use crate::signature::KernelSignature;
use crate::telemetry::CompilerTelemetry;
use crate::{checks, passes, profile};

/// What a compile gives.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CompiledUnit {
    pub llvm_ir: String,
    pub kernels: Vec<KernelSignature>,
    /// `__device__` and `__constant__` variables, by which the host reaches into the module.
    pub globals: Vec<GlobalVariable>,
    /// With `checked`: what the hooks' numbers stand for.
    pub check_sites: Vec<checks::Site>,
    /// With `instrumented`: what is counted where.
    pub profile_sites: profile::Sites,
    /// What kernels may tell the host; empty when none of them does.
    pub messages: MessageTable,
    /// Templates of kernels, as one would ask for them: `scale<T, N>`.
    pub template_kernels: Vec<String>,
    /// Warnings and notes.
    pub notes: Vec<Diagnostic>,
    pub telemetry: CompilerTelemetry,
    /// With `dump_ir`: name of the stage and text of the IR after it.
    pub dumps: Vec<(String, String)>,
}

impl CompiledUnit {
    /// The dumps that are the same for every target.
    pub fn portable_dumps(&self) -> &[(String, String)] {
        let depends_on_target = |name: &str| {
            name.ends_with(passes::PARTIAL_UNROLLING)
                || name.ends_with(passes::WORK_ITEM_VECTORIZATION)
        };
        let mut dumps = self.dumps.iter();
        let end = dumps.position(|(name, _)| depends_on_target(name));
        &self.dumps[..end.unwrap_or(self.dumps.len())]
    }
}
