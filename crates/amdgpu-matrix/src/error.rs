use amdgpu_abi::library::LibraryError;
use amdgpu_abi::{Coded, ErrorCode, Language};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// Refused or failed in Zig: kind and text are Zig's.
    #[error("{message}")]
    Foreign { kind: ErrorCode, message: String },
    #[error("{0}")]
    InvalidView(String),
}

impl Coded for Error {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Library(error) => error.code(),
            Self::Foreign { kind, .. } => *kind,
            Self::InvalidView(_) => ErrorCode::InvalidArgument,
        }
    }

    fn language(&self) -> Language {
        match self {
            Self::Foreign { .. } => Language::Zig,
            Self::Library(_) | Self::InvalidView(_) => Language::Rust,
        }
    }
}
