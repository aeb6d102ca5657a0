//! What allocating, freeing and copying can fail with.

use std::fmt::Write as _;

use amdgpu_abi::{Coded, ErrorCode, Language};

use crate::sizes::readable;

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Errors of this crate.
#[derive(Clone, Debug, thiserror::Error, PartialEq)]
pub enum Error {
    /// The device reported a failure.
    #[error(transparent)]
    Device(#[from] amdgpu_hal::Error),

    /// Nothing more can be reserved, and nothing cached can be given back.
    #[error("{}", out_of_memory_text(.0))]
    OutOfMemory(Box<OutOfMemory>),

    /// The allocator was closed.
    #[error("the allocator of {device} was closed")]
    Closed { device: String },

    /// An address that is not that of a live block was used or freed.
    #[error(
        "{operation}: {address:#x} of {device} is not a live block; it was freed before, or never allocated"
    )]
    UseAfterFree {
        device: String,
        operation: &'static str,
        address: u64,
    },

    /// A knob has a value that makes no sense.
    #[error("allocator option {name} is `{value}`; expected {expected}")]
    InvalidOption {
        name: String,
        value: String,
        expected: &'static str,
    },

    /// A copy or fill would leave its block.
    #[error(
        "{operation} of {bytes} bytes at offset {offset_bytes} does not fit into a block of {block_bytes} bytes"
    )]
    OutOfRange {
        operation: &'static str,
        offset_bytes: u64,
        bytes: u64,
        block_bytes: u64,
    },

    /// Two blocks of different devices.
    #[error("{operation}: the blocks belong to {first} and {second}")]
    WrongDevice {
        operation: &'static str,
        first: String,
        second: String,
    },

    /// The Zig library with the sub-allocation strategies cannot be used.
    #[error("{message}")]
    Library { code: ErrorCode, message: String },

    /// The Zig library reported a failure.
    #[error("{message}")]
    Strategy { code: ErrorCode, message: String },
}

/// The state in which an allocation was refused.
#[derive(Clone, Debug, PartialEq)]
pub struct OutOfMemory {
    pub device: String,
    pub pool: &'static str,
    pub requested_bytes: u64,
    pub allocated_bytes: u64,
    pub live_blocks: u64,
    pub reserved_bytes: u64,
    pub device_free_bytes: Option<u64>,
    pub device_total_bytes: Option<u64>,
    pub limit_bytes: Option<u64>,
}

fn out_of_memory_text(state: &OutOfMemory) -> String {
    let mut text = format!(
        "{} has no room for {} of {} memory: {} in {} blocks are in use, {} are reserved",
        state.device,
        readable(state.requested_bytes),
        state.pool,
        readable(state.allocated_bytes),
        state.live_blocks,
        readable(state.reserved_bytes),
    );
    if let (Some(free), Some(total)) = (state.device_free_bytes, state.device_total_bytes) {
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "; the device has {} free of {}",
            readable(free),
            readable(total)
        );
    }
    if let Some(limit) = state.limit_bytes {
        let _ = write!(text, "; this allocator's limit is {}", readable(limit));
    }
    text
}

impl Coded for Error {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Device(error) => error.code(),
            Self::OutOfMemory(_) => ErrorCode::OutOfMemory,
            Self::Closed { .. } => ErrorCode::Closed,
            Self::UseAfterFree { .. } => ErrorCode::UseAfterFree,
            Self::InvalidOption { .. } | Self::OutOfRange { .. } => ErrorCode::InvalidArgument,
            Self::WrongDevice { .. } => ErrorCode::WrongDevice,
            Self::Library { code, .. } | Self::Strategy { code, .. } => *code,
        }
    }

    fn language(&self) -> Language {
        match self {
            Self::Strategy { .. } => Language::Zig,
            _ => Language::Rust,
        }
    }
}
