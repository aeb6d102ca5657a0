//! What operations can fail with.

use amdgpu_abi::{Coded, ErrorCode, Language};

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Array(#[from] amdgpu_array::Error),
    #[error(transparent)]
    Matrix(#[from] amdgpu_matrix::Error),
    #[error(transparent)]
    Aura(#[from] amdgpu_aura::Error),
    #[error(transparent)]
    Device(#[from] amdgpu_hal::Error),
    #[error(transparent)]
    Memory(#[from] amdgpu_memory::Error),
    /// The arguments do not fit the operation.
    #[error("{message}")]
    Refused { code: ErrorCode, message: String },
    /// No kernel of the device computes this; the CPU does.
    #[error("{reason}")]
    NoKernel { reason: String },
}

impl Error {
    pub fn refused(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::Refused {
            code,
            message: message.into(),
        }
    }

    pub fn no_kernel(reason: impl Into<String>) -> Self {
        Self::NoKernel {
            reason: reason.into(),
        }
    }

    /// Whether the CPU may compute in the device's place: what the device cannot do, as opposed to what the caller did wrong.
    #[must_use]
    pub fn permits_fallback(&self) -> bool {
        matches!(
            self.code(),
            ErrorCode::NoImplementation
                | ErrorCode::CompileFailed
                | ErrorCode::CodeGenerationFailed
                | ErrorCode::UnsupportedFeature
        )
    }
}

impl Coded for Error {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Array(error) => error.code(),
            Self::Matrix(error) => error.code(),
            Self::Aura(error) => error.code(),
            Self::Device(error) => error.code(),
            Self::Memory(error) => error.code(),
            Self::Refused { code, .. } => *code,
            Self::NoKernel { .. } => ErrorCode::NoImplementation,
        }
    }

    fn language(&self) -> Language {
        match self {
            Self::Array(error) => error.language(),
            Self::Matrix(error) => error.language(),
            Self::Aura(error) => error.language(),
            Self::Device(error) => error.language(),
            Self::Memory(error) => error.language(),
            Self::Refused { .. } | Self::NoKernel { .. } => Language::Rust,
        }
    }
}
