//! Why a compile failed.

use amdgpu_abi::{Coded, ErrorCode};

use crate::diagnostics::Diagnostic;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The source has mistakes; every one is listed.
    #[error("{}", listing(diagnostics, *not_shown))]
    CompileFailed {
        diagnostics: Vec<Diagnostic>,
        not_shown: usize,
    },
    /// All that is wrong with the source is that it uses what this compiler does not have.
    #[error("{}", listing(diagnostics, *not_shown))]
    UnsupportedFeature {
        diagnostics: Vec<Diagnostic>,
        not_shown: usize,
    },
    /// The source has no kernel, or not the one asked for.
    #[error("{message}")]
    KernelNotFound { message: String },
    /// An option has no meaning.
    #[error("{message}")]
    InvalidOption { message: String },
    /// LLVM is not installed.
    #[error("{message}")]
    CodeGeneratorMissing { message: String },
    /// LLVM refused the code.
    #[error("{message}")]
    CodeGenerationFailed { message: String },
    /// The source asks for more work than its length allows.
    #[error("{message}")]
    TooMuchWork { message: String },
    /// The compiler itself failed.
    #[error("{message}")]
    Internal { message: String },
}

impl Error {
    /// The messages about the source, if that is what is wrong.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        match self {
            Self::CompileFailed { diagnostics, .. }
            | Self::UnsupportedFeature { diagnostics, .. } => diagnostics,
            _ => &[],
        }
    }
}

impl Coded for Error {
    fn code(&self) -> ErrorCode {
        match self {
            Self::CompileFailed { .. } | Self::TooMuchWork { .. } => ErrorCode::CompileFailed,
            Self::UnsupportedFeature { .. } => ErrorCode::UnsupportedFeature,
            Self::KernelNotFound { .. } => ErrorCode::KernelNotFound,
            Self::InvalidOption { .. } => ErrorCode::InvalidArgument,
            Self::CodeGeneratorMissing { .. } => ErrorCode::CodeGeneratorMissing,
            Self::CodeGenerationFailed { .. } => ErrorCode::CodeGenerationFailed,
            Self::Internal { .. } => ErrorCode::Internal,
        }
    }
}

fn listing(diagnostics: &[Diagnostic], not_shown: usize) -> String {
    let mut lines: Vec<String> = diagnostics.iter().map(Diagnostic::to_string).collect();
    if not_shown > 0 {
        lines.push(format!("… and {not_shown} more errors"));
    }
    lines.join("\n")
}
