//! The errors of the hardware layer and their codes in the catalogue.

use amdgpu_abi::{Coded, ErrorCode};

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What a device or driver can fail with.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum Error {
    /// No device has that name.
    #[error("no device `{name}`: {reason}")]
    DeviceNotFound { name: String, reason: String },

    /// A second driver for one kind of device.
    #[error("there is a driver for {kind} devices already")]
    DriverExists { kind: &'static str },

    /// An environment variable holds what cannot be understood.
    #[error("{variable} is `{value}`; expected {expected}")]
    InvalidEnvironment {
        variable: &'static str,
        value: String,
        expected: &'static str,
    },

    /// The device has no room left.
    #[error(
        "{device} cannot allocate {requested_bytes} bytes of {kind} memory: {used_bytes} of {limit_bytes} bytes are in use"
    )]
    OutOfMemory {
        device: String,
        kind: &'static str,
        requested_bytes: u64,
        used_bytes: u64,
        limit_bytes: u64,
    },

    /// The device stopped answering.
    #[error("{device} stopped answering: {reason}")]
    DeviceLost { device: String, reason: String },

    /// The driver, or the operating system where it is the driver, reported a failure.
    #[error("{device}: {operation} failed: {reason}")]
    DriverFault {
        device: String,
        operation: &'static str,
        reason: String,
    },

    /// The object was made before `fork()` and is used in the child.
    #[error("{what} was made before fork() and cannot be used in the child process")]
    Forked { what: &'static str },

    /// A device address is not inside a live allocation.
    #[error("address {address:#x} of {device} is not inside a live allocation")]
    NotAllocated { device: String, address: u64 },

    /// A copy or fill reaches outside its allocation. Only backends that check report it.
    #[error(
        "{operation} of {bytes} bytes at {address:#x} of {device} reaches {excess_bytes} bytes past the end of its allocation"
    )]
    OutOfBounds {
        device: String,
        operation: &'static str,
        address: u64,
        bytes: u64,
        excess_bytes: u64,
    },

    /// The bytes given to `load_module` are not code this device can run.
    #[error("the module cannot be loaded: {reason}")]
    InvalidModule { reason: String },

    /// The module has no such kernel.
    #[error("the module has no kernel `{name}`; it has {available}")]
    KernelNotFound { name: String, available: String },

    /// The module has no such variable.
    #[error("the module has no variable `{name}`; it has {available}")]
    GlobalNotFound { name: String, available: String },

    /// An object of one backend was handed to another.
    #[error("{what} does not belong to {device}")]
    WrongBackend { what: &'static str, device: String },

    /// The call would wait for itself.
    #[error(
        "{operation} was called from inside a command of the same stream and would wait for itself"
    )]
    WouldDeadlock { operation: &'static str },

    /// [`crate::Stream::cancel`] stopped it.
    #[error("{device}: the work of the stream was cancelled; what it wrote is incomplete")]
    Cancelled { device: String },

    /// A signal handler ended a wait, see [`crate::attention`].
    #[error("a signal ended the wait, and what it was for was cancelled where the device can")]
    Interrupted,

    /// A piece of parallel work or a host function panicked.
    #[error("code running on the device panicked: {message}")]
    Panicked { message: String },

    /// A host function in a stream returned an error; its code is kept.
    #[error("{message}")]
    HostFunction { code: ErrorCode, message: String },
}

impl Error {
    /// Wraps the error of a host function, so that its catalogue code survives the way through the stream.
    pub fn from_coded(error: &dyn Coded) -> Self {
        Self::HostFunction {
            code: error.code(),
            message: error.to_string(),
        }
    }

    /// The error for a kernel that a module lacks, with what it has.
    pub(crate) fn kernel_not_found<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Self {
        Self::KernelNotFound {
            name: name.to_string(),
            available: listed(names),
        }
    }

    /// The error for a variable that a module lacks, with what it has.
    pub fn global_not_found<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Self {
        Self::GlobalNotFound {
            name: name.to_string(),
            available: listed(names),
        }
    }

    pub(crate) fn cancelled() -> Self {
        Self::Cancelled {
            device: "cpu:0".to_string(),
        }
    }

    /// Text of a panic payload.
    pub(crate) fn from_panic(payload: &(dyn std::any::Any + Send)) -> Self {
        let message = payload
            .downcast_ref::<&str>()
            .map(|text| (*text).to_string())
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "(the panic carried no text)".to_string());
        Self::Panicked { message }
    }
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    if names.is_empty() {
        "none".to_string()
    } else {
        names.join(", ")
    }
}

impl Coded for Error {
    fn code(&self) -> ErrorCode {
        match self {
            Self::DeviceNotFound { .. } => ErrorCode::DeviceNotFound,
            Self::OutOfMemory { .. } => ErrorCode::OutOfMemory,
            Self::DeviceLost { .. } => ErrorCode::DeviceLost,
            Self::DriverFault { .. } => ErrorCode::DriverFault,
            Self::Forked { .. } => ErrorCode::Forked,
            Self::NotAllocated { .. } => ErrorCode::UseAfterFree,
            Self::DriverExists { .. }
            | Self::InvalidEnvironment { .. }
            | Self::OutOfBounds { .. } => ErrorCode::InvalidArgument,
            Self::InvalidModule { .. } => ErrorCode::CodeGenerationFailed,
            Self::KernelNotFound { .. } => ErrorCode::KernelNotFound,
            Self::GlobalNotFound { .. } => ErrorCode::GlobalNotFound,
            Self::WrongBackend { .. } | Self::WouldDeadlock { .. } => ErrorCode::Internal,
            Self::Panicked { .. } => ErrorCode::KernelFault,
            Self::Cancelled { .. } | Self::Interrupted => ErrorCode::Timeout,
            Self::HostFunction { code, .. } => *code,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> String {
        text.to_string()
    }

    /// An error, its code in the catalogue and its whole message.
    type Case = (Error, ErrorCode, &'static str);

    fn of_devices() -> Vec<Case> {
        let device = || text("cpu:0");
        vec![
            (
                Error::DeviceNotFound {
                    name: text("cpu:1"),
                    reason: text("there is one"),
                },
                ErrorCode::DeviceNotFound,
                "no device `cpu:1`: there is one",
            ),
            (
                Error::DriverExists { kind: "sim" },
                ErrorCode::InvalidArgument,
                "there is a driver for sim devices already",
            ),
            (
                Error::InvalidEnvironment {
                    variable: "AMDGPU_DEVICES",
                    value: text("x"),
                    expected: "kinds",
                },
                ErrorCode::InvalidArgument,
                "AMDGPU_DEVICES is `x`; expected kinds",
            ),
            (
                Error::OutOfMemory {
                    device: device(),
                    kind: "device",
                    requested_bytes: 3,
                    used_bytes: 4,
                    limit_bytes: 5,
                },
                ErrorCode::OutOfMemory,
                "cpu:0 cannot allocate 3 bytes of device memory: 4 of 5 bytes are in use",
            ),
            (
                Error::DeviceLost {
                    device: device(),
                    reason: text("gone"),
                },
                ErrorCode::DeviceLost,
                "cpu:0 stopped answering: gone",
            ),
            (
                Error::DriverFault {
                    device: device(),
                    operation: "mmap",
                    reason: text("no"),
                },
                ErrorCode::DriverFault,
                "cpu:0: mmap failed: no",
            ),
        ]
    }

    fn of_memory_and_modules() -> Vec<Case> {
        let device = || text("cpu:0");
        vec![
            (
                Error::Forked { what: "the stream" },
                ErrorCode::Forked,
                "the stream was made before fork() and cannot be used in the child process",
            ),
            (
                Error::NotAllocated {
                    device: device(),
                    address: 255,
                },
                ErrorCode::UseAfterFree,
                "address 0xff of cpu:0 is not inside a live allocation",
            ),
            (
                Error::OutOfBounds {
                    device: device(),
                    operation: "a copy",
                    address: 16,
                    bytes: 9,
                    excess_bytes: 1,
                },
                ErrorCode::InvalidArgument,
                "a copy of 9 bytes at 0x10 of cpu:0 reaches 1 bytes past the end of its allocation",
            ),
            (
                Error::InvalidModule {
                    reason: text("it is text"),
                },
                ErrorCode::CodeGenerationFailed,
                "the module cannot be loaded: it is text",
            ),
            (
                Error::kernel_not_found("c", ["a", "b"].into_iter()),
                ErrorCode::KernelNotFound,
                "the module has no kernel `c`; it has `a`, `b`",
            ),
            (
                Error::kernel_not_found("c", std::iter::empty()),
                ErrorCode::KernelNotFound,
                "the module has no kernel `c`; it has none",
            ),
            (
                Error::global_not_found("c", ["a"].into_iter()),
                ErrorCode::GlobalNotFound,
                "the module has no variable `c`; it has `a`",
            ),
        ]
    }

    fn of_streams() -> Vec<Case> {
        let device = || text("cpu:0");
        vec![
            (
                Error::WrongBackend {
                    what: "the event",
                    device: device(),
                },
                ErrorCode::Internal,
                "the event does not belong to cpu:0",
            ),
            (
                Error::WouldDeadlock {
                    operation: "a wait",
                },
                ErrorCode::Internal,
                "a wait was called from inside a command of the same stream and would wait for itself",
            ),
            (
                Error::cancelled(),
                ErrorCode::Timeout,
                "cpu:0: the work of the stream was cancelled; what it wrote is incomplete",
            ),
            (
                Error::Interrupted,
                ErrorCode::Timeout,
                "a signal ended the wait, and what it was for was cancelled where the device can",
            ),
            (
                Error::from_panic(&"oh"),
                ErrorCode::KernelFault,
                "code running on the device panicked: oh",
            ),
            (
                Error::from_panic(&text("oh no")),
                ErrorCode::KernelFault,
                "code running on the device panicked: oh no",
            ),
            (
                Error::from_panic(&7_u8),
                ErrorCode::KernelFault,
                "code running on the device panicked: (the panic carried no text)",
            ),
            (
                Error::from_coded(&Error::Forked { what: "it" }),
                ErrorCode::Forked,
                "it was made before fork() and cannot be used in the child process",
            ),
        ]
    }

    #[test]
    fn every_error_has_its_code_and_says_what_happened() {
        for (error, code, message) in of_devices()
            .into_iter()
            .chain(of_memory_and_modules())
            .chain(of_streams())
        {
            assert_eq!(error.to_string(), message);
            assert_eq!(error.code(), code, "{message}");
        }
    }
}
