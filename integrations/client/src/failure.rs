//! Why a kernel was not computed.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What became of a call.
pub type Outcome<T = ()> = Result<T, Failure>;

#[derive(Clone, Debug)]
pub struct Failure {
    pub kind: FailureKind,
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The arguments are wrong, or the device failed.
    Refused,
    /// Right arguments that no kernel takes: the CPU may compute them.
    NoKernel,
    /// There is not enough memory on the device.
    OutOfMemory,
}

impl Failure {
    pub fn refused(message: impl Into<String>) -> Self {
        Self {
            kind: FailureKind::Refused,
            message: message.into(),
        }
    }

    pub fn no_kernel(message: impl Into<String>) -> Self {
        Self {
            kind: FailureKind::NoKernel,
            message: message.into(),
        }
    }

    pub fn out_of_memory(message: impl Into<String>) -> Self {
        Self {
            kind: FailureKind::OutOfMemory,
            message: message.into(),
        }
    }

    fn panicked(payload: &(dyn Any + Send)) -> Self {
        let text = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        Self::refused(format!(
            "a bug in amdgpu: {}",
            text.unwrap_or("a panic without a message")
        ))
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Runs work; a panic becomes a failure.
pub fn caught<T>(work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|payload| Err(Failure::panicked(payload.as_ref())))
}

/// A text for C; null bytes inside become spaces.
#[must_use]
pub fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}

/// The status of an outcome for C: 0 done, 1 refused, 2 no kernel. The message stays with the thread.
#[must_use]
pub fn status(outcome: Outcome) -> i32 {
    let Err(failure) = outcome else { return 0 };
    // A thread that is ending has nobody left to ask.
    let _ = LAST.try_with(|last| last.replace(c_text(&failure.message)));
    match failure.kind {
        FailureKind::Refused | FailureKind::OutOfMemory => 1,
        FailureKind::NoKernel => 2,
    }
}

/// The message of the last failure on this thread, valid until the next one.
#[must_use]
pub fn last_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr())
        .unwrap_or(c"".as_ptr())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_are_failures_with_a_message() {
        let failure = caught::<()>(|| panic!("index {}", 7)).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Refused);
        assert_eq!(failure.message, "a bug in amdgpu: index 7");
    }

    #[test]
    fn statuses_tell_failures_apart_and_keep_the_message() {
        assert_eq!(status(Ok(())), 0);
        assert_eq!(status(Err(Failure::refused("wrong"))), 1);
        assert_eq!(status(Err(Failure::out_of_memory("full"))), 1);
        assert_eq!(status(Err(Failure::no_kernel("none\0here"))), 2);
        // SAFETY: the text of this thread, which nothing changes meanwhile.
        let text = unsafe { std::ffi::CStr::from_ptr(last_error()) };
        assert_eq!(text, c"none here");
    }
}
