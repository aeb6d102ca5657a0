//! A compiled source: facts and machine code, as they are kept in memory and on disk.

use amdgpu_abi::MetricId;
use amdgpu_compiler::checks::Site;
use amdgpu_compiler::link::KernelResources;
use amdgpu_compiler::messages::MessageTable;
use amdgpu_compiler::profile::Sites;
use amdgpu_compiler::{
    CompileOptions, CompiledUnit, Compiler, GlobalVariable, KernelSignature, PassMetrics, Target,
};
use amdgpu_telemetry::histogram;
use serde::{Deserialize, Serialize};

use crate::cache::Entry;
use crate::error::Result;
use crate::offline::machine_code;
use crate::toolchain::Toolchain;

/// What is kept of a compilation beside the machine code.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct UnitFacts {
    pub kernels: Vec<KernelSignature>,
    pub globals: Vec<GlobalVariable>,
    pub messages: MessageTable,
    pub check_sites: Vec<Site>,
    pub profile_sites: Sites,
    pub template_kernels: Vec<String>,
    pub notes: Vec<String>,
    pub passes: String,
    pub resources: Vec<KernelResources>,
}

impl UnitFacts {
    pub fn of(unit: CompiledUnit, resources: Vec<KernelResources>) -> Self {
        Self {
            kernels: unit.kernels,
            globals: unit.globals,
            messages: unit.messages,
            check_sites: unit.check_sites,
            profile_sites: unit.profile_sites,
            template_kernels: unit.template_kernels,
            notes: unit.notes.iter().map(ToString::to_string).collect(),
            passes: serde_json::to_string(&unit.telemetry.passes).unwrap_or_default(),
            resources,
        }
    }

    /// What is kept on disk, and the facts again.
    pub fn into_entry(self, code: Vec<u8>) -> (Self, Entry) {
        let metadata = serde_json::to_string(&self).unwrap_or_default();
        (self, Entry { metadata, code })
    }
}

/// Compile in this process, down to machine code.
pub(crate) fn compile_here(
    source: &str,
    options: &CompileOptions,
    target: &Target,
    generator: &dyn Toolchain,
) -> Result<(UnitFacts, Vec<u8>)> {
    let unit = Compiler::new().compile(source, options, target)?;
    for pass in &unit.telemetry.passes {
        note_pass(&target.name, pass);
    }
    let level = options.optimization_level;
    let (code, resources) = machine_code(&unit, target, level, generator)?;
    Ok((UnitFacts::of(unit, resources), code))
}

fn note_pass(target: &str, pass: &PassMetrics) {
    histogram(MetricId::PassSeconds, &[target, &pass.name]).record_ns(pass.duration_ns);
}

/// Take over what passes of another process took.
pub(crate) fn note_passes(target: &str, passes: &str) {
    let passes: Vec<PassMetrics> = serde_json::from_str(passes).unwrap_or_default();
    for pass in &passes {
        note_pass(target, pass);
    }
}
