//! What arrays can fail with.

use amdgpu_abi::{Coded, ErrorCode, Language};

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Device(#[from] amdgpu_hal::Error),
    #[error(transparent)]
    Memory(#[from] amdgpu_memory::Error),
    #[error(transparent)]
    Aura(#[from] amdgpu_aura::Error),
    /// The caller asked for something that does not exist or does not fit.
    #[error("{message}")]
    Refused { code: ErrorCode, message: String },
}

impl Error {
    pub fn refused(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::Refused {
            code,
            message: message.into(),
        }
    }
}

impl Coded for Error {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Device(error) => error.code(),
            Self::Memory(error) => error.code(),
            Self::Aura(error) => error.code(),
            Self::Refused { code, .. } => *code,
        }
    }

    fn language(&self) -> Language {
        match self {
            Self::Device(error) => error.language(),
            Self::Memory(error) => error.language(),
            Self::Aura(error) => error.language(),
            Self::Refused { .. } => Language::Rust,
        }
    }
}
