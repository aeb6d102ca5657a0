//! LLVM, reached through the Python package `llvmlite`.

use amdgpu_abi::Language;
use amdgpu_aura::Toolchain;
use amdgpu_compiler::{CodeGenerator, CodegenRequest, Error, Target};
use amdgpu_telemetry::Boundary;
use once_cell::race::OnceBox;
use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;

static GENERATE: Boundary = Boundary::new(Language::Rust, Language::Python, "codegen.generate");

/// Calls `amdgpu.codegen`.
pub struct PythonCodeGenerator;

/// Asked for once: it goes into every cache key, also of processes that never load LLVM.
static IDENTITY: OnceBox<String> = OnceBox::new();

impl CodeGenerator for PythonCodeGenerator {
    fn generate(&self, llvm_ir: &str, request: &CodegenRequest) -> Result<Vec<u8>, Error> {
        let _crossing = GENERATE.enter();
        Python::attach(|py| {
            let module = py.import("amdgpu.codegen")?;
            module
                .call_method1(
                    "generate",
                    (
                        llvm_ir,
                        &request.triple,
                        &request.cpu,
                        &request.features,
                        request.optimization_level,
                        request.emit.text(),
                    ),
                )?
                .extract::<Vec<u8>>()
        })
        .map_err(|error| to_compiler_error(&error))
    }

    fn identity(&self) -> String {
        IDENTITY
            .get_or_init(|| {
                Box::new(Python::attach(|py| {
                    py.import("amdgpu.codegen")
                        .and_then(|module| module.call_method0("identity"))
                        .and_then(|identity| identity.extract::<String>())
                        // Without LLVM nothing can be compiled, and what is cached under this name is never found.
                        .unwrap_or_else(|_| "none".to_owned())
                }))
            })
            .clone()
    }
}

impl Toolchain for PythonCodeGenerator {
    fn host(&self) -> Result<Target, Error> {
        Python::attach(|py| {
            let target = py.import("amdgpu.codegen")?.call_method0("host_target")?;
            let (triple, cpu, features) = target.extract::<(String, String, String)>()?;
            Ok(Target::host(&triple, &cpu, &features))
        })
        .map_err(|error: PyErr| to_compiler_error(&error))
    }
}

fn to_compiler_error(error: &PyErr) -> Error {
    Python::attach(|py| {
        let message = error.value(py).to_string();
        if error.is_instance_of::<PyImportError>(py) {
            Error::CodeGeneratorMissing { message }
        } else {
            Error::CodeGenerationFailed { message }
        }
    })
}
