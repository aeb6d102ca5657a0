//! Recordings: the last minutes in memory, and files that are read back later.
//!
//! Contract
//! - [`start_flight`] keeps the newest records of the last minutes in bounded memory. It is off until it is asked for, because it needs the
//!   collector thread, which costs about a hundredth of a core while records come.
//! - A recording is a file of [`crate::frames`], the first of which holds the version. It is appended to, and whole up to its last frame
//!   at every moment: where writing fails, what was written stays readable.
//! - [`read_recording`] gives what can be read of a truncated or damaged file, and says what could not.

mod flight;
mod reader;
mod writer;

pub(crate) use flight::FlightRing;
pub use flight::{FlightStatus, flight_status, save_flight, start_flight, stop_flight};
pub use reader::{MAX_RECORDS, RecordedSource, Recording, read_recording};
pub use writer::{RECORDING_SCHEMA, RecordingWriter};

use amdgpu_abi::{Coded, ErrorCode, Language};

/// What recordings can fail with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecorderError {
    #[error(
        "{path} cannot be written: {reason}; it holds the first {kept_bytes} bytes with {kept_records} records, which can be replayed"
    )]
    Write {
        path: String,
        reason: String,
        kept_bytes: u64,
        kept_records: u64,
    },

    #[error("{path} cannot be read: {reason}")]
    Read { path: String, reason: String },

    #[error("{path} is no recording: {reason}")]
    NoRecording { path: String, reason: String },
}

impl Coded for RecorderError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Write { .. } => ErrorCode::WriteFailed,
            Self::Read { .. } => ErrorCode::InvalidArgument,
            Self::NoRecording { .. } => ErrorCode::DamagedFile,
        }
    }

    fn language(&self) -> Language {
        Language::Rust
    }
}
