//! What went wrong, in words.

use amdgpu_abi::ErrorCode;

use super::AccessKind;
use super::hooks::coordinates;
use super::shadow::Touch;
use crate::Error;

pub(super) struct Fault {
    pub line: u32,
    pub block: [u64; 3],
    pub thread: [u64; 3],
    pub size: [u32; 3],
    pub grid: [u32; 3],
    pub cause: Cause,
}

pub(super) enum Cause {
    /// An access outside of the variable or array it belongs to.
    Outside {
        kind: AccessKind,
        bytes: u64,
        place: String,
    },
    Null {
        kind: AccessKind,
        bytes: u64,
        place: String,
    },
    Freed {
        kind: AccessKind,
        bytes: u64,
    },
    Nowhere {
        kind: AccessKind,
        bytes: u64,
        address: u64,
    },
    Misaligned {
        kind: AccessKind,
        place: String,
        align: u64,
    },
    Race {
        kind: AccessKind,
        place: String,
        other: Touch,
    },
    Divergence {
        /// Line of the barrier that others wait at.
        other: u32,
    },
}

fn verb(kind: AccessKind) -> &'static str {
    match kind {
        AccessKind::Read => "read",
        AccessKind::Write => "write",
        AccessKind::Atomic => "atomic operation",
    }
}

fn triple([x, y, z]: [u64; 3]) -> String {
    format!("({x}, {y}, {z})")
}

impl Fault {
    pub fn into_error(self, kernel: &str, file: &str, others: u64) -> Error {
        let place = format!(
            "block {}, thread {}, {file}:{}",
            triple(self.block),
            triple(self.thread),
            self.line
        );
        let what = match &self.cause {
            Cause::Outside { kind, bytes, place } => {
                format!("{} of {bytes} bytes outside of {place}", verb(*kind))
            }
            Cause::Null { kind, bytes, place } => {
                format!(
                    "{} of {bytes} bytes through a null pointer{place}",
                    verb(*kind)
                )
            }
            Cause::Freed { kind, bytes } => {
                format!("{} of {bytes} bytes of memory that was freed", verb(*kind))
            }
            Cause::Nowhere {
                kind,
                bytes,
                address,
            } => format!(
                "{} of {bytes} bytes at {address:#x}, which no array of the launch has",
                verb(*kind)
            ),
            Cause::Misaligned { kind, place, align } => {
                format!(
                    "misaligned {} of {place}, which needs a multiple of {align}",
                    verb(*kind)
                )
            }
            Cause::Race { kind, place, other } => format!(
                "race: {} of {place}, after the {} of block {}, thread {} in line {} with nothing to order the two",
                verb(*kind),
                verb(other.kind),
                triple(coordinates(other.block, self.grid)),
                triple(coordinates(u64::from(other.thread), self.size)),
                other.line
            ),
            Cause::Divergence { other } => {
                format!("this barrier, while other work-items of the block wait in line {other}")
            }
        };
        let others = match others {
            0 => String::new(),
            1 => "; 1 other fault".to_string(),
            count => format!("; {count} other faults"),
        };
        Error::HostFunction {
            code: match self.cause {
                Cause::Race { .. } => ErrorCode::DataRace,
                Cause::Divergence { .. } => ErrorCode::DivergentBarrier,
                _ => ErrorCode::MemoryFault,
            },
            message: format!("{kernel}: {what}; {place}{others}"),
        }
    }
}
