//! runtime.h: version, errors, references.

use std::ffi::{CStr, CString, c_char};
use std::sync::LazyLock;

use amdgpu_abi::ErrorCode;

use crate::borrowed::{Described, Out, Versioned};
use crate::handles::{self, Handle};
use crate::status::{Status, answer, c_text, last_error};

/// `AGPU_INTERFACE_VERSION`: raised when a function or a struct changes incompatibly.
const INTERFACE_VERSION: u32 = 1;

const VERSION: &CStr =
    match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(text) => text,
        Err(_) => c"",
    };

/// Names of the statuses, by code.
static NAMES: LazyLock<Vec<(Status, CString)>> = LazyLock::new(|| {
    let codes = ErrorCode::ALL.iter();
    codes
        .map(|code| (code.code(), c_text(code.name())))
        .collect()
});

/// Version of the library.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_version() -> *const c_char {
    VERSION.as_ptr()
}

/// Version of the interface.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_interface_version() -> u32 {
    INTERFACE_VERSION
}

/// Name of a status; it lives as long as the process.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_status_name(status: Status) -> *const c_char {
    if status == 0 {
        return c"ok".as_ptr();
    }
    let found = NAMES.iter().find(|(code, _)| *code == status);
    found.map_or(c"unknown".as_ptr(), |(_, name)| name.as_ptr())
}

/// `agpu_error_info`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ErrorInfo {
    size_bytes: u64,
    status: Status,
    reserved: u32,
    name: *const c_char,
    class_name: *const c_char,
    message: *const c_char,
    hint: *const c_char,
    language: *const c_char,
}

// SAFETY: plain numbers and pointers; all zeros is a valid value.
unsafe impl Versioned for ErrorInfo {
    const NAME: &'static str = "agpu_error_info";
    const FIRST_BYTES: usize = size_of::<Self>();
}

/// What the last call on this thread that failed says.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_last_error(info: Described<ErrorInfo>) -> Status {
    // A failure of this very function must not replace what it was asked for.
    match info.required("info") {
        Ok(place) => {
            let (status, [name, class_name, message, hint, language]) = last_error();
            place.set(&ErrorInfo {
                size_bytes: size_of::<ErrorInfo>() as u64,
                status,
                reserved: 0,
                name,
                class_name,
                message,
                hint,
                language,
            });
            0
        }
        Err(failure) => failure.code.code(),
    }
}

/// Another reference to what a handle stands for.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_retain(handle: Handle) -> Status {
    answer(|| handles::retain(handle))
}

/// One reference less.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_release(handle: Handle) -> Status {
    answer(|| handles::release(handle))
}

/// How many handles of this process are alive.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_handle_count(count: Out<u64>) -> Status {
    answer(|| {
        count.required("count")?.write(handles::count() as u64);
        Ok(())
    })
}
