//! Compiling in another process: what it is told, and what it answers.
//!
//! Whoever compiles sources of strangers cannot trust the time and the memory that it takes. A [`Toolchain`] may therefore hand jobs to a
//! [`RemoteCompiler`]; the cache, and loading what was compiled, stay here. [`compile_job`] is the other end.

use amdgpu_compiler::Target;

use crate::cache::Entry;
use crate::error::{Error, Result};
use crate::offline::{HOST_TARGET, find_target};
use crate::toolchain::{CompileJob, RemoteCompiler, Toolchain};
use crate::unit::{UnitFacts, compile_here};

/// Compile a job; gives the bytes of a cache entry.
///
/// # Errors
///
/// As [`crate::compile_source`].
pub fn compile_job(job: &CompileJob, generator: &dyn Toolchain) -> Result<Vec<u8>> {
    let target: Target = match job.target.as_str() {
        HOST_TARGET => generator.host()?,
        name => find_target(name)?,
    };
    let (facts, code) = compile_here(&job.source, &job.options, &target, generator)?;
    Ok(facts.into_entry(code).1.encode())
}

/// What the other process compiled.
pub(crate) fn compile_there(
    job: &CompileJob,
    remote: &dyn RemoteCompiler,
) -> Result<(UnitFacts, Vec<u8>)> {
    let bytes = remote.compile(job)?;
    let entry = Entry::decode(&bytes).map_err(|error| damaged(&error))?;
    let facts = serde_json::from_str(&entry.metadata).map_err(|error| damaged(&error))?;
    Ok((facts, entry.code))
}

fn damaged(reason: &impl std::fmt::Display) -> Error {
    Error::Elsewhere {
        code: amdgpu_abi::ErrorCode::Internal,
        language: amdgpu_abi::Language::Rust,
        message: format!("the compiler's process answered nonsense: {reason}"),
    }
}
