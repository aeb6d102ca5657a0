use amdgpu_abi::library::LibraryError;
use amdgpu_abi::{Coded, ErrorCode, Language};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// Refused or failed in Zig: kind and text are Zig's.
    #[error("{message}")]
    Foreign { kind: ErrorCode, message: String },
    /// A library of a GPU vendor failed.
    #[error("{library}: {operation} failed: {reason}")]
    Vendor {
        library: &'static str,
        operation: &'static str,
        reason: String,
    },
    #[error(transparent)]
    Device(#[from] amdgpu_hal::Error),
    #[error("{0}")]
    InvalidView(String),
    /// Refused here before Zig is asked.
    #[error("{message}")]
    Refused { kind: ErrorCode, message: String },
}

impl Error {
    pub(crate) fn refused(kind: ErrorCode, message: String) -> Self {
        Self::Refused { kind, message }
    }

    pub(crate) fn vendor(library: &'static str, operation: &'static str, reason: &str) -> Self {
        Self::Vendor {
            library,
            operation,
            reason: reason.to_owned(),
        }
    }
}

impl Coded for Error {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Library(error) => error.code(),
            Self::Foreign { kind, .. } | Self::Refused { kind, .. } => *kind,
            Self::Vendor { .. } => ErrorCode::DriverFault,
            Self::Device(error) => error.code(),
            Self::InvalidView(_) => ErrorCode::InvalidArgument,
        }
    }

    fn language(&self) -> Language {
        match self {
            Self::Foreign { .. } => Language::Zig,
            Self::Vendor { .. } => Language::C,
            Self::Device(error) => error.language(),
            Self::Library(_) | Self::InvalidView(_) | Self::Refused { .. } => Language::Rust,
        }
    }
}
