//! What a call answers: a status, and on failure a description that stays with the thread.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use amdgpu_abi::{Coded, ErrorCode, Language, MetricId};

/// 0, or a code of errors.toml.
pub type Status = i32;

/// Why a call failed.
#[derive(Debug)]
pub struct Failure {
    pub code: ErrorCode,
    pub language: Language,
    pub message: String,
}

pub type Answer<T = ()> = Result<T, Failure>;

impl Failure {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            language: Language::Rust,
            message: message.into(),
        }
    }

    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidArgument, message)
    }

    fn panicked(payload: &(dyn Any + Send)) -> Self {
        let text = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let message = format!(
            "a bug in amdgpu: {}",
            text.unwrap_or("a panic without a message")
        );
        Self::new(ErrorCode::Internal, message)
    }
}

impl<E: Coded> From<E> for Failure {
    fn from(error: E) -> Self {
        Self {
            code: error.code(),
            language: error.language(),
            message: error.to_string(),
        }
    }
}

/// The texts of the last failure of a thread, ended by null bytes for C.
struct LastError {
    status: Status,
    texts: [CString; 5],
}

impl LastError {
    fn of(failure: &Failure) -> Self {
        let code = failure.code;
        let texts = [
            code.name(),
            code.class_name(),
            &failure.message,
            code.hint(),
            failure.language.name(),
        ];
        Self {
            status: code.code(),
            texts: texts.map(c_text),
        }
    }
}

thread_local! {
    static LAST: RefCell<Option<LastError>> = const { RefCell::new(None) };
}

/// A text for C; null bytes inside become spaces.
pub fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}

/// Run what a function of the interface does. Nothing unwinds into the caller.
pub fn answer(work: impl FnOnce() -> Answer) -> Status {
    let outcome = catch_unwind(AssertUnwindSafe(work));
    let failure = match outcome {
        Ok(Ok(())) => return 0,
        Ok(Err(failure)) => failure,
        Err(payload) => Failure::panicked(payload.as_ref()),
    };
    amdgpu_telemetry::counter(
        MetricId::ErrorsTotal,
        &[failure.code.name(), failure.language.name()],
    )
    .increment();
    let last = LastError::of(&failure);
    let status = last.status;
    // A thread that is ending has nobody left to ask.
    let _ = LAST.try_with(|slot| slot.replace(Some(last)));
    status
}

/// Status and texts (name, class, message, hint, language) of the last failure on this thread; 0 and empty ones before the first. They are
/// valid until the next failure.
pub fn last_error() -> (Status, [*const c_char; 5]) {
    LAST.with_borrow(|last| match last {
        Some(last) => (last.status, last.texts.each_ref().map(|text| text.as_ptr())),
        None => (0, [c"".as_ptr(); 5]),
    })
}
