//! What a CPU stream can be told to do.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::event::Completion;
use super::graph::Replay;
use super::launch::{self, PackedArguments};
use super::module::CpuFunction;
use crate::{DevicePointer, Error, HostFunction, LaunchConfig, Result};

/// One entry of a queue.
pub(super) enum Command {
    Copy {
        destination: DevicePointer,
        source: DevicePointer,
        bytes: u64,
    },
    Fill {
        destination: DevicePointer,
        value: u8,
        bytes: u64,
    },
    Launch {
        function: CpuFunction,
        config: LaunchConfig,
        arguments: PackedArguments,
    },
    Record(Arc<Completion>),
    Wait(Arc<Completion>),
    Call(HostFunction),
    Replay(Replay),
}

impl Command {
    /// Whether running it now would not have to wait for another stream.
    pub fn is_ready(&self) -> bool {
        match self {
            Self::Wait(completion) => completion.is_complete(),
            Self::Replay(replay) => replay.is_ready(),
            _ => true,
        }
    }

    /// What it may wait for, of another stream.
    pub fn awaited(&self) -> Option<Arc<Completion>> {
        match self {
            Self::Wait(completion) => Some(Arc::clone(completion)),
            Self::Replay(replay) => replay.awaited(),
            _ => None,
        }
    }

    /// Whether it also belongs to a stream that has failed: marks must be passed on, or their waiters would wait for ever.
    pub fn survives_failure(&self) -> bool {
        matches!(self, Self::Record(_) | Self::Wait(_))
    }

    /// Runs it. `failure` is the error that sticks to the stream; with one, only marks do anything.
    pub fn run(self, failure: Option<&Error>) -> Result<()> {
        match self {
            Self::Record(completion) => {
                completion.complete(failure);
                Ok(())
            }
            Self::Wait(completion) => completion.wait_unless_cancelled(),
            Self::Replay(replay) => replay.run(failure),
            _ if failure.is_some() => Ok(()),
            Self::Copy {
                destination,
                source,
                bytes,
            } => {
                // SAFETY: the caller of `Stream::copy` keeps both ranges valid, apart and unfreed until the command has run.
                unsafe {
                    std::ptr::copy_nonoverlapping(
                        source.as_mut_ptr::<u8>().cast_const(),
                        destination.as_mut_ptr::<u8>(),
                        bytes as usize,
                    );
                }
                Ok(())
            }
            Self::Fill {
                destination,
                value,
                bytes,
            } => {
                // SAFETY: the caller of `Stream::fill` keeps the range valid until the command has run.
                unsafe {
                    std::ptr::write_bytes(destination.as_mut_ptr::<u8>(), value, bytes as usize);
                };
                Ok(())
            }
            Self::Launch {
                function,
                config,
                arguments,
            } => {
                // SAFETY: the caller of `Stream::launch` vouches for arguments, limits and memory.
                unsafe { launch::run(&function, &config, arguments.as_slice()) }
            }
            Self::Call(function) => catch_unwind(AssertUnwindSafe(function))
                .unwrap_or_else(|payload| Err(Error::from_panic(payload.as_ref()))),
        }
    }
}

impl fmt::Debug for Command {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Copy { .. } => "Copy",
            Self::Fill { .. } => "Fill",
            Self::Launch { .. } => "Launch",
            Self::Record(_) => "Record",
            Self::Wait(_) => "Wait",
            Self::Call(_) => "Call",
            Self::Replay(_) => "Replay",
        })
    }
}
