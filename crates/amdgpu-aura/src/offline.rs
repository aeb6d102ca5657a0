//! Compiling for devices that need not be here: source in, a file's content out; nothing is loaded, nothing is cached.

use amdgpu_compiler::link::{self, KernelResources};
use amdgpu_compiler::{
    CodeGenerator, CodegenRequest, CompileOptions, CompiledUnit, Compiler, Emit,
    Error as CompilerError, GlobalVariable, KernelSignature, OptimizationLevel, PassMetrics,
    Target, TargetKind,
};
use amdgpu_hal::DeviceInfo;

use crate::error::Result;
use crate::toolchain::Toolchain;

/// Processors of AMD that LLVM 22 knows and that run HSA code objects of wave sizes 32 and 64, from GCN 5 on.
const AMD_TARGETS: [&str; 31] = [
    "gfx900", "gfx902", "gfx904", "gfx906", "gfx908", "gfx909", "gfx90a", "gfx90c", "gfx942",
    "gfx950", "gfx1010", "gfx1011", "gfx1012", "gfx1013", "gfx1030", "gfx1031", "gfx1032",
    "gfx1033", "gfx1034", "gfx1035", "gfx1036", "gfx1100", "gfx1101", "gfx1102", "gfx1103",
    "gfx1150", "gfx1151", "gfx1152", "gfx1153", "gfx1200", "gfx1201",
];
/// Processors of NVIDIA that LLVM 22 makes PTX for, from Volta on: the first with independent threads of a warp.
const NVIDIA_TARGETS: [&str; 16] = [
    "sm_70", "sm_72", "sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90", "sm_90a",
    "sm_100", "sm_101", "sm_103", "sm_110", "sm_120", "sm_121",
];
/// This machine's processor, with everything that it can do.
pub(crate) const HOST_TARGET: &str = "host";
const HOST_TARGETS: [&str; 5] = ["x86_64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"];

/// What a compilation gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutputKind {
    /// The compiler's own IR after its passes.
    Ir,
    /// LLVM IR before LLVM's passes.
    Llvm,
    Assembly,
    /// A code object for AMD, PTX for NVIDIA, a relocatable object for CPUs.
    Object,
}

impl OutputKind {
    /// `ir`, `llvm`, `asm` or `obj`.
    ///
    /// # Errors
    ///
    /// Any other name.
    pub fn from_name(name: &str) -> Result<Self> {
        Ok(match name {
            "ir" => Self::Ir,
            "llvm" => Self::Llvm,
            "asm" => Self::Assembly,
            "obj" => Self::Object,
            _ => {
                return Err(refuse(format!(
                    "emit is '{name}'; known are ir, llvm, asm, obj"
                )));
            }
        })
    }

    /// The ending of the name of a file with this content.
    #[must_use]
    pub fn file_extension(self, target: &Target) -> &'static str {
        match (self, target.kind) {
            (Self::Ir, _) => "ir",
            (Self::Llvm, _) => "ll",
            (Self::Assembly | Self::Object, TargetKind::Nvidia) => "ptx",
            (Self::Assembly, _) => "s",
            (Self::Object, TargetKind::Amd) => "hsaco",
            (Self::Object, TargetKind::Host) => "o",
        }
    }
}

/// A compiled source.
#[derive(Clone, Debug)]
pub struct OfflineUnit {
    pub target: Target,
    pub kernels: Vec<KernelSignature>,
    pub globals: Vec<GlobalVariable>,
    pub notes: Vec<String>,
    pub content: Vec<u8>,
    pub file_extension: &'static str,
    /// What the kernels occupy, where the target and the kind of output tell.
    pub resources: Vec<KernelResources>,
    /// What the compiler's passes did.
    pub passes: Vec<PassMetrics>,
    /// For `OutputKind::Ir`: the IR before the passes and after each, by stage.
    pub dumps: Vec<(String, String)>,
}

/// Compiles a source for the target of that name, or for this machine's processor.
///
/// # Errors
///
/// Unknown targets, errors in the source, a code generator that fails.
pub fn compile_source(
    source: &str,
    target: &str,
    options: &CompileOptions,
    output: OutputKind,
    generator: &dyn Toolchain,
) -> Result<OfflineUnit> {
    let target = match target {
        HOST_TARGET => generator.host()?,
        name => find_target(name)?,
    };
    let options = CompileOptions {
        dump_ir: output == OutputKind::Ir,
        ..options.clone()
    };
    let unit = Compiler::new().compile(source, &options, &target)?;
    let level = options.optimization_level;
    let (content, resources) = match output {
        OutputKind::Ir => {
            let text = unit.portable_dumps().last().map(|(_, text)| text.clone());
            (text.unwrap_or_default().into_bytes(), Vec::new())
        }
        OutputKind::Llvm => (unit.llvm_ir.into_bytes(), Vec::new()),
        OutputKind::Assembly => {
            let request = request(&target, level, Emit::Assembly);
            (generator.generate(&unit.llvm_ir, &request)?, Vec::new())
        }
        OutputKind::Object => machine_code(&unit, &target, level, generator)?,
    };
    Ok(OfflineUnit {
        file_extension: output.file_extension(&target),
        target,
        kernels: unit.kernels,
        globals: unit.globals,
        notes: unit.notes.iter().map(ToString::to_string).collect(),
        content,
        resources,
        passes: unit.telemetry.passes,
        dumps: unit.dumps,
    })
}

/// The target of that name.
///
/// # Errors
///
/// There is none; the message lists those that are.
pub fn find_target(name: &str) -> Result<Target> {
    known_target(name).ok_or_else(|| refuse(unknown_target(name)))
}

/// What a device loads, and what its kernels occupy where the target tells.
pub(crate) fn machine_code(
    unit: &CompiledUnit,
    target: &Target,
    level: OptimizationLevel,
    generator: &dyn CodeGenerator,
) -> std::result::Result<(Vec<u8>, Vec<KernelResources>), CompilerError> {
    let object = generator.generate(&unit.llvm_ir, &request(target, level, Emit::Object))?;
    if target.kind != TargetKind::Amd {
        return Ok((object, Vec::new()));
    }
    let code_object = link::link(&object)?;
    let mut resources = link::resources(&code_object)?;
    for entry in &mut resources {
        // The note has the names of symbols, which differ for instances of templates.
        let mut kernels = unit.kernels.iter();
        if let Some(kernel) = kernels.find(|kernel| kernel.symbol == entry.kernel) {
            entry.kernel.clone_from(&kernel.name);
        }
    }
    Ok((code_object, resources))
}

/// The target of that name, if LLVM knows it too: LLVM ends the process when it meets an AMD processor that it does not know.
pub(crate) fn known_target(name: &str) -> Option<Target> {
    let target = Target::parse(name)?;
    let is_known = match target.kind {
        TargetKind::Amd => AMD_TARGETS.contains(&name),
        TargetKind::Nvidia => NVIDIA_TARGETS.contains(&name),
        TargetKind::Host => true,
    };
    is_known.then_some(target)
}

/// What code for a device is compiled for: its architecture, or this machine where code is made for the very processor it runs on.
pub(crate) fn target_name(info: &DeviceInfo) -> &str {
    if info.capabilities.compiles_natively {
        HOST_TARGET
    } else {
        &info.architecture
    }
}

fn unknown_target(name: &str) -> String {
    format!(
        "there is no target '{name}'; known are AMD {}; NVIDIA {}; CPU {}",
        AMD_TARGETS.join(" "),
        NVIDIA_TARGETS.join(" "),
        HOST_TARGETS.join(" ")
    )
}

fn request(target: &Target, level: OptimizationLevel, emit: Emit) -> CodegenRequest {
    CodegenRequest {
        triple: target.triple.clone(),
        cpu: target.cpu.clone(),
        features: target.features.clone(),
        optimization_level: level.number(),
        emit,
    }
}

fn refuse(message: String) -> crate::Error {
    CompilerError::InvalidOption { message }.into()
}

#[cfg(test)]
mod tests {
    use amdgpu_hal::null;

    use super::*;

    /// Answers with what it was asked for.
    struct Echo;

    impl CodeGenerator for Echo {
        fn generate(
            &self,
            llvm_ir: &str,
            request: &CodegenRequest,
        ) -> std::result::Result<Vec<u8>, CompilerError> {
            Ok(format!("{} {}\n{llvm_ir}", request.cpu, request.emit.text()).into_bytes())
        }

        fn identity(&self) -> String {
            "echo".to_owned()
        }
    }

    impl Toolchain for Echo {
        fn host(&self) -> std::result::Result<Target, CompilerError> {
            Ok(Target::host("x86_64-unknown-linux-gnu", "znver5", ""))
        }
    }

    const SOURCE: &str = "__global__ void set(float* out) { out[threadIdx.x] = 1.0f; }";

    fn compile(target: &str, output: OutputKind) -> Result<OfflineUnit> {
        compile_source(SOURCE, target, &CompileOptions::default(), output, &Echo)
    }

    #[test]
    fn each_kind_of_output_has_its_content_and_file_extension() {
        let cases = [
            ("x86_64", OutputKind::Object, "o", "x86-64-v3 object"),
            ("host", OutputKind::Assembly, "s", "znver5 assembly"),
            ("sm_90", OutputKind::Object, "ptx", "sm_90 object"),
            ("sm_90", OutputKind::Assembly, "ptx", "sm_90 assembly"),
            ("gfx1100", OutputKind::Assembly, "s", "gfx1100 assembly"),
            ("gfx1100", OutputKind::Llvm, "ll", "source_filename"),
            ("gfx1100", OutputKind::Ir, "ir", "kernel"),
        ];
        for (target, output, extension, begin) in cases {
            let unit = compile(target, output).unwrap();
            assert_eq!(unit.file_extension, extension);
            let text = String::from_utf8(unit.content).unwrap();
            assert!(text.contains(begin), "{target} {output:?}: {text}");
            assert_eq!(unit.kernels[0].name, "set");
        }
    }

    #[test]
    fn kinds_of_output_are_known_by_name() {
        for (name, kind) in [
            ("ir", OutputKind::Ir),
            ("llvm", OutputKind::Llvm),
            ("asm", OutputKind::Assembly),
            ("obj", OutputKind::Object),
        ] {
            assert_eq!(OutputKind::from_name(name).ok(), Some(kind));
        }
        for name in ["", "IR", "object", "ptx"] {
            let error = OutputKind::from_name(name).unwrap_err().to_string();
            assert!(error.contains("known are ir, llvm, asm, obj"), "{error}");
        }
    }

    #[test]
    fn objects_for_amd_are_linked() {
        let error = compile("gfx1100", OutputKind::Object).unwrap_err();
        assert!(error.to_string().contains("ELF magic number"), "{error}");
    }

    #[test]
    fn unknown_targets_are_refused_with_the_known_ones() {
        for name in ["gfx9999", "sm_999", "vax", ""] {
            let message = compile(name, OutputKind::Ir).unwrap_err().to_string();
            for part in [name, "gfx1100", "sm_90", "x86_64"] {
                assert!(message.contains(part), "{message}");
            }
        }
    }

    #[test]
    fn every_listed_target_is_known() {
        let amd = null::TARGETS.iter().map(|target| target.name);
        for name in amd
            .chain(AMD_TARGETS)
            .chain(NVIDIA_TARGETS)
            .chain(HOST_TARGETS)
        {
            assert!(known_target(name).is_some(), "{name}");
        }
    }
}
