//! The errors of the linker.

use amdgpu_abi::{Coded, ErrorCode};

/// Why an object cannot be linked or read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LinkError {
    /// The bytes are not the object they claim to be.
    #[error("the AMD object is malformed: {0}")]
    Malformed(String),
    /// The object is well formed and has something that this linker does not do.
    #[error("the AMD object has {0}, which the linker does not support")]
    Unsupported(String),
    /// The object uses what nobody defines.
    #[error("the AMD object uses undefined symbols: {}", .0.join(", "))]
    UndefinedSymbols(Vec<String>),
}

impl LinkError {
    pub(crate) fn malformed(reason: impl Into<String>) -> Self {
        Self::Malformed(reason.into())
    }
}

impl Coded for LinkError {
    fn code(&self) -> ErrorCode {
        ErrorCode::CodeGenerationFailed
    }
}

impl From<LinkError> for crate::Error {
    fn from(error: LinkError) -> Self {
        Self::CodeGenerationFailed {
            message: error.to_string(),
        }
    }
}
