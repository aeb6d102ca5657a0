//! The C interface of the core: functions that `libamdgpu.so` exports.

mod folder;

use std::ffi::{CStr, c_char};

pub use folder::register_own_directory;

const VERSION: &CStr =
    match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(text) => text,
        Err(_) => c"",
    };

/// Version of the library; it lives as long as the process.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_version() -> *const c_char {
    VERSION.as_ptr()
}
