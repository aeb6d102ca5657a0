//! The error catalogue and what an error must tell to reach the user.

// Text of the table becomes doc comments here; it is written for every language.
#![allow(clippy::doc_markdown)]

include!("generated/errors.rs");

impl ErrorCode {
    /// Status of the C ABI.
    #[must_use]
    pub const fn code(self) -> i32 {
        self as i32
    }

    /// The kind with this status; a status that is not in the catalogue is [`ErrorCode::Internal`].
    #[must_use]
    pub fn from_status(status: i32) -> Self {
        Self::ALL
            .iter()
            .copied()
            .find(|kind| kind.code() == status)
            .unwrap_or(Self::Internal)
    }
}

/// The languages of the package, as they appear in telemetry and in `AmdgpuError.language`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Language {
    Python = 0,
    #[default]
    Rust = 1,
    Zig = 2,
    Nim = 3,
    Julia = 4,
    C = 5,
}

impl Language {
    pub const ALL: [Self; 6] = [
        Self::Python,
        Self::Rust,
        Self::Zig,
        Self::Nim,
        Self::Julia,
        Self::C,
    ];

    /// Lower-case name, for labels.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Rust => "rust",
            Self::Zig => "zig",
            Self::Nim => "nim",
            Self::Julia => "julia",
            Self::C => "c",
        }
    }
}

/// An error that can reach the user.
pub trait Coded: std::error::Error {
    /// Its kind in the catalogue.
    fn code(&self) -> ErrorCode;

    /// The language in which it arose.
    fn language(&self) -> Language {
        Language::Rust
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_found_again_and_unknown_ones_are_internal() {
        for kind in ErrorCode::ALL {
            assert_eq!(ErrorCode::from_status(kind.code()), *kind);
            assert!(!kind.meaning().is_empty());
        }
        assert_eq!(ErrorCode::from_status(-7), ErrorCode::Internal);
    }
}
