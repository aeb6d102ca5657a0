//! What the caller hands in to turn LLVM IR into machine code, and who compiles instead of this process.

use amdgpu_compiler::{CodeGenerator, CompileOptions, Target};
use serde::{Deserialize, Serialize};

use crate::error::Result;

/// A code generator that also knows this machine.
pub trait Toolchain: CodeGenerator {
    /// The CPU that code for the CPU device is made for. Asked for only when something has to be compiled.
    ///
    /// # Errors
    ///
    /// The code generator is not installed.
    fn host(&self) -> std::result::Result<Target, amdgpu_compiler::Error>;

    /// Who compiles instead of this process, where somebody does.
    fn remote(&self) -> Option<&dyn RemoteCompiler> {
        None
    }
}

/// A source to be compiled, for a device that only the asking process has open.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CompileJob {
    /// The name of a target, or `host`.
    pub target: String,
    pub source: String,
    pub options: CompileOptions,
}

/// Carries jobs to another process.
pub trait RemoteCompiler: Send + Sync {
    /// What [`crate::compile_job`] gave there.
    ///
    /// # Errors
    ///
    /// Those of the other side; a process that was stopped at a limit or crashed.
    fn compile(&self, job: &CompileJob) -> Result<Vec<u8>>;
}
