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
    #[error("device is {text:?}; known are {known}")]
    DeviceText { text: String, known: &'static str },
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
            Self::NoTarget { .. } => ErrorCode::UnsupportedFeature,
            Self::KernelNotFound { .. } => ErrorCode::KernelNotFound,
            Self::ArgumentCount { .. } => ErrorCode::ArgumentCount,
            Self::ArgumentType { .. } => ErrorCode::InvalidType,
            Self::ArgumentValue { .. }
            | Self::DeviceText { .. }
            | Self::MemoryOptions { .. }
            | Self::UnknownTelemetryLevel { .. } => ErrorCode::InvalidArgument,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> String {
        text.to_owned()
    }

    /// An error, its code in the catalogue and its whole message.
    type Case = (Error, ErrorCode, &'static str);

    fn of_openings() -> Vec<Case> {
        vec![
            (
                Error::UnknownCoreType { name: text("x") },
                ErrorCode::UnknownCoreType,
                "unknown core type \"x\"; known are aura, matrix, neuromorphic",
            ),
            (
                Error::DeviceText {
                    text: text("x"),
                    known: "cpu, rocm",
                },
                ErrorCode::InvalidArgument,
                "device is \"x\"; known are cpu, rocm",
            ),
            (
                Error::UnknownTelemetryLevel { name: text("x") },
                ErrorCode::InvalidArgument,
                "telemetry is \"x\"; known are off, standard, detailed",
            ),
            (
                Error::NotCapturable {
                    what: text("a wait"),
                    reason: text("it waits"),
                },
                ErrorCode::NotCapturable,
                "a wait cannot be part of a graph: it waits",
            ),
            (
                Error::Closed { device: text("d") },
                ErrorCode::Closed,
                "device d is closed",
            ),
            (
                Error::MemoryOptions { device: text("d") },
                ErrorCode::InvalidArgument,
                "d is open already with other allocator options; the first who opens a device decides about its memory",
            ),
            (
                Error::NoTarget {
                    device: text("d"),
                    architecture: text("gfx1"),
                },
                ErrorCode::UnsupportedFeature,
                "d has the architecture gfx1, which the compiler has no target for",
            ),
        ]
    }

    fn of_arguments() -> Vec<Case> {
        vec![
            (
                Error::KernelNotFound { reason: text("no") },
                ErrorCode::KernelNotFound,
                "no",
            ),
            (
                Error::ArgumentCount {
                    signature: text("k(int n)"),
                    expected: 1,
                    given: 2,
                },
                ErrorCode::ArgumentCount,
                "k(int n) takes 1 arguments, 2 were given",
            ),
            (
                Error::ArgumentType {
                    kernel: text("k"),
                    parameter: text("n"),
                    index: 3,
                    reason: text("no"),
                },
                ErrorCode::InvalidType,
                "argument 3 (`n`) of k: no",
            ),
            (
                Error::ArgumentValue {
                    kernel: text("k"),
                    parameter: text("n"),
                    index: 0,
                    reason: text("no"),
                },
                ErrorCode::InvalidArgument,
                "argument 0 (`n`) of k: no",
            ),
            (
                Error::Launch {
                    kernel: text("k"),
                    reason: text("no"),
                },
                ErrorCode::InvalidLaunch,
                "launch of k: no",
            ),
        ]
    }

    fn of_runs() -> Vec<Case> {
        let assertion = |others| Error::Assertion {
            kernel: text("k"),
            what: text("assertion `a > 0` failed"),
            place: text("k.hip:3"),
            block: [1, 2, 3],
            thread: [4, 5, 6],
            others,
        };
        let timeout = |is_stopped| Error::Timeout {
            kernel: text("k"),
            limit_ms: 20,
            is_stopped,
        };
        vec![
            (
                assertion(0),
                ErrorCode::AssertionFailed,
                "k: assertion `a > 0` failed at k.hip:3, block (1, 2, 3), thread (4, 5, 6)",
            ),
            (
                assertion(1),
                ErrorCode::AssertionFailed,
                "k: assertion `a > 0` failed at k.hip:3, block (1, 2, 3), thread (4, 5, 6); another work-item failed too",
            ),
            (
                assertion(2),
                ErrorCode::AssertionFailed,
                "k: assertion `a > 0` failed at k.hip:3, block (1, 2, 3), thread (4, 5, 6); 2 other work-items failed too",
            ),
            (
                timeout(true),
                ErrorCode::Timeout,
                "k did not end within 20 ms; it was stopped, and its results must not be used",
            ),
            (
                timeout(false),
                ErrorCode::Timeout,
                "k did not end within 20 ms; it goes on in the background, and its results must not be used",
            ),
        ]
    }

    #[test]
    fn every_error_has_its_code_and_says_what_happened() {
        for (error, code, message) in of_openings()
            .into_iter()
            .chain(of_arguments())
            .chain(of_runs())
        {
            assert_eq!(error.to_string(), message);
            assert_eq!(
                (error.code(), error.language()),
                (code, Language::Rust),
                "{message}"
            );
        }
    }

    #[test]
    fn errors_of_other_layers_and_processes_pass_as_they_are() {
        let hal = amdgpu_hal::Error::Forked { what: "it" };
        let message = hal.to_string();
        let error = Error::from(hal);
        assert_eq!(
            (error.code(), error.to_string()),
            (ErrorCode::Forked, message)
        );
        let elsewhere = Error::Elsewhere {
            code: ErrorCode::OutOfMemory,
            language: Language::Zig,
            message: "full".to_owned(),
        };
        assert_eq!(
            (elsewhere.code(), elsewhere.language()),
            (ErrorCode::OutOfMemory, Language::Zig)
        );
        assert_eq!(elsewhere.to_string(), "full");
        let compiler = amdgpu_compiler::Error::InvalidOption {
            message: "no".to_owned(),
        };
        let (code, language) = (compiler.code(), compiler.language());
        let error = Error::from(compiler);
        assert_eq!((error.code(), error.language()), (code, language));
    }
}
