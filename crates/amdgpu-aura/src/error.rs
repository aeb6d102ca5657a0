//! What opening, compiling and launching can fail with.

use amdgpu_abi::{Coded, ErrorCode, Language};

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Hal(#[from] amdgpu_hal::Error),
    #[error(transparent)]
    Memory(#[from] amdgpu_memory::Error),
    #[error(transparent)]
    Compiler(#[from] amdgpu_compiler::Error),
    /// What another process answered.
    #[error("{message}")]
    Elsewhere {
        code: ErrorCode,
        language: Language,
        message: String,
    },
    #[error("unknown core type {name:?}; known are aura, matrix, neuromorphic")]
    UnknownCoreType { name: String },
    #[error("telemetry is {name:?}; known are off, standard, detailed")]
    UnknownTelemetryLevel { name: String },
    #[error("{what} cannot be part of a graph: {reason}")]
    NotCapturable { what: String, reason: String },
    #[error("device {device} is closed")]
    Closed { device: String },
    #[error(
        "{device} is open already with other allocator options; the first who opens a device decides about its memory"
    )]
    MemoryOptions { device: String },
    #[error("{device} has the architecture {architecture}, which the compiler has no target for")]
    NoTarget {
        device: String,
        architecture: String,
    },
    #[error("{reason}")]
    KernelNotFound { reason: String },
    #[error("{signature} takes {expected} arguments, {given} were given")]
    ArgumentCount {
        signature: String,
        expected: usize,
        given: usize,
    },
    #[error("argument {index} (`{parameter}`) of {kernel}: {reason}")]
    ArgumentType {
        kernel: String,
        parameter: String,
        index: usize,
        reason: String,
    },
    #[error("argument {index} (`{parameter}`) of {kernel}: {reason}")]
    ArgumentValue {
        kernel: String,
        parameter: String,
        index: usize,
        reason: String,
    },
    #[error("launch of {kernel}: {reason}")]
    Launch { kernel: String, reason: String },
    #[error(
        "{kernel}: {what} at {place}, block ({}, {}, {}), thread ({}, {}, {}){}",
        block[0], block[1], block[2], thread[0], thread[1], thread[2], and_others(*others)
    )]
    Assertion {
        kernel: String,
        what: String,
        place: String,
        block: [u32; 3],
        thread: [u32; 3],
        others: u64,
    },
    #[error(
        "{kernel} did not end within {limit_ms} ms; it {}, and its results must not be used",
        if *is_stopped { "was stopped" } else { "goes on in the background" }
    )]
    Timeout {
        kernel: String,
        limit_ms: u64,
        is_stopped: bool,
    },
}

fn and_others(others: u64) -> String {
    match others {
        0 => String::new(),
        1 => "; another work-item failed too".to_owned(),
        _ => format!("; {others} other work-items failed too"),
    }
}

impl Coded for Error {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Hal(error) => error.code(),
            Self::Memory(error) => error.code(),
            Self::Compiler(error) => error.code(),
            Self::Elsewhere { code, .. } => *code,
            Self::UnknownCoreType { .. } => ErrorCode::UnknownCoreType,
            Self::Closed { .. } => ErrorCode::Closed,
            Self::MemoryOptions { .. } => ErrorCode::InvalidArgument,
            Self::NoTarget { .. } => ErrorCode::UnsupportedFeature,
            Self::KernelNotFound { .. } => ErrorCode::KernelNotFound,
            Self::ArgumentCount { .. } => ErrorCode::ArgumentCount,
            Self::ArgumentType { .. } => ErrorCode::InvalidType,
            Self::ArgumentValue { .. } | Self::UnknownTelemetryLevel { .. } => {
                ErrorCode::InvalidArgument
            }
            Self::NotCapturable { .. } => ErrorCode::NotCapturable,
            Self::Launch { .. } => ErrorCode::InvalidLaunch,
            Self::Timeout { .. } => ErrorCode::Timeout,
            Self::Assertion { .. } => ErrorCode::AssertionFailed,
        }
    }

    fn language(&self) -> Language {
        match self {
            Self::Hal(error) => error.language(),
            Self::Memory(error) => error.language(),
            Self::Compiler(error) => error.language(),
            Self::Elsewhere { language, .. } => *language,
            _ => Language::Rust,
        }
    }
}
