//! Errors of the Neuromorphic core.

use amdgpu_abi::library::LibraryError;
use amdgpu_abi::{Coded, ErrorCode, Language};

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Every finding of a network text, as the Nim checker wrote them.
    #[error("{findings}")]
    Invalid { findings: String },
    /// A plan, a configuration or a weight file that does not describe a network.
    #[error("{0}")]
    InvalidDescription(String),
    #[error("{0}")]
    ShapeMismatch(String),
    #[error("{0}")]
    InvalidArgument(String),
    /// `what` names the connection, bias or input; `place` the first wrong position in it.
    #[error("{what} holds {value} at {place}")]
    NotFinite {
        what: String,
        value: f32,
        place: String,
    },
    #[error("no memory for {what} ({bytes} bytes)")]
    OutOfMemory { what: String, bytes: usize },
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// A failure that a core below reported in its own words.
    #[error("{message}")]
    Core {
        kind: ErrorCode,
        language: Language,
        message: String,
    },
}

impl Error {
    /// An error of a core below, kept with its code and language.
    pub fn from_core(error: &dyn Coded) -> Self {
        Self::Core {
            kind: error.code(),
            language: error.language(),
            message: error.to_string(),
        }
    }
}

impl From<amdgpu_ops::Error> for Error {
    fn from(error: amdgpu_ops::Error) -> Self {
        Self::from_core(&error)
    }
}

impl From<amdgpu_array::Error> for Error {
    fn from(error: amdgpu_array::Error) -> Self {
        Self::from_core(&error)
    }
}

impl Coded for Error {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Invalid { .. } | Self::InvalidDescription(_) => ErrorCode::NetworkInvalid,
            Self::ShapeMismatch(_) => ErrorCode::ShapeMismatch,
            Self::InvalidArgument(_) => ErrorCode::InvalidArgument,
            Self::NotFinite { .. } => ErrorCode::WeightsNotFinite,
            Self::OutOfMemory { .. } => ErrorCode::OutOfMemory,
            Self::Library(error) => error.code(),
            Self::Core { kind, .. } => *kind,
        }
    }

    fn language(&self) -> Language {
        match self {
            Self::Invalid { .. } => Language::Nim,
            Self::Core { language, .. } => *language,
            _ => Language::Rust,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_has_its_code_and_says_what_happened() {
        let text = str::to_owned;
        for (error, code, language, message) in [
            (
                Error::Invalid {
                    findings: text("line 1: no"),
                },
                ErrorCode::NetworkInvalid,
                Language::Nim,
                "line 1: no",
            ),
            (
                Error::InvalidDescription(text("no")),
                ErrorCode::NetworkInvalid,
                Language::Rust,
                "no",
            ),
            (
                Error::ShapeMismatch(text("no")),
                ErrorCode::ShapeMismatch,
                Language::Rust,
                "no",
            ),
            (
                Error::InvalidArgument(text("no")),
                ErrorCode::InvalidArgument,
                Language::Rust,
                "no",
            ),
            (
                Error::NotFinite {
                    what: text("x"),
                    value: f32::INFINITY,
                    place: text("[3]"),
                },
                ErrorCode::WeightsNotFinite,
                Language::Rust,
                "x holds inf at [3]",
            ),
            (
                Error::OutOfMemory {
                    what: text("x"),
                    bytes: 12,
                },
                ErrorCode::OutOfMemory,
                Language::Rust,
                "no memory for x (12 bytes)",
            ),
        ] {
            assert_eq!(error.to_string(), message);
            assert_eq!(
                (error.code(), error.language()),
                (code, language),
                "{message}"
            );
            // A core above keeps all of it.
            let above = Error::from_core(&error);
            assert_eq!(above.to_string(), message);
            assert_eq!(
                (above.code(), above.language()),
                (code, language),
                "{message}"
            );
        }
    }
}
