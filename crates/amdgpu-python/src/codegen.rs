//! LLVM, reached through the Python package `llvmlite`.

use amdgpu_abi::{ErrorCode, Language};
use amdgpu_aura::{self as aura, CompileJob, RemoteCompiler, Toolchain};
use amdgpu_compiler::{CodeGenerator, CodegenRequest, Error, Target};
use amdgpu_telemetry::Boundary;
use once_cell::race::OnceBox;
use pyo3::exceptions::{PyException, PyImportError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::interrupt;

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

/// Makes LLVM the code generator of this process, for kernels that the cores generate themselves.
pub fn register() {
    amdgpu_ops::toolchain::register(Box::new(PythonCodeGenerator));
}

/// LLVM as above, and a Python function that has sources compiled by another process: it takes a job and returns a cache entry, both as
/// bytes.
pub struct RemoteToolchain {
    function: Py<PyAny>,
}

impl RemoteToolchain {
    pub fn new(function: Py<PyAny>) -> Self {
        Self { function }
    }
}

impl CodeGenerator for RemoteToolchain {
    fn generate(&self, llvm_ir: &str, request: &CodegenRequest) -> Result<Vec<u8>, Error> {
        PythonCodeGenerator.generate(llvm_ir, request)
    }

    fn identity(&self) -> String {
        PythonCodeGenerator.identity()
    }
}

impl Toolchain for RemoteToolchain {
    fn host(&self) -> Result<Target, Error> {
        PythonCodeGenerator.host()
    }

    fn remote(&self) -> Option<&dyn RemoteCompiler> {
        Some(self)
    }
}

impl RemoteCompiler for RemoteToolchain {
    fn compile(&self, job: &CompileJob) -> aura::Result<Vec<u8>> {
        let job = serde_json::to_vec(job).unwrap_or_default();
        Python::attach(|py| {
            let answer = self.function.call1(py, (PyBytes::new(py, &job),))?;
            answer.extract::<Vec<u8>>(py)
        })
        .map_err(|error| elsewhere(&error))
    }
}

/// An exception as an error that becomes the same exception again.
fn elsewhere(error: &PyErr) -> aura::Error {
    Python::attach(|py| {
        let value = error.value(py);
        let text_of = |name: &str| value.getattr(name)?.extract::<String>();
        let language = text_of("language").unwrap_or_default();
        let status = value.getattr("code").and_then(|code| code.extract::<i32>());
        let argument = value.getattr("args").and_then(|args| args.get_item(0));
        aura::Error::Elsewhere {
            code: ErrorCode::from_status(status.unwrap_or_default()),
            language: Language::ALL
                .into_iter()
                .find(|known| known.name() == language)
                .unwrap_or_default(),
            message: argument.map_or_else(|_| value.to_string(), |text| text.to_string()),
        }
    })
}

fn to_compiler_error(error: &PyErr) -> Error {
    Python::attach(|py| {
        if !error.is_instance_of::<PyException>(py) {
            // Ctrl-C, which is no fault of the compiler.
            interrupt::keep(error.clone_ref(py));
        }
        let message = error.value(py).to_string();
        if error.is_instance_of::<PyImportError>(py) {
            Error::CodeGeneratorMissing { message }
        } else {
            Error::CodeGenerationFailed { message }
        }
    })
}
