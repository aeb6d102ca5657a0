use std::path::PathBuf;

use amdgpu_abi::library::LibraryError;
use amdgpu_abi::{Coded, ErrorCode, Language};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the Math core needs Julia: {reason}")]
    JuliaMissing { reason: String },
    #[error(transparent)]
    Library(#[from] LibraryError),
    #[error("{} is stale: {reason}", path.display())]
    Stale { path: PathBuf, reason: String },
    /// An exception in Julia.
    #[error("{message}")]
    Foreign { message: String },
    /// A kernel's own check failed: kind and text are Julia's.
    #[error("{message}")]
    Refused { kind: ErrorCode, message: String },
    #[error("{0}")]
    ShapeMismatch(String),
    #[error("{0}")]
    InvalidArgument(String),
    #[error("the Julia runtime was started before fork() and does not exist in the child process")]
    Forked,
}

impl Coded for Error {
    fn code(&self) -> ErrorCode {
        match self {
            Self::JuliaMissing { .. } => ErrorCode::JuliaMissing,
            Self::Library(error) => error.code(),
            Self::Stale { .. } => ErrorCode::LibraryStale,
            Self::Foreign { .. } => ErrorCode::ForeignError,
            Self::Refused { kind, .. } => *kind,
            Self::ShapeMismatch(_) => ErrorCode::ShapeMismatch,
            Self::InvalidArgument(_) => ErrorCode::InvalidArgument,
            Self::Forked => ErrorCode::Forked,
        }
    }

    fn language(&self) -> Language {
        match self {
            Self::Foreign { .. } | Self::Refused { .. } => Language::Julia,
            _ => Language::Rust,
        }
    }
}
