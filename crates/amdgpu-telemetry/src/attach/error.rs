//! What watching another process can fail with.

use amdgpu_abi::{Coded, ErrorCode, Language};

/// Shorthand for results of attaching.
pub type Result<T> = std::result::Result<T, Error>;

/// See the messages.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    #[error("process {pid} has ended")]
    Gone { pid: u32 },

    #[error(
        "process {pid} does not listen: it has not opened a device of amdgpu, runs with AMDGPU_ATTACH=off, or its XDG_RUNTIME_DIR is another one"
    )]
    NotListening { pid: u32 },

    #[error("process {pid} did not answer {op} within {seconds} s{hint}")]
    Silent {
        pid: u32,
        op: String,
        seconds: f64,
        hint: &'static str,
    },

    #[error("{path} belongs to another user, who is not to be trusted with it")]
    Foreign { path: String },

    #[error("the connection to process {pid} failed: {reason}")]
    Broken { pid: u32, reason: String },

    #[error("process {pid} refuses {op}: {reason}")]
    Refused {
        pid: u32,
        op: String,
        reason: String,
    },
}

impl Coded for Error {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Gone { .. } => ErrorCode::ProcessGone,
            Self::NotListening { .. } | Self::Broken { .. } => ErrorCode::ConnectionFailed,
            Self::Silent { .. } => ErrorCode::RequestTimeout,
            Self::Foreign { .. } => ErrorCode::NotPermitted,
            Self::Refused { .. } => ErrorCode::InvalidMessage,
        }
    }

    fn language(&self) -> Language {
        Language::Rust
    }
}
