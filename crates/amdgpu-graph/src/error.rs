//! What graphs can fail with.

use amdgpu_abi::{Coded, ErrorCode, Language};

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Ops(#[from] amdgpu_ops::Error),
    #[error(transparent)]
    Array(#[from] amdgpu_array::Error),
    /// A node failed.
    #[error("node {node}: {source}")]
    Node {
        node: String,
        source: Box<amdgpu_ops::Error>,
    },
    /// The graph or its arguments are not as they have to be.
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
            Self::Ops(error) => error.code(),
            Self::Node { source, .. } => source.code(),
            Self::Array(error) => error.code(),
            Self::Refused { code, .. } => *code,
        }
    }

    fn language(&self) -> Language {
        match self {
            Self::Ops(error) => error.language(),
            Self::Node { source, .. } => source.language(),
            Self::Array(error) => error.language(),
            Self::Refused { .. } => Language::Rust,
        }
    }
}
